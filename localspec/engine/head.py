"""A head: a small network that reads a target's hidden states beside its tokens, and guesses the tokens that follow.

EAGLE-3 (arXiv 2503.01840) reads the inputs of three layers, fused into one row; MTP layers (arXiv 2412.19437) read the
final states. Both read pairs: token ``k`` of the text with the hidden row of position ``k - 1``. Where the target has
not evaluated that position yet, a head goes on with a row of its own. As soon as the target has, the pair is read
again with the true row, so that nothing the head guessed stays in its cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from localspec.engine.hidden import HiddenRows, HiddenStates, Rows
from localspec.engine.model import Likeliest, Logits, Vocab, common_prefix

_WINDOW_N = 256
"""Rows that a head begins with where it could not follow the text: the latest ones."""
_LONGEST_CHAIN = 32
"""Tokens that a head reads with rows of its own, one by one; further behind the target's rows it does not guess."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadStep:
    """A head's answer to the last of the pairs that it read."""

    scores: Any
    """For the next token: float32, shape (n_vocab,); valid until the head reads again. None if the head ranks."""
    hidden: Rows
    """The head's own row for the pair after it: shape (1, width)."""
    likeliest: Likeliest | None = None
    """The tokens with the highest scores, if the head ranks; None from one that found that it cannot."""

    def copy(self) -> HeadStep:
        """The same, valid for good."""
        return HeadStep(self.scores.copy(), self.hidden)


class HeadNetwork(Protocol):
    """The members that all heads share: a network with a cache by position."""

    @property
    def vocab(self) -> Vocab: ...

    @property
    def n_ctx(self) -> int: ...

    @property
    def threads(self) -> int: ...

    def set_threads(self, n: int) -> None: ...

    def forget(self) -> None:
        """Hold nothing."""
        ...


class Head(HeadNetwork, Protocol):
    """A head that is read pair by pair."""

    @property
    def width(self) -> int:
        """Numbers in a row that is paired with a token."""
        ...

    @property
    def layers_n(self) -> int:
        """Layers that were trained for one step each, the first for the first guess; 1 if one serves for all."""
        ...

    @property
    def shares_cache(self) -> bool:
        """True if it looks into the target's cache instead of keeping one: it need not catch up with the text."""
        ...

    def encode(self, features: Rows) -> Rows:
        """The rows to pair with tokens, of rows of the target: shape (n, width). Raises ``Cancelled``."""
        ...

    def read(
        self, tokens: Sequence[int], rows: Rows, position: int, *, scored: bool, layer: int = 0
    ) -> HeadStep | None:
        """Read pairs at ``position`` and after it, in place of whatever was read there and behind.

        The answer if ``scored``. Raises ``Cancelled``.
        """
        ...


@runtime_checkable
class RankingHead(Protocol):
    """A head that may leave its scores where they were computed, and answer with the highest alone."""

    def rank(self, *, on: bool) -> bool:
        """Answer with the likeliest tokens from now on, or with all scores; False from a head that cannot rank."""
        ...


AnyHead = TypeVar("AnyHead", bound=HeadNetwork, covariant=True)


@dataclass(frozen=True, slots=True)
class HeadInputs(Generic[AnyHead]):
    """A head that is loaded, and the target's hidden states for it."""

    head: AnyHead
    hidden: HiddenStates


