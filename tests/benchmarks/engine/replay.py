"""Depth policies on recorded traces, with measured prices: what a policy would have cost, without a model.

A policy is a callable. It is given a ``Chain`` at the start of every round and returns how many proposals are
verified; each ``chain.peek()`` is a query of the drafter, is paid for, and gives the probability of the favourite
that would be proposed next. Of a drafter that gives blocks the first is paid for, with as many places as ``size_block``
said. The same object is called round after round, so it may learn from ``chain.before``. ``--policy module:factory``
names a callable that makes one from the ``Costs``; ``adaptive_replay.py`` is an example.

Proposals are the draft's favourites, accepted where the recorded text goes on with them: at temperature 0 that is
what happens, above it the rule of llama-server. Host work is in the prices of rounds only as far as they were measured.
Where a change of the batch's size has a price, as on CUDA, rounds pay it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from localspec.engine.costs import Costs, QueryCost
from localspec.gguf.draft_heads import DRAFT
from tests.benchmarks.engine.traces import DEEPEST, Place, Trace


@dataclass(frozen=True, slots=True)
class Before:
    """The round before."""

    depth: int
    accepted: int
    draft_s: float
    round_s: float
    tokens: tuple[int, ...]
    """What the text went on with."""


@dataclass(slots=True)
class Chain:
    """The proposals of one round, as far as the policy has looked."""

    place: Place
    limit: int
    """The most that may be proposed."""
    lag: int
    """Tokens the first look reads."""
    before: Before | None
    costs: Costs
    drafter: str
    looked_n: int = 0
    spent_s: float = 0.0
    block_n: int = DEEPEST
    """Places of the block, where the drafter gives blocks."""
    size: int = 0
    """The size at which the policy has the batch evaluated; 0 for its own."""

    @property
    def next_lag(self) -> int:
        """Tokens the next look reads."""
        return self.lag if self.looked_n == 0 else 1

    @property
    def gives_blocks(self) -> bool:
        """True if the first look computes several places."""
        return self.costs.queries[self.drafter].row_s is not None

    def size_block(self, n: int) -> int:
        """Have the block cover ``n`` places, if it can; returns how many it will."""
        self.block_n = min(n, self.limit, len(self.place.top))
        return self.block_n

    def peek(self) -> float | None:
        """The probability of the next favourite; None if there is no next one."""
        given_n = self.block_n if self.gives_blocks else self.limit
        if self.looked_n >= min(given_n, self.limit, len(self.place.top)):
            return None
        if not (self.gives_blocks and self.looked_n):
            self.spent_s += self.costs.query_s(self.drafter, self.next_lag, self.block_n if self.gives_blocks else 1)
        self.looked_n += 1
        return self.place.top[self.looked_n - 1]


Policy = Callable[[Chain], int]
MakePolicy = Callable[[Costs], Policy]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy came to on one trace."""

    spent_s: float
    rounds_n: int
    proposed_n: int
    accepted_n: int
    looked_n: int


@dataclass(slots=True)
class _Clock:
    """The time that rounds take, changes of size included."""

    costs: Costs
    size: int = 0
    settling: bool = False

    def round_s(self, size: int) -> float:
        """Seconds for the next round if it is evaluated at this size."""
        changes = size != self.size
        beside_s = self.costs.resize_s if changes else self.settling * self.costs.settle_s
        self.size, self.settling = size, changes
        return self.costs.round_s(size) + beside_s


def replay(trace: Trace, policy: Policy, costs: Costs) -> Outcome:
    """One reply, round by round; ``costs`` have the price of one drafter."""
    (drafter,) = costs.queries
    clock = _Clock(costs)
    at, lag, before = 0, 1, None
    spent_s, rounds_n, proposed_n, accepted_n, looked_n = 0.0, 0, 0, 0, 0
    while at < len(trace.text):
        chain = Chain(trace.places[at], len(trace.text) - at - 1, lag, before, costs, drafter)
        depth = min(policy(chain), chain.looked_n)
        accepted = min(depth, chain.place.matched)
        round_s = clock.round_s(max(chain.size, depth + 1))
        before = Before(depth, accepted, chain.spent_s, round_s, tuple(trace.text[at : at + accepted + 1]))
        at += accepted + 1
        # A draft model keeps what it has read of the accepted tokens; a look reads the proposal before it.
        kept_n = min(max(0, chain.looked_n - 1), accepted) if drafter == DRAFT else 0
        lag = (lag if not chain.looked_n else 0) + accepted + 1 - kept_n
        spent_s += before.draft_s + before.round_s
        rounds_n, looked_n = rounds_n + 1, looked_n + chain.looked_n
        proposed_n, accepted_n = proposed_n + depth, accepted_n + accepted
    return Outcome(spent_s, rounds_n, proposed_n, accepted_n, looked_n)


def fixed(depth: int, p_min: float, chain: Chain) -> int:
    """Up to ``depth`` proposals, none from the first favourite on whose probability is under ``p_min``."""
    chain.size_block(depth)
    for n in range(depth):
        top = chain.peek()
        if top is None or top < p_min:
            return n
    return depth


def fixed_policies() -> dict[str, MakePolicy]:
    """Plain decoding, and every depth with every threshold."""
    made: dict[str, MakePolicy] = {"plain": lambda _: partial(fixed, 0, 0.0)}
    for depth in (1, 2, 3, 4, 7, DEEPEST):
        for p_min in (0.0, 0.3, 0.5, 0.75):
            name = f"depth {depth}" + (f", p_min {p_min:g}" if p_min else "")
            made[name] = partial(_constant, depth, p_min)
    return made


def _constant(depth: int, p_min: float, _: Costs) -> Policy:
    return partial(fixed, depth, p_min)


def clairvoyant_s(trace: Trace, costs: Costs) -> float:
    """The least any sequence of depths could have cost, with the future known; the draft's catching up is free."""
    (query,) = costs.queries.values()
    best = [0.0] * (len(trace.text) + 1)
    for at in reversed(range(len(trace.text))):
        place = trace.places[at]
        deepest = min(len(place.chain), len(trace.text) - at - 1)
        best[at] = min(
            _drafting_s(query, depth) + costs.round_s(depth + 1) + best[at + min(depth, place.matched) + 1]
            for depth in range(deepest + 1)
        )
    return best[0]


def _drafting_s(query: QueryCost, depth: int) -> float:
    """The least that so many proposals can cost."""
    return query.step_s + (depth - 1) * query.further_s if depth else 0.0
