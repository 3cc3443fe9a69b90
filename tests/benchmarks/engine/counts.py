"""How many proposals stay, round by round, in both engines: at a fixed depth and temperature 0 the same ones do.

They part only where two tokens are nearly tied, in the target or in the drafter, for batches of different sizes round
differently. The server's first token comes from reading the prompt, without proposals; ours is asked to go on from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from localspec.engine.events import Event, Round, Started
from localspec.engine.inspection import Candidate
from localspec.engine.model import Vocab
from localspec.engine.settings import Sampling
from tests.benchmarks.engine.case import Case, Ready
from tests.benchmarks.engine.own import Own
from tests.benchmarks.engine.server import ServerContestant

_SAMPLING = Sampling(temperature=0)


@dataclass(frozen=True, slots=True)
class RoundCount:
    """A round of a reply."""

    start: int
    """Tokens of the reply before it."""
    accepted: int
    """Of its proposals, those that became part of the reply."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One engine's reply, without the token that ends the turn, and its rounds; the first token belongs to none."""

    tokens: list[int]
    rounds: list[RoundCount]
    proposed_n: int

    @property
    def accepted_n(self) -> int:
        return sum(round_.accepted for round_ in self.rounds)


@dataclass(frozen=True, slots=True)
class Compared:
    """Both engines with one prompt."""

    prompt: str
    own: Counted
    server: Counted
    parted: str
    """The first difference in words; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two contestants of the same depth, and the vocabulary of the files they have in common."""

    own: Own
    server: ServerContestant
    vocab: Vocab
    max_tokens: int

    def of(self, prompts: Iterable[Ready]) -> Iterator[Compared]:
        """Every prompt at temperature 0, but for those that the target answers with nothing."""
        for prompt in prompts:
            case = Case(prompt, _SAMPLING, 0, self.max_tokens)
            answers = list(self.server.stream(case))
            tokens = self._text_of(self.server.tokens(case))
            if not tokens:
                continue
            theirs = server_counted(tokens, answers)
            ours = own_counted(self._own_events(prompt, tokens[0]), tokens[0], self._text_of)
            yield Compared(prompt.name, ours, theirs, self._parted(prompt, ours, theirs))

    def _text_of(self, tokens: Iterable[int]) -> list[int]:
        """The tokens without those that end a turn."""
        return [token for token in tokens if not self.vocab.is_end(token)]

    def _own_events(self, prompt: Ready, first: int) -> Iterator[Event]:
        """Our reply that goes on from the token ``first``."""
        options = self.own.reply_options(_SAMPLING, 0, self.max_tokens - 1)
        begun = self.vocab.piece(first).decode()
        for event in self.own.engine.pair.reply(prompt.messages, options, begun):
            if isinstance(event, Started) and event.prompt_n != len(prompt.tokens) + 1:
                raise SystemExit(f"{prompt.name}: {begun!r} is not one token at the beginning of a reply.")
            yield event

    def _parted(self, prompt: Ready, ours: Counted, theirs: Counted) -> str:
        at = first_difference(ours.tokens, theirs.tokens)
        rounds = first_difference(ours.rounds, theirs.rounds)
        if at is not None:
            return f"token {at}: {self._tied(prompt, ours.tokens, at)}"
        if rounds is None:
            return ""
        own, server = (counted.rounds[rounds : rounds + 1] for counted in (ours, theirs))
        start = (own or server)[0].start
        taken = [str(one[0].accepted) if one else "none" for one in (own, server)]
        return f"token {start}: {taken[0]} proposals stay here, {taken[1]} in the server"

    def _tied(self, prompt: Ready, reply: Sequence[int], at: int) -> str:
        """The target's likeliest two tokens where the texts part; "end" where one of them ends."""
        if at >= len(reply):
            return "ours ends"
        options = self.own.reply_options(_SAMPLING, 0, self.max_tokens)
        seen = self.own.engine.pair.inspector.inspect(prompt.messages, options, reply, at)
        return " or ".join(map(_candidate, seen.target.top[:2]))


def markdown(found: Sequence[Compared]) -> str:
    """As a table, a line for each prompt, and a sentence about all."""
    lines = [
        "| prompt | tokens | rounds | proposed | accepted | part at |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for one in found:
        pairs = [
            (len(one.own.tokens), len(one.server.tokens)),
            (len(one.own.rounds), len(one.server.rounds)),
            (one.own.proposed_n, one.server.proposed_n),
            (one.own.accepted_n, one.server.accepted_n),
        ]
        lines.append(f"| {one.prompt} | {' | '.join(map(_both, pairs))} | {one.parted or 'nowhere'} |")
    equal = [one for one in found if not one.parted]
    accepted_n = sum(one.own.accepted_n for one in equal)
    told = f"{len(equal)} of {len(found)} replies are equal round by round, with {accepted_n} accepted proposals."
    return "\n".join([*lines, "", told])


def server_counted(tokens: list[int], answers: Iterable[dict[str, Any]]) -> Counted:
    """A reply by rounds. Each of the streamed answers has the numbers of proposals and of accepted ones so far.

    Tokens that end inside a character come with the next answer, whose numbers are taken for them.
    """
    rounds: list[RoundCount] = []
    proposed_n, accepted_n, next_round = 0, 0, 0
    for timings in (answer["timings"] for answer in answers):
        while next_round < timings["predicted_n"]:
            accepted = timings.get("draft_n_accepted", 0) - accepted_n
            rounds.append(RoundCount(next_round, accepted))
            accepted_n += accepted
            next_round += accepted + 1
        proposed_n = timings.get("draft_n", proposed_n)
    return Counted(tokens, _within(rounds[1:], len(tokens)), proposed_n)


def own_counted(events: Iterable[Event], first: int, text_of: Callable[[Iterable[int]], list[int]]) -> Counted:
    """Our reply that goes on from the token ``first``, by rounds."""
    tokens, rounds, proposed_n = [first], [], 0
    for event in events:
        if isinstance(event, Round):
            rounds.append(RoundCount(len(tokens), event.accepted_n))
            tokens += text_of(token.id for token in event.tokens)
            proposed_n += event.proposed_n
    return Counted(tokens, _within(rounds, len(tokens)), proposed_n)


def first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """The first index at which two sequences are not the same; None if they are equal."""
    unequal = (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    shorter = min(len(one), len(other))
    return next(unequal, None if len(one) == len(other) else shorter)


def _within(rounds: Sequence[RoundCount], tokens_n: int) -> list[RoundCount]:
    """The rounds without what was accepted past the end of the text, as a token that ends the turn is."""
    return [RoundCount(one.start, min(one.accepted, tokens_n - one.start)) for one in rounds if one.start < tokens_n]


def _both(figures: tuple[int, int]) -> str:
    """One number where both engines have the same, else ours and the server's."""
    return str(figures[0]) if figures[0] == figures[1] else f"{figures[0]}, {figures[1]}"


def _candidate(candidate: Candidate) -> str:
    return f"{candidate.text!r} {candidate.prob:.4f}"
