"""Random schedules of replies at once on the built-in pair: each is to be what it is alone.

    python -m tests.endurance.schedules --schedules 500

Prompts, lengths, depths, temperatures, seeds, arrivals and hang-ups are drawn from the number of the schedule. For a
reply that differs the first such token is shown, with the target's probabilities of it and of the other. Batches of
other sizes round differently (``tests.builtin.NOISE``), which matters where two tokens end the race nearly together.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.engine.settings import Sampling
from localspec.runtime.load import ConcurrentPair, InspectablePair, open_pair
from localspec.runtime.messages import Listener, Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from tests.builtin import DRAFT, TARGET

PROMPTS = (
    "Tell me a story about a fox.",
    "What is speculative decoding?",
    "Count from 1 to 30.",
    "Write a Python function for the factorial.",
    "Why does a guess never change the text? " * 12,
    "Hello!",
)
REPLIES_N = 4


@dataclass
class Played:
    """A reply of a schedule."""

    prompt: str
    options: ReplyOptions
    hangs_up_after: int | None
    cancel: Cancellation = field(default_factory=Cancellation)
    ids: list[int] = field(default_factory=list)
    reason: FinishReason | None = None

    def hear(self, event: Event) -> None:
        if isinstance(event, Round):
            self.ids += [token.id for token in event.tokens]
        elif isinstance(event, Finished):
            self.reason = event.reason
        if self.hangs_up_after is not None and len(self.ids) >= self.hangs_up_after:
            self.cancel.set()

    def fail(self, error: Exception) -> None:
        raise error

    @property
    def messages(self) -> tuple[Message, ...]:
        return (Message(Role.USER, self.prompt),)


def drawn(chance: random.Random) -> Played:
    """A reply to ask for."""
    sampling = Sampling(temperature=chance.choice((0.0, 0.3, 0.8, 1.2)))
    options = ReplyOptions(
        sampling,
        seed=chance.randrange(2**32),
        repeatable=True,
        max_tokens=chance.randint(1, 40),
        depth=chance.choice((None, None, 0, 1, 3, 7)),
    )
    return Played(chance.choice(PROMPTS), options, chance.choice((None, None, None, chance.randint(0, 20))))


def play(pair: ConcurrentPair, chance: random.Random) -> Sequence[Played]:
    """Two to eight replies, which begin whenever there is room and chance has it."""
    waiting = [drawn(chance) for _ in range(chance.randint(2, 8))]
    played = []
    while waiting or pair.step():
        if waiting and pair.room_n and chance.random() < 0.3:
            played.append(reply := waiting.pop(0))
            pair.begin(reply.messages, reply.options, "", Listener(reply.hear, reply.fail), reply.cancel)
        pair.step()
    return played


def alone(pair: InspectablePair, reply: Played) -> list[int]:
    events = pair.reply(reply.messages, reply.options)
    return [token.id for event in events if isinstance(event, Round) for token in event.tokens]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    shared = open_pair(LoadOptions(TARGET, DRAFT, n_ctx=512, flash_attn="on", replies=REPLIES_N), Cancellation())
    single = open_pair(LoadOptions(TARGET, DRAFT, n_ctx=512, flash_attn="on"), Cancellation())
    assert isinstance(shared, ConcurrentPair)
    replies_n = differ_n = cut_n = 0
    for number in range(options.first, options.first + options.schedules):
        for reply in play(shared, random.Random(number)):
            expected = alone(single, reply)
            replies_n += 1
            cut = reply.reason is FinishReason.CANCELLED
            cut_n += cut
            if reply.ids != (expected[: len(reply.ids)] if cut else expected):
                differ_n += 1
                print(f"schedule {number}: {difference(single, reply, expected)}", flush=True)
    print(f"{options.schedules} schedules, {replies_n} replies, {cut_n} of them cut; not as alone: {differ_n}.")


def difference(pair: InspectablePair, reply: Played, expected: Sequence[int]) -> str:
    """Where a reply is not as it is alone."""
    at = next((i for i, (a, b) in enumerate(zip(reply.ids, expected, strict=False)) if a != b), None)
    if at is None:
        return f"{reply.prompt[:30]!r} has {len(reply.ids)} tokens, not {len(expected)}"
    inspect, asked = pair.inspector.inspect, (reply.messages, reply.options)
    probs = [inspect(*asked, (*expected[:at], token), at).target.prob for token in (reply.ids[at], expected[at])]
    place = f"{reply.prompt[:30]!r} at {reply.options.sampling.temperature}, token {at}"
    return f"{place}: probabilities {probs[0]:.2f} and {probs[1]:.2f}"


if __name__ == "__main__":
    main()
