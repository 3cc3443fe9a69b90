"""Files that go along with the prompt of ``localspec run``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chat.papers import documents
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld

FILLER = "The afternoon was long and nobody said anything about it at all.\n\n" * 60


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small paper, and a folder too large for the context of the fake pair."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.pdf").write_bytes(documents.pdf(["A whale sang."]))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "bees.md").write_text(f"{FILLER}A bee dances.\n\n{FILLER}")
    (tmp_path / "notes" / "no\ttext").write_bytes(b"\0")
    return tmp_path


def asked(world: FakeWorld) -> str:
    """The message that the model read last."""
    (prompt, _) = world.pairs[-1].asked[-1]
    assert not isinstance(prompt, str)
    return prompt[-1].content


def test_papers_go_before_the_prompt(localspec: Localspec, papers: Path) -> None:
    """In the order in which they are given, in the form that the app gives them."""
    world = FakeWorld()
    done = localspec("run", "Who sang?", "--attach", "small.pdf", "--attach", papers / "small.pdf", world=world)
    assert done.code == 0
    block = "```pdf\n[Page 1]\nA whale sang.\n\n```\n"
    assert asked(world) == f"File: small.pdf\n{block}\nFile: {papers}/small.pdf\n{block}\nWho sang?"


def test_a_folder_too_large_is_searched(localspec: Localspec, papers: Path) -> None:
    """The sentence says what goes along, and the start record has the passages."""
    world = FakeWorld()
    done = localspec("run", "How does a bee dance?", "--attach", "notes", "--json", world=world)
    assert done.code == 0
    assert "A bee dances." in asked(world)
    assert len(asked(world)) < 1000
    assert (
        "localspec: notes/ is too large to be read whole; what fits the question goes along: 1 passage of 1 file, "
    ) in done.err
    (file,) = json.loads(done.out.splitlines()[0])["files"]
    assert (file["name"], "A bee dances." in file["text"]) == ("notes/bees.md", True)
    assert file["note"].endswith("found for the question")


def test_refusals(localspec: Localspec, papers: Path) -> None:
    """Before anything is loaded."""
    world = FakeWorld()
    for given, code, words in (
        (("--attach", "nowhere.pdf"), 4, "There is no file nowhere.pdf. Check its name."),
        (("--attach", "notes/no\ttext"), 3, "is not text"),
        (("--attach", "small.pdf", "--raw"), 2, "contradict each other"),
    ):
        done = localspec("run", "Hi", *given, world=world)
        assert (done.code, words in done.err) == (code, True), done.err
    assert not world.pairs
