"""The command line over the real engine and the built-in pair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from localspec.cli.services import Services
from tests.builtin import DRAFT, ON_GPU, TARGET
from tests.cli.conftest import Localspec
from tests.cli.support import Done


@pytest.fixture
def real(localspec: Localspec) -> Callable[..., Done]:
    """``localspec ARGUMENTS`` over the engine as it is."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Done:
        return localspec(*arguments, services=Services(has_terminal=lambda: False), stdin=stdin)

    return run


def other_vocabulary(path: Path) -> Path:
    """The draft, with the token for " the" made into another one."""
    data = DRAFT.read_bytes()
    token = "\u0120the".encode()
    length = len(token).to_bytes(8, "little")
    assert data.count(length + token) == 1
    path.write_bytes(data.replace(length + token, length + "\u0120thx".encode()))
    return path


@pytest.mark.parametrize(
    ("asked", "may_be_plain"),
    [
        (("--depth", "3", "--max-tokens", "24", "What is a draft model?"), False),
        (("Tell me a story about a fox.",), ON_GPU),
    ],
    ids=["three", "auto"],
)
def test_the_first_run_needs_nothing(real: Callable[..., Done], asked: Sequence[str], may_be_plain: bool) -> None:
    """``localspec run PROMPT`` replies with the built-in pair, and its JSON adds up.

    Guesses are accepted. By itself a long reply makes some, whatever the prices measured before it; a GPU may be too
    quick for guesses to pay.
    """
    done = real("run", "--json", "--temperature", "0", *asked)
    events = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0
    assert {event["event"] for event in events} == {"start", "round", "done"}
    assert (events[0]["pair"], events[0]["options"]["temperature"]) == ("builtin", 0)
    tokens = [token for event in events[1:-1] for token in event["tokens"]]
    assert "".join(token["text"] for token in tokens) == events[-1]["text"] != ""
    assert events[-1]["timings"]["draft_n_accepted"] == sum(token["origin"] == "accepted" for token in tokens)
    assert events[-1]["timings"]["draft_n_accepted"] or may_be_plain
    assert done.err.rstrip().endswith("drafter draft, pair builtin")


def test_the_pairs_own_sampling_is_used(real: Callable[..., Done]) -> None:
    """A knob that was not turned stands where the pair's makers recommend."""
    recommended = json.loads(real("pairs", "info", "builtin", "--json").out)["sampling"]
    start = json.loads(real("run", "--json", "--top-k", "7", "--max-tokens", "1", "Hello").out.splitlines()[0])
    assert start["options"]["temperature"] == recommended["temperature"]
    assert start["options"]["top_k"] == 7


def test_lines_are_answered(real: Callable[..., Done]) -> None:
    """Two lines, two replies, of the length asked for."""
    done = real("--max-tokens", "4", stdin=b"Hello\nWhat is depth?\n")
    assert done.code == 0
    assert done.err.count(" 4 tokens") == 2


@pytest.mark.parametrize(
    ("make", "code", "says"),
    [
        (lambda folder: ("--target", folder / "none.gguf"), 4, "none.gguf"),
        (lambda folder: ("--target", TARGET, "--draft", folder / "none.gguf"), 4, "none.gguf"),
        (lambda folder: ("--target", written(folder / "text.gguf", b"no model, just words")), 5, "text.gguf"),
        (lambda folder: ("--target", written(folder / "cut.gguf", TARGET.read_bytes()[:500_000])), 5, "cut.gguf"),
        (lambda folder: ("--target", folder), 5, "folder"),
        (lambda folder: ("--target", TARGET, "--draft", other_vocabulary(folder / "other.gguf")), 6, "thx"),
        (lambda folder: ("--ctx", "8"), 7, "8"),
        (lambda folder: ("--pair", "no-such-pair"), 4, "no-such-pair"),
        (lambda folder: ("--pair", "qwen3-8b"), 4, "Qwen3-8B"),
    ],
    ids=[
        "no file",
        "no draft",
        "no GGUF",
        "truncated",
        "a folder",
        "other vocabulary",
        "small context",
        "no pair",
        "not here",
    ],
)
def test_bad_input_is_a_sentence(
    real: Callable[..., Done], tmp_path: Path, make: Callable[[Path], tuple[str | Path, ...]], code: int, says: str
) -> None:
    """One line with what happened and what to do, the documented code, nothing on standard output."""
    done = real("run", *make(tmp_path), "Tell me a story about a fox")
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("localspec: ")
    assert done.err.count("\n") == 1
    assert says in done.err


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_the_pairs_are_listed(real: Callable[..., Done]) -> None:
    """A table for people, an array for programs, and the built-in pair is always there."""
    listed = json.loads(real("pairs", "list", "--json").out)
    builtin = next(pair for pair in listed if pair["id"] == "builtin")
    assert builtin["available"]
    assert builtin["tour"]
    table = real("pairs", "list").out.splitlines()
    assert table[0].split() == ["ID", "STATE", "SIZE", "FIT"]
    rows = [line.split()[0] for line in table[1:] if line and not line.startswith(" ")]
    assert [row for row in rows if row in {pair["id"] for pair in listed}] == [pair["id"] for pair in listed]


def test_a_pair_is_described(real: Callable[..., Done]) -> None:
    """Where its files are, or how to get them; an unknown one is not found."""
    assert str(TARGET) in real("pairs", "info", "builtin").out
    absent = real("pairs", "info", "qwen3-8b")
    assert re.search(r"^state +not here: ", absent.out, re.MULTILINE)
    assert re.search(r"^to get it +\S", absent.out, re.MULTILINE)
    assert real("pairs", "info", "no-such-pair").code == 4
