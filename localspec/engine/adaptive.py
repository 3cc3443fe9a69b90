"""The depth that commits the most tokens a second, decided proposal by proposal.

A round is worth starting a step further while some number of further proposals would bring in expected
tokens faster than the reply does on the whole (the renewal-reward rule; looking several proposals ahead
matters because the cost of a batch is a staircase). Depth 0 is one of the choices. The rate to beat is never
less than that of plain decoding, nor more than drafters can be expected to bring from here on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from localspec.base.amounts import number_of
from localspec.engine.costs import Costs
from localspec.engine.drafter import CERTAIN, Favourite, NextProposal
from localspec.engine.drafting import DrafterQuery, Plan
from localspec.engine.events import Round
from localspec.engine.likelihood import Likelihoods
from localspec.engine.reading import ReadingDecision, ReadingPolicy, Unread

_RATE_MEMORY = 0.95
"""The factor by which a round's weight in the going rate shrinks with every further round."""
_PLAIN_BEFORE_N = 4
"""A reply begins as if so many tokens had been decoded plainly before it: a lucky start sets no rate."""
_VALUE_RATE = 0.25
"""The weight of the latest query in what is expected of a drafter's next one."""
_CHANCE_RATE = 0.05
"""The weight of the latest proposal in the chance that is expected of later ones."""
_FIRST_VALUE = 0.5
"""The assumed worth of queries before the first, in plain tokens' time."""
_FIRST_PAUSE_N, _LONGEST_PAUSE_N = 16, 64
"""Tokens until a drafter that did not pay is tried again: the first time, and at most."""
_CHANCE = 0.7
"""The chance of a drafter's later proposals, as long as none was seen."""
_HOPED = 0.9
"""The chance of its later proposals that is hoped for when it is tried again."""
_DEEP_N, _HOPE_RATE = 8, 0.2
"""Proposals of a round by whose gain later replies begin with more hope or less, and its weight in that."""
_TRY_WORTH_N = 64
"""A try may cost one in so many tokens' time, so a costly drafter is tried more seldom than that."""
_SURE, _PROVEN_N = 0.9, 2
"""On CUDA plain decoding is left for a guess with less than this chance only after so many guesses in a row that were
right without being proposed."""
_LANDMARK = re.compile(r"```|\n[ \t]{0,8}(?:[-*+]|\d+[.)])[ \t]|\n[ \t]{0,8}>|\n#{1,6} |\n\n")
"""The begin or end of a code block, of an item of a list, of a quotation, of a heading, of a paragraph."""
_LOOK_BACK = 12
"""Characters of the text before that a landmark may begin in."""


class StructureChange:
    """Finds where a growing text changes its structure; the value that drafters had before says little after that."""

    def __init__(self) -> None:
        self._tail = ""

    def feed(self, text: str) -> bool:
        """Append ``text``; True if a landmark ends in it."""
        if not text:
            return False
        seen = self._tail + text
        before_n = len(self._tail)
        self._tail = seen[-_LOOK_BACK:]
        return any(found.end() > before_n for found in _LANDMARK.finditer(seen))


@dataclass(slots=True)
class _DrafterValue:
    """The expected value of querying a drafter whose queries cost time, from the value of the latest ones.

    A query that is followed by no proposal is worth nothing, never less; so a drafter that is certain now and
    then is worth querying even where its proposals are bad on average.
    """

    first: float = inf
    """Time that a round's first query saves, in plain tokens; before there was any, the most that it can."""
    later: float = 1.0
    """Time that a further query saves if all proposals before it are accepted."""
    chance: float = _CHANCE
    """The chance of a proposal after others; of any, where a query gives a block of them."""
    wary: bool = False
    """True where a lone proposal hardly pays, however right it is: then first proposals teach ``chance`` too, whether
    they are made or not. With less hope than ``_HOPED`` none would ever be made, and no later one seen."""
    pause_n: int = _FIRST_PAUSE_N
    idle_n: int = 0
    """Tokens committed since its last query."""
    most_n: float = inf
    """Proposals that it can give a round: known once a block had fewer than were wished for."""

    def _saw_first(self, saved: float) -> None:
        before = _FIRST_VALUE if self.first == inf else self.first
        self.first = before + _VALUE_RATE * (saved - before)

    def saw_block(self, saved: float, chance: float, *, first: bool) -> None:
        """Learn from a proposal of a block."""
        self.idle_n = 0
        if first:
            self._saw_first(saved)
        self.chance += _CHANCE_RATE * (chance - self.chance)

    def saw(self, saved: float, chance: float, survival: float, *, first: bool) -> None:
        """Learn from a proposal that was queried alone, and is judged with the chance ``survival``.

        Each draft ends with an unlikely proposal. Far ahead it says little of the next draft.
        """
        self.idle_n = 0
        if first:
            self._saw_first(saved)
        else:
            self.later += _VALUE_RATE * (saved - self.later)
        if self.wary or not first:
            self.chance += _CHANCE_RATE * survival * (chance - self.chance)


