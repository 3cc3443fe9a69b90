"""The observer that sends a trace of each reply to an OpenTelemetry collector, through the SDK, an optional extra.

A reply is a span ``reply`` with the spans ``prompt`` and, for each round, ``draft`` (if a drafter was queried),
``verify`` and ``commit``. They contain figures, never text. Durations are the engine's measurements; start times are
those at which the events arrived here, so a span may be slightly late.

Endpoint, sampling and service name come from the SDK's own variables:
OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318 unless it says otherwise), OTEL_EXPORTER_OTLP_HEADERS,
OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_BSP_*, OTEL_SDK_DISABLED. Names of attributes
follow the semantic conventions for generative AI where they have one.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from textwrap import shorten
from threading import Thread
from typing import TYPE_CHECKING, Any

from localspec import __version__
from localspec.base.errors import LocalSpecError, UsageError
from localspec.base.extras import install_extra
from localspec.engine.events import Event, Finished, PromptProgress, Round, Started
from localspec.insight.observers import News, ReplyObserver
from localspec.insight.stats.groups import NO_PAIR
from localspec.store import ReplyMetadata

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

_SHORT = "Traces of replies are not received; OTEL_EXPORTER_OTLP_ENDPOINT sets where they go."
_LONGEST = 200
"""The longest message of the SDK that is shown, which may quote whole exceptions."""
_CLOSING_S = 2
"""The longest wait for unsent spans at the end."""

Attributes = dict[str, str | int | float | Sequence[str]]


def check_otel() -> None:
    """Raise UsageError, before anything is loaded, if the SDK is not installed."""
    try:
        import opentelemetry.exporter.otlp.proto.http as _exporter  # noqa: F401
        import opentelemetry.sdk.trace as _sdk  # noqa: F401
    except ImportError:
        text = "Traces need OpenTelemetry's SDK, which is not installed."
        raise UsageError(text, f"Install it: {install_extra('otel')}") from None


class Tracing:
    """Sends spans through a tracer provider of its own, in a thread of the SDK. ``close`` it at the end."""

    def __init__(self, exporter: SpanExporter | None = None, clock_ns: Callable[[], int] = time.time_ns) -> None:
        """``exporter`` is by default the environment's.

        Raises UsageError if the SDK is not installed, or refuses the environment's variables.
        """
        check_otel()
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._complaints = _Complaints()
        self._reported = ""
        self._clock_ns = clock_ns
        try:
            self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
            self._exporter = exporter or OTLPSpanExporter()
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        except ValueError as error:
            self._complaints.close()
            text = f"OpenTelemetry refuses a variable: {str(error).rstrip('.')}."
            raise UsageError(text, "Correct the OTEL_ variables.") from None
        self._tracer = self._provider.get_tracer("localspec", __version__)
        # What it says so far is about variables in whose place it takes others.
        self._remark, self._complaints.latest = self._complaints.latest, ""

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return _TracedReply(self._tracer, about, message, self._clock_ns)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """A remark on the environment's variables, and a message if spans cannot be sent, once for each error."""
        remark, self._remark = self._remark, ""
        news = [News(f"OpenTelemetry says: {remark}")] if remark else []
        latest, reported = self._complaints.latest, self._reported
        self._reported = latest
        if latest and latest != reported:
            text = f"Traces of replies are not received. OpenTelemetry says: {latest} Replies go on without."
            news.append(News(text, _SHORT))
        return news

    def close(self) -> None:
        """Send the remaining spans, for a moment at most."""
        # The SDK's own limit holds for each of many batches, each of which is tried again.
        sending = Thread(target=self._provider.shutdown, name="localspec-otel", daemon=True)
        sending.start()
        sending.join(_CLOSING_S)
        if sending.is_alive():
            self._complaints.ends = True  # the SDK complains of what is sent after this
            self._exporter.shutdown()
        else:
            self._complaints.close()


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    named = "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "") or os.environ.get("OTEL_SERVICE_NAME")
    name: dict[str, str] = {} if named else {"service.name": "localspec"}
    return Resource.create({**name, "service.version": __version__})


