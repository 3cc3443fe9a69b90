"""The child process that reads one paper: ``python -m localspec.chat.papers.child KIND FILE``.

It writes JSON, one value a line: ``{"unit": ..., "total_n": ...}``, then for each part a string, or several and then
``null``; or at any place ``{"error": [exit code, message, hint]}``. JSON and not pickle, because a file that takes over
this process must not take over the one that reads its output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from localspec.base.errors import InputError, LocalSpecError
from localspec.base.process_limits import limit_process
from localspec.chat.papers.kinds import PaperKind, Parts

MEMORY_BYTES = 1_500_000_000
CPU_S = 60
SLICE_CHARS = 64_000
"""The longest string on one line."""


def command(kind: PaperKind, path: Path) -> list[str]:
    """The command to start, in the folder that ``path`` is relative to."""
    return [sys.executable, "-P", "-m", __name__, kind.name, str(path)]


def main() -> None:
    """Read the paper and write its text to standard output."""
    limit_process(MEMORY_BYTES, CPU_S)
    kind, path = PaperKind[sys.argv[1]], Path(sys.argv[2])
    with suppress(BrokenPipeError):  # the reader has enough
        try:
            _read(kind, path)
        except LocalSpecError as error:
            _fail(error)
        except ModuleNotFoundError as error:
            from localspec.base.extras import install_extra  # takes as long to import as all the rest

            text = f"Reading {kind} needs {error.name}, which is not installed."
            _fail(InputError(text, f"Install it: {install_extra('papers')}"))
        except MemoryError:
            _fail(InputError("{name} takes too much memory to read.", "Save it again, in parts."))
        except Exception as error:  # noqa: BLE001 -- a library's, about a file that anybody may have made
            reason = str(error).partition("\n")[0][:200].rstrip(".") or type(error).__name__
            _fail(InputError(f"{{name}} cannot be read as {kind} ({reason}).", "Open it elsewhere and save it again."))


def _read(kind: PaperKind, path: Path) -> None:
    read: Callable[[Path], Parts] = import_module(f"localspec.chat.papers.{kind.name.lower()}").read
    parts = read(path)
    _write({"unit": parts.unit, "total_n": parts.total_n})
    for text in parts.texts:
        for piece in (text,) if isinstance(text, str) else text:
            for at in range(0, len(piece), SLICE_CHARS):
                _write(piece[at : at + SLICE_CHARS])
        _write(None)


def _fail(error: LocalSpecError) -> None:
    _write({"error": [error.exit_code, error.message, error.hint]})


def _write(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
