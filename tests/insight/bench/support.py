"""Pairs that take no time: their rounds cost what is written here, on a clock that only they move."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localspec.base.errors import PairMismatchError
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Origin, Proposal, Round, Started, Token
from localspec.engine.tally import Tally
from localspec.insight.bench.run import Bench, BenchLaunch, BenchPlan
from localspec.insight.bench.trials import conditions
from localspec.insight.prompt_sets import BenchPrompt
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from tests.cli.support import info_of


@dataclass(slots=True)
class Clock:
    """Seconds that pass only when something says so."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True, slots=True)
class Kind:
    """What a pair is like."""

    acceptance: dict[str, float]
    """By subject, that of each proposal; "" for all others."""
    plain_s: float = 0.1
    draft_s: float = 0.005
    noise: float = 0.03
    """Relative standard deviation of every time."""
    drift: float = 0.0
    """How much longer everything takes after each second."""
    auto_depth: int = 3


GOOD = Kind({"": 0.85})
USELESS = Kind({"": 0.02}, draft_s=0.02)
TOO_SLOW = Kind({"": 0.85}, draft_s=0.09)
PARTLY = Kind({"": 0.85, "prose": 0.02}, draft_s=0.02)


@dataclass(slots=True)
class VirtualPair:
    """Replies of the length asked for, on the virtual clock."""

    info: PairInfo
    kind: Kind
    clock: Clock
    cancel: Cancellation
    stop_after: int | None = None
    """Press Ctrl-C during this reply."""
    asked: list[tuple[str, ReplyOptions]] = field(default_factory=list)
    closed: bool = False
    _rng: random.Random = field(default_factory=lambda: random.Random(5))

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        text = prompt if isinstance(prompt, str) else prompt[-1].content
        self.asked.append((text, options))
        tally = Tally(prompt_n=len(text.split()), prompt_s=self._spend(0.01 * len(text.split())))
        yield Started(tally.prompt_n, 0, options.seed or 0)
        if self.stop_after is not None and len(self.asked) > self.stop_after:
            if not self.cancel.is_set():
                os.kill(os.getpid(), signal.SIGINT)
            while not self.cancel.is_set():
                pass
            yield Finished(FinishReason.CANCELLED, "", tally.timings())
            return
        while tally.predicted_n < (options.max_tokens or 1):
            round_ = self._round(tally, options, self.kind.acceptance.get(text.split()[0], self.kind.acceptance[""]))
            tally.add(round_)
            yield round_
        yield Finished(FinishReason.LENGTH, "a" * tally.predicted_n, tally.timings())

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self, cancel: Cancellation | None = None) -> None:
        self.closed = True

    def _round(self, tally: Tally, options: ReplyOptions, acceptance: float) -> Round:
        depth = 0 if options.spec == () else self.kind.auto_depth if options.depth is None else options.depth
        depth = min(depth, (options.max_tokens or 1) - tally.predicted_n - 1)
        accepted = 0
        while accepted < depth and self._rng.random() < acceptance:
            accepted += 1
        draft_s = self._spend(self.kind.draft_s * depth)
        verify_s = self._spend(self.kind.plain_s * (1 + 0.05 * depth))
        own = Origin.PLAIN if not depth else Origin.BONUS if accepted == depth else Origin.CORRECTED
        return Round(
            index=tally.rounds_n,
            drafter="draft" if depth else None,
            depth=depth,
            tokens=(*(Token(1, "a", Origin.ACCEPTED) for _ in range(accepted)), Token(1, "a", own)),
            rejected=tuple(Proposal(2, "b") for _ in range(depth - accepted)),
            ignored=(),
            draft_s=draft_s,
            verify_s=verify_s,
            total_s=draft_s + verify_s,
        )

    def _spend(self, seconds: float) -> float:
        drift = 1 + self.kind.drift * self.clock.now_s
        spent_s = seconds * drift * max(0.5, self._rng.gauss(1, self.kind.noise))
        self.clock.now_s += spent_s
        return spent_s


@dataclass(slots=True)
class VirtualWorld:
    """Opens virtual pairs by the name of the target; one it does not know has another vocabulary."""

    kinds: dict[str, Kind]
    clock: Clock = field(default_factory=Clock)
    stop_after: int | None = None
    pairs: list[VirtualPair] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """How far it said it had come."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        kind = self.kinds.get(options.target.stem)
        if kind is None:
            raise PairMismatchError("Token 7 of the draft is another one than the target's.", "Choose another draft.")
        self.pairs.append(VirtualPair(info_of(options), kind, self.clock, cancel, self.stop_after))
        return self.pairs[-1]

    def bench(
        self, *names: str, depths: Sequence[int | None] = (3,), repeats: int = 3, limit_s: float = 1e9, tokens: int = 48
    ) -> Bench:
        """Measure these pairs at temperature 0."""
        plan = BenchPlan(PROMPTS, conditions([None], depths, [0.0]), repeats, tokens, 0, limit_s)
        done = Bench(plan, self.open_pair, self._shares, lambda what, share: None, self.clock)
        done.run([BenchLaunch(chat_config(name), {None}) for name in names])
        return done

    def _shares(self, what: str, share: float) -> None:
        self.shares.append(share)


def chat_config(name: str) -> ChatConfig:
    return ChatConfig(LoadOptions(Path(f"{name}.gguf"), Path("draft.gguf")), title=name)


PROMPTS = tuple(
    BenchPrompt(f"{subject}-{n}", subject, (Message(Role.USER, f"{subject} {'word ' * (4 + n)}"),))
    for subject in ("code", "prose", "chat")
    for n in (1, 2)
)
