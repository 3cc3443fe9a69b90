"""The catalogue of pairs: the shipped ones, with the user's own merged over them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from localspec.base.errors import NotFoundError
from localspec.base.paths import shipped
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.proofs import proved, read_proofs
from localspec.models.pairs.schema import read_pairs
from localspec.models.pairs.user_pairs import own_pairs

BUILTIN_ID = "builtin"
"""The pair that ships with LocalSpec: the guided tour."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The pairs in the order they are listed."""

    pairs: tuple[Pair, ...]

    def find(self, pair_id: str) -> Pair:
        """The pair with this id. Raises NotFoundError, with similar ids."""
        for pair in self.pairs:
            if pair.id == pair_id:
                return pair
        close = get_close_matches(pair_id.lower(), [pair.id for pair in self.pairs])
        hint = f"Did you mean {' or '.join(close)}?" if close else "`localspec pairs list` shows all ids."
        raise NotFoundError(f"There is no pair {pair_id!r}.", hint)


def load_catalogue() -> Catalogue:
    """Read the shipped pairs and the user's own, which replace shipped ones of the same id.

    Files that were downloaded here count as verified. Raises ConfigError.
    """
    pairs = {pair.id: pair for pair in (*_shipped_pairs(), *own_pairs())}
    proofs = read_proofs()
    return Catalogue(tuple(proved(pair, proofs) for pair in pairs.values()))


@cache
def _shipped_pairs() -> tuple[Pair, ...]:
    """The pairs in ``models.toml``, which does not change while the program runs."""
    return read_pairs(shipped("models.toml"), locate=shipped, shipped=True)
