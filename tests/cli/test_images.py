"""Images and projectors on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from localspec.cli.services import Services
from localspec.gguf import read_header
from tests.builtin import TARGET
from tests.cli.conftest import Localspec
from tests.tiny_models import write_tiny
from tests.tiny_projectors import write_png, write_projector


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The built-in target with a projector beside it, and one that does not fit."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    shutil.copy(TARGET, tmp_path / "target.gguf")
    width = read_header(TARGET).integer("llama.embedding_length")
    assert width
    write_projector(tmp_path / "mmproj-f16.gguf", width=width)
    write_projector(tmp_path / "other.gguf", width=width + 32)
    write_png(tmp_path / "cat.png")
    return tmp_path


def test_a_reply_to_an_image(localspec: Localspec, folder: Path) -> None:
    question = ("What is this?", "--image", folder / "cat.png", "--max-tokens", "8", "--json")
    target = ("--target", folder / "target.gguf", "--threads", "1")
    done = localspec("run", *question, *target, services=Services())
    assert done.code == 0
    start = json.loads(done.out.splitlines()[0])
    assert start["projector"] == str(folder / "mmproj-f16.gguf")
    assert start["prompt_n"] > 16  # its rows
    (folder / "mmproj-f16.gguf").unlink()
    done = localspec("run", *question, *target, services=Services())
    assert done.code == 3
    assert "cannot see cat.png: no projector is loaded with it" in done.err


def test_refusals(localspec: Localspec, folder: Path) -> None:
    target = ("--target", folder / "target.gguf")
    done = localspec("run", "Hi", *target, "--projector", folder / "other.gguf", services=Services())
    assert done.code == 6
    assert "cannot read images for target.gguf: it makes rows" in done.err
    done = localspec("run", "Hi", "--projector", folder / "other.gguf")
    assert done.code == 2
    done = localspec("run", "Hi", "--raw", "--image", folder / "cat.png")
    assert done.code == 2
    done = localspec("run", "Hi", *target, "--image", folder / "target.gguf")
    assert done.code == 3
    assert "is not an image" in done.err


def test_check(localspec: Localspec, folder: Path) -> None:
    write_tiny(folder / "tiny.gguf", "llama")
    done = localspec("pairs", "check", folder / "target.gguf", folder / "mmproj-f16.gguf")
    assert (done.code, done.out) == (
        0,
        "target.gguf can read images through mmproj-f16.gguf.\ntarget.gguf calls tools: Hermes.\n",
    )
    done = localspec("pairs", "check", folder / "tiny.gguf", folder / "mmproj-f16.gguf", "--json")
    assert done.code == 6
    assert not json.loads(done.out)["fits"]