@dataclass(slots=True)
class AdaptiveDepth:
    """A depth policy that learns costs and chances for as long as the pair is loaded, one reply at a time."""

    costs: Costs
    deepest: int
    likelihoods: Likelihoods = field(default_factory=Likelihoods)
    reading: ReadingPolicy = field(init=False)
    latest_n: int = field(init=False, default=1)
    """Tokens that the latest round committed."""
    _values: dict[str, _DrafterValue] = field(default_factory=dict)
    _hopes: dict[str, float] = field(default_factory=dict)
    """The chance of later proposals that replies begin with, by drafter: ``_HOPED`` where deep rounds gained.

    Where batches of middle sizes are dear, deep rounds pay only if nearly all is accepted. A draft model's far
    proposals are as good as its first; a head's get worse, as each is made from its own guess of the target's state.
    """
    _tokens: float = 0.0
    _seconds: float = 0.0
    _structure_change: StructureChange = field(default_factory=StructureChange)
    _plan: _AdaptivePlan | None = None
    _first: bool = False
    """True until the first round of a reply is over."""
    _right_n: int = 0
    """Guesses of this reply in a row that were right without being proposed."""
    _read_s: float = 0.0
    """Time of the present round that drafters spent on reading the text."""

    def __post_init__(self) -> None:
        self.reading = ReadingPolicy(self.costs)

    @property
    def plain_per_second(self) -> float:
        return 1 / self.costs.plain_s

    def rate(self, limit: int) -> float:
        """Tokens a second that a round of up to ``limit`` proposals has to beat: what the latest ones brought.

        No less than plain decoding, and no more than drafters with a price can be expected to bring from here on. To
        wait for better times would be in vain: only queries tell of them, and near its end a reply has none.
        """
        rate = self._tokens / self._seconds if self._seconds else 0.0
        priced = [(name, value.chance) for name, value in self._values.items() if name in self.costs.queries]
        if priced:
            speedup = max(self.costs.speedup(name, chance, limit) for name, chance in priced)
            rate = min(rate, speedup * self.plain_per_second)
        return max(rate, self.plain_per_second)

    @property
    def leaves_out_scores(self) -> bool:
        return self.costs.scores > 0

    def price(self, proposed_n: int, unscored_n: int = 0) -> float:
        return self.costs.price(proposed_n + 1, unscored_n)

    def begin(self) -> None:
        """Start a reply. The last one's rate is forgotten; what was learned about costs and chances stays."""
        self._values.clear()
        self.costs.read_text()
        self.likelihoods.begin()
        self.reading.begin()
        self._first, self._right_n = True, 0
        self._tokens, self._seconds = float(_PLAIN_BEFORE_N), _PLAIN_BEFORE_N * self.costs.plain_s
        self._structure_change = StructureChange()

    def may_read(self, drafter: str, written_n: int) -> bool:
        return self.reading.may_read(drafter, written_n)

    def read(self, unread: Unread) -> ReadingDecision:
        return self.reading.read(unread)

    def have_read(self, drafter: str, tokens_n: int, spent_s: float) -> None:
        self._read_s += spent_s
        self.reading.have_read(drafter, tokens_n, spent_s)

    def plan(self, room: int) -> Plan:
        self._plan = _AdaptivePlan(self, min(room, self.deepest), certain_only=self._first)
        if self._first:
            self._plan.reason = "the first token comes sooner without"
        return self._plan

    def explain(self) -> str:
        return self._plan.why if self._plan else ""

    def value(self, drafter: str) -> _DrafterValue:
        if drafter not in self._values:
            wary = self.costs.pays_for_sizes or self.costs.one_is_dear(drafter, _HOPED)
            self._values[drafter] = _DrafterValue(
                chance=_HOPED if wary else self._hopes.get(drafter, _CHANCE), wary=wary
            )
        return self._values[drafter]

    def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
        self.costs.observe_round(
            round_.proposed_n + 1,
            round_.total_s - round_.draft_s,
            refused=bool(round_.rejected),
            unscored_n=round_.unscored_n,
        )
        self.likelihoods.observe(proposals, accepted)
        if self._plan and (guess := self._plan.unproposed):
            self._right_n = self._right_n + 1 if guess.token == round_.tokens[0].id else 0
        self._first = False
        self.latest_n = len(round_.tokens)
        # What drafters spent on reading says nothing about how fast the reply goes.
        total_s, self._read_s = round_.total_s - self._read_s, 0.0
        paid = self._plan.paid if self._plan else ()
        self.reading.observe(paid, len(round_.tokens), total_s)
        if self._plan and round_.depth >= _DEEP_N:
            hope = _HOPED if len(round_.tokens) > total_s * self._plan.rate else _CHANCE
            for name in paid:
                before = self._hopes.get(name, _CHANCE)
                self._hopes[name] = before + _HOPE_RATE * (hope - before)
        self._tokens = self._tokens * _RATE_MEMORY + len(round_.tokens)
        self._seconds = self._seconds * _RATE_MEMORY + total_s
        turned = self._structure_change.feed("".join(token.text for token in round_.tokens))
        for value in self._values.values():
            value.idle_n += len(round_.tokens)
            if turned:
                value.pause_n = _FIRST_PAUSE_N
                value.idle_n = max(value.idle_n, _FIRST_PAUSE_N)

    def wants_proof(self, chance: float) -> bool:
        """True if a drafter with a price has to be right unproposed before a guess with this chance is proposed.

        A wrong guess costs little. Changing the batch's size for it, and back, costs about three tokens' time.
        """
        return self.costs.leaves_plain_at_a_price and chance < _SURE and self._right_n < _PROVEN_N

    def end(self, tokens_n: int, *, ended: bool) -> None:
        self.reading.end(tokens_n, ended=ended)


