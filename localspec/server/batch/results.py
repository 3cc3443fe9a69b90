"""The file of a batch's results, a line each. Whole lines are never done again; a torn last one is cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from localspec.base.errors import OutputError, UsageError, refused
from localspec.base.file_lock import file_lock
from localspec.base.shared_file import is_stream
from localspec.server.batch.requests import Line, WrongLine

_BEGIN = b'{"id": "batch_req_'
_ID = re.compile(r"batch_req_(\d+)")


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one line."""

    line: Line
    status: int | None = None
    """The HTTP status of the answer; None for a line that is no request."""
    body: Any = None
    """The JSON of the answer."""

    @property
    def answered(self) -> bool:
        """True if the answer is no error."""
        return self.status is not None and self.status < 400

    @property
    def tokens_n(self) -> int:
        """The tokens of the reply, as the answer counts them."""
        usage = self.body.get("usage") if isinstance(self.body, dict) else None
        counts = usage if isinstance(usage, dict) else {}
        found = (counts.get(name) for name in ("completion_tokens", "output_tokens"))
        return next((count for count in found if isinstance(count, int)), 0)

    def encoded(self) -> bytes:
        """The line of the file, its end included."""
        error = None
        if isinstance(self.line, WrongLine):
            error = {"code": self.line.code, "message": f"Line {self.line.number}: {self.line.message}"}
        response = {"status_code": self.status, "request_id": f"req_{self.line.number}", "body": self.body}
        data = {
            "id": f"batch_req_{self.line.number}",
            "custom_id": self.line.custom_id,
            "response": response if error is None else None,
            "error": error,
        }
        return json.dumps(data).encode("ascii") + b"\n"


@dataclass(slots=True)
class ResultsFile:
    """An open file of results, which no other process writes."""

    path: Path
    done: set[int] = field(default_factory=set)
    """The lines of the batch that have a result."""
    failed_n: int = 0
    """Those of them whose result is an error."""
    _stream: BinaryIO | None = None

    @staticmethod
    @contextmanager
    def opened(path: Path, custom_ids: Mapping[int, str | None]) -> Iterator[ResultsFile]:
        """The file for a batch, whose lines have these ids; it may have results already.

        Raises UsageError if it has something else or another process writes it, OutputError if it cannot be written.
        """
        if str(path) == "-" or is_stream(path):
            raise UsageError(
                "Results go to a file, so that a batch that was stopped can go on.", "Name one with --out."
            )
        try:
            with ExitStack() as opening:
                opening.enter_context(file_lock(path, wait=False))
                stream = opening.enter_context(path.open("r+b"))
                results = ResultsFile(path, _stream=stream)
                results._take_up(stream, custom_ids)
                held = opening.pop_all()
        except BlockingIOError:
            raise UsageError(f"Another process writes {path}.", "Wait for it, or choose another file.") from None
        except OSError as error:
            raise _unwritable(path, error) from error
        with held:
            yield results

    def add(self, result: BatchResult) -> None:
        """Write a result. Raises OutputError."""
        assert self._stream is not None
        try:
            self._stream.write(result.encoded())
            self._stream.flush()
        except OSError as error:
            with suppress(OSError):
                self._stream.close()  # at the end it would write again, and that error would hide this one
            raise _unwritable(self.path, error) from error
        self._count(result.line.number, failed=not result.answered)

    def _take_up(self, stream: BinaryIO, custom_ids: Mapping[int, str | None]) -> None:
        end = 0
        for text in stream:
            if text.endswith(b"\n"):
                if text.strip():  # who takes a line out may leave an empty one
                    number, failed = self._read(text, custom_ids)
                    self._count(number, failed=failed)
                end += len(text)
            elif not (text.startswith(_BEGIN) or _BEGIN.startswith(text)):
                raise self._foreign()
        stream.truncate(end)
        stream.seek(end)

    def _read(self, text: bytes, custom_ids: Mapping[int, str | None]) -> tuple[int, bool]:
        """The number of the line that a result is of, and whether it is an error."""
        try:
            data = json.loads(text)
            found = _ID.fullmatch(data["id"])
            number = int(found[1]) if found else 0
            if custom_ids[number] != data["custom_id"]:
                raise self._foreign()
            return number, data["error"] is not None or data["response"]["status_code"] >= 400
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._foreign() from None

    def _count(self, number: int, *, failed: bool) -> None:
        self.done.add(number)
        self.failed_n += failed

    def _foreign(self) -> UsageError:
        return UsageError(
            f"{self.path} has something else in it than results of this batch.", "Choose another file with --out."
        )


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(*refused(f"{path} cannot be written", error, "choose another file"))
