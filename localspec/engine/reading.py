"""Reading a text with a drafter's model: how much of it, and when, so that no reply is slower for having a draft.

The target reads a prompt alone, and its first token waits for nothing. A drafter proposes nothing until its model has
read the text, which costs time that a short reply does not bring back. The length of a reply is not known beforehand,
so this is a problem of stopping: one may read now, or wait and see whether the reply goes on. Reading now is right if
for every later moment the price, times the chance that the reply has ended by then, is less than the gain up to then.
How long replies of the pair are, and what a drafter gains, is learned. Where all that may be paid for is less than the
whole, the model reads the first tokens and the latest (StreamingLLM, Xiao et al. 2023, arXiv 2309.17453, as drafts of
long texts in MagicDec, Chen et al. 2024, arXiv 2408.11049); copies from farther back are the suffix drafter's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from localspec.engine.costs import Costs

_PRIOR_LENGTHS = (4, 32, 64, 128, 256, 512, 1024)
"""Lengths of replies to assume while none is known; together they weigh as much as ``_PRIOR_REPLIES`` real ones."""
_PRIOR_REPLIES = 3.0
_LENGTHS_N = 64
"""Replies whose lengths are remembered."""
_PRIOR_RATE, _HOPED_RATE = 0.8, 0.95
"""Rates of acceptance: the one to assume for a drafter that has not proposed yet, and the best to be hoped for."""
_LEAST_HOPE = 0.1
"""A gain to be hoped for whatever prices say: they may have been measured at a bad moment."""
_PRIOR_TOKENS, _MEMORY_TOKENS = 96.0, 2000.0
"""The weight of a gain's prior, and of what is remembered, in tokens."""
_PAID = 0.5
"""The share of an expected gain that may be paid for it."""
_FREE = 1 / 80
"""The share of a reply's time so far that reading may take on hope alone, or one plain round: so much is not missed."""
_WORST_SAVED = 2.0
"""The most plain tokens' time that a round may have lost: whatever takes longer was another program."""
_FEWEST_N = 96
"""Fewer latest tokens are not worth beginning with."""
_ENOUGH_N = 256
"""Latest tokens that are nearly as good as all; more are read if that takes no more than the share that may be lost."""
_AGAIN = 1 / 8
"""The share by which a reply must have grown before reading that was too costly is considered again."""
_PIECE_N, _PIECE_ROUNDS = 32, 4
"""Tokens that are read between two rounds: at least, and for the time of so many plain rounds."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The text that a drafter's model has not read, at one moment of a reply."""

    drafter: str
    tokens_n: int
    """Without the text's last token, which a query reads."""
    can_skip: bool
    """True if the model can go on with the latest tokens alone."""
    written_n: int
    room: int
    """Tokens that may still be written."""
    so_far_s: float
    """Seconds that the reply has taken, the reading of its prompt included."""


@dataclass(frozen=True, slots=True)
class ReadingDecision:
    """A decision about an unread text."""

    tokens_n: int = 0
    """Tokens to read now, in order."""
    latest_n: int | None = None
    """Leave out all but the first few and so many of the latest tokens; None to leave out nothing more."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected rest of a reply."""

    tokens: float
    """The expected number of tokens."""
    secure: float
    """Tokens whose gain may be paid now: for a higher price it is better to wait and see whether the reply goes on."""


@dataclass(slots=True)
class ReplyLengths:
    """The lengths of a pair's latest replies, also of those that were cut short (Kaplan and Meier 1958)."""

    _seen: deque[tuple[int, bool]] = field(default_factory=lambda: deque(maxlen=_LENGTHS_N))

    def add(self, tokens_n: int, *, ended: bool) -> None:
        """A reply had this length; one that did not end by itself would have been longer."""
        self._seen.append((tokens_n, ended))

    def outlook(self, written_n: int, room: int) -> Outlook:
        """The rest of a reply that goes on after ``written_n`` tokens and may have ``room`` more."""
        tokens, secure, going, at = 0.0, inf, 1.0, written_n
        # No known reply was longer than the last of them: then as many tokens again are expected.
        end = written_n + min(room, max(written_n, _PRIOR_LENGTHS[0]))
        for length, hazard in self._ends(written_n):
            if length >= written_n + room:
                end = written_n + room
                break
            tokens += going * (length - at)
            going, at = going * (1 - hazard), length
            end = max(end, length)
            secure = min(secure, tokens / (1 - going))
        tokens += going * (end - at)
        return Outlook(tokens, min(secure, tokens))

    def _ends(self, written_n: int) -> Iterator[tuple[int, float]]:
        """Lengths from ``written_n`` on at which replies ended, ascending, with the share of those that got there."""
        prior = _PRIOR_REPLIES / len(_PRIOR_LENGTHS)
        known = [(length, True, prior) for length in _PRIOR_LENGTHS]
        known += [(length, ended, 1.0) for length, ended in self._seen]
        for length in sorted({length for length, ended, _ in known if ended and length > written_n}):
            there = sum(weight for other, _, weight in known if other >= length)
            yield length, sum(weight for other, ended, weight in known if ended and other == length) / there

    def to_list(self) -> list[list[int]]:
        """For the disk."""
        return [[tokens_n, int(ended)] for tokens_n, ended in self._seen]


