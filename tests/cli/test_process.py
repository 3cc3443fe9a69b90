"""The command as a process: pipes, closed streams, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.base.errors import OutputError
from tests.cli.support import ENDLESS, FAKE, FILES

PATIENCE_S = 120.0
IMPATIENT = "import localspec.cli.prompt as prompt; prompt.PATIENCE_S = 0.01\n" + FAKE


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", FAKE, *arguments]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [("run", *FILES, "--json", "hello"), ("pairs", "list"), ("--help",)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_has_no_room(arguments: tuple[str, ...], unbuffered: str) -> None:
    """One sentence and a code of its own, whatever is written, at once or at the end; and nothing at exit."""
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == OutputError.exit_code
    assert done.stderr == (
        "localspec: Standard output cannot be written: there is no room left on the disk. "
        "Free some room, and try again.\n"
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_come_line_by_line(unbuffered: str) -> None:
    """As a log of them has to show the last one, however the program ends."""
    code = (
        "import os, signal, sys; from localspec.cli.streams import settle_streams\n"
        "settle_streams(); print('told', file=sys.stderr); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=PATIENCE_S)
    assert done.stderr == b"told\n"


def test_ctrl_c_ends_a_script_of_lines() -> None:
    """Without a person typing there is nobody to ask what comes next."""
    process = subprocess.Popen(
        command(*FILES, *ENDLESS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("hello\nnever asked\n")
    process.stdin.flush()
    assert process.stderr is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    err = process.stderr.read()
    assert process.wait(timeout=PATIENCE_S) == 130
    assert err.count("guesses accepted") == 1
    assert "Traceback" not in err


def test_a_stream_that_cannot_show_the_text() -> None:
    """Signs the terminal's encoding lacks become question marks; JSON escapes them and loses nothing."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    text = subprocess.run(command("run", *FILES, "hello"), env=environment, capture_output=True, check=True)
    assert b"drei?" in text.stdout
    done = subprocess.run(command("run", *FILES, "--json", "hello"), env=environment, capture_output=True, check=True)
    assert "dreiß" in json.loads(done.stdout.splitlines()[-1])["text"]


@pytest.mark.parametrize("arguments", [("run", *FILES, "hello"), FILES], ids=["run", "lines"])
def test_streams_that_are_closed(arguments: tuple[str, ...]) -> None:
    """A program started without standard streams neither hangs nor dies."""
    shell = 'exec "$@" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", shell, "sh", *command(*arguments)], timeout=PATIENCE_S)
    assert done.returncode == 0


@pytest.mark.parametrize("closed", [(1,), (1, 2), (0, 1, 2)])
def test_the_number_of_a_closed_stream_is_no_file_of_ours(closed: tuple[int, ...]) -> None:
    """Else the output of native code lands in it, and closing the one closes the other."""
    code = (
        "import os, sys; from localspec.cli.streams import give_up_stdout, settle_streams\n"
        "settle_streams(); print('lost', flush=True)\n"
        "ours = os.memfd_create('ours'); give_up_stdout(); print('lost', flush=True)\n"
        "sys.exit(os.fstat(ours).st_size or ours in (1, 2))"
    )
    shell = 'exec "$@"' + "".join(f" {number}>&-" for number in closed)
    assert subprocess.run(["sh", "-c", shell, "sh", sys.executable, "-c", code], timeout=PATIENCE_S).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_no_reply_to_a_line_is_lost_where_messages_have_no_room() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(*FILES), input="hello\n", stdout=subprocess.PIPE, stderr=full, text=True)
    assert done.returncode == 0
    assert "drei" in done.stdout


def test_ctrl_c_while_the_program_is_being_loaded() -> None:
    """No traceback: those who start it by mistake press it at once."""
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'localspec.cli.commands': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from localspec.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_inherited_pipe_that_never_speaks() -> None:
    """With words as the prompt, standard input that stays silent is not waited for without end."""
    silent, kept_open = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", IMPATIENT, "run", *FILES, "hello"],
            stdin=silent,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    finally:
        os.close(silent)
        os.close(kept_open)
    assert done.returncode == 0
    assert done.stderr.startswith("Standard input stayed silent")
    assert done.stdout


@pytest.mark.parametrize("where", ["pipe", "file", "nothing"])
def test_standard_input_beside_words(where: str, tmp_path: Path) -> None:
    """A pipe and a file are read after the words; /dev/null adds nothing."""
    text = "" if where == "nothing" else "some text of many words"
    path = tmp_path / "input.txt"
    path.write_text(text, encoding="utf-8")
    redirect = {"pipe": f"cat {path} |", "file": "", "nothing": ""}[where]
    source = {"pipe": "", "file": f"< {path}", "nothing": "< /dev/null"}[where]
    shell = f'{redirect} "$@" {source}'
    arguments = command("run", *FILES, "--json", "hello")
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *arguments], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert json.loads(done.stdout.splitlines()[0])["prompt_n"] == 1 + len(text.split())


def test_nothing_is_loaded_where_ctrl_c_would_end_in_a_traceback() -> None:
    """All imports of the entry point are behind its ``try``."""
    code = "import sys; known = {*sys.modules}; import localspec.__main__; print(*sorted({*sys.modules} - known))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("localspec localspec.__main__\n", "")
