"""Why a process ended, in a sentence, from its status and from what it wrote."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from localspec.base.child_exit import ending_error, files_being_loaded, telling_line, why_it_ended
from localspec.base.errors import EngineError, ModelFileError

TARGET, DRAFT = Path("/models/big.gguf"), Path("/models/small.gguf")


@pytest.mark.parametrize(
    ("lines", "telling"),
    [
        (
            ["loading", "x.cpp:1: GGML_ASSERT(a) failed", "Fatal Python error: Aborted", "  File e.py, error"],
            "x.cpp:1: GGML_ASSERT(a) failed",
        ),
        (["Traceback", "ModuleNotFoundError: No module named 'y'"], "ModuleNotFoundError: No module named 'y'"),
        (["terminate called after throwing", "  what():  bad", ""], "what():  bad"),
        (["an error long ago", *["loading"] * 20], None),
        (["all is well"], None),
        ([], None),
    ],
)
def test_the_telling_line_is_the_last_that_speaks_of_trouble(lines: list[str], telling: str | None) -> None:
    """Progress reports and Python's stack dump are no explanation, and neither is old trouble."""
    assert telling_line("\n".join(lines)) == telling


def test_what_a_process_wrote_is_shown_without_harm() -> None:
    """Signs that move a cursor are replaced, and the folders of the machine that built llama.cpp are left out."""
    said = "/tmp/build/ggml.c:12: GGML_ASSERT(\x1b[2J) failed\n"
    assert why_it_ended(-signal.SIGABRT, said) == "it gave up (ggml.c:12: GGML_ASSERT(\ufffd[2J) failed)"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE])
def test_a_crash_while_loading_is_the_files_fault(number: signal.Signals) -> None:
    """Its name is in the sentence, and later the same crash is the engine's."""
    loading = ending_error(-number, "", (TARGET,))
    assert isinstance(loading, ModelFileError)
    assert "big.gguf" in loading.message
    assert isinstance(ending_error(-number, ""), EngineError)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGILL, signal.SIGTERM])
def test_an_end_that_no_file_brings_about_is_the_engines(number: signal.Signals) -> None:
    """Want of memory, another processor, and whoever ends processes say nothing of the file."""
    assert isinstance(ending_error(-number, "", (TARGET,)), EngineError)


@pytest.mark.parametrize(
    ("what", "files"),
    [
        ("loading the target", (TARGET,)),
        ("loading the draft", (DRAFT,)),
        ("measuring this machine", (TARGET, DRAFT)),
    ],
)
def test_the_files_at_fault_are_those_being_loaded(what: str, files: tuple[Path, ...]) -> None:
    """Once both are there, it may be either."""
    assert files_being_loaded(what, TARGET, DRAFT) == files
    assert files_being_loaded("measuring this machine", TARGET, None) == (TARGET,)
