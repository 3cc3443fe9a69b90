"""``localspec pairs``: what people and scripts are shown, and what happens to their files."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from localspec.base.machine import MachineMemory
from localspec.cli.services import Services
from localspec.cli.tables import DIM
from localspec.config import read_config
from localspec.config.file import config_file
from localspec.doctor.native_probe import NativeReport, ProbedDevice, speed_file_of
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.estimate import model_costs
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.user_pairs import own_file
from localspec.runtime.speed.kernels import KernelSpeeds
from localspec.runtime.speed.speed_file import PairRun, run_key
from tests.builtin import DRAFT, TARGET
from tests.cli.conftest import Localspec
from tests.cli.support import Done, FakeWorld
from tests.gguf_files import write
from tests.models.pairs.support import BIG, OTHER_TOKENS, SMALL, hub_pair, in_hub, model_bytes, write_own

GB = 10**9


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One of 16 GB, with a home of its own."""
    monkeypatch.setattr("localspec.doctor.native_probe.memory", lambda: MachineMemory(16 * GB, 14 * GB))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def big(tmp_path: Path) -> Path:
    return write(tmp_path / "big.gguf", BIG)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small.gguf", SMALL)


def on(*devices: ProbedDevice, terminal: bool = False) -> Services:
    """The world, with these GPUs in it."""
    report = NativeReport(version="1", threads=2, devices=devices)
    return dataclasses.replace(FakeWorld(terminal=terminal).services(), probe_native=lambda: report)


def listed(done: Done) -> list[dict[str, Any]]:
    assert done.code == 0
    records: list[dict[str, Any]] = json.loads(done.out)
    return records


# list


