"""A race between plain and speculative decoding: the same message, temperature 0, so that both write the same text.

There is one engine, so the two run in turn, each seen as it writes, and can be seen again side by side, each round at
the moment it was done. The speculative run goes first: what it wrote can then help nobody, while a plain run before it
would be there to copy from where replies are remembered. The clock starts at the first round of each, so
that reading the prompt, which only the first has to do, counts for neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.timings import Timings
from localspec.runtime import figures
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Cancel, Generate, Request


@dataclass(slots=True, eq=False)
class Lane:
    """One run: its options and the recorded rounds."""

    name: str
    options: ReplyOptions
    chat_config: ChatConfig | None = None
    """The configuration of its pair; None for the pair that is loaded."""
    info: PairInfo | None = None
    """Its pair, once that is loaded for it."""
    request_id: int | None = None
    started: Started | None = None
    rounds: list[Round] = field(default_factory=list)
    finished: Finished | None = None
    failure: str = ""
    """The reason why it has no reply; empty if it has one, or will have."""

    @property
    def took_s(self) -> float:
        """The seconds from the beginning of the first round to the end of the last."""
        return sum(round_.total_s for round_ in self.rounds)

    @property
    def tokens_n(self) -> int:
        return sum(len(round_.tokens) for round_ in self.rounds)

    @property
    def events(self) -> list[Event]:
        ends: list[Event] = [self.finished] if self.finished else []
        return [*([self.started] if self.started else []), *self.rounds, *ends]

    def done_by(self, elapsed_s: float) -> int:
        """The number of rounds that were done after this time."""
        return bisect_right(list(accumulate(round_.total_s for round_ in self.rounds)), elapsed_s + 1e-9)


class Runs(ABC):
    """Runs lanes one after the other and records them: ``start`` once, then ``receive`` every event."""

    statement: str
    """The sentence above the lanes."""

    def __init__(
        self,
        send: Callable[[Request], None],
        new_id: Callable[[], int],
        prompt: tuple[Message, ...] | str,
        lanes: Sequence[Lane],
    ) -> None:
        """``lanes`` in the order in which they run."""
        self.prompt = prompt
        self.failure = ""
        """The reason why it ended early; empty if it did not."""
        self._send = send
        self._new_id = new_id
        self._in_turn = tuple(lanes)
        self.running: Lane | None = None
        """The lane that is being recorded."""

    @property
    def shown(self) -> Sequence[Lane]:
        """The lanes in the order of the screen."""
        return self._in_turn

    @property
    def ready(self) -> bool:
        """True once all lanes are recorded, or have failed."""
        return not self.failure and all(lane.finished is not None or lane.failure for lane in self._in_turn)

    @abstractmethod
    def verdict(self) -> str:
        """The result, once it is ready."""

    def start(self) -> None:
        self._go_on()

    def receive(self, request_id: int, event: Event) -> bool:
        """Take in an event; returns True if it belongs here."""
        lane = self.running
        if lane is None or request_id != lane.request_id:
            return False
        match event:
            case Started():
                lane.started = event
            case Round():
                lane.rounds.append(event)
            case Finished(FinishReason.CANCELLED):
                lane.finished, self.running = event, None
                self.failure = self.failure or self._stopped
            case Finished():
                lane.finished, self.running = event, None
                self._go_on()
        return True

    def fail(self, request_id: int | None, why: str, *, died: bool = False) -> bool:
        """Take in an error of the engine; returns False if it is not about the lane that is running."""
        if self.running is None or request_id is None or request_id != self.running.request_id:
            return False
        self.running, self.failure = None, why
        return True

    def stop(self) -> None:
        if self.running is not None:
            self.failure = self._stopped
            self._send(Cancel())

    _stopped = "The race was stopped."

    def _go_on(self) -> None:
        """Run the next lane, if there is one."""
        lane = next((lane for lane in self._in_turn if lane.finished is None and not lane.failure), None)
        if lane is not None and not self.failure:
            self._run(lane)

    def _run(self, lane: Lane) -> None:
        lane.request_id = self._new_id()
        self.running = lane
        self._send(Generate(lane.request_id, self.prompt, lane.options))


class Race(Runs):
    """The two lanes of one pair. The speculative one runs first."""

    statement = "The same message twice, at temperature 0: without guesses and with them."

    def __init__(
        self,
        send: Callable[[Request], None],
        new_id: Callable[[], int],
        prompt: tuple[Message, ...] | str,
        options: ReplyOptions,
        seed: int,
    ) -> None:
        """Both runs are greedy, whatever ``options`` has; ``seed`` is for both, unless ``options`` has one."""
        greedy = replace(options.sampling, temperature=0.0, dynatemp_range=0.0, mirostat=0, xtc_probability=0.0)
        same = replace(options, sampling=greedy, seed=seed if options.seed is None else options.seed)
        guessing = same if same.spec != () and same.depth != 0 else replace(same, spec=None, depth=None)
        self.speculative = Lane("with guesses", guessing)
        self.plain = Lane("without guesses", replace(same, spec=(), depth=0))
        super().__init__(send, new_id, prompt, (self.speculative, self.plain))

    @property
    def shown(self) -> Sequence[Lane]:
        return (self.plain, self.speculative)

    def verdict(self) -> str:
        """The speed-up and its reason, and a comparison of the two texts."""
        plain, speculative = self.plain, self.speculative
        if not (plain.tokens_n and speculative.tokens_n and plain.took_s and speculative.took_s):
            return "There was nothing to write, so there is nothing to compare."
        plain_s = plain.took_s / plain.tokens_n
        per_round = speculative.tokens_n / len(speculative.rounds)
        cost = speculative.took_s / len(speculative.rounds) / plain_s
        times = f"as long as {figures.length(cost)} without guesses"
        why = f"a round wrote {figures.length(per_round)} tokens and took {times}"
        return f"{figures.times(per_round / cost)} as fast with guesses: {why}. {self._equality()}"

    def _equality(self) -> str:
        """A sentence on whether both texts are the same, and why they may differ."""
        one, other = (
            [(token.id, token.text) for round_ in lane.rounds for token in round_.tokens] for lane in self.shown
        )
        if one == other:
            return "Both wrote the same text."
        differing = (n for n, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
        same_n = next(differing, min(len(one), len(other)))
        return (
            f"The texts differ {f'after {figures.tokens(same_n)}' if same_n else 'from the first token on'}, usually "
            "where two tokens were about equally likely: checking several at once rounds differently."
        )


def lane_line(lane: Lane, elapsed_s: float, rounds_n: int) -> str:
    """A lane's progress in rows of at most 40 columns: time; tokens, and speed over its time so far; its guesses."""
    shown = lane.rounds[:rounds_n]
    tokens_n, spent_s = sum(len(r.tokens) for r in shown), sum(r.total_s for r in shown)
    at_goal = lane.finished is not None and rounds_n == len(lane.rounds)
    speed = figures.speed(tokens_n / spent_s if spent_s else None)
    time = lane.took_s if at_goal else elapsed_s
    done = "  done" if at_goal else ""
    rows = f"{lane.name:<15} {time:6.2f} s\n{tokens_n:>4} tokens  {speed:>5} tokens/s{done}"
    return f"{rows}\n{_of_guesses(lane.finished.timings)}" if at_goal and lane.chat_config and lane.finished else rows


def _of_guesses(timings: Timings) -> str:
    """The third row of a pair's lane: what its guesses were worth."""
    rate = timings.draft_acceptance_rate
    return "nothing guessed" if rate is None else f"{figures.percent(rate)} accepted  {figures.speedup(timings)}"


def waiting_line(lane: Lane, runs: Runs) -> str:
    """A lane before its first round, in two rows."""
    if lane.failure or runs.failure:
        doing = "no reply"
    elif lane is not runs.running:
        doing = "waits for its turn"
    else:
        loading = lane.chat_config is not None and lane.info is None
        doing = "is being loaded" if loading else "reading the message"
    return f"{lane.name}\n{doing}"