class HeadBackedModel(ABC, Generic[AnyHead]):
    """A head behind the interface of a model, pure to its reader.

    Where the target's rows are gone, since the head was not asked for long, it begins anew with those that are left.
    """

    replay_n = 0
    forgets_freely = True
    singly_n = 1

    def __init__(self, inputs: HeadInputs[AnyHead]) -> None:
        self._head = inputs.head
        self.vocab, self.n_ctx = inputs.head.vocab, inputs.head.n_ctx
        self._hidden = inputs.hidden
        self._ranking = inputs.head if isinstance(inputs.head, RankingHead) else None

    @property
    def threads(self) -> int:
        return self._head.threads

    def set_threads(self, n: int) -> None:
        """Evaluate with ``n`` CPU threads from now on."""
        self._head.set_threads(n)

    @abstractmethod
    def held(self, context: Sequence[int]) -> int:
        """As ``Model.held``."""

    def logits(self, context: Sequence[int], last: int) -> Logits:
        """As ``Model.logits``, for at most one row; without one, nothing is read that the target has no row for."""
        if not 0 <= last <= 1:
            raise ValueError(f"{last} rows asked for, a head gives one")
        rows = self._scores(list(context), last)
        return np.empty((0, self.vocab.n_vocab), np.float32) if rows is None else rows

    @abstractmethod
    def _scores(self, tokens: list[int], last: int) -> Logits | None:
        """The scores after ``tokens``, shape (1, n_vocab); with ``last`` 0 none, and the head only follows the text."""


def beginning_of(found: HiddenRows) -> HiddenRows:
    """The rows that a head begins anew with: all of a text, or the latest few where its first are gone."""
    rows = found.rows[-_WINDOW_N:] if found.start else found.rows
    return HiddenRows(found.end - len(rows), rows)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The way from the pairs that are held to those of a context."""

    first: int
    """The first pair to read; those before it stay."""
    rows: HiddenRows
    """The target's rows for that pair and those after it; it has none for pairs further on."""
    anew: bool
    """True if no pair that is held stays."""