def test_every_pair_is_listed_with_state_size_fit_and_licence(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    done = localspec("pairs", "list", services=on())

    lines = done.out.splitlines()
    assert lines[0].split() == ["ID", "STATE", "SIZE", "FIT", "TITLE", "LICENCE"]
    for pair in load_catalogue().pairs:
        (line,) = [line for line in lines[1:] if line.split(" ", 1)[0] == pair.id]
        assert pair.title in line
        assert pair.licence in line
        assert re.search(r"fits: |tight: |too big: ", line)
    assert "larger than the whole memory" in next(line for line in lines if line.startswith("llama-3.3-70b"))


@pytest.mark.parametrize("columns", [70, 80, 100, 120, 160])
def test_a_list_fits_the_terminal_and_keeps_its_reasons(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = localspec("pairs", "list", services=on()).out

    assert max(map(len, out.splitlines())) <= columns
    for pair in load_catalogue().pairs:
        (at,) = [n for n, line in enumerate(out.splitlines()) if line.split(" ", 1)[0] == pair.id]
        if not pair.recommended:
            assert "gains little" in "".join(out.splitlines()[at : at + 2])
    assert ("TITLE" in out) == (columns >= 120)


@pytest.mark.parametrize("columns", [70, 80, 120, 200])
def test_speeds_are_listed_once_the_machine_is_measured(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """In the list, which measures nothing itself, with the reason of the recommendation, and in what is said of one."""
    monkeypatch.setenv("COLUMNS", str(columns))
    kernels = KernelSpeeds({kind: {1: 3e-11, 16: 9e-11} for kind in ("F16", "Q4_K")}, {1: 1e-5, 16: 2e-5})
    services = dataclasses.replace(on(), measure_kernels=lambda threads: pytest.fail("a list measured"))
    builtin, speeds = load_catalogue().find("builtin"), speed_file_of(services.probe_native())
    assert builtin.draft is not None
    replied = PairRun(model_costs(builtin, builtin.target).work, 60.0, 111.0, drafted=True)
    speeds.keep_run(run_key(*(Path(model.file).name for model in (builtin.target, builtin.draft))), replied, {})
    before = " ".join(localspec("pairs", services=services).out.split())
    assert ("Tokens/s is" in before) == (" 111 " in before) == (columns >= 80)
    assert "not measured yet: `localspec doctor`" in before
    speeds.keep_kernels(kernels, steady=True)

    out = localspec("pairs", "list", services=services).out
    (row,) = [line for line in out.splitlines() if line.startswith("qwen3-8b *")]
    records = {each["id"]: each for each in listed(localspec("pairs", "list", "--json", services=services))}
    speed = records["qwen3-8b"]["speed"]
    info = " ".join(localspec("pairs", "info", "qwen3-8b", services=services).out.split())

    assert max(map(len, out.splitlines())) <= columns
    assert "not measured yet" not in out
    assert ("TOKENS/S" in out) == ("Tokens/s is" in out) == (columns >= 80) == ("~" in row.rpartition("GB")[2])
    assert "fast enough to read along: about" in " ".join(out.split())
    assert 3 < speed["plain_per_second"] < speed["with_draft_per_second"] < 40
    assert "tokens/s with its drafts" in info
    assert "expected from a measurement of this machine" in info


def test_what_is_found_by_a_filter_decides_how_wide_a_list_is(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    head, row, *_ = localspec("pairs", "list", "--filter", "smollm2", services=on()).out.splitlines()
    assert head.endswith("TITLE")
    assert row.endswith("SmolLM2 1.7B + 135M")


def test_the_recommended_pair_is_marked_and_explained(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    out = localspec("pairs", "list", services=on()).out

    (marked,) = [line for line in out.splitlines() if re.match(r"\S+ \*", line)]
    assert marked.startswith("qwen3-8b *")
    assert "Recommended: qwen3-8b, by this rule: " in out


def test_a_gpu_is_what_is_fitted_into(localspec: Localspec) -> None:
    gpu = ProbedDevice("CUDA0", "Test", 9 * GB, shares_ram=False, used=True)
    records = {each["id"]: each for each in listed(localspec("pairs", "list", "--json", services=on(gpu)))}

    assert records["qwen3-8b"]["fit"]["colour"] == "green"
    assert records["qwen3-8b"]["fit"]["room_bytes"] == 9 * GB
    assert records["qwen3-14b"]["fit"]["colour"] == "amber"
    assert [each["id"] for each in records.values() if each["recommended_here"]] == ["qwen3-8b"]


def test_a_list_without_colours_says_the_same(localspec: Localspec) -> None:
    assert "\x1b" not in localspec("pairs", "list", services=on()).out


def test_the_list_can_be_filtered(localspec: Localspec) -> None:
    ids = [each["id"] for each in listed(localspec("pairs", "list", "--json", "--filter", "QWEN3", services=on()))]
    assert ids
    assert all("qwen3" in pair_id for pair_id in ids)

    done = localspec("pairs", "list", "--filter", "nonsense", services=on())
    assert (done.code, "No pair has 'nonsense'" in done.out) == (0, True)
    assert listed(localspec("pairs", "list", "--json", "--filter", "nonsense", services=on())) == []


def test_a_pair_on_a_volume_that_is_gone_is_greyed_and_never_forgotten(
    localspec: Localspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is done meanwhile: the volume comes back, and the pair with it."""
    volume = tmp_path / "volume"
    own = write_own(f'[[pairs]]\nid = "p"\ntitle = "P"\ntarget.file = "{volume}/x.gguf"\n')
    written = own.read_text()
    monkeypatch.setattr("localspec.cli.tables.wants_ansi", lambda stream: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for command in (("list",), ("prune", "--yes"), ("scan",), ("info", "p")):
        assert localspec("pairs", *command, services=on()).code == 0
    (row,) = [line for line in localspec("pairs", "list", services=on()).out.splitlines() if "file missing" in line]
    assert row.startswith(f"\x1b[{DIM}mp ")
    assert own.read_text() == written

    write(volume / "x.gguf", BIG)
    (back,) = listed(localspec("pairs", "list", "--json", "--filter", "x.gguf", services=on()))
    assert (back["id"], back["state"]) == ("p", "here")


def test_a_pair_on_a_volume_that_is_gone_says_where_it_was(localspec: Localspec) -> None:
    write_own('[[pairs]]\nid = "p"\ntitle = "P"\ntarget.file = "/media/none/x.gguf"\n')

    lines = localspec("pairs", "list", services=on()).out.splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("p ")]

    assert "file missing" in lines[at]
    assert "/media/none" in lines[at + 1]


# info


def test_info_tells_where_files_lie_what_they_take_and_whether_they_fit(
    localspec: Localspec, big: Path, small: Path
) -> None:
    localspec("pairs", "add", "--target", big, "--draft", small, "--id", "mine")
    out = localspec("pairs", "info", "mine", services=on()).out

    for said in (str(big), str(small), "from the files' headers", "weights", "same vocabulary", "mit", "here"):
        assert said in out
    record = json.loads(localspec("pairs", "info", "mine", "--json", services=on()).out)
    assert record["match"]["fits"] is True
    assert record["memory"]["from_headers"] is True
    assert [file["disk_bytes"] for file in record["files"]] == [len(BIG), len(SMALL)]


def test_info_and_check_say_in_which_syntax_a_model_calls_tools(localspec: Localspec) -> None:
    assert "calls tools  Hermes" in localspec("pairs", "info", "builtin", services=on()).out
    record = json.loads(localspec("pairs", "info", "builtin", "--json", services=on()).out)
    assert record["calls_tools"] == "Hermes"
    assert "builtin-target.gguf calls tools: Hermes." in localspec("pairs", "check", TARGET, DRAFT).out


def test_info_of_a_pair_that_is_not_here_tells_what_to_expect_and_who_says_so(localspec: Localspec) -> None:
    out = localspec("pairs", "info", "llama-3.1-8b", services=on()).out

    for said in ("1.71 times plain speed", "llama.cpp#5877", "from sizes, roughly", "not here"):
        assert said in out
    assert json.loads(localspec("pairs", "info", "qwen3-8b", "--json", services=on()).out)["match"] is None


def test_info_of_a_pair_whose_files_do_not_fit_says_why(localspec: Localspec) -> None:
    write_own(hub_pair("bad", "big.gguf", "small.gguf"))
    in_hub("Owner/Name", "big.gguf", BIG)
    in_hub("Owner/Name", "small.gguf", model_bytes(400, tokens=OTHER_TOKENS))

    assert "token 11 is" in localspec("pairs", "info", "bad", services=on()).out


# add


def test_without_a_draft_those_that_fit_are_listed_and_nothing_is_written(
    localspec: Localspec, big: Path, small: Path
) -> None:
    done = localspec("pairs", "add", "--target", big)

    assert done.code == 0
    assert str(small) in done.out
    assert "same vocabulary" in done.out
    assert f"--draft {small}" in done.out
    assert not own_file().exists()


def test_where_none_fits_pairs_of_the_family_are_named(localspec: Localspec, tmp_path: Path) -> None:
    target = write(tmp_path / "Qwen3-9B.gguf", BIG)

    done = localspec("pairs", "add", "--target", target)

    assert done.code == 4
    assert "qwen3-8b" in done.err
    assert "--alone" in done.err


def test_a_target_can_be_added_alone(localspec: Localspec, big: Path) -> None:
    assert localspec("pairs", "add", "--target", big, "--alone").code == 0
    assert load_catalogue().find("big").draft is None
    assert localspec("pairs", "add", "--target", big, "--alone", "--draft", big).code == 2


def test_a_pair_that_does_not_fit_is_refused(localspec: Localspec, big: Path, tmp_path: Path) -> None:
    stranger = write(tmp_path / "stranger.gguf", model_bytes(400, tokens=OTHER_TOKENS))

    done = localspec("pairs", "add", "--target", big, "--draft", stranger)

    assert (done.code, done.err.count("\n")) == (6, 1)
    assert not own_file().exists()


# scan


def test_scan_lists_models_groups_and_possible_pairs(localspec: Localspec, big: Path, small: Path) -> None:
    write(big.parent / "broken.gguf", b"nothing")
    in_hub("Owner/Name", "hub.gguf", SMALL + bytes(32))

    out = localspec("pairs", "scan", big.parent).out
    assert f"  {big} <- " in out
    assert "unusable: broken.gguf" in out

    record = json.loads(localspec("pairs", "scan", big.parent, "--json").out)
    assert {model["store"] for model in record["models"]} == {"Hub", "folder"}
    assert {"target": str(big), "draft": str(small), "pair": None} in record["pairs"]


def test_scan_knows_the_pairs_there_are(localspec: Localspec) -> None:
    """Whatever their sizes: a draft of a 50th of its target is no guess here, but a pair."""
    write_own(hub_pair("mine", "big.gguf", "tiny.gguf"))
    big, tiny = in_hub("Owner/Name", "big.gguf", model_bytes(50_000)), in_hub("Owner/Name", "tiny.gguf", model_bytes(9))

    out = localspec("pairs", "scan").out
    assert "  Owner/Name:big.gguf <- Owner/Name:tiny.gguf (the pair mine)\n" in out
    assert "No two of them" not in out
    assert "pairs add" not in out, "there is nothing to add"
    record = json.loads(localspec("pairs", "scan", "--json").out)
    assert record["pairs"] == [{"target": str(big), "draft": str(tiny), "pair": "mine"}]


def test_scan_says_what_makes_two_models_a_pair(localspec: Localspec, big: Path) -> None:
    """Two of one size make none."""
    write(big.with_name("twin.gguf"), big.read_bytes())
    assert (
        "a draft has its target's vocabulary, and 1/20 to 1/4 of its size" in localspec("pairs", "scan", big.parent).out
    )


def test_scan_of_nothing(localspec: Localspec, tmp_path: Path) -> None:
    nothing = localspec("pairs", "scan").out
    assert nothing.startswith("There are no GGUF files in the caches of the Hub")
    (tmp_path / "empty").mkdir()
    named = localspec("pairs", "scan", tmp_path / "empty").out
    assert named == nothing.replace("GPT4All.", "GPT4All, nor in the folders that were named.")
    assert localspec("pairs", "scan", tmp_path / "none").code == 4


# rm and prune


def test_rm_says_what_goes_and_does_nothing_unasked(localspec: Localspec) -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    path = in_hub("Owner/Name", "big.gguf", bytes(2_000_000))

    done = localspec("pairs", "rm", "one", services=on())
    assert done.code == 2
    assert str(path) in done.out
    assert "This frees 2.00 MB." in done.out
    assert "--yes" in done.err
    assert path.exists()

    assert localspec("pairs", "rm", "one", "--yes", services=on()).code == 0
    assert not path.exists()
    assert "one" not in own_file().read_text()


@pytest.mark.parametrize(("answer", "stays"), [(b"y\n", False), (b"n\n", True), (b"\n", True)])
def test_rm_asks_at_a_terminal(localspec: Localspec, answer: bytes, stays: bool) -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    path = in_hub("Owner/Name", "big.gguf", BIG)

    assert localspec("pairs", "rm", "one", services=on(terminal=True), stdin=answer).code == 0

    assert path.exists() is stays


def test_rm_of_the_pair_that_is_set_takes_it_out_of_the_settings(localspec: Localspec) -> None:
    """Or every start would complain of it; any other setting stays."""
    write_own(hub_pair("one", "big.gguf", "small.gguf") + "\n" + hub_pair("two", "x.gguf", "small.gguf"))
    for file in ("big.gguf", "x.gguf"):
        in_hub("Owner/Name", file, file.encode())
    write(config_file(), b'[model]\npair = "one"\nctx = 2048\n')

    assert "begins with" not in localspec("pairs", "rm", "two", "--yes", services=on()).out
    assert read_config().values == {"model.pair": "one", "model.ctx": 2048}
    asked = localspec("pairs", "rm", "one", services=on())
    assert "It is the pair that LocalSpec begins with; model.pair is removed from " in asked.out
    assert read_config().values["model.pair"] == "one", "nothing was agreed to"
    assert localspec("pairs", "rm", "one", "--yes", services=on()).code == 0
    assert read_config().values == {"model.ctx": 2048}


def test_prune_lists_leftovers_and_removes_them_on_request(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.models.pairs.leftovers._IN_USE_S", -1e9)
    used = in_hub("Owner/Name", "big.gguf", BIG)
    part = write(hub_cache() / "models--Owner--Name" / "blobs" / "x.incomplete", bytes(3_000_000))

    (record,) = listed(localspec("pairs", "prune", "--json", services=on()))
    assert (record["path"], record["size_bytes"]) == (str(part), 3_000_000)
    assert localspec("pairs", "prune", services=on()).code == 2
    assert part.exists()

    done = localspec("pairs", "prune", "--yes", services=on())
    assert "Removed; 3.00 MB freed." in done.out
    assert (part.exists(), used.exists()) == (False, True)
    assert "There are no leftovers." in localspec("pairs", "prune", services=on()).out


def test_prune_leaves_a_download_that_goes_on(localspec: Localspec) -> None:
    part = write(hub_cache() / "models--Owner--Name" / "blobs" / "x.localspec.part", b"x")

    done = localspec("pairs", "prune", "--yes", services=on())

    assert (done.code, "in use" in done.out, part.exists()) == (0, True, True)
