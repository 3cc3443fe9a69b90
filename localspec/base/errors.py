"""The errors that a person can act on.

Each carries what happened (``message``) and what to do next (``hint``). The front ends print both and exit with the
class's ``exit_code``. The tree::

    LocalSpecError              1   a bug
    +-- UsageError              2   options that contradict each other or name something unknown
    +-- InputError              3   the prompt or another input is unusable (empty, not text)
    +-- NotFoundError           4   no such file, no such pair
    +-- ModelFileError          5   the file is not a GGUF, is truncated, or llama.cpp refuses it
    +-- PairMismatchError       6   target and draft do not fit each other
    +-- CapacityError           7   the context or the memory is too small
    +-- EngineError             8   the engine cannot start, or stopped
    +-- ConfigError             9   a configuration file cannot be read or written, or has mistakes
    +-- DownloadError          10   a file cannot be downloaded or stored
    +-- StoreError             11   conversations cannot be stored or read
    +-- CheckFailedError       12   a check did not pass (verify, bench --compare)
    +-- OutputError            13   the result cannot be written
    +-- ReplyStoppedError      14   the owner's check stopped the reply, or failed
    +-- RequestsFailedError    15   requests of a batch have an error in place of an answer

130 is an interrupt from the keyboard, as in every shell tool; 129 and 143 are the signals HUP and TERM.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class LocalSpecError(Exception):
    """The root of the tree; raised itself only for bugs."""

    exit_code: ClassVar[int] = 1
    meaning: ClassVar[str] = "an unexpected error inside LocalSpec; the log file has the details"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(LocalSpecError):
    """Options that contradict each other, or name something unknown."""

    exit_code = 2
    meaning = "the command line was not understood"


class DrafterUnavailableError(UsageError):
    """A drafter lacks what it needs of the pair: a draft model, or heads."""


class InputError(LocalSpecError):
    """The prompt, or a file given as input, cannot be used."""

    exit_code = 3
    meaning = "the input cannot be used (an empty prompt, text that is not UTF-8)"


class NotFoundError(LocalSpecError):
    """A file or a pair that does not exist here."""

    exit_code = 4
    meaning = "a file or a pair was not found"


class ModelFileError(LocalSpecError):
    """A file that exists but is not a model that llama.cpp can load."""

    exit_code = 5
    meaning = "a model file cannot be used (not a GGUF, cut short, unsupported)"


class PairMismatchError(LocalSpecError):
    """Target and draft with different vocabularies, or a head of another target."""

    exit_code = 6
    meaning = "target and draft do not fit each other"


class CapacityError(LocalSpecError):
    """A request for more than the context or the memory holds."""

    exit_code = 7
    meaning = "the context or the memory is too small"


class EngineError(LocalSpecError):
    """An engine that cannot be started or died, or an RPC or MCP server that does not answer."""

    exit_code = 8
    meaning = "the engine or a server did not start, stopped, or is silent"


class ConfigError(LocalSpecError):
    """A configuration file that cannot be read, written or understood."""

    exit_code = 9
    meaning = "a configuration file cannot be read or written, or has mistakes"


class DownloadError(LocalSpecError):
    """A file that cannot be downloaded or stored; the part that has arrived stays on the disk."""

    exit_code = 10
    meaning = "a download failed (no access, no connection, no room on the disk)"


class StoreError(LocalSpecError):
    """Conversations that cannot be stored or read now; open ones stay in memory."""

    exit_code = 11
    meaning = "conversations cannot be stored or read (in use, read-only, no room)"


class CheckFailedError(LocalSpecError):
    """A check that did not pass: replies that differ, or speed that was lost. Raised after the report."""

    exit_code = 12
    meaning = "a check failed (verify, or bench with --compare)"


class OutputError(LocalSpecError):
    """Standard output, or a result file, that cannot be written any further."""

    exit_code = 13
    meaning = "the output cannot be written (no room on the disk, an error of it)"


class ReplyStoppedError(LocalSpecError):
    """The owner's check stopped a reply, or failed; the text that it let pass stays."""

    exit_code = 14
    meaning = "the check of replies (reply_check) stopped the reply, or failed"


