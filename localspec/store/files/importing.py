"""The ``/import`` command of the chat screen and the line mode: its argument and its result in words."""

from __future__ import annotations

from pathlib import Path

from localspec.base.errors import NotFoundError, UsageError
from localspec.store.adding import Added

_QUOTES = "\"'"
_NAME_CHARS = 200


def file_argument(argument: str) -> Path:
    """The file in the argument of ``/import``: one path, with or without quotes, which may begin with ``~``.

    Raises UsageError if the argument is empty, NotFoundError if there is no such file.
    """
    text = argument.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES:
        text = text[1:-1]
    if not text:
        raise UsageError(
            "/import needs a file that LocalSpec (JSON), ChatGPT or LM Studio wrote.",
            "Give its name after the command.",
        )
    name = text if len(text) <= _NAME_CHARS else f"{text[:_NAME_CHARS]}…"
    try:
        path = Path(text).expanduser()
        is_file, exists = path.is_file(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # an impossible name, or an unknown home
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise NotFoundError(f"{name} cannot be read: {reason}.", "Check its name.") from None
    if not is_file:
        raise NotFoundError(f"{name} is not a file." if exists else f"There is no file {name}.", "Check its name.")
    return path


def imported(added: Added) -> str:
    """The result of an import in a sentence."""
    if not added.new and added.known:
        return f"Nothing is new: {_conversations(len(added.known))} skipped, already here."
    known = f"; {len(added.known)} more skipped, already here" if added.known else ""
    return f"{_conversations(len(added.new))} imported{known}."


def _conversations(n: int) -> str:
    return f"{n} conversation{'' if n == 1 else 's'}"
