"""What must not be imported, seen from outside: a static graph cannot prove that a deferral defers."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("llama_cpp", "textual", "numpy", "huggingface_hub", "jinja2")


def loaded_after(statement: str) -> set[str]:
    """Which heavy packages a fresh interpreter has loaded after ``statement``."""
    code = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import localspec", set()),
        ("import localspec.cli", set()),
        ("import localspec.pairs", set()),
        ("import localspec.load", set()),
        ("import localspec.worker.client", set()),
        ("import localspec.engine.loop", {"numpy"}),
        ("import localspec.tui.app", {"textual"}),
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, allowed: set[str]) -> None:
    """The native library above all stays out of every process that does not decode."""
    assert loaded_after(statement) <= allowed


def test_importing_changes_nothing(tmp_path: object) -> None:
    """No file appears and no output is written when the package is imported."""
    code = "import localspec, localspec.cli, localspec.load, localspec.chat, localspec.pairs, localspec.worker.client"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=str(tmp_path))
    assert done.stdout == ""
    assert done.stderr == ""
