"""What must not be imported, seen from outside: a static graph cannot prove that a deferral defers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import localspec

HEAVY = ("llama_cpp", "llguidance", "textual", "numpy", "huggingface_hub", "jinja2")


LIGHT = (
    "localspec, localspec.cli, localspec.models.pairs, localspec.runtime.load, localspec.runtime.messages, "
    "localspec.runtime.worker.client"
)


@pytest.mark.parametrize(
    ("modules", "allowed"),
    [(LIGHT, set()), ("localspec.engine.loop", {"numpy"}), ("localspec.tui.app", {"textual"})],
    ids=["light", "engine", "screen"],
)
def test_an_import_loads_no_more_than_it_needs_and_changes_nothing(
    modules: str, allowed: set[str], tmp_path: Path
) -> None:
    """The native library above all stays out of every process that does not decode. No file and no output appear."""
    code = f"import {modules}, sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    (loaded,) = done.stdout.splitlines()
    assert set(loaded.split()) <= allowed
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_of_the_binding_only_these_modules_are_used() -> None:
    """Its C functions: never its cache on disk, whose library unpickles files."""
    sources = [path.read_text(encoding="utf-8") for path in Path(localspec.__file__).parent.rglob("*.py")]
    taken = {name for text in sources for name in re.findall(r"from llama_cpp import (.+?)(?: as \w+)?\n", text)}
    assert taken == {"llama_cpp", "mtmd_cpp"}
    other_ways = re.compile(r"^\s*import llama_cpp|from llama_cpp\.|diskcache|Llama(?:Disk)?Cache", re.MULTILINE)
    assert not any(other_ways.search(text) for text in sources)


def test_a_program_of_ours_imports_nothing_from_the_folder_that_it_is_started_in() -> None:
    """A ``json.py`` that lies there would be run in place of Python's own: "-P" leaves the folder out."""
    package = Path(localspec.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [name for name, text in texts.items() if re.search(r'sys\.executable,\s*"-m"', text)] == []
