"""``localspec doctor``: for people and for scripts; never fails over what it finds."""

from __future__ import annotations

import dataclasses
import json

import pytest

from localspec.doctor.evaluation import Evaluation
from localspec.doctor.native_probe import NativeReport, ProbedDevice
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld

GPU = ProbedDevice("CUDA0", "Test GPU", 24_000_000_000, shares_ram=False, used=True)
REPORTS = {
    "cpu": NativeReport(version="1", library="/lib.so", system_info="CPU : AVX2 = 1 | ", threads=2),
    "gpu": NativeReport(version="1", library="/lib.so", offloads=True, threads=1, devices=(GPU,)),
    "no driver": NativeReport(version="1", library="/lib.so", offloads=True, threads=1),
    "broken": NativeReport("llama.cpp cannot be loaded: it was built for another processor.", "Build it."),
}


EVALUATION = Evaluation(device="CPU, 2 threads")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cpu", "It would use 2 CPU threads, and no GPU."),
        ("gpu", "It would evaluate on CUDA0 (Test GPU, 24.0 GB free)"),
        ("no driver", "It was built for a GPU, and sees none: it would use 1 CPU thread."),
        ("broken", "problem build: llama.cpp cannot be loaded"),
    ],
)
def test_what_it_would_use_is_said(localspec: Localspec, kind: str, said: str) -> None:
    services = dataclasses.replace(
        FakeWorld().services(), probe_native=lambda: REPORTS[kind], try_evaluating=lambda: EVALUATION
    )

    done = localspec("doctor", services=services)
    assert (done.code, done.err) == (0, "")
    assert said in done.out
    assert "HF_HUB_OFFLINE is set" in done.out
    assert "\x1b" not in done.out

    record = json.loads(localspec("doctor", "--json", services=services).out)
    assert record["evaluation"]["device"] == ("" if kind == "broken" else "CPU, 2 threads")
    assert record["native"]["problem"] == REPORTS[kind].problem
    if kind == "broken":
        assert record["healthy"] is False
        assert any(finding["command"] for finding in record["findings"])


@pytest.mark.parametrize("asked", [("--rpc", "10.0.0.2:50052"), ()])
def test_rpc_servers_are_asked_and_the_open_connection_is_told_of(localspec: Localspec, asked: tuple[str, ...]) -> None:
    """Those on the command line, or else those that are set."""
    remote = ProbedDevice("RPC0", "10.0.0.2:50052", 24_000_000_000, shares_ram=False, used=True, remote=True)
    seen: list[str] = []

    def probe(addresses: str) -> NativeReport:
        seen.append(addresses)
        return dataclasses.replace(REPORTS["cpu"], devices=(remote,))

    services = dataclasses.replace(FakeWorld().services(), probe_rpc=probe, try_evaluating=lambda: EVALUATION)
    if not asked:
        localspec("config", "set", "model.rpc", "10.0.0.2:50052")

    done = localspec("doctor", *asked, services=services)

    assert seen == ["10.0.0.2:50052"]
    assert "It would evaluate on RPC0 (10.0.0.2:50052, 24.0 GB free)" in done.out
    assert "rpc: Nothing protects the connection to 10.0.0.2:50052" in " ".join(done.out.split())


def test_an_rpc_server_that_does_not_answer_is_a_problem(localspec: Localspec) -> None:
    report = dataclasses.replace(REPORTS["cpu"], rpc_problem="No RPC server can be reached.", rpc_hint="Start it.")
    services = dataclasses.replace(
        FakeWorld().services(), probe_rpc=lambda addresses: report, try_evaluating=lambda: EVALUATION
    )

    assert "problem rpc: No RPC server can be reached." in localspec("doctor", "--rpc", "h:1", services=services).out
