"""LocalSpec's engine as a contestant, in this process, as ``localspec run`` drives it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from localspec.engine.backends.llama.ggml import ggml_functions
from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.drafters import drafter_names
from localspec.engine.events import Event, Finished, PromptProgress, Round, Started
from localspec.engine.settings import Sampling
from localspec.runtime.load import InspectablePair, open_pair
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.options import LoadOptions
from tests.benchmarks.engine.case import Case, Pair, Run

PREFIX = "own:"


_EVALUATING = (
    "llama_decode",
    "llama_synchronize",
    "llama_get_logits_ith",
    "llama_get_sampled_candidates_count_ith",
)
"""On a GPU the first only begins, and whichever of the others comes next waits."""


class NativeClock:
    """Seconds spent in llama.cpp evaluating: what is left of a round is the host's work."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        for name in _EVALUATING:
            self._time(native().c, name)
        if ggml := ggml_functions(native()):
            self._time(ggml, "ggml_graph_compute")

    def _time(self, c: Any, name: str) -> None:
        function = getattr(c, name)

        def timed(*arguments: Any) -> Any:
            begun = time.perf_counter()
            answer = function(*arguments)
            self.spent_s += time.perf_counter() - begun
            return answer

        setattr(c, name, timed)


@dataclass(frozen=True, slots=True)
class OwnEngine:
    """The open pair all configurations of ours share."""

    pair: InspectablePair
    clock: NativeClock

    @staticmethod
    def open(pair: Pair, threads: int | None) -> OwnEngine:
        """``threads`` None leaves them to LocalSpec."""
        clock = NativeClock()
        options = LoadOptions(pair.target, pair.draft, n_ctx=pair.n_ctx, threads=threads)
        return OwnEngine(open_pair(options, Cancellation()), clock)

    def text(self, messages: Sequence[Message], options: ReplyOptions) -> str:
        """A reply's text."""
        return "".join(event.text for event in self.pair.reply(messages, options) if isinstance(event, Finished))


@dataclass(frozen=True, slots=True)
class Own:
    """LocalSpec with some drafters at some depth."""

    engine: OwnEngine
    spec: tuple[str, ...] | None
    depth: int | None

    @property
    def name(self) -> str:
        if self.spec is not None and not self.spec:
            return PREFIX + "plain"
        if self.spec == ("draft",) and self.depth is not None:
            return f"{PREFIX}{self.depth}"
        spec = "auto" if self.spec is None else "+".join(self.spec)
        return PREFIX + spec + (f":{self.depth}" if self.depth is not None else "")

    def ready(self) -> int:
        return os.getpid()

    def run(self, case: Case) -> Run:
        sampling = case.sampling
        if case.schema is not None:
            sampling = replace(sampling, grammar=grammar_of_schema(case.schema))
        options = self.reply_options(sampling, case.seed, case.max_tokens)
        return _Listener(self.engine.clock).run(self.engine.pair.reply(case.prompt.messages, options), case)

    def reply_options(self, sampling: Sampling, seed: int, max_tokens: int) -> ReplyOptions:
        """What ``localspec run`` would make of this configuration."""
        return ReplyOptions(sampling, self.spec, self.depth, seed, max_tokens)


class _Listener:
    """Gathers one reply."""

    def __init__(self, clock: NativeClock) -> None:
        self._clock = clock
        self._native_before_s = 0.0
        self._begun = time.perf_counter()
        self._tokens: list[int] = []
        self._proposed: dict[str, int] = {}

    def run(self, events: Iterator[Event], case: Case) -> Run:
        finished: Finished | None = None
        for event in events:
            self._take(event, case)
            finished = event if isinstance(event, Finished) else None
        assert finished
        return self._result(finished, time.perf_counter() - self._begun, self._clock.spent_s - self._native_before_s)

    def _take(self, event: Event, case: Case) -> None:
        if isinstance(event, Started) and event.prompt_n != len(case.prompt.tokens):
            raise SystemExit(
                f"{case.prompt.name}: {event.prompt_n} tokens here, {len(case.prompt.tokens)} for the server."
            )
        if isinstance(event, Started | PromptProgress):
            self._native_before_s = self._clock.spent_s
            self._begun = time.perf_counter()
        elif isinstance(event, Round):
            self._tokens += [token.id for token in event.tokens]
            key = str(event.proposed_n)
            self._proposed[key] = self._proposed.get(key, 0) + 1

    def _result(self, finished: Finished, spent_s: float, native_s: float) -> Run:
        timings = finished.timings
        return Run(
            tokens=self._tokens,
            predicted_n=timings.predicted_n,
            predicted_ms=spent_s * 1e3,
            predicted_per_second=timings.predicted_n / spent_s,
            prompt_ms=timings.prompt_ms,
            draft_n=timings.draft_n,
            draft_n_accepted=timings.draft_n_accepted,
            rounds_n=timings.rounds_n,
            draft_ms=timings.draft_ms,
            verify_ms=timings.verify_ms,
            native_ms=native_s * 1e3,
            told_per_second=timings.predicted_per_second,
            proposed=dict(sorted(self._proposed.items(), key=lambda item: int(item[0]))),
        )


def parse_own(name: str, engine: OwnEngine) -> Own:
    """A configuration by its name: plain, auto, a depth, or drafters joined by "+" and perhaps a depth."""
    what, _, depth = name.removeprefix(PREFIX).partition(":")
    at = int(depth) if depth else None
    if what == "plain":
        return Own(engine, (), None)
    if what == "auto":
        return Own(engine, None, at)
    if what.isdigit():
        return Own(engine, ("draft",), int(what))
    spec = tuple(what.split("+"))
    if unknown := set(spec) - set(drafter_names()):
        raise SystemExit(f"{name}: there is no drafter {', '.join(sorted(unknown))}.")
    return Own(engine, spec, at)


def default_own(drafter: str) -> list[str]:
    """Plain, automatic, the suffix drafter alone, and ``drafter`` at every fixed depth."""
    kind = "" if drafter == "draft" else f"{drafter}:"
    depths = [f"{kind}{depth}" for depth in (1, 2, 3, 4, 7, 15)]
    return [PREFIX + name for name in ("plain", *depths, "auto", "suffix")]
