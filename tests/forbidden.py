"""A folder that the system does not let anyone look into, whoever runs the tests."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

_CALLS = ("stat", "lstat", "scandir", "listdir", "open", "mkdir", "readlink", "symlink", "replace", "unlink", "access")


def forbid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse everything below ``folder``, as for a user to whom it does not belong."""
    top = os.path.realpath(folder)
    for name in _CALLS:
        monkeypatch.setattr(os, name, _refusing(getattr(os, name), top, name))
    monkeypatch.setattr("io.open", _refusing(open, top, "io.open"))


def _refusing(call: Any, top: str, name: str) -> Any:
    def refused(path: Any, *arguments: Any, **options: Any) -> Any:
        asked = os.path.normpath(os.fspath(path)) if isinstance(path, str | os.PathLike) else ""
        if asked == top or asked.startswith(f"{top}/"):
            inside = asked != top
            if name == "access":
                return not inside and arguments[0] == os.F_OK
            # The folder itself can be seen, but neither what it holds nor anything below.
            if inside or name in ("scandir", "listdir", "open"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return call(path, *arguments, **options)

    return refused
