"""Machines of several users, and names no file can have: every command that looks for models still answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.leftovers import find_leftovers
from localspec.models.pairs.removal import plan_removal
from localspec.models.pairs.user_pairs import own_file
from tests.cli.conftest import Localspec
from tests.cli.test_pairs_commands import on
from tests.forbidden import forbid
from tests.gguf_files import write
from tests.models.pairs.support import BIG, SMALL, hub_pair, in_hub, in_ollama, write_own

COMMANDS = [
    ("pairs", "list"),
    ("pairs", "list", "--json"),
    ("pairs", "info", "mine"),
    ("pairs", "scan"),
    ("pairs", "prune"),
    ("doctor",),
    ("doctor", "--json"),
]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("LLAMA_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama" / "models"))
    in_ollama(tmp_path / "ollama" / "models", "llama3.2", "1b", SMALL)
    in_hub("Owner/Name", "big.gguf", BIG)
    mine = write(tmp_path / "mine" / "x.gguf", BIG)
    write_own(hub_pair("hub", "big.gguf", "small.gguf") + f'\n[[pairs]]\nid="mine"\ntitle="M"\ntarget.file="{mine}"\n')


def places(tmp_path: Path) -> dict[str, Path]:
    return {"ollama": tmp_path / "ollama", "mine": tmp_path / "mine", "cache": hub_cache()}


@pytest.mark.parametrize("place", ["ollama", "mine", "cache"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_of_someone_else_is_passed_over(
    localspec: Localspec, command: tuple[str, ...], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ollama's is, where it runs as a service."""
    with monkeypatch.context() as patch:
        forbid(places(tmp_path)[place], patch)
        done = localspec(*command, services=on())

    assert (done.code, done.err) == (0, "")


def test_what_is_not_for_us_to_read_is_told_from_what_is_not_there(
    localspec: Localspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        forbid(tmp_path / "mine", patch)
        checked = localspec("pairs", "check", tmp_path / "mine" / "x.gguf", tmp_path / "mine" / "x.gguf")
        listed = json.loads(localspec("pairs", "list", "--json", "--filter", "mine", services=on()).out)

    assert (checked.code, "may not be read" in checked.err) == (5, True)
    assert listed[0]["state"] == "file missing"
    assert "may not be read" in listed[0]["reason"]


def test_a_cache_that_may_not_be_looked_into_is_a_problem_for_the_doctor(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = on()
    with monkeypatch.context() as patch:
        forbid(hub_cache(), patch)
        (problem,) = [
            finding
            for finding in json.loads(localspec("doctor", "--json", services=services).out)["findings"]
            if finding["level"] == "problem" and finding["area"] == "folders"
        ]
    assert "cache of the Hub" in problem["text"]
    assert "HF_HOME" in problem["hint"]


def test_nothing_is_called_unused_while_some_names_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blob whose names lie in a folder that may not be read would look like one without any."""
    with monkeypatch.context() as patch:
        forbid(hub_cache() / "models--Owner--Name" / "snapshots" / "c0ffee", patch)
        assert find_leftovers(now_s=9e9) == []
        assert plan_removal("hub").blobs == ()


@pytest.mark.parametrize(
    "name",
    ["x" * 5000, "x" * 5000 + ".gguf", "a\0b", "Owner/Name:" + "x" * 5000, "\n", "\udcff"],
    ids=["long", "long gguf", "NUL", "long in a repository", "line", "no UTF-8"],
)
@pytest.mark.parametrize("command", ["check", "add"])
def test_a_name_that_no_file_can_have_is_not_found(localspec: Localspec, command: str, name: str) -> None:
    arguments = ("check", name, name) if command == "check" else ("add", "--target", name)
    done = localspec("pairs", *arguments)

    assert done.code in (4, 10)
    assert "unexpected" not in done.err


@pytest.mark.parametrize("file", ["x" * 5000, "x/" * 2000], ids=["long", "deep"])
@pytest.mark.parametrize("repo", ["", 'repo = "Owner/Name"\n'], ids=["path", "repository"])
def test_a_catalogued_file_that_no_disk_can_have_is_missing(localspec: Localspec, file: str, repo: str) -> None:
    write_own(f'[[pairs]]\nid = "odd"\ntitle = "Odd"\n[pairs.target]\n{repo}file = "{file}"\n')

    for command in (("list",), ("info", "odd"), ("prune",)):
        assert localspec("pairs", *command, services=on()).code == 0
    assert localspec("pairs", "rm", "odd", "--yes", services=on()).code == 0
    assert "odd" not in own_file().read_text()


def test_links_that_go_round_in_circles_are_broken_entries(localspec: Localspec) -> None:
    link = hub_cache() / "models--Owner--Name" / "snapshots" / "c0ffee" / "loop.gguf"
    link.symlink_to(link.name)

    for command in COMMANDS:
        assert localspec(*command, services=on()).code == 0
    assert "point to missing files" in localspec("doctor", services=on()).out