@dataclass(slots=True)
class Gain:
    """The time that a drafter saves while it is asked, as a share of plain decoding's."""

    prior: float
    tokens: float = 0.0
    saved: float = 0.0
    """The gain, in the time of plain tokens."""

    def add(self, tokens_n: int, saved: float) -> None:
        """``tokens_n`` tokens took so much less time than plain ones."""
        fading = 1 - tokens_n / _MEMORY_TOKENS if self.tokens >= _MEMORY_TOKENS else 1.0
        self.tokens = self.tokens * fading + tokens_n
        self.saved = self.saved * fading + saved

    @property
    def share(self) -> float:
        """The estimate, from 0 to 1."""
        return min(max((self.saved + _PRIOR_TOKENS * self.prior) / (self.tokens + _PRIOR_TOKENS), 0.0), 1.0)


def affordable_s(outlook: Outlook, gain: float, hope: float, plain_s: float, free_s: float) -> float:
    """Seconds that reading may cost now, of a drafter that gains ``gain`` a plain token of ``plain_s``, or ``hope``.

    ``free_s`` may be lost in any case, so it is spent on hope alone, but never on what cannot pay.
    """
    return plain_s * _PAID * max(gain * outlook.secure, min(hope * outlook.tokens, free_s / plain_s / _PAID))


