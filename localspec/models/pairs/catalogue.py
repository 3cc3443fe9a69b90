"""All the pairs there are: those that ship, with the user's own merged over them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from localspec.base.errors import NotFoundError
from localspec.base.paths import shipped, user_paths
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.proofs import proved, read_proofs
from localspec.models.pairs.schema import read_pairs

BUILTIN_ID = "builtin"
"""The pair that is always there: the guided tour."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Pairs by their ids, in the order they are listed."""

    pairs: tuple[Pair, ...]

    def find(self, pair_id: str) -> Pair:
        """The pair of that id. Raises NotFoundError, with the ids that come close."""
        for pair in self.pairs:
            if pair.id == pair_id:
                return pair
        close = get_close_matches(pair_id.lower(), [pair.id for pair in self.pairs])
        hint = f"Did you mean {' or '.join(close)}?" if close else "`localspec pairs list` shows the ids there are."
        raise NotFoundError(f"There is no pair {pair_id!r}.", hint)


def load_catalogue() -> Catalogue:
    """The shipped pairs and the user's own; one of the user's replaces a shipped one of the same id.

    Files that have been downloaded here count as verified. Raises ConfigError for a file that cannot be understood.
    """
    pairs = {pair.id: pair for pair in read_pairs(shipped("models.toml"), locate=shipped, shipped=True)}
    own = user_paths().config / "pairs.toml"
    pairs |= {pair.id: pair for pair in read_pairs(own, locate=lambda file: own.parent / file)}
    proofs = read_proofs()
    return Catalogue(tuple(proved(pair, proofs) for pair in pairs.values()))
