"""A race between plain and speculative decoding: the same message, temperature 0, so that both write the same text.

There is one engine, so the two run in turn, each seen as it writes, and can be seen again side by side, each round at
the moment it was done. The speculative run goes first: what it wrote can then help nobody, while a plain run before it
would be there to copy from where replies are remembered. The clock starts at the first round of each, so
that reading the prompt, which only the first has to do, counts for neither.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.runtime import figures
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.worker.messages import Cancel, Generate, Request


@dataclass(slots=True)
class Lane:
    """One of the two runs: its options and the recorded rounds."""

    name: str
    options: ReplyOptions
    request_id: int | None = None
    rounds: list[Round] = field(default_factory=list)
    finished: Finished | None = None

    @property
    def took_s(self) -> float:
        """From the beginning of the first round to the end of the last."""
        return sum(round_.total_s for round_ in self.rounds)

    @property
    def tokens_n(self) -> int:
        return sum(len(round_.tokens) for round_ in self.rounds)

    @property
    def text(self) -> str:
        return "".join(token.text for round_ in self.rounds for token in round_.tokens)

    def done_by(self, elapsed_s: float) -> int:
        """The number of rounds that were done after this time."""
        return bisect_right(list(accumulate(round_.total_s for round_ in self.rounds)), elapsed_s + 1e-9)


class Race:
    """Runs both lanes one after the other and records them: ``start`` once, then ``receive`` every event."""

    def __init__(
        self,
        send: Callable[[Request], None],
        new_id: Callable[[], int],
        prompt: tuple[Message, ...] | str,
        options: ReplyOptions,
        seed: int,
    ) -> None:
        """Both runs are greedy, whatever ``options`` has; ``seed`` is for both, unless ``options`` has one."""
        self._send = send
        self._new_id = new_id
        self._prompt = prompt
        greedy = replace(options.sampling, temperature=0.0, dynatemp_range=0.0, mirostat=0, xtc_probability=0.0)
        same = replace(options, sampling=greedy, seed=seed if options.seed is None else options.seed)
        guessing = same if same.spec != () and same.depth != 0 else replace(same, spec=None, depth=None)
        self.speculative = Lane("with guesses", guessing)
        self.plain = Lane("without guesses", replace(same, spec=(), depth=0))
        self.failure = ""
        """Why the race ended early; empty if it did not."""
        self._running: Lane | None = None

    @property
    def running(self) -> Lane | None:
        """The lane that is being recorded."""
        return self._running

    @property
    def ready(self) -> bool:
        """True once both lanes are recorded."""
        return self.plain.finished is not None and self.speculative.finished is not None and not self.failure

    def start(self) -> None:
        """Start the first run."""
        self._run(self.speculative)

    def receive(self, request_id: int, event: Event) -> bool:
        """Take in an event; returns True if it belongs to this race."""
        lane = self._running
        if lane is None or request_id != lane.request_id:
            return False
        if isinstance(event, Round):
            lane.rounds.append(event)
        elif isinstance(event, Finished):
            lane.finished, self._running = event, None
            if event.reason is FinishReason.CANCELLED:
                self.failure = self.failure or "The race was stopped."
            elif lane is self.speculative:
                self._run(self.plain)
        return True

    def fail(self, request_id: int | None, why: str) -> bool:
        """End the race with an error of the engine; returns False if the error is not about this race."""
        if self._running is None or request_id != self._running.request_id:
            return False
        self._running, self.failure = None, why
        return True

    def stop(self) -> None:
        """Cancel the race."""
        if self._running is not None:
            self.failure = "The race was stopped."
            self._send(Cancel())

    def _run(self, lane: Lane) -> None:
        lane.request_id = self._new_id()
        self._running = lane
        self._send(Generate(lane.request_id, self._prompt, lane.options))


def lane_line(lane: Lane, elapsed_s: float, rounds_n: int) -> str:
    """A lane's progress in two rows of at most 40 columns: time; tokens, and speed over its time so far."""
    shown = lane.rounds[:rounds_n]
    tokens_n, spent_s = sum(len(r.tokens) for r in shown), sum(r.total_s for r in shown)
    at_goal = lane.finished is not None and rounds_n == len(lane.rounds)
    speed = figures.speed(tokens_n / spent_s if spent_s else None)
    time = lane.took_s if at_goal else elapsed_s
    done = "  done" if at_goal else ""
    return f"{lane.name:<15} {time:6.2f} s\n{tokens_n:>4} tokens  {speed:>5} tokens/s{done}"


def waiting_line(lane: Lane, running: Lane | None) -> str:
    """A lane before its first round, in two rows."""
    return f"{lane.name}\n{'reading the message' if lane is running else 'waits for its turn'}"


def verdict(race: Race) -> str:
    """The speed-up and its reason, and a comparison of the two texts."""
    plain, speculative = race.plain, race.speculative
    if not (plain.tokens_n and speculative.tokens_n and plain.took_s and speculative.took_s):
        return "There was nothing to write, so there is nothing to compare."
    plain_s = plain.took_s / plain.tokens_n
    per_round = speculative.tokens_n / len(speculative.rounds)
    cost = speculative.took_s / len(speculative.rounds) / plain_s
    why = f"a round wrote {figures.length(per_round)} tokens and took as long as {figures.length(cost)} without guesses"
    return f"{figures.times(per_round / cost)} as fast with guesses: {why}. {_equality(race)}"


def _equality(race: Race) -> str:
    """A sentence on whether both texts are the same, and why they may differ."""
    one, other = ([(token.id, token.text) for round_ in lane.rounds for token in round_.tokens] for lane in lanes(race))
    if one == other:
        return "Both wrote the same text."
    same_n = next((n for n, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), 0)
    same_n = same_n or min(len(one), len(other))
    return (
        f"The texts part after {figures.tokens(same_n)}, as a rule where two are about as likely: "
        "to check several at once rounds differently."
    )


def lanes(race: Race) -> Sequence[Lane]:
    """The lanes in the order of the screen."""
    return (race.plain, race.speculative)
