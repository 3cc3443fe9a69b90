"""The costs of rounds on this machine, measured once and updated by every round since.

The cost of verifying b tokens at once is a staircase, with steps where the kernels fill up; a batch of
four can be cheaper than one of two. So it is a table, never a formula.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import Any

_SHARED_RATE = 0.12
"""The rate at which all prices follow a round: a longer context or a busier machine makes every batch costlier."""
_OWN_RATE, _ALONE_RATE = 0.12, 0.01
"""The rates at which the price of one batch size follows in addition: shortly after a plain round, and otherwise."""
_QUERY_RATE = 0.12
"""The rate at which the price of a query follows."""
_FEW_N = 8
"""A query that reads more tokens tells the price of catching up, one that reads no more the price of a step."""
_NEAR_N = 8
"""Rounds for which a plain round tells the machine's speed; without it a costly batch looks like a slow machine."""
_CLEARLY = 0.93
"""A larger batch must take less than this share of a smaller one's time to be evaluated in its place."""
_LARGEST_SURPRISE = 2.0
"""The largest factor that one round can stand for, whatever interrupted it."""
_RESIZE_RATE = 0.25
"""The rate at which the price of a change of size follows: it differs much, and is seen seldom."""
_CHARGED_OVER_N = 4.0
"""Rounds over which the price of a change of size is spread, where batches of one size are replayed (CUDA)."""
_OVERPAID = 0.5
"""The share of that price up to which a size is kept that is too large."""
_LARGEST_RESIZE = 4.0
"""The largest factor by which one change may have been costlier than the price."""
_FORGOTTEN = 1 / 512
"""The share by which that price falls with every round that changes nothing: a price too high would never be seen."""
_LARGEST_KEPT = 4096
"""The largest batch whose price is read from a file: a table is made up to it."""
_TAUGHT_N = 24
"""Rounds of a size after which its price is more theirs than that of the measurement before."""


@dataclass(slots=True)
class QueryCost:
    """The price of querying a drafter for its next proposal, or for a block of them."""

    step_s: float
    """Seconds for reading one token and giving the next proposal."""
    catch_up_s: float
    """Seconds for each token more that is read on the way."""
    singly_n: int = 1
    """The most tokens that are read one by one, each at the price of a step."""
    row_s: float | None = None
    """Seconds for each proposal more in the same query, if the drafter gives several at once."""

    @property
    def further_s(self) -> float:
        """Seconds for a proposal after the first."""
        return self.step_s if self.row_s is None else self.row_s

    @property
    def beside_s(self) -> float:
        """Seconds for a proposal more in the same evaluation."""
        return self.catch_up_s if self.row_s is None else self.row_s

    def of(self, lag: int, proposals_n: int = 1) -> float:
        """Seconds for a query that reads ``lag`` tokens first and gives ``proposals_n`` proposals."""
        rows_s = (proposals_n - 1) * (self.row_s or 0.0)
        if lag <= self.singly_n:
            return rows_s + lag * self.step_s
        # Tokens are read one by one as long as that is cheaper, so more at once take no less.
        return rows_s + max(self.singly_n * self.step_s, self.step_s + (lag - 1) * self.catch_up_s)

    def readable_n(self, spent_s: float) -> int:
        """The most tokens that a query can read in this time."""
        return 1 + int((spent_s - self.step_s) / self.catch_up_s) if spent_s >= self.step_s else 0

    def least(self, other: QueryCost) -> QueryCost:
        """The lower of two measurements, price by price: what interrupts makes a price higher, never lower."""
        row_s = None if self.row_s is None or other.row_s is None else min(self.row_s, other.row_s)
        return replace(
            self, step_s=min(self.step_s, other.step_s), catch_up_s=min(self.catch_up_s, other.catch_up_s), row_s=row_s
        )

    def scaled(self, factor: float) -> QueryCost:
        """The same on a machine that takes ``factor`` times as long."""
        row_s = None if self.row_s is None else self.row_s * factor
        return replace(self, step_s=self.step_s * factor, catch_up_s=self.catch_up_s * factor, row_s=row_s)

    def observe(self, lag: int, spent_s: float, proposals_n: int = 1) -> None:
        """Learn that a query took ``spent_s``."""
        if 1 <= lag <= max(self.singly_n, _FEW_N):
            drift = _drift(spent_s / self.of(lag, proposals_n), _QUERY_RATE)
            self.step_s *= drift
            if self.row_s is not None:
                self.row_s *= drift
        elif lag > _FEW_N:
            rest = max(spent_s - self.of(1, proposals_n), self.step_s) / (lag - 1)
            self.catch_up_s *= _drift(rest / self.catch_up_s, _QUERY_RATE)


