"""The pair that is examined, and one question to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from localspec.engine.cancel import Cancelled
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.engine.model import Logits
from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.pair_info import PairInfo

Asked = Sequence[Message] | str


@runtime_checkable
class ScorablePair(Protocol):
    """An open pair that also gives its target's scores."""

    @property
    def info(self) -> PairInfo: ...

    def reply(self, prompt: Asked, options: ReplyOptions) -> Iterator[Event]:
        """As ``load.OpenPair.reply``."""
        ...

    def scores(self, prompt: Asked, reply: Sequence[int], width: int) -> Iterator[Logits]:
        """The target's scores before each token of a reply, a row each, ``width`` tokens evaluated at a time.

        A row is valid until the next is asked for. Raises Cancelled.
        """
        ...


@dataclass(slots=True)
class Answer:
    """A whole reply."""

    rounds: list[Round] = field(default_factory=list)
    reason: FinishReason | None = None
    text: str = ""

    @property
    def ids(self) -> list[int]:
        return [token.id for round_ in self.rounds for token in round_.tokens]

    @property
    def proposed_n(self) -> int:
        return sum(round_.proposed_n for round_ in self.rounds)

    def receive(self, event: Event) -> None:
        match event:
            case Round():
                self.rounds.append(event)
            case Finished():
                self.reason, self.text = event.reason, event.text


@dataclass(frozen=True, slots=True)
class Speculation:
    """The drafters and the depth of a reply; ``PLAIN`` for none."""

    spec: tuple[str, ...] | None
    depth: int | None

    def options(self, sampling: Sampling, seed: int, max_tokens: int) -> ReplyOptions:
        return ReplyOptions(sampling, self.spec, self.depth, seed, max_tokens)


PLAIN = Speculation((), 0)


def ask(pair: ScorablePair, prompt: Asked, options: ReplyOptions) -> Answer:
    """Raises Cancelled if the reply was stopped, for half a reply proves nothing."""
    answer = Answer()
    for event in pair.reply(prompt, options):
        answer.receive(event)
    if answer.reason is FinishReason.CANCELLED:
        raise Cancelled
    return answer
