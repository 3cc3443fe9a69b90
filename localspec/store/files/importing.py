"""Importing by a command of a chat: which file is meant, and what to say when it is done.

The same for the chat screen and the line mode.
"""

from __future__ import annotations

from pathlib import Path

from localspec.base.errors import NotFoundError, UsageError
from localspec.store.adding import Added

_QUOTES = "\"'"
_LONGEST_NAMED = 200


def file_meant(argument: str) -> Path:
    """The file that is behind ``/import``: all of it is one path, in quotes or not, which may begin with ``~``.

    Raises UsageError if there is none, NotFoundError if no such file is there.
    """
    text = argument.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES:
        text = text[1:-1]
    if not text:
        raise UsageError(
            "/import needs the file that LocalSpec (JSON), ChatGPT or LM Studio wrote.",
            "Put its name behind the command.",
        )
    named = text if len(text) <= _LONGEST_NAMED else f"{text[:_LONGEST_NAMED]}…"
    try:
        path = Path(text).expanduser()
        is_file, is_there = path.is_file(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # no name that a file can have, or the home of nobody
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise NotFoundError(f"{named} cannot be read: {reason}.", "Check its name.") from None
    if not is_file:
        raise NotFoundError(f"{named} is no file." if is_there else f"There is no file {named}.", "Check its name.")
    return path


def imported(added: Added) -> str:
    """What became of the conversations of a file, in a sentence."""
    if not added.new and added.known:
        return f"Nothing is new: {_conversations(len(added.known))} passed over, already here."
    known = f"; {len(added.known)} more passed over, already here" if added.known else ""
    return f"{_conversations(len(added.new))} imported{known}."


def _conversations(n: int) -> str:
    return f"{n} conversation{'' if n == 1 else 's'}"
