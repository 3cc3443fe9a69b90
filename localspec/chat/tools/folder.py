"""Files below one folder, for a model to read: neither ``..`` nor a link leads out of it, and sizes are bounded."""

from __future__ import annotations

from pathlib import Path

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import InputError, NotFoundError, reason_of

MOST_BYTES = 64_000
"""The most text of a file; of a longer one its beginning is read."""
MOST_NAMES = 200
"""The most names of a folder."""
_LIST, _ANOTHER = "list_files tells what there is.", "Try another."


def read_below(root: Path | None, name: str) -> str:
    """The beginning of a text file below ``root``. Raises InputError, NotFoundError."""
    path = _inside(root, name)
    try:
        data = read_beginning(path, MOST_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {name}.", _LIST) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {reason_of(error)}.", _ANOTHER) from None
    if b"\0" in data:
        raise InputError(f"{name} is not a file of text.", _ANOTHER)
    text = data[:MOST_BYTES].decode("utf-8", errors="replace")
    return f"{text}\n[The file is longer; this is its beginning.]" if len(data) > MOST_BYTES else text


def list_below(root: Path | None, name: str) -> str:
    """The names in a folder below ``root``, one a line, folders with a slash. Raises InputError, NotFoundError."""
    path = _inside(root, name or ".")
    try:
        found = sorted(f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir())
    except FileNotFoundError:
        raise NotFoundError(f"There is no folder {name}.", _LIST) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be listed: {reason_of(error)}.", _ANOTHER) from None
    rest = [f"[{len(found) - MOST_NAMES} more]"] if len(found) > MOST_NAMES else []
    return "\n".join([*found[:MOST_NAMES], *rest]) or "[empty]"


def _inside(root: Path | None, name: str) -> Path:
    """The real path of a name below ``root``. Raises InputError if it is outside, also through a link."""
    if root is None:
        raise InputError("The user has named no folder to read from.", "The setting tool_folder names one.")
    try:
        real_root = root.expanduser().resolve(strict=True)
        path = (real_root / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} cannot be read: {reason_of(error)}.", _ANOTHER) from None
    if not path.is_relative_to(real_root):
        raise InputError(f"{name} is outside the folder that may be read.", _LIST)
    return path