class RequestsFailedError(LocalSpecError):
    """Requests of a batch that failed; the others have been answered. Raised after the report."""

    exit_code = 15
    meaning = "requests of a batch failed; the file of results has the reasons"


HANGUP_EXIT_CODE, INTERRUPTED_EXIT_CODE, TERMINATED_EXIT_CODE = 129, 130, 143
SIGNAL_EXIT_CODES: tuple[tuple[int, str], ...] = (
    (HANGUP_EXIT_CODE, "the terminal was closed (SIGHUP)"),
    (INTERRUPTED_EXIT_CODE, "interrupted from the keyboard"),
    (TERMINATED_EXIT_CODE, "ended from outside (SIGTERM); a download can be resumed"),
)
"""Exit codes after a signal (128 and its number), each with its meaning."""

ALL_ERRORS: tuple[type[LocalSpecError], ...] = (
    LocalSpecError,
    UsageError,
    InputError,
    NotFoundError,
    ModelFileError,
    PairMismatchError,
    CapacityError,
    EngineError,
    ConfigError,
    DownloadError,
    StoreError,
    CheckFailedError,
    OutputError,
    ReplyStoppedError,
    RequestsFailedError,
)


def error_from_code(exit_code: int, message: str, hint: str) -> LocalSpecError:
    """Rebuild an error that crossed the process boundary as ``(exit_code, message, hint)``."""
    for kind in ALL_ERRORS:
        if kind.exit_code == exit_code:
            return kind(message, hint)
    return LocalSpecError(message, hint)


OWN_FOLDER = "set LOCALSPEC_HOME to a folder of your own"
"""The alternative where LocalSpec's own files cannot be written."""
OWN_CACHE = "set HF_HOME to a folder of your own"
"""The alternative where the cache of the Hub cannot be written."""

_NO_ROOM = "Free some room, and try again."
_REASONS = {
    errno.ENOSPC: ("there is no room left on the disk", _NO_ROOM),
    errno.EDQUOT: ("the quota of the disk is used up", _NO_ROOM),
    errno.EFBIG: ("the file would be larger than is allowed here", "Raise the limit (ulimit -f), or {elsewhere}."),
    errno.EROFS: ("the file system is read-only", "Make it writable, or {elsewhere}."),
    errno.EIO: ("the disk reports an error", "Check the disk, or {elsewhere}."),
    errno.EACCES: ("permission denied", "Correct the permissions of the file and its folder, or {elsewhere}."),
    errno.ENXIO: ("no program reads it", "{elsewhere}."),
    errno.EPERM: ("it is not permitted", "Correct the permissions of the file and its folder, or {elsewhere}."),
}


def refused(what: str, error: OSError, elsewhere: str) -> tuple[str, str]:
    """The message and the hint for a refusal of the operating system, worded alike for every command.

    ``what`` begins the sentence ("FILE cannot be written"); ``elsewhere`` is the alternative ("choose another file").
    """
    reason, hint = _REASONS.get(error.errno or 0, (error.strerror or str(error), "{elsewhere}."))
    hint = hint.format(elsewhere=elsewhere)
    return f"{what}: {reason[:1].lower()}{reason[1:].removesuffix('.')}.", hint[:1].upper() + hint[1:]


def reason_of(error: Exception) -> str:
    """The reason of an error: the operating system's words if it is one of its refusals, else its own."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def explaining(kind: type[LocalSpecError], what: str, elsewhere: str) -> Iterator[None]:
    """Raise an error of ``kind`` if the operating system refuses what is inside, worded as by ``refused``."""
    try:
        yield
    except OSError as error:
        raise kind(*refused(what, error, elsewhere)) from error
