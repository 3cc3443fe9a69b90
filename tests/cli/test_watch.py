"""Commands that load models run in a child that is watched: a native end becomes a sentence, all else goes through."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.base.errors import EngineError, ModelFileError
from localspec.cli.watch import ChildWatch
from localspec.engine.cancel import Cancellation
from localspec.runtime.options import LoadOptions
from tests.cli.support import ENDLESS, FakeWorld

PATIENCE_S = 120.0
SCRIPT = """
import os, resource, signal, sys
from dataclasses import replace
from localspec.cli import main
from localspec.cli.watch import watched
from tests.cli.support import FakePair, FakeWorld, info_of

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
world = FakeWorld()

class Crashing(FakePair):
    def reply(self, prompt, options, prefix=""):
        os.kill(os.getpid(), signal.SIGSEGV)

def open_pair(options, cancel, progress):
    progress("loading the target", 0.0)
    match options.target.stem:
        case "aborting":
            os.write(2, b"/tmp/build/ggml.c:7: GGML_ASSERT(x) failed\\n")
            os.abort()
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "crashing":
            return Crashing(info_of(options), cancel)
    return world.open_pair(options, cancel, progress)

main(services=watched(replace(world.services(), open_pair=open_pair), anew=ANEW))
"""


def command(*arguments: str, target: str = "big.gguf", anew: bool = False) -> list[str]:
    return [sys.executable, "-c", SCRIPT.replace("ANEW", str(anew)), "run", "--target", target, *arguments]


def done(*arguments: str, target: str = "big.gguf", anew: bool = False) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments, target=target, anew=anew),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def running(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """A command whose reply never ends, and the first line of it."""
    process = subprocess.Popen(
        command(*arguments, *ENDLESS, "hello"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline()


def rest_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What is still to come on both streams."""
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.read(), process.stderr.read()


@pytest.mark.parametrize("anew", [False, True], ids=["forked", "begun anew"])
def test_an_abort_while_a_file_is_loaded_names_the_file(anew: bool) -> None:
    """One sentence, with llama.cpp's last line in it, and the exit code of files that cannot be used."""
    ended = done("hello", target="folder/aborting.gguf", anew=anew)
    assert ended.returncode == ModelFileError.exit_code
    assert ended.stdout == ""
    assert ended.stderr.startswith(
        "localspec: llama.cpp cannot load aborting.gguf: it gave up (ggml.c:7: GGML_ASSERT(x) failed). "
    )
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("target", "why"), [("crashing.gguf", "it crashed"), ("killed.gguf", "want of memory")])
def test_what_is_not_the_files_fault_is_an_end_of_the_engine(target: str, why: str) -> None:
    """A crash after loading, and whatever the system kills it for."""
    ended = done("hello", target=target)
    assert ended.returncode == EngineError.exit_code
    assert why in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("anew", [False, True], ids=["forked", "begun anew"])
def test_what_goes_well_goes_through(anew: bool) -> None:
    """Output, figures and exit codes are those of the child."""
    ended = done("hello", anew=anew)
    assert (ended.returncode, ended.stdout.count("dreiß") > 0, ended.stderr.count("\n")) == (0, True, 1)
    if not anew:
        assert done("--nonsense").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_messages_that_have_no_room_cost_no_reply() -> None:
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run(
            command("hello"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE_S
        )
    assert (finished.returncode, b"drei" in finished.stdout) == (0, True)


def test_output_that_nobody_reads_ends_both() -> None:
    """``localspec run ... | head -1`` ends quietly."""
    process, _ = running("--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE_S) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_the_parent_ends_the_reply_with_what_it_had(number: signal.Signals, code: int) -> None:
    """The last event has all of the text; Ctrl-C prints the figures, and a request to end says nothing."""
    process, out = running("--json")
    process.send_signal(number)
    rest, err = rest_of(process)
    assert process.wait(timeout=PATIENCE_S) == code
    events = [json.loads(line) for line in (out + rest).splitlines()]
    assert (events[-1]["event"], events[-1]["reason"]) == ("done", "cancelled")
    said = "".join(token["text"] for event in events[1:-1] for token in event["tokens"])
    assert said == events[-1]["text"]
    assert (err.count("\n"), err.count("tokens/s")) == ((1, 1) if number == signal.SIGINT else (0, 0))


def test_a_child_ends_with_its_parent() -> None:
    """Killed without a chance to pass anything on, the parent leaves nobody behind."""
    process, out = running("--json")
    process.kill()
    rest, _ = rest_of(process)  # which ends once the child has closed its end too
    assert json.loads((out + rest).splitlines()[-1])["event"] == "done"


def test_ctrl_c_at_a_terminal_counts_once() -> None:
    """Both processes get it there; a second one would end the child before it printed its figures."""
    here, there = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *command(*ENDLESS, "hello")], stdin=there, stdout=there, stderr=there
    )
    os.close(there)
    seen, pressed = b"", False
    while True:
        try:
            chunk = os.read(here, 4096)
        except OSError:
            break  # nobody has it open any more
        if not chunk:
            break
        seen += chunk
        if not pressed and b"one" in seen:
            os.write(here, b"\x03")
            pressed = True
    os.close(here)
    assert process.wait(timeout=PATIENCE_S) == 130
    assert b"tokens/s" in seen


def test_a_pair_is_loaded_where_there_is_no_room_to_note_its_files() -> None:
    """The null device takes the place of the note then, and cannot be cut to a length."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        opener = ChildWatch(nowhere, nowhere, nowhere).opener(FakeWorld().open_pair)
        assert opener(LoadOptions(Path("big.gguf")), Cancellation(), None) is not None
    finally:
        os.close(nowhere)
