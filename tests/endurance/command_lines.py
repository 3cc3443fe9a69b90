"""Every argument and every option of every command with values that nobody means: each is to end in a sentence.

    python -m tests.endurance.command_lines

12,000 command lines in a minute or two. No model is loaded and no server started; files are written into a folder of
their own. Shown is what ends with exit code 1, the one for bugs, or not within ten seconds.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence

import click

from localspec.base.errors import EngineError
from localspec.cli.commands import localspec
from localspec.cli.entry import _answer
from localspec.cli.services import Services
from localspec.doctor.evaluation import Evaluation
from localspec.doctor.native_probe import NativeReport
from localspec.engine.cancel import Cancellation
from localspec.runtime.load import OpenPair
from localspec.runtime.options import LoadOptions, Progress

PATIENCE_S = 10
VALUES = (
    *("", "0", "-1", "1.5", "999999999999999999999", "1e400", "nan", "inf", "5=nan", "2026-99-99", "999999999w"),
    *("é", "\udcff", "\n", "\x1b[31m", "a" * 5000, "%s", "*", "[", "{}", "=", "a=b", "a,b", "a:b", "a/b", "a/b:c"),
    *("/", ".", "..", "-", "~", "~nobody/x", "/dev/null", "/dev/full", "/nonexistent/x", "@/", "@nope"),
    *("auto", "none", "http://[::1", "http://x:99999", "127.0.0.1:99999"),
)
OTHERS = {
    "run": ("hi",),
    "config set": ("depth", "3"),
    "mcp add": ("x", "y"),
    "pairs info": ("builtin",),
    "pairs pull": ("builtin",),
}
"""The arguments beside the one that is tried; one that is not named here is x."""
LEFT_OUT = ("chat", "config edit", "serve", "serve-web", "metrics")
"""Commands that end when they are told to."""


def _refuse(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
    raise EngineError("Nothing is loaded here.", "It is a test.")


SERVICES = Services(
    open_pair=_refuse,
    open_screen=lambda chat_config: None,
    has_terminal=lambda: False,
    probe_native=lambda: NativeReport(threads=1),
    probe_rpc=lambda addresses: NativeReport(threads=1),
    measure_kernels=lambda threads: None,
    try_evaluating=lambda: Evaluation(device="none"),
)


def commands(
    group: click.Group = localspec, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif " ".join((*path, name)) not in LEFT_OUT:
            yield (*path, name), command


def command_lines() -> Iterator[list[str]]:
    """Every command with each value in each place."""
    for path, command in commands():
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        others = OTHERS.get(" ".join(path), ("x",) * len(arguments))
        for at in range(len(arguments)):
            yield from ([*path, "--", *others[:at], value, *others[at + 1 :]] for value in VALUES)
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag:
                yield from ([*path, *others, f"{option.opts[0]}={value}"] for value in VALUES)


def outcome(arguments: Sequence[str]) -> str:
    """What went wrong; empty if the command ended as it should."""
    said = io.StringIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    signal.alarm(PATIENCE_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = _answer(arguments, SERVICES)
    except BaseException as error:  # noqa: BLE001 -- nothing is to come out of it
        return repr(error)
    finally:
        signal.alarm(0)
    return said.getvalue().strip() if code == 1 else ""


def _give_up(number: int, frame: object) -> None:
    raise TimeoutError(f"not ended after {PATIENCE_S} seconds")


def main() -> None:
    """Try all of them."""
    signal.signal(signal.SIGALRM, _give_up)
    tried_n = failed_n = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ |= {"LOCALSPEC_HOME": f"{folder}/home", "HF_HOME": f"{folder}/hub", "HF_HUB_OFFLINE": "1"}
        for arguments in command_lines():
            tried_n += 1
            if wrong := outcome(arguments):
                failed_n += 1
                print([each[:40] for each in arguments], wrong[-300:], flush=True)
    print(f"{tried_n:,} command lines, {failed_n} of them failed")
    raise SystemExit(bool(failed_n))


if __name__ == "__main__":
    main()