@dataclass(slots=True)
class Costs:
    """Seconds for a round by the size of its batch, and for a query by drafter."""

    rounds_s: dict[int, float]
    """Measured seconds for verifying so many tokens at once, host work included; 1 is plain decoding."""
    queries: dict[str, QueryCost] = field(default_factory=dict)
    rollback_s: float = 0.0
    """The cost of refused proposals to the round after them, where the target's memory cannot just forget tokens."""
    resize_s: float = 0.0
    """Seconds more for a batch of another size than the one before: llama.cpp plans its graph anew, and sends it to an
    RPC server, for which one like the last takes a word; CUDA launches its kernels one by one."""
    settle_s: float = 0.0
    """Seconds more for the second batch of a size: CUDA records it, and replays it from the third on."""
    scores: float = 0.0
    """The part of a plain token's time that a row's scores take; 0 where leaving out rows gains nothing."""
    _table: list[float] = field(init=False, default_factory=list)
    _padded: dict[int, int] | None = field(init=False, default=None, compare=False)
    """The batches that are evaluated as larger ones, with the larger sizes; None where each is evaluated as it is."""
    _seen_n: Counter[int] = field(init=False, default_factory=Counter, compare=False)
    """Rounds by the size of their batch."""
    _owing: bool = field(init=False, default=False, compare=False)
    """True if the next round takes back what this one left."""
    _plain_ago_n: int = field(init=False, default=_NEAR_N, compare=False)
    """Rounds since the last plain one."""
    _latest: int = field(init=False, default=0, compare=False)
    """The size at which the latest round's batch was evaluated; 0 where another text was read since."""
    _overpaid_s: float = field(init=False, default=0.0, compare=False)
    """Seconds that rounds since the last change of size could have saved at sizes of their own."""
    _settling: bool = field(init=False, default=False, compare=False)
    """True if the latest round's size was another than that of the one before."""

    def __post_init__(self) -> None:
        self._table = _filled(self.rounds_s)

    @property
    def plain_s(self) -> float:
        """Seconds for a token without speculation."""
        return self._table[1]

    @property
    def largest(self) -> int:
        """The largest batch there is a price for."""
        return len(self._table) - 1

    def round_s(self, batch: int) -> float:
        """Seconds for a round that verifies ``batch`` tokens; past the largest there is a price for, that one's."""
        table = self._table
        return table[batch] if batch < len(table) else table[-1]

    def rounds_up_to_s(self, most: int) -> Sequence[float]:
        """Seconds for rounds that verify one token, two, up to ``most``, as by ``round_s``."""
        found = self._table[1 : most + 1]
        return found + [self._table[-1]] * (most - len(found))

    def next_s(self, most: int) -> Sequence[float]:
        """Seconds for the next round if it has one token, two, up to ``most``, with its part of a change of size."""
        if not self.resize_s:
            return self.rounds_up_to_s(most)
        charge_s = self.change_charge_s
        sizes = map(self.size, range(1, most + 1))
        return [self.round_s(size) + (0.0 if size == self._latest else charge_s) for size in sizes]

    def read_text(self) -> None:
        """The target reads something else before the next round."""
        self._latest, self._settling = 0, False

    def pad(self) -> None:
        """Find the batches that had better be evaluated as larger ones: they take over the prices of the larger sizes,
        without the scores of what is added, which are left out.

        Kernels work in groups of rows: four tokens can take less time than two, and even than one.
        """
        padded: dict[int, int] = {}
        row_s = self.scores * self.plain_s
        prices_s = list(self._table)
        for batch in range(1, self.largest):
            as_s = {size: self._table[size] - (size - batch) * row_s for size in range(batch, self.largest + 1)}
            best = min(as_s, key=as_s.__getitem__)
            if as_s[best] < _CLEARLY * self._table[batch]:
                padded[batch], prices_s[batch] = best, as_s[best]
        self._table, self._padded = prices_s, padded

    @property
    def change_s(self) -> float:
        """Seconds that a change of size costs in all."""
        return self.resize_s + self.settle_s

    @property
    def change_charge_s(self) -> float:
        """Seconds that a round is charged for a change of size.

        Over a network all of the price. On CUDA a part, else sizes would never follow the text (figures in
        docs/benchmarks.md).
        """
        return self.resize_s if self.pays_for_sizes else self.change_s / _CHARGED_OVER_N

    @property
    def pays_for_sizes(self) -> bool:
        """True if each change of size is paid for by the round that makes it, as over a network."""
        return self.resize_s > 0 and not self.settle_s

    @property
    def leaves_plain_at_a_price(self) -> bool:
        """True if a next batch of several tokens changes the size of plain decoding on CUDA."""
        return self.settle_s > 0 and self._latest <= 1

    def one_is_dear(self, drafter: str, chance: float) -> bool:
        """True if one proposal of ``drafter`` costs more than it saves, though it has this chance, as with AMX."""
        return self.query_s(drafter, 1) + self.round_s(2) > (1 + chance) * self.plain_s

    def size(self, batch: int) -> int:
        """The size at which a batch of so many tokens is evaluated next.

        On CUDA a change of size costs more than most rounds save. So a smaller batch is evaluated at the size of the
        latest until the excess of all such rounds comes to a part of that price (the ski-rental problem).
        """
        size = self._own_size(batch)
        if self._padded is None or not self.settle_s or not size < self._latest <= self.largest:
            return size
        return self._latest if self._overpaid_s + self._excess_s(size) <= _OVERPAID * self.change_s else size

    def _own_size(self, batch: int) -> int:
        """The size at which a batch is evaluated after one of its own size."""
        return self._padded.get(batch, batch) if self._padded else batch

    def _excess_s(self, size: int) -> float:
        """Seconds more that the latest size takes than this one."""
        return self.round_s(self._latest) - self.round_s(size)

    def read_singly(self, drafter: str, n: int) -> None:
        """Set the number of tokens up to which ``drafter`` reads them one by one."""
        if cost := self.queries.get(drafter):
            cost.singly_n = n

    def query_s(self, drafter: str, lag: int, proposals_n: int = 1) -> float:
        """Seconds for a query; 0 for a drafter without a price."""
        cost = self.queries.get(drafter)
        return cost.of(lag, proposals_n) if cost else 0.0

    def further_s(self, drafter: str) -> float:
        """Seconds for a proposal after the first; 0 for a drafter without a price."""
        cost = self.queries.get(drafter)
        return cost.further_s if cost else 0.0

    def speedup(self, drafter: str, chance: float, deepest: int) -> float:
        """The speed-up by a drafter whose proposals all have this chance, at the best depth; at least 1."""
        best, tokens, survival = 0.0, 1.0, 1.0
        drafted_s, further_s = self.change_charge_s + self.query_s(drafter, 1), self.further_s(drafter)
        for round_s in self.rounds_up_to_s(deepest + 1)[1:]:
            survival *= chance
            tokens += survival
            if (rate := tokens / (drafted_s + round_s)) > best:
                best = rate
            drafted_s += further_s
        return max(1.0, best * self.plain_s)

    def readable_n(self, drafter: str, spent_s: float) -> int:
        """The most tokens that ``drafter`` can read in this time."""
        cost = self.queries.get(drafter)
        return cost.readable_n(spent_s) if cost else sys.maxsize

    def price(self, batch: int, unscored_n: int = 0) -> float:
        """The next round's price, with ``batch`` tokens and drafting apart, in plain rounds.

        Of ``unscored_n`` tokens the scores are left out.
        """
        return (self.round_s(batch) + self._beside_s(batch)) / self.plain_s - unscored_n * self.scores

    def _beside_s(self, batch: int) -> float:
        """The part of the next round's time that is not the price of its batch."""
        resizing_s = self.resize_s if self.size(batch) != self._latest else self._settling * self.settle_s
        return self._owing * self.rollback_s + resizing_s

    def observe_round(self, batch: int, spent_s: float, *, refused: bool = False, unscored_n: int = 0) -> None:
        """Learn that a round of ``batch`` tokens took ``spent_s``, drafting left out; ``refused`` if a proposal was.

        The scores of ``unscored_n`` tokens were left out.
        """
        spent_s += unscored_n * self.scores * self.plain_s
        beside_s, size = self._beside_s(batch), self.size(batch)
        taken_back, latest = self._owing, self._latest
        self._overpaid_s = self._overpaid_s + self._excess_s(self._own_size(batch)) if size == latest else 0.0
        self._owing, self._latest = refused, size
        if not 1 <= batch <= self.largest or spent_s <= 0:
            return
        if self.resize_s and not latest:
            self._settling = True
            return  # a server may have been reading still when the round began
        if self.settle_s:
            batch = size  # sizes are priced, whatever was evaluated with them
        surprise = spent_s / (self._table[batch] + beside_s)
        shared = _drift(surprise, _SHARED_RATE)
        if taken_back:
            self.rollback_s *= shared
        self._learn_resize(spent_s - self._table[batch] - taken_back * self.rollback_s, changes=size != latest)
        self._table = [entry * shared for entry in self._table]
        self._plain_ago_n = 0 if batch == 1 else self._plain_ago_n + 1
        if batch > 1:
            self._table[batch] *= _drift(surprise, _OWN_RATE if self._plain_ago_n <= _NEAR_N else _ALONE_RATE)
        self._seen_n[batch] += 1

    def _learn_resize(self, excess_s: float, *, changes: bool) -> None:
        """Learn what a change of size costs from a round that took so much longer than its batch does."""
        if changes:
            self.resize_s = _followed(self.resize_s, excess_s)
        elif self._settling:
            self.settle_s = _followed(self.settle_s, excess_s)
        else:
            self.resize_s *= 1 - _FORGOTTEN
            self.settle_s *= 1 - _FORGOTTEN
        self._settling = changes

    def observe_query(self, drafter: str, lag: int, spent_s: float, proposals_n: int = 1) -> None:
        """Learn that a query took ``spent_s``."""
        if cost := self.queries.get(drafter):
            cost.observe(lag, spent_s, proposals_n)

    def scaled(self, factor: float) -> Costs:
        """The same on a machine that takes ``factor`` times as long today."""
        queries = {name: cost.scaled(factor) for name, cost in self.queries.items()}
        rounds_s = {batch: seconds * factor for batch, seconds in self.rounds_s.items()}
        beside = self.rollback_s * factor, self.resize_s * factor, self.settle_s * factor
        return Costs(rounds_s, queries, *beside, self.scores)

    def taught(self) -> Costs | None:
        """The measured costs, corrected by the rounds since; None if there were too few, or no plain ones.

        Only what a size costs beside plain decoding is learned: a long context or a busy hour makes all costlier alike.
        A batch that is evaluated as a larger one keeps its own price, which tells that it had better be.
        """
        known = {batch for batch, n in self._seen_n.items() if n >= _TAUGHT_N} - (self._padded or {}).keys()
        if not {1} < known:
            return None
        then = self.rounds_s[1] / self.plain_s
        return replace(
            self.scaled(then), rounds_s=self.rounds_s | {batch: self._table[batch] * then for batch in known}
        )

    def to_dict(self) -> dict[str, Any]:
        """The measured costs for the disk, without what rounds have taught since."""
        return {
            "rounds_s": {str(batch): seconds for batch, seconds in self.rounds_s.items()},
            "looks": {
                name: [cost.step_s, cost.catch_up_s] + ([] if cost.row_s is None else [cost.row_s])
                for name, cost in self.queries.items()
            },
            "rollback_s": self.rollback_s,
            "resize_s": self.resize_s,
            "settle_s": self.settle_s,
            "scores": self.scores,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Costs:
        """Undo ``to_dict``. Raises KeyError, TypeError, ValueError or AttributeError if it is something else."""
        rounds = {int(batch): float(seconds) for batch, seconds in data["rounds_s"].items()}
        queries = {
            str(name): QueryCost(float(step), float(more), row_s=float(row[0]) if row else None)
            for name, (step, more, *row) in data["looks"].items()
        }
        later = [float(data.get(name, 0.0)) for name in ("resize_s", "settle_s", "scores")]
        beside = float(data["rollback_s"]), *later
        if 1 not in rounds or not all(0 < batch <= _LARGEST_KEPT for batch in rounds):
            raise ValueError("these are no costs")
        prices = *rounds.values(), *(price for query in queries.values() for price in (query.step_s, query.catch_up_s))
        free = *(query.row_s for query in queries.values() if query.row_s is not None), *beside
        if not all(0 < seconds < inf for seconds in prices) or not all(0 <= seconds < inf for seconds in free):
            raise ValueError("this is no price")
        return Costs(rounds, queries, *beside)


def _followed(price_s: float, seen_s: float) -> float:
    """The price of a change of size after one that took ``seen_s``."""
    return price_s + _RESIZE_RATE * (min(max(seen_s, 0.0), _LARGEST_RESIZE * price_s) - price_s)


def _drift(surprise: float, rate: float) -> float:
    """A factor that moves a price slowly towards what was seen."""
    return float(min(max(surprise, 1 / _LARGEST_SURPRISE), _LARGEST_SURPRISE) ** rate)


def _filled(measured: Mapping[int, float]) -> list[float]:
    """A price for every batch size up to the largest measured; between two of them on the straight line."""
    known: Sequence[int] = sorted(measured)
    table = [0.0, measured[known[0]]]
    for low, high in pairwise(known):
        step = (measured[high] - measured[low]) / (high - low)
        table += [measured[low] + step * n for n in range(1, high - low + 1)]
    return table
