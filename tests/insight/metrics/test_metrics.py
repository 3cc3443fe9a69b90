"""The page says what was counted, in a form that Prometheus reads."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from localspec.base.errors import OutputError, StoreError, UsageError
from localspec.cli.metrics import serve
from localspec.engine.events import DrafterFailure, Origin, Round
from localspec.insight.metrics.meters import Meters, StoredMetrics
from localspec.insight.metrics.names import METRICS, MetricKind, documentation
from localspec.insight.metrics.registry import CONTENT_TYPE, Registry
from localspec.insight.metrics.server import MetricsServer, write_page
from localspec.store import RecordFilter, ReplyRecord, Store
from tests.insight.stats import support
from tests.store.support import ABOUT, events, round_of

DOCUMENTED = Path(__file__).parents[3] / "docs" / "metrics.md"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """With replies of two pairs."""
    opened = Store.open(tmp_path / "history.db")
    support.fill(opened, *[support.Kind()] * 6, *[support.Kind(pair='b"\\\n', drafter="suffix")] * 3)
    yield opened
    opened.close()


def families(page: str) -> Iterator[Metric]:
    """As the official parser, which has no types, reads them."""
    yield from text_string_to_metric_families(page)  # type: ignore[no-untyped-call]


def samples(page: str) -> Samples:
    """Values by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): float(sample.value)
        for family in families(page)
        for sample in family.samples
    }


def total(found: Samples, name: str, **labels: str) -> float:
    """Over all samples of a name with these labels."""
    return sum(value for (each, has), value in found.items() if each == name and labels.items() <= dict(has).items())


def runs_of(store: Store) -> list[ReplyRecord]:
    return list(store.runs(where=RecordFilter(rounds=True)))


def test_the_page_has_what_was_counted_by_hand(store: Store) -> None:
    """Under the names of vLLM and of llama-server alike."""
    runs = runs_of(store)
    rounds = [round_ for run in runs for round_ in run.rounds]
    found = samples(StoredMetrics(store).page())
    for prefix in ("vllm", "llamacpp"):
        name = f"{prefix}:spec_decode_num"
        assert total(found, f"{name}_drafts_total") == sum(round_.proposed_n > 0 for round_ in rounds)
        assert total(found, f"{name}_draft_tokens_total") == sum(round_.proposed_n for round_ in rounds)
        assert total(found, f"{name}_accepted_tokens_total") == sum(round_.accepted_n for round_ in rounds)
        for position in range(4):
            by_hand = sum(round_.accepted_n > position for round_ in rounds)
            assert total(found, f"{name}_accepted_tokens_per_pos_total", position=str(position)) == by_hand
        assert total(found, f"{prefix}:prompt_tokens_total") == sum(run.timings.prompt_n for run in runs)
    tokens_n = sum(len(round_.tokens) for round_ in rounds)
    assert total(found, "vllm:generation_tokens_total") == total(found, "llamacpp:tokens_predicted_total") == tokens_n
    assert total(found, "localspec:tokens_total") == tokens_n
    bonus_n = sum(token.origin is Origin.BONUS for round_ in rounds for token in round_.tokens)
    assert total(found, "localspec:tokens_total", origin="bonus") == bonus_n > 0
    assert total(found, "localspec:ignored_tokens_total") == sum(len(round_.ignored) for round_ in rounds)
    assert total(found, "localspec:round_seconds_total") == pytest.approx(sum(round_.total_s for round_ in rounds))
    assert total(found, "vllm:request_success_total", finished_reason="stop") == len(runs)
    assert total(found, "vllm:num_requests_running") == total(found, "localspec:failed_replies_total") == 0
    assert {dict(labels).get("model_name") for _, labels in found} == {"a-pair", 'b"\\\n'}


def test_histograms_count_each_reply_once(store: Store) -> None:
    """In the first bucket that holds it, and in all above."""
    runs = [run for run in runs_of(store) if run.about.pair_id == "a-pair"]
    found = samples(StoredMetrics(store).page())
    name = "vllm:time_to_first_token_seconds"
    for metric in METRICS:
        if metric.name != name:
            continue
        for bound in (*metric.bounds, math.inf):
            le = "+Inf" if bound == math.inf else repr(bound)
            by_hand = sum((run.ttft_s or 0) <= bound for run in runs)
            assert total(found, f"{name}_bucket", model_name="a-pair", le=le) == by_hand
    assert total(found, f"{name}_sum", model_name="a-pair") == pytest.approx(sum(run.ttft_s or 0 for run in runs))


def test_counters_grow_with_each_round() -> None:
    """A scrape in the middle of a reply sees what there is; what broke off is counted, and nothing after it."""
    meters = Meters()
    meter = meters.begin(None)
    said = events("one two", "three")
    counts = []
    for event in said[:-1]:
        meter.receive(event)
        counts.append(total(samples(meters.page()), "vllm:generation_tokens_total"))
    assert counts == [0, 2, 3]
    assert total(samples(meters.page()), "llamacpp:requests_processing", model_name="own files") == 1
    meter.fail()
    meter.fail()
    meter.receive(said[-1])
    found = samples(meters.page())
    assert total(found, "localspec:failed_replies_total") == 1
    assert total(found, "llamacpp:requests_processing") == 0
    assert total(found, "vllm:request_success_total") == 0


