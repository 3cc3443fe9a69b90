"""Traces of replies, into the SDK's own memory: a tree each, with the engine's figures and no word that was said."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, pairwise
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from localspec.base.errors import ModelFileError, UsageError
from localspec.base.extras import install_extra
from localspec.engine.events import Finished, Round
from localspec.insight.observers.observers import Observers
from localspec.insight.observers.tracing import Tracing, check_otel
from localspec.runtime.chat_config import Outlets
from tests.cli.conftest import Localspec
from tests.store.support import ABOUT, events
from tests.tui.support import LAUNCH

MINUTE_NS = 60 * 10**9


@pytest.fixture
def memory() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracing(memory: InMemorySpanExporter) -> Iterator[Tracing]:
    ticks = count(1)
    opened = Tracing(memory, lambda: next(ticks) * MINUTE_NS)
    yield opened
    opened.close()


def spans(tracing: Tracing, memory: InMemorySpanExporter) -> list[ReadableSpan]:
    assert tracing._provider.force_flush()
    return sorted(memory.get_finished_spans(), key=lambda span: (span.start_time or 0, span.end_time or 0))


def named(found: list[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [span for span in found if span.name == name]


def test_a_reply_is_a_tree(tracing: Tracing, memory: InMemorySpanExporter) -> None:
    """Every span lies in its reply, in time as well; the rounds' spans follow one another without overlaps."""
    said = events("one two three", "four five")
    observer = tracing.begin(ABOUT, "message-id")
    for event in said:
        observer.receive(event)
    found = spans(tracing, memory)
    (reply,) = named(found, "reply")
    inside = [span for span in found if span is not reply]
    assert [span.name for span in inside] == ["prompt", *["draft", "verify", "commit"] * 2]
    assert reply.context is not None
    assert {span.parent.span_id for span in inside if span.parent} == {reply.context.span_id}
    assert all((span.start_time or 0) >= (reply.start_time or 0) for span in inside)
    assert all((span.end_time or 0) <= (reply.end_time or 0) for span in inside)
    for before, after in pairwise(inside):
        assert (before.end_time or 0) <= (after.start_time or 0)


@pytest.mark.parametrize("step", [0, -1000])
def test_rounds_that_come_at_once_follow_one_another(memory: InMemorySpanExporter, step: int) -> None:
    """As those do that were held back; a clock that is set back does no harm either."""
    ticks = count(MINUTE_NS, step)
    tracing = Tracing(memory, lambda: next(ticks))
    observer = tracing.begin(ABOUT)
    for event in events("one two three", "four five", "six"):
        observer.receive(event)
    found = spans(tracing, memory)
    inside = [span for span in found if span.name != "reply"]
    assert len(inside) == 10
    for before, after in pairwise(inside):
        assert (before.start_time or 0) <= (before.end_time or 0) <= (after.start_time or 0)
    assert (named(found, "reply")[0].end_time or 0) >= (inside[-1].end_time or 0)
    tracing.close()


def test_figures_are_the_engine_s(tracing: Tracing, memory: InMemorySpanExporter) -> None:
    """Durations and counts of each round, and of the reply as a whole."""
    said = events("one two three", "four five")
    observer = tracing.begin(ABOUT)
    for event in said:
        observer.receive(event)
    found = spans(tracing, memory)
    rounds = [event for event in said if isinstance(event, Round)]
    for name, seconds in (("draft", "draft_s"), ("verify", "verify_s")):
        for span, round_ in zip(named(found, name), rounds, strict=True):
            assert (span.end_time or 0) - (span.start_time or 0) == round(getattr(round_, seconds) * 1e9)
            attributes = span.attributes or {}
            assert attributes["localspec.proposed"] == round_.proposed_n
            assert attributes["localspec.accepted"] == round_.accepted_n
            assert attributes["localspec.depth"] == round_.depth
            assert attributes["localspec.round"] == round_.index
    done = said[-1]
    assert isinstance(done, Finished)
    attributes = named(found, "reply")[0].attributes or {}
    assert attributes["localspec.pair"] == ABOUT.pair_id
    assert attributes["localspec.proposed"] == done.timings.draft_n
    assert attributes["localspec.accepted"] == done.timings.draft_n_accepted
    assert attributes["gen_ai.usage.output_tokens"] == done.timings.predicted_n
    assert attributes["gen_ai.response.finish_reasons"] == (str(done.reason),)