@dataclass(slots=True)
class ReadingPolicy:
    """Decides what drafters read, one reply at a time, and learns for as long as the pair is loaded."""

    costs: Costs
    lengths: ReplyLengths = field(default_factory=ReplyLengths)
    gains: dict[str, Gain] = field(default_factory=dict)
    _ready: set[str] = field(default_factory=set)
    """Drafters whose models have read the text of this reply; their queries pay for what is added."""
    _begun: set[str] = field(default_factory=set)
    """Drafters whose models have read a piece of it."""
    _behind: dict[str, str] = field(default_factory=dict)
    """Those that are not ready, with the reason."""
    _again_n: dict[str, int] = field(default_factory=dict)
    """The length of the reply at which reading that was too costly is considered again, since that takes time."""
    _spent_s: float = 0.0

    def for_another(self) -> ReadingPolicy:
        """That of a reply beside this one: lengths and gains are one for both."""
        return ReadingPolicy(self.costs, self.lengths, self.gains)

    def begin(self) -> None:
        """Start a reply."""
        self._ready.clear()
        self._begun.clear()
        self._behind.clear()
        self._again_n.clear()
        self._spent_s = 0.0

    def put_off(self, drafter: str) -> str:
        """The reason why ``drafter`` has not read the text; empty if it has."""
        return self._behind.get(drafter, "")

    def may_read(self, drafter: str, written_n: int) -> bool:
        """False if a decision for ``drafter`` after so many tokens would surely be to read nothing."""
        return drafter not in self._ready and written_n >= self._again_n.get(drafter, 0)

    def read(self, unread: Unread) -> ReadingDecision:
        """The tokens to read before the next round. The first token waits for nothing."""
        name = unread.drafter
        if not self.may_read(name, unread.written_n):
            return ReadingDecision()
        if not unread.written_n:
            self._behind[name] = f"{name} reads the text after the first token"
            return ReadingDecision()
        outlook = self.lengths.outlook(unread.written_n, unread.room)
        goal_n = self._goal_n(unread, outlook)
        if not goal_n:
            self._again_n[name] = unread.written_n + int(_AGAIN * unread.written_n)
            self._behind[name] = self._too_dear(unread, outlook)
            return ReadingDecision()
        # A head, which cannot skip, reads the rows that its target still has, and they are few.
        n = min(goal_n, self._piece_n(name)) if unread.can_skip else goal_n
        if n == goal_n:
            self._behind.pop(name, None)
            self._ready.add(name)
        else:
            self._begun.add(name)
            self._behind[name] = f"{name} is reading the text"
        return ReadingDecision(n, goal_n if goal_n < unread.tokens_n else None)

    def have_read(self, drafter: str, tokens_n: int, spent_s: float) -> None:
        """Learn that reading so many tokens took ``spent_s``."""
        self._spent_s += spent_s
        self.costs.observe_query(drafter, tokens_n, spent_s)

    def observe(self, queried: Collection[str], tokens_n: int, spent_s: float) -> None:
        """Learn from a round of so many tokens, reading apart, for which these drafters were ``queried``."""
        for name in self._ready:
            saved = max(tokens_n - spent_s / self.costs.plain_s, -_WORST_SAVED) if name in queried else 0.0
            self._gain(name).add(tokens_n, saved)

    def end(self, tokens_n: int, *, ended: bool) -> None:
        """The reply is over; ``ended`` if it was not cut short."""
        self.lengths.add(tokens_n, ended=ended)

    def _goal_n(self, unread: Unread, outlook: Outlook) -> int:
        """The number of tokens worth reading: all, as many of the latest as may be paid for, or 0."""
        name, gain = unread.drafter, self._gain(unread.drafter)
        begun = name in self._begun
        # What was begun is finished while it may still pay.
        free_s = inf if begun else max(_FREE * unread.so_far_s, self.costs.plain_s) - self._spent_s
        hope = max(gain.share, assumed_gain(self.costs, name, _HOPED_RATE), _LEAST_HOPE)
        paid_s = affordable_s(outlook, gain.share, hope, self.costs.plain_s, free_s)
        if unread.can_skip and unread.tokens_n > 2 * _ENOUGH_N:
            paid_s = min(paid_s, max(free_s, self.costs.query_s(name, _ENOUGH_N)))
        if self.costs.query_s(name, unread.tokens_n) <= paid_s:
            return unread.tokens_n
        latest_n = min(self.costs.readable_n(name, paid_s), unread.tokens_n // 2)
        return latest_n if unread.can_skip and not begun and latest_n >= _FEWEST_N else 0

    def _too_dear(self, unread: Unread, outlook: Outlook) -> str:
        name, gain = unread.drafter, self._gain(unread.drafter)
        least_n = min(unread.tokens_n, _FEWEST_N) if unread.can_skip else unread.tokens_n
        price_s, gain_s = self.costs.query_s(name, least_n), gain.share * outlook.tokens * self.costs.plain_s
        return f"{name} has not read the text: {least_n} tokens take {price_s:.2g} s, to gain some {gain_s:.2g} s"

    def _piece_n(self, drafter: str) -> int:
        return max(_PIECE_N, self.costs.readable_n(drafter, _PIECE_ROUNDS * self.costs.plain_s))

    def _gain(self, drafter: str) -> Gain:
        if drafter not in self.gains:
            self.gains[drafter] = Gain(assumed_gain(self.costs, drafter))
        return self.gains[drafter]

    def to_dict(self) -> dict[str, Any]:
        """For the disk."""
        return {
            "lengths": self.lengths.to_list(),
            "gains": {name: [gain.tokens, gain.saved] for name, gain in self.gains.items()},
        }

    def remember(self, data: Mapping[str, Any]) -> None:
        """Go on from ``to_dict``.

        Raises KeyError, TypeError, ValueError, OverflowError or AttributeError if it is something else.
        """
        lengths = [(int(tokens_n), bool(ended)) for tokens_n, ended in data["lengths"]]
        gains = {str(name): (float(tokens), float(saved)) for name, (tokens, saved) in data["gains"].items()}
        if not all(0 <= tokens < inf and isfinite(saved) for tokens, saved in gains.values()):
            raise ValueError("these are no gains")
        if not all(0 <= tokens_n < 2**31 for tokens_n, _ in lengths):
            raise ValueError("these are no lengths")
        for tokens_n, ended in lengths:
            self.lengths.add(tokens_n, ended=ended)
        for name, (tokens, saved) in gains.items():
            self.gains[name] = Gain(assumed_gain(self.costs, name), tokens, saved)


def assumed_gain(costs: Costs, drafter: str, rate: float = _PRIOR_RATE) -> float:
    """The share of plain decoding's time that a drafter saves at these prices if so many proposals are accepted."""
    return 1 - 1 / costs.speedup(drafter, rate, costs.largest - 1)
