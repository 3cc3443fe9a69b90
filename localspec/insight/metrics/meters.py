"""Metrics from the events of replies. Thread-safe.

In a running app one ``Meters`` receives the events that the ``Recorder`` receives::

    meters = Meters()
    meter = meters.begin(pair_id)                 # for each reply
    meter.receive(event)                          # Started, PromptProgress, Round, Finished
    meter.fail()                                  # instead of a Finished that does not come
    server = MetricsServer(meters.page, port)     # or write_page(path, meters.page()) after each reply
"""

from __future__ import annotations

from collections import Counter
from threading import Lock

from localspec.engine.events import Event, Finished, Round
from localspec.engine.timings import Timings
from localspec.insight.metrics.names import ACCEPTED_PER_POS, ACCEPTED_TOKENS, DRAFT_TOKENS, DRAFTS, SPEC_DECODE
from localspec.insight.metrics.registry import Registry
from localspec.store import RecordFilter, ReplyRecord, Store

OWN_FILES = "own files"
"""The label of a pair given by its files on the command line."""


class Meters:
    """The metrics of one process."""

    def __init__(self) -> None:
        self._registry = Registry()
        self._lock = Lock()

    def begin(self, pair_id: str | None) -> ReplyMeter:
        """A reply begins. It ends with ``Finished`` or ``fail``."""
        return ReplyMeter(self._registry, self._lock, pair_id or OWN_FILES)

    def add(self, run: ReplyRecord) -> None:
        """Count a stored reply with its rounds, as its events would have been counted."""
        meter = self.begin(run.about.pair_id)
        for round_ in run.rounds:
            meter.receive(round_)
        if run.reason is None:
            meter.fail()
        else:
            meter.receive(Finished(run.reason, "", run.timings))

    def count(self, name: str, amount: float, pair_id: str | None, *labels: str) -> None:
        """Add to a metric that is not about the events of a reply."""
        with self._lock:
            self._registry.count(name, amount, pair_id or OWN_FILES, *labels)

    def observe(self, name: str, value: float, pair_id: str | None) -> None:
        """Add a value to a histogram that is not about the events of a reply."""
        with self._lock:
            self._registry.observe(name, value, pair_id or OWN_FILES)

    def page(self) -> str:
        """OpenMetrics text."""
        with self._lock:
            return self._registry.page()