def test_a_further_page_has_what_has_come(store: Store) -> None:
    """Each reply counts once, however often the page is asked for; counters never fall."""
    stored = StoredMetrics(store)
    assert stored.page() == stored.page()
    before = samples(stored.page())
    support.fill(store, support.Kind(pair="new"), seed=9)
    after = samples(stored.page())
    assert after == pytest.approx(samples(StoredMetrics(store).page()))
    assert all(after[key] >= value for key, value in before.items() if key[0].endswith(("_total", "_bucket", "_count")))
    assert total(after, "vllm:request_success_total", model_name="new") == 1


def test_an_empty_page_is_a_page() -> None:
    """Nothing was counted yet."""
    assert samples(Meters().page()) == {}
    assert Registry().page() == "# EOF\n"


def test_every_metric_is_documented_and_has_its_place() -> None:
    """The table is what the program has; names are unique and of their kind."""
    assert documentation() in DOCUMENTED.read_text(encoding="utf-8"), "localspec metrics --names writes the table"
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert bool(metric.bounds) is (metric.kind is MetricKind.HISTOGRAM)
        assert list(metric.bounds) == sorted(metric.bounds)
        assert not metric.name.endswith(("_total", "_count", "_sum", "_bucket"))


def test_every_metric_appears(store: Store) -> None:
    """With a reply that broke off there is none that never has a value."""
    thread = store.begin()
    thread.ask("?")
    recorder = thread.begin_reply(ABOUT)
    for event in events("one two"):
        if isinstance(event, Round):
            recorder.receive(replace(event, divergence=0.1))
    # A round without proposals, for the draft has failed.
    recorder.receive(replace(round_of(1, ["word "], None), depth=0, failures=(DrafterFailure("draft", "It broke."),)))
    recorder.fail(StoreError("It broke."))
    found = {family.name for family in families(StoredMetrics(store).page())}
    assert found == {metric.name for metric in METRICS if "`serve`" not in metric.about}


@dataclass
class Page:
    """What a server shows, which each test may set."""

    now: str | StoreError = "# EOF\n"

    def __call__(self) -> str:
        if isinstance(self.now, StoreError):
            raise self.now
        return self.now


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[MetricsServer, Page]]:
    """One for all: it takes half a second to close."""
    page = Page()
    server = MetricsServer(page, 0)
    yield server, page
    server.close()


@pytest.fixture
def page(served: tuple[MetricsServer, Page]) -> Page:
    served[1].now = "# EOF\n"
    return served[1]


@pytest.fixture
def server(served: tuple[MetricsServer, Page]) -> MetricsServer:
    return served[0]


def test_the_server_answers_this_machine(server: MetricsServer, page: Page) -> None:
    """With the page as it is now, and 404 elsewhere."""
    with urllib.request.urlopen(server.url) as answer:
        assert (answer.read(), answer.headers["Content-Type"]) == (b"# EOF\n", CONTENT_TYPE)
    page.now = "a 1\n# EOF\n"
    with urllib.request.urlopen(f"{server.url}?x=1") as answer:
        assert answer.read() == b"a 1\n# EOF\n"
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        urllib.request.urlopen(server.url.removesuffix("/metrics"))
    refused.value.close()
    assert server._server.server_address[0] == "127.0.0.1"
    with pytest.raises(UsageError, match="port"):
        MetricsServer(lambda: "", server.port)


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("127.0.0.1:9", 200), ("[::1]:9", 200), ("evil.example", 403), ("evil.example:9", 403)],
)
def test_the_server_answers_under_this_machines_names_alone(
    server: MetricsServer, page: Page, host: str, status: int
) -> None:
    """A web page may have its own name lead here, and would read the answer."""
    with closing(HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request("GET", "/metrics", headers={"Host": host})
        answer = connection.getresponse()
        assert answer.status == status
        assert (answer.read().decode() == page.now) == (status == 200)


def test_a_store_in_use_is_no_end_of_the_server(server: MetricsServer, page: Page) -> None:
    """The scrape fails with a reason; the next one does not."""
    page.now = StoreError("The file is in use.", "Try again.")
    with pytest.raises(urllib.error.HTTPError, match="503") as refused:
        urllib.request.urlopen(server.url)
    assert refused.value.read() == b"The file is in use. Try again.\n"
    refused.value.close()
    page.now = "# EOF\n"
    with urllib.request.urlopen(server.url) as answer:
        assert answer.read() == b"# EOF\n"


def test_serving_ends_with_the_keyboard(capsys: pytest.CaptureFixture[str]) -> None:
    """And says before where the page is."""
    read: list[bytes] = []

    def interrupt() -> None:
        url = capsys.readouterr().err.split()[3].rstrip(";")
        with urllib.request.urlopen(url) as answer:
            read.append(answer.read())
        raise KeyboardInterrupt

    serve(Meters().page, 0, interrupt)
    assert read == [b"# EOF\n"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Or, where that is not possible, nothing is left behind."""
    file = tmp_path / "localspec.prom"
    file.write_text("old")
    write_page(file, "# EOF\n")
    assert file.read_text() == "# EOF\n"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(OutputError, match="cannot be written"):
        write_page(tmp_path / "no" / "file", "")
    with pytest.raises(OutputError, match="cannot be written"):
        write_page(tmp_path, "")
    assert list(tmp_path.iterdir()) == [file]