def test_no_word_of_a_reply_is_in_it(tracing: Tracing, memory: InMemorySpanExporter) -> None:
    """Nor of an error, whose sentence may name a file."""
    for fails in (False, True):
        observer = tracing.begin(ABOUT)
        for event in events("secretword other")[: -1 if fails else None]:
            observer.receive(event)
        if fails:
            observer.fail(ModelFileError("/home/secretword.gguf is broken.", "Get it anew."))
    found = spans(tracing, memory)
    assert len(named(found, "reply")) == 2
    assert not any("secretword" in span.to_json() for span in found)
    broken = [span for span in named(found, "reply") if span.status.status_code is StatusCode.ERROR]
    assert [(span.attributes or {})["error.type"] for span in broken] == ["ModelFileError"]


def test_the_environment_names_the_service(memory: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere where the SDK is used; without it, it is localspec."""
    names = []
    for variables in ({}, {"OTEL_SERVICE_NAME": "mine"}, {"OTEL_RESOURCE_ATTRIBUTES": "service.name=theirs"}):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            opened = Tracing(memory)
            names.append(opened._provider.resource.attributes["service.name"])
            opened.close()
    assert names == ["localspec", "mine", "theirs"]


def test_what_the_sdk_complains_of_is_news_once(
    tracing: Tracing, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sentence, and not across the screen."""
    logger = logging.getLogger("opentelemetry.exporter")
    assert tracing.news() == []
    for _ in range(2):
        logger.error("Failed to export span batch code: 503\nand more")
    (news,) = tracing.news()
    assert "Failed to export span batch code: 503. Replies go on" in news.text
    assert tracing.news() == []
    assert capfd.readouterr().err == ""


def test_a_variable_that_the_sdk_does_not_take_is_told(
    memory: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of most it takes another value, and spans are sent; a few it refuses."""
    before = list(logging.getLogger("opentelemetry").handlers)
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "x")
    opened = Tracing(memory)
    (news,) = opened.news()
    assert (
        news.text
        == "OpenTelemetry says: Unable to parse value for OTEL_BSP_MAX_QUEUE_SIZE as integer. Defaulting to 2048."
    )
    assert opened.news() == []
    opened.close()
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "-5")
    with pytest.raises(UsageError, match=r"schedule_delay_millis must be positive\. Correct the OTEL_ variables"):
        Tracing(memory)
    assert logging.getLogger("opentelemetry").handlers == before


def test_a_closed_one_leaves_nothing_behind(memory: InMemorySpanExporter) -> None:
    """Neither a handler nor a provider of the whole process."""
    from opentelemetry import trace

    before = list(logging.getLogger("opentelemetry").handlers)
    opened = Tracing(memory)
    opened.close()
    assert logging.getLogger("opentelemetry").handlers == before
    assert trace.get_tracer_provider() is not opened._provider


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything else is done."""
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError) as refused:
        check_otel()
    assert str(refused.value).endswith(f"Install it: {install_extra('otel')}")


class Collector(ThreadingHTTPServer):
    """Takes what is posted to it."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, ExportTraceServiceRequest]] = []
        super().__init__(("127.0.0.1", 0), _Taker)


class _Taker(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
        """Quiet."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()


def test_run_sends_a_trace_where_the_environment_says(localspec: Localspec, collector: Collector) -> None:
    """Over HTTP, as a collector takes it; what is said stands where it always does."""
    done = localspec("run", "--target", "big.gguf", "--draft", "small.gguf", "--otel", "hello there")
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert {path for path, _ in collector.requests} == {"/v1/traces"}
    found = [
        span.name
        for _, request in collector.requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert found.count("reply") == found.count("prompt") == 1
    assert found.count("verify") == found.count("commit") > 2


@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_collector_that_refuses_is_told_at_the_end(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Also of a single reply, whose spans are sent when the program ends."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        files = ("--target", "big.gguf", "--draft", "small.gguf")
        said = ("hello there",) if command == "run" else ("--plain",)
        done = localspec(command, *files, "--otel", *said, stdin=b"hello there\n")
    assert done.code == 0
    assert done.err.count("Traces of replies are not received.") == 1


def test_nothing_is_sent_unasked(localspec: Localspec, collector: Collector) -> None:
    """Whatever the environment says: the option and the setting alone decide."""
    assert localspec("run", "--target", "big.gguf", "--draft", "small.gguf", "hello there").code == 0
    assert collector.requests == []


def test_observers_trace_what_the_settings_say(
    memory: InMemorySpanExporter, tracing: Tracing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the next reply on."""
    monkeypatch.setattr("localspec.insight.observers.observers.Tracing", lambda: tracing)
    traced, untraced = replace(LAUNCH, outlets=Outlets(otel=True)), LAUNCH
    observers = Observers()
    for chat_config in (untraced, traced, untraced):
        observers.use(chat_config)
        observer = observers.begin(ABOUT)
        for event in events("one"):
            observer.receive(event)
    assert len(named(list(memory.get_finished_spans()), "reply")) == 1
    observers.close()