class _Complaints(logging.Handler):
    """A log handler for the SDK, without which Python would write its messages on the screen."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.latest = ""
        self.ends = False
        """True if no further message counts."""
        logging.getLogger("opentelemetry").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if self.ends:
            return
        first = record.getMessage().partition("\n")[0].strip()
        self.latest = shorten(first, _LONGEST, placeholder=" …").rstrip(".") + "."

    def close(self) -> None:
        logging.getLogger("opentelemetry").removeHandler(self)
        super().close()


class _TracedReply:
    """Makes the spans of one reply. The SDK's spans never raise."""

    def __init__(self, tracer: Tracer, about: ReplyMetadata, message: str, clock_ns: Callable[[], int]) -> None:
        from opentelemetry.trace import set_span_in_context

        self._tracer = tracer
        self._clock_ns = clock_ns
        self._at_ns = clock_ns()
        """The end of the last span."""
        self._reply = tracer.start_span("reply", start_time=self._at_ns, attributes=_about(about, message))
        self._inside = set_span_in_context(self._reply)
        self._prompt: Span | None = None

    def receive(self, event: Event) -> None:
        """Make the spans of an event."""
        match event:
            case Started():
                self._begin_prompt(event)
            case Round():
                self._round(event)
            case Finished():
                self._finish(event)
            case PromptProgress():
                pass

    def fail(self, error: LocalSpecError) -> None:
        """End the spans with the type of the error only: its text may contain names of files."""
        from opentelemetry.trace import Status, StatusCode

        self._reply.set_attributes({"error.type": type(error).__name__, "localspec.exit_code": error.exit_code})
        self._reply.set_status(Status(StatusCode.ERROR, type(error).__name__))
        self._end()

    def _begin_prompt(self, started: Started) -> None:
        self._at_ns = self._clock_ns()
        attributes: Attributes = {"localspec.prompt_n": started.prompt_n, "localspec.cache_n": started.cache_n}
        self._prompt = self._tracer.start_span(
            "prompt", self._inside, start_time=self._at_ns, attributes={**attributes, "localspec.seed": started.seed}
        )

    def _end_prompt(self, at_ns: int) -> None:
        if self._prompt is not None:
            self._prompt.end(at_ns)
            self._prompt = None

    def _round(self, round_: Round) -> None:
        begin = max(self._at_ns, self._clock_ns() - _ns(round_.total_s))
        self._end_prompt(begin)
        drafted = begin + _ns(round_.draft_s)
        verified = drafted + _ns(round_.verify_s)
        self._at_ns = max(verified, begin + _ns(round_.total_s))
        figures = _figures(round_)
        if round_.draft_s > 0 or round_.depth:
            self._span("draft", begin, drafted, figures)
        self._span("verify", drafted, verified, figures)
        self._span("commit", verified, self._at_ns, {**figures, "localspec.committed": len(round_.tokens)})

    def _span(self, name: str, begin_ns: int, end_ns: int, attributes: Attributes) -> None:
        self._tracer.start_span(name, self._inside, start_time=begin_ns, attributes=attributes).end(end_ns)

    def _finish(self, finished: Finished) -> None:
        timings = finished.timings
        figures: dict[str, Any] = {
            "gen_ai.response.finish_reasons": [str(finished.reason)],
            "gen_ai.usage.input_tokens": timings.prompt_n + timings.cache_n,
            "gen_ai.usage.output_tokens": timings.predicted_n,
            "localspec.proposed": timings.draft_n,
            "localspec.accepted": timings.draft_n_accepted,
            "localspec.ignored": timings.draft_n_ignored,
            "localspec.rounds": timings.rounds_n,
            "localspec.acceptance": timings.draft_acceptance_rate,
            "localspec.tokens_per_second": timings.predicted_per_second,
            "localspec.speedup_vs_plain": timings.speedup_vs_plain,
            "localspec.divergence_nats": timings.divergence,
        }
        self._reply.set_attributes({name: value for name, value in figures.items() if value is not None})
        self._end()

    def _end(self) -> None:
        at_ns = max(self._at_ns, self._clock_ns())
        self._end_prompt(at_ns)
        self._reply.end(at_ns)


def _about(about: ReplyMetadata, message: str) -> Attributes:
    options = about.options
    figures: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "localspec",
        "gen_ai.request.model": about.target.name if about.target is not None else None,
        "gen_ai.request.temperature": options.sampling.temperature,
        "gen_ai.request.max_tokens": options.max_tokens,
        "localspec.pair": about.pair_id or NO_PAIR,
        "localspec.draft": about.draft.name if about.draft is not None else None,
        "localspec.message": message or None,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _figures(round_: Round) -> Attributes:
    attributes: Attributes = {
        "localspec.round": round_.index,
        "localspec.depth": round_.depth,
        "localspec.proposed": round_.proposed_n,
        "localspec.accepted": round_.accepted_n,
    }
    if round_.drafter is not None:
        attributes["localspec.drafter"] = round_.drafter
    if round_.divergence is not None:
        attributes["localspec.divergence_nats"] = round_.divergence
    return attributes


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