class HeadModel(HeadBackedModel[Head]):
    """A head that is read pair by pair, behind the interface of a model."""

    def __init__(self, inputs: HeadInputs[Head], *, shift: int) -> None:
        """``shift`` is how far pair ``k`` is read before position ``k``: 1 for EAGLE-3, 0 for MTP."""
        super().__init__(inputs)
        self._shift = shift
        self._read: list[int] = []
        """The text up to the last pair that is held."""
        self._first = 0
        """The first pair that is held."""
        self._true_n = 0
        """Pairs before this one were read with the target's rows, and stay."""
        self._anchor = 0
        """The last pair with a row of the target."""
        self._chain: list[Rows] = []
        """Its row, and the head's own for the pairs after it, one more than were read."""

    def held(self, context: Sequence[int]) -> int:
        return self._plan(list(context), 0).first

    def reach(self, context: Sequence[int]) -> int:
        """The most tokens that ``context`` may grow to for the head to guess what follows; 0 if it cannot at all."""
        plan, layers_n = self._plan(list(context), 0), self._head.layers_n
        if not len(plan.rows.rows) and plan.anew:
            return 0
        seen_n = plan.rows.end if len(plan.rows.rows) else self._anchor
        return seen_n + (layers_n if layers_n > 1 else _LONGEST_CHAIN)

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        """As ``Ranking.likeliest``."""
        if not self._ranking or not self._ranking.rank(on=True):
            return None
        step = self._answer(list(context), 1)
        return None if step is None else step.likeliest

    def _scores(self, tokens: list[int], last: int) -> Logits | None:
        if last and self._ranking:
            self._ranking.rank(on=False)
        step = self._answer(tokens, last)
        return None if step is None else np.asarray(step.scores)[np.newaxis]

    def _answer(self, tokens: list[int], last: int) -> HeadStep | None:
        """The answer for the token after ``tokens``, or with ``last`` 0 none."""
        try:
            return self._read_on(tokens, last)
        except BaseException:
            self._forget()  # a pair that was to be read may be missing
            raise

    def _read_on(self, tokens: list[int], last: int) -> HeadStep | None:
        """As ``_answer``; what is held may be wrong if it raises."""
        plan = self._plan(tokens, last)
        self._cut(plan)
        step = self._follow(tokens, plan, scored=bool(last)) if len(plan.rows.rows) else None
        if not last:
            return None
        if not self._read or len(tokens) - self._anchor > _LONGEST_CHAIN + 1:
            step = self._blind(tokens)
        while len(self._read) < len(tokens):
            step = self._guess(tokens[len(self._read)])
        assert step is not None
        return step

    def _plan(self, tokens: list[int], last: int) -> _Plan:
        known_n = common_prefix(self._read, tokens)
        true_n = min(known_n, self._true_n, len(tokens) - last)
        if last and len(self._chain) < 2 and not self._hidden.rows(tokens[:-1], true_n - 1).rows.size:
            true_n -= 1  # the last pair's answer was not asked for, and is needed to go on
        anew = true_n <= self._first
        found = self._hidden.rows(tokens[:-1], 0 if anew else true_n - 1)
        if not len(found.rows):
            return _Plan(min(known_n, len(tokens) - last), found, anew=known_n <= self._first)
        if not anew and found.start == true_n - 1:
            return _Plan(true_n, found, anew=False)
        found = beginning_of(found)
        return _Plan(found.start + 1, found, anew=True)

    def _cut(self, plan: _Plan) -> None:
        """Hold no pairs but those that stay."""
        if plan.anew:
            self._forget()
        else:
            del self._read[plan.first :]
            self._true_n = min(self._true_n, plan.first)
            del self._chain[max(0, plan.first + 1 - self._anchor) :]

    def _forget(self) -> None:
        """Hold nothing."""
        self._read, self._first, self._true_n, self._chain = [], 0, 0, []
        self._head.forget()

    def _follow(self, tokens: list[int], plan: _Plan, *, scored: bool) -> HeadStep | None:
        """Read all pairs that the target has rows for; the last one's answer if ``scored``."""
        first, end, rows = plan.first, plan.rows.end + 1, self._head.encode(plan.rows.rows)
        if plan.anew:
            if first == 1 and not self._shift:
                # An MTP layer reads the first token too, which has no row before it.
                first, rows = 0, np.concatenate((np.zeros_like(rows[:1]), rows))
            self._first = first
        self._read, self._anchor, self._chain = tokens[:end], end - 1, [rows[-1:].copy()]
        bulk_n = self._bulk_n(end - first, scored=scored)
        self._true_n = end if self._head.shares_cache else first + bulk_n
        apart, step = scored and bulk_n < end - first, None
        for layer in range(self._head.layers_n if bulk_n else 0):
            pairs, position = tokens[first : first + bulk_n], self._position(first)
            step = self._head.read(pairs, rows[:bulk_n], position, layer=layer, scored=scored and not apart)
        if apart:
            step = self._head.read(tokens[end - 1 : end], rows[-1:], self._position(end - 1), scored=True)
        if step is not None:
            self._chain.append(step.hidden)
        return step

    def _bulk_n(self, n: int, *, scored: bool) -> int:
        """The number of pairs, of ``n`` with rows of the target, that stay once they are read.

        Where each layer has a step of its own, a pair that is to be guessed from is read by the first layer alone.
        """
        if self._head.shares_cache:
            return 0
        return n - 1 if scored and self._head.layers_n > 1 else n

    def _guess(self, token: int) -> HeadStep:
        """Read the next pair with the head's own row."""
        number = len(self._read) - self._anchor
        if not 0 <= number < len(self._chain):
            number, self._anchor, self._chain = 0, len(self._read), [np.zeros((1, self._head.width), np.float32)]
        self._read.append(token)
        if self._head.layers_n > 1:
            # Its layer has read no guessed pair yet.
            layer = min(number, self._head.layers_n - 1)
            pairs, rows = self._read[self._anchor :], np.concatenate(self._chain[: number + 1])
            step = self._head.read(pairs, rows, self._position(self._anchor), layer=layer, scored=True)
        else:
            step = self._head.read([token], self._chain[number], self._position(len(self._read) - 1), scored=True)
        assert step is not None
        self._chain[number + 1 :] = [step.hidden]
        return step

    def _blind(self, tokens: list[int]) -> HeadStep:
        """Read the last token alone, to be forgotten again: there is nothing else to go by."""
        self._forget()
        self._read = tokens[:-1]
        step = self._guess(tokens[-1])
        self._first = len(tokens)
        return step

    def _position(self, pair: int) -> int:
        """The position that a pair is read at."""
        return self._anchor if self._head.shares_cache else max(0, pair - self._shift)