class _AdaptivePlan:
    """The plan of one round."""

    def __init__(self, policy: AdaptiveDepth, limit: int, *, certain_only: bool) -> None:
        self._policy = policy
        self.certain_only = certain_only
        self._costs = policy.costs
        self.rate = policy.rate(limit)
        self._proposed_n = 0
        self._survival = 1.0
        """The chance that all proposals so far are accepted."""
        self._paid: str | None = None
        """The drafter that was queried, at a price, for the proposal now in question."""
        self._free = 0.0
        """The best chance of a proposal for the same place that costs nothing; 0 if there is none."""
        self._blocks: dict[str, int] = {}
        """Drafters that computed a block of this round's proposals, with the number of places it covers."""
        self._refused = ""
        """The reason why a drafter was not queried for the proposal now in question."""
        self.unproposed: Favourite | None = None
        """The guess of a drafter with a price for the round's first token, if none is proposed."""
        self.paid: set[str] = set()
        """Drafters whose queries cost time."""
        self.limit = limit
        self._rounds_s: Sequence[float] = ()
        """Seconds for this round with one token, two, up to ``limit`` + 1; empty until they are asked for."""
        self.reason = "no drafter has any"
        """The reason why there are no more proposals; empty while there may be more."""

    @property
    def why(self) -> str:
        """The proposals so far, the chance that all are accepted, and the reason why there are no more."""
        if not self._proposed_n:
            return f"no proposals: {self.reason}"
        accepted = "accepted" if self._proposed_n == 1 else "all accepted"
        text = f"{number_of(self._proposed_n, 'proposal')}, {accepted} with {self._survival:.0%}"
        return f"{text}: {self.reason}" if self.reason else text

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        if not lag:
            return True
        if best == CERTAIN:
            return False
        if put_off := self._policy.reading.put_off(drafter):
            self.reason = self._refused = put_off
            return False
        value = self._policy.value(drafter)
        expected = value.later if self._proposed_n else value.first
        # By the price of a query without catching up, which costs the more the longer it is put off.
        try_s = self._costs.query_s(drafter, 1) + self._costs.settle_s
        pause_n = max(value.pause_n, _TRY_WORTH_N * try_s / self._costs.plain_s)
        instead = self._saved(best, best, 0.0) if best else 0.0
        further_s = self._costs.further_s(drafter)
        idle = self._proposed_n == 0 and value.idle_n >= pause_n
        if idle and self._saved(1.0, max(value.chance, _HOPED), further_s, value.most_n) > instead:
            value.pause_n = min(2 * value.pause_n, _LONGEST_PAUSE_N)
            self._policy.likelihoods.try_again(drafter)
            return True  # not queried for long: it may have become better
        # Tokens that were put off in earlier rounds have to be read at some time, whatever is decided now.
        due_n = max(1, lag - max(0, value.idle_n - self._policy.latest_n))
        price = self._costs.query_s(drafter, due_n) / self._costs.plain_s
        worth = expected * self._survival
        if worth - instead > price:
            # Queries are worth less where the next batches are costly: no more than a certain proposal would save here.
            worth = min(worth, self._saved(1.0, value.chance, further_s, value.most_n))
        if worth - instead > price:
            return True
        self.reason = self._refused = f"a query of {drafter} saves {worth:.2f} tokens' time and costs {price:.2f}"
        return False

    def block(self, drafter: str) -> int:
        value, row_s = self._policy.value(drafter), self._costs.further_s(drafter)
        _, further_n = self._best(value.chance, value.chance, row_s, value.most_n)
        self._blocks[drafter] = min(self.limit, self._proposed_n + max(1, further_n))
        return self._blocks[drafter]

    def queried(self, query: DrafterQuery) -> None:
        self._paid = query.drafter
        self.paid.add(query.drafter)
        if query.proposals_n < self._blocks.get(query.drafter, 0):
            self._blocks[query.drafter] = query.proposals_n
            self._policy.value(query.drafter).most_n = query.proposals_n
        self._costs.observe_query(query.drafter, query.lag, query.spent_s, query.proposals_n)

    def chance(self, proposal: NextProposal) -> float:
        chance = self._policy.likelihoods.of(proposal)
        drafter = proposal.drafter
        if self._paid == drafter or drafter in self._blocks:
            value = self._policy.value(drafter)
            saved = self._saved(chance, value.chance, self._costs.further_s(drafter), value.most_n) / self._survival
            first = self._proposed_n == 0
            if drafter in self._blocks:
                value.saw_block(saved, chance, first=first)
            else:
                value.saw(saved, chance, self._survival, first=first)
            self._paid = drafter
            if first:
                self.unproposed = proposal.favourite
        else:
            self._free = max(self._free, chance)
        return chance

    def should_propose(self, chance: float) -> bool:
        paid, self._paid = self._paid, None
        free, self._free = self._free, 0.0
        if not self._pays(chance, paid, free):
            instead = f", and {self._refused}" if self._refused else ""
            undoing = " and for taking back what is refused" if self._costs.rollback_s else ""
            self.reason = f"the next has {chance:.0%}, too little for the pass{undoing}{instead}"
            return False
        if self.unproposed and chance > free and self._policy.wants_proof(chance):
            self.reason = f"the next has {chance:.0%}, too little before two guesses in a row were right"
            return False
        self.unproposed = None
        self._refused = ""
        self._proposed_n += 1
        self._survival *= chance
        if paid:
            self._policy.value(paid).pause_n = _FIRST_PAUSE_N
        self.reason = "as many as there may be" if self._proposed_n == self.limit else ""
        return True

    def _pays(self, chance: float, paid: str | None, free: float) -> bool:
        """True if a proposal with this chance pays, followed by others of the drafter ``paid`` or by free ones."""
        if paid is None:
            return self._saved(chance, chance, 0.0) > 0
        if free and self._saved(chance, free, 0.0):
            return True
        until = self._blocks.get(paid, self.limit)
        step_s = 0.0 if paid in self._blocks else self._costs.further_s(paid)
        return self._best(chance, self._policy.value(paid).chance, step_s, until)[0] > 0

    def _saved(self, chance: float, later: float, step_s: float, until: float = inf) -> float:
        """The time that the best number of further proposals saves, in plain tokens' time; at least 0."""
        return self._best(chance, later, step_s, until)[0]

    def _best(self, chance: float, later: float, step_s: float, until: float = inf) -> tuple[float, int]:
        """The best number of further proposals, with the time that it saves, in plain tokens' time; (0, 0) if none.

        The next has this chance, each further one the chance ``later`` and a price of ``step_s``; the round has at
        most ``until``.
        """
        if not self._rounds_s:
            self._rounds_s = self._costs.next_s(self.limit + 1)
        now_s, *larger_s = self._rounds_s[self._proposed_n : int(min(until, self.limit)) + 1]
        best, best_n, gained, survival, spent_s = 0.0, 0, 0.0, self._survival * chance, 0.0
        token_s, rollback_s = 1 / self.rate, self._costs.rollback_s
        for further_n, round_s in enumerate(larger_s, 1):
            gained += survival
            refusal = self._survival - survival  # how much likelier it is that something is refused
            saved_s = gained * token_s - spent_s - round_s + now_s - rollback_s * refusal
            if saved_s > best:
                best, best_n = saved_s, further_n
            survival *= later
            spent_s += step_s
        return best / self._costs.plain_s, best_n
