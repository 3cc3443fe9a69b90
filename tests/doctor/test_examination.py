"""Folders, cache, endpoint and hardware: looked at without harm, told in sentences."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from localspec.base.machine import MachineMemory
from localspec.base.paths import user_paths
from localspec.doctor import checks, examination
from localspec.doctor.checks import (
    check_cache,
    check_folders,
    check_history,
    check_large_pages,
    check_network,
    check_server,
    check_settings,
)
from localspec.doctor.evaluation import Evaluation
from localspec.doctor.examination import examine
from localspec.doctor.finding import NOTE, OK, PROBLEM
from localspec.doctor.hardware import gcc_version, hardware
from localspec.doctor.native_probe import NativeReport, ProbedDevice
from localspec.models.pairs.collecting import collect
from localspec.models.pairs.hub_cache import hub_cache
from localspec.store import Store, database_file
from tests.gguf_files import write
from tests.hub import HubServer
from tests.hub.certificates import self_signed
from tests.models.pairs.support import in_hub, write_own
from tests.runtime.remote.scripted_server import models, scripted
from tests.tiny_embedders import write_embedder
from tests.tiny_models import write_tiny

BUILT = NativeReport(version="1", library="/lib.so", system_info="CPU : ", threads=2)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(params=[200, 404, 500])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(request.param)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("switch", "level"),
    [("always [madvise] never\n", OK), ("[always] madvise never\n", OK), ("always madvise [never]\n", NOTE)],
)
def test_large_pages_that_the_system_withholds_are_a_finding(tmp_path: Path, switch: str, level: str) -> None:
    """With the command that changes it."""
    file = tmp_path / "enabled"
    file.write_text(switch)
    (finding,) = check_large_pages(file)
    assert finding.level == level
    assert bool(finding.command) == (level == NOTE)
    assert check_large_pages(tmp_path / "missing") == []


def test_an_endpoint_that_says_anything_answers(server: str) -> None:
    finding = check_network({"HF_ENDPOINT": server})

    assert (finding.level, finding.text) == (OK, f"{server.rstrip('/')} answers.")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"HF_ENDPOINT": NOBODY}, "does not answer: Connection refused."),
        ({"HF_HUB_OFFLINE": "1"}, "is not contacted"),
        ({"HF_ENDPOINT": "file:///etc/passwd"}, "is not an address"),
        ({"HF_ENDPOINT": "http://[broken"}, "does not answer"),
        ({"HF_ENDPOINT": "http://"}, "is not an address"),
    ],
)
def test_being_offline_is_a_finding_and_no_problem(environ: dict[str, str], said: str) -> None:
    finding = check_network(environ)

    assert finding.level == NOTE
    assert said in finding.text


def test_a_certificate_that_is_not_trusted_is_told_with_what_to_do(tmp_path: Path) -> None:
    with HubServer(self_signed(tmp_path).server_side()) as encrypted:
        finding = check_network({"HF_ENDPOINT": encrypted.endpoint})

    assert (finding.level, "CERTIFICATE" in finding.text) == (NOTE, True)
    assert "SSL_CERT_FILE" in finding.hint
    assert "clock" in finding.hint


def test_folders_that_are_not_there_yet_are_none_the_worse() -> None:
    assert [finding.level for finding in check_folders()] == [OK] * 4
    assert not user_paths().config.exists(), "looking makes nothing"


def test_a_disk_that_is_nearly_full_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_bytes", lambda folder: 1_000_000)
    *_, finding = check_folders()
    assert (finding.level, finding.text.partition(";")[0]) == (NOTE, "data: 1.00 MB are free on its disk")


def test_a_folder_that_is_a_file_is_a_problem() -> None:
    write(user_paths().config, b"in the way")

    findings = {finding.text.partition(":")[0]: finding for finding in check_folders()}

    assert findings["config"].level == PROBLEM
    assert findings["config"].hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_problem() -> None:
    user_paths().config.mkdir(parents=True)
    user_paths().config.chmod(stat.S_IRUSR | stat.S_IXUSR)

    assert PROBLEM in [finding.level for finding in check_folders()]


def test_a_healthy_cache_and_one_with_holes_and_leftovers() -> None:
    link = in_hub("Owner/Name", "x.gguf", b"x")
    assert {finding.level for finding in check_cache()} <= {OK, NOTE}

    link.resolve().unlink()
    write(hub_cache() / "models--Owner--Name" / "blobs" / "y.incomplete", b"12345")
    texts = {finding.text: finding.level for finding in check_cache()}

    assert texts["Unfinished downloads and the like take 0.00 MB."] == NOTE
    assert [text for text, level in texts.items() if level == PROBLEM and str(link) in text]


def test_settings_that_are_left_out_are_problems() -> None:
    assert check_settings() == [], "there is no file"
    write(user_paths().config / "config.toml", b'[model]\npair = "none"\n[chat]\n')

    findings = check_settings()

    assert {finding.level for finding in findings} == {PROBLEM}
    assert [finding.text.partition(", line ")[2] for finding in findings] == [
        "3: there is no section chat. It is left out.",
        "2: model.pair: there is no pair 'none'. It is left out.",
    ]


def newer(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(parents=True), "cannot be stored in"),
        (newer, "stored by a newer LocalSpec. They can be read, but nothing new is stored."),
        (lambda path: write(path, b"no database " * 1000), "is damaged"),
    ],
    ids=["folder", "newer", "damaged"],
)
def test_a_file_of_conversations_that_takes_none_is_a_problem(make: Callable[[Path], object], said: str) -> None:
    make(database_file())

    (finding,) = check_history()

    assert (finding.area, finding.level) == ("history", PROBLEM)
    assert said in finding.text


def test_a_file_of_conversations_is_looked_at_and_left_as_it_is() -> None:
    """None is made if there is none, and one in use may be looked at, too."""
    assert check_history() == []
    Store.open().close()
    before = {path.name: path.read_bytes() for path in user_paths().data.iterdir()}
    (finding,) = check_history()
    assert (finding.level, str(database_file()) in finding.text) == (OK, True)
    assert {path.name: path.read_bytes() for path in user_paths().data.iterdir()} == before

    store = Store.open()
    store.begin().ask("Hello?")
    assert [finding.level for finding in check_history()] == [OK]
    store.close()


def test_pairs_that_cannot_be_read_are_a_problem() -> None:
    write_own("[[pairs]\n")

    assert [finding.area for finding in check_cache() if finding.level == PROBLEM] == ["pairs"]


def test_single_models_and_the_embedding_model_are_named(tmp_path: Path) -> None:
    texts = [finding.text for finding in check_cache()]
    assert texts[-1].endswith("are found by words; no embedding model is on this machine.")
    assert texts[-2].endswith("pairs are known.")

    (tmp_path / "models").mkdir()
    single = write_tiny(tmp_path / "models" / "single.gguf", "llama")
    write_embedder(tmp_path / "models" / "find.gguf")
    collect([single])
    texts = [finding.text for finding in check_cache()]
    assert texts[-1].endswith("are found by words and meaning: find.gguf.")
    assert texts[-2].endswith("pairs are known. 1 is a single model, which drafts from its own text (suffix).")


def test_hardware_is_read_from_the_system(tmp_path: Path) -> None:
    cpuinfo = write(tmp_path / "cpuinfo", b"model name\t: A CPU\nflags\t\t: fpu avx2 amx_int8\n\nmodel name : B\n")
    nvidia = write(tmp_path / "nvidia", b"")

    found = hardware(cpuinfo, nvidia, tmp_path / "kfd")

    assert (found.processor, found.instruction_sets) == ("A CPU", ("avx2", "amx_int8"))
    assert (found.cuda, found.rocm) == (True, False)
    assert hardware(tmp_path / "none", nvidia, nvidia).instruction_sets == ()


@pytest.mark.parametrize(
    ("memories", "rocm"), [([], True), ([512 * 2**20], False), ([512 * 2**20, 16 * 2**30], True), (["?"], True)]
)
def test_an_amd_gpu_that_is_part_of_the_processor_is_not_built_for(
    tmp_path: Path, memories: list[int | str], rocm: bool
) -> None:
    """Its driver is there all the same, as on most laptops with a Ryzen."""
    driver = write(tmp_path / "kfd", b"")
    for n, memory in enumerate(memories):
        write(tmp_path / f"card{n}" / "device" / "mem_info_vram_total", f"{memory}\n".encode())
    assert hardware(tmp_path / "cpuinfo", tmp_path / "nvidia", driver, tmp_path).rocm == rocm


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.", "12.2.0"),
        ("gcc-13 (Ubuntu 13.1.0-8ubuntu1~22.04) 13.1.0\nFree Software Foundation", "13.1.0"),
        ("clang version 17.0.1", None),
        ("", None),
    ],
)
def test_the_compiler_is_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: str | None
) -> None:
    compiler = write(tmp_path / "cc", f"#!/bin/sh\ncat <<'EOF'\n{said}\nEOF\n".encode())
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))

    assert gcc_version() == version


def test_no_compiler_is_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/none/cc")

    assert gcc_version() is None


def test_a_blank_variable_names_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual one is asked."""
    monkeypatch.delenv("CC", raising=False)
    usual = gcc_version()
    monkeypatch.setenv("CC", " ")

    assert gcc_version() == usual