class ReplyMeter:
    """Counts one reply, as running from its creation on; events after its end are ignored."""

    def __init__(self, registry: Registry, lock: Lock, pair: str) -> None:
        self._registry = registry
        self._lock = lock
        self._pair = pair
        self._first_s: float | None = None
        """The time of the first round."""
        self._positions_n = 0
        """The number of positions that have appeared on the page."""
        self._failed: set[str] = set()
        """Drafters whose failure is counted."""
        self._ended = False
        with lock:
            self._running(1)

    def receive(self, event: Event) -> None:
        """Count an event."""
        with self._lock:
            if self._ended:
                return
            match event:
                case Round():
                    self._round(event)
                case Finished():
                    self._end()
                    self._finished(event)

    def fail(self) -> None:
        """Count the reply as failed."""
        with self._lock:
            if not self._ended:
                self._end()
                self._count("localspec:failed_replies", 1)

    def drop(self) -> None:
        """Count no end: the request could not be answered."""
        with self._lock:
            if not self._ended:
                self._end()

    def _round(self, round_: Round) -> None:
        if self._first_s is None:
            self._first_s = round_.total_s
        self._count("localspec:rounds", 1)
        self._count("localspec:ignored_tokens", len(round_.ignored))
        for name in ("vllm:generation_tokens", "llamacpp:tokens_predicted"):
            self._count(name, len(round_.tokens))
        self._count("llamacpp:tokens_predicted_seconds", round_.total_s)
        for origin, n in Counter(token.origin for token in round_.tokens).items():
            self._count("localspec:tokens", n, origin)
        host_s = max(round_.total_s - round_.draft_s - round_.verify_s, 0.0)
        for phase, spent_s in (("draft", round_.draft_s), ("verify", round_.verify_s), ("host", host_s)):
            self._count("localspec:round_seconds", spent_s, phase)
        self._registry.observe("localspec:draft_divergence_nats", round_.divergence, self._pair)
        if round_.proposed_n:
            self._speculation(round_)
        if (fallback := round_.fallback) is not None:
            self._count("localspec:fallback_rounds", 1, fallback)
        for drafter in {failure.drafter for failure in round_.failures} - self._failed:
            self._failed.add(drafter)
            self._count("localspec:drafter_failures", 1, drafter)

    def _speculation(self, round_: Round) -> None:
        accepted_n = round_.accepted_n
        for prefix in SPEC_DECODE:
            self._count(prefix + DRAFTS[0], 1)
            self._count(prefix + DRAFT_TOKENS[0], round_.proposed_n)
            self._count(prefix + ACCEPTED_TOKENS[0], accepted_n)
            for position in range(round_.proposed_n):
                # A position that was never accepted appears too.
                if position < accepted_n or position >= self._positions_n:
                    self._count(prefix + ACCEPTED_PER_POS[0], position < accepted_n, str(position))
        self._positions_n = max(self._positions_n, round_.proposed_n)

    def _finished(self, finished: Finished) -> None:
        timings, pair = finished.timings, self._pair
        registry = self._registry
        self._count("vllm:request_success", 1, finished.reason)
        for prefix in ("vllm:", "llamacpp:"):
            self._count(f"{prefix}prompt_tokens", timings.prompt_n)
        self._count("llamacpp:prompt_seconds", timings.prompt_ms / 1e3)
        registry.set("llamacpp:prompt_tokens_seconds", _per_second(timings.prompt_n, timings.prompt_ms), pair)
        registry.set("llamacpp:predicted_tokens_seconds", timings.predicted_per_second, pair)
        registry.set("localspec:speedup_vs_plain", timings.speedup_vs_plain, pair)
        registry.observe("localspec:mean_acceptance_length", timings.mean_acceptance_length, pair)
        self._latencies(timings)

    def _latencies(self, timings: Timings) -> None:
        prompt_s, rounds_s = timings.prompt_ms / 1e3, timings.predicted_ms / 1e3
        first_s = None if self._first_s is None else prompt_s + self._first_s
        per_token_s = rounds_s / timings.predicted_n if timings.predicted_n else None
        for name, value in (
            ("vllm:time_to_first_token_seconds", first_s),
            ("vllm:request_time_per_output_token_seconds", per_token_s),
            ("vllm:e2e_request_latency_seconds", prompt_s + rounds_s),
            ("vllm:request_prefill_time_seconds", prompt_s),
            ("vllm:request_decode_time_seconds", rounds_s),
        ):
            self._registry.observe(name, value, self._pair)

    def _end(self) -> None:
        self._ended = True
        self._running(-1)

    def _running(self, change: int) -> None:
        for name in ("vllm:num_requests_running", "llamacpp:requests_processing"):
            self._count(name, change)

    def _count(self, name: str, amount: float, *labels: str) -> None:
        self._registry.count(name, amount, self._pair, *labels)


def _per_second(n: int, ms: float) -> float | None:
    return n / ms * 1e3 if ms > 0 and n else None


class StoredMetrics:
    """Metrics of all stored replies: reads the store for the first page, and only new replies for every further one.

    Counters begin with the first stored reply, so they continue over restarts of the program. Replies that are deleted
    later still count in this object.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._meters = Meters()
        self._place = 0
        self._lock = Lock()

    def page(self) -> str:
        """The OpenMetrics text. Thread-safe. Raises StoreError."""
        with self._lock:
            for run in self._store.runs(self._place, where=RecordFilter(rounds=True, settled=True)):
                self._meters.add(run)
                self._place = run.place
            return self._meters.page()