def test_a_compiler_that_writes_no_utf8_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its translation in an older encoding is none."""
    text = "gcc 12.2.0 \xe9\nFree Software Foundation".encode("latin-1")
    compiler = write(tmp_path / "cc", b"#!/bin/sh\ncat <<'EOF'\n" + text + b"\nEOF\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))

    assert gcc_version() == "12.2.0"


def test_all_of_it_is_json_and_says_whether_it_is_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)

    found = examine(lambda: BUILT, Evaluation)
    record = json.loads(json.dumps(dataclasses.asdict(found)))

    assert {"versions", "native", "evaluation", "hardware", "room", "findings"} == record.keys()
    assert {finding["area"] for finding in record["findings"]} >= {"engine", "build", "memory", "folders", "network"}
    assert not examine(lambda: NativeReport("llama.cpp cannot be loaded: x."), Evaluation).healthy


@pytest.mark.parametrize(("heads", "level"), [(True, OK), (False, NOTE)])
def test_a_build_without_the_functions_of_heads_is_told(
    monkeypatch: pytest.MonkeyPatch, heads: bool, level: str
) -> None:
    """Everything else works with it."""
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    plain = dataclasses.replace(hardware(), cuda=False, rocm=False)
    monkeypatch.setattr(examination, "hardware", lambda: plain)

    found = examine(lambda: dataclasses.replace(BUILT, heads=heads), Evaluation)

    (finding,) = [finding for finding in found.findings if "draft heads" in finding.text]
    assert finding.level == level
    assert found.healthy


def test_free_memory_is_told_where_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS does not report it of RAM, nor do some drivers of a GPU."""
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    gpu = ProbedDevice("CUDA0", "A GPU", 8_000_000_000, shares_ram=False, used=True)
    memory = MachineMemory(16_000_000_000, 9_000_000_000)

    def texts() -> list[str]:
        monkeypatch.setattr("localspec.doctor.native_probe.memory", lambda: memory)
        findings = examine(
            lambda: dataclasses.replace(BUILT, devices=(gpu,)), Evaluation, lambda threads: None
        ).findings
        return [each.text for each in findings if each.text.startswith(("It would evaluate", "16"))]

    assert texts() == [
        "It would evaluate on CUDA0 (A GPU, 8.00 GB free), and on 2 CPU threads what does not fit.",
        "16.0 GB in all, 9.00 GB free.",
    ]
    gpu, memory = dataclasses.replace(gpu, free_bytes=0), MachineMemory(16_000_000_000, None)
    assert texts() == [
        "It would evaluate on CUDA0 (A GPU), and on 2 CPU threads what does not fit.",
        "16.0 GB in all.",
    ]


def test_the_server_of_the_chat_is_told() -> None:
    """Its kind, or what keeps the chat from it; nothing where none is set."""
    assert check_server(None) == check_server("none") == []
    with scripted({"/v1/models": [models({"id": "big", "owned_by": "vllm"})]}) as server:
        (found,) = check_server(server.url)
    assert (found.level, "vLLM at 127.0.0.1:" in found.text) == (OK, True)
    (gone,) = check_server(NOBODY)
    assert (gone.level, gone.text) == (PROBLEM, "127.0.0.1:9 cannot be reached.")
