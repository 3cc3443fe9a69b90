"""The lines of a batch file: one request each, as OpenAI's batch API takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from localspec.base.bounded_file import in_megabytes
from localspec.base.errors import InputError, NotFoundError, refused
from localspec.server.embeddings import PATH as EMBEDDINGS

MOST_BYTES = 64_000_000
"""The longest line that is read."""
_URL = re.compile(r"/v1/(?!.*\.\.)[\w/.-]{1,200}", re.ASCII)
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A line that can be asked."""

    number: int
    """The number of the line, from 1."""
    custom_id: str
    url: str
    body: dict[str, Any]

    @property
    def model(self) -> str:
        """The pair as the line names it; empty for the one of the command."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A line that is no request, with the reason in OpenAI's words (``code``) and ours."""

    number: int
    custom_id: str | None
    code: str
    message: str


Line = BatchRequest | WrongLine


def read_batch(path: Path) -> Iterator[Line]:
    """The lines of a file, but for empty ones. Raises NotFoundError or InputError if it cannot be read."""
    seen: set[str] = set()
    for number, text in _lines(path):
        line = _read(number, text)
        if line.custom_id in seen:
            line = _wrong(line, "duplicate_custom_id", f"An earlier line has the custom_id {line.custom_id!r}, too.")
        elif line.custom_id is not None:
            seen.add(line.custom_id)
        yield line


def without_model(line: Line) -> Line:
    """The same request without its model, so that the pair of the command answers it; embeddings are no pair's."""
    if not isinstance(line, BatchRequest) or line.url == EMBEDDINGS:
        return line
    return replace(line, body={name: value for name, value in line.body.items() if name != "model"})


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbers and texts of lines; of one that is too long the beginning."""
    if path.is_fifo() or str(path) == "-":
        raise InputError(
            "Requests are read twice, so they cannot come from a pipe.", "Write them to a file, and name it."
        )
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no file.", "Name a file with a request a line.")
    try:
        with path.open("rb") as file:
            number = 0
            while text := file.readline(MOST_BYTES + 1):
                number += 1
                if len(text) > MOST_BYTES:
                    _skip_line(file, text)
                if text.strip():
                    yield number, text
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.", "Name a file with a request a line.") from None
    except OSError as error:
        raise InputError(*refused(f"{path} cannot be read", error, "name another file")) from error


def _skip_line(file: BinaryIO, read: bytes) -> None:
    while read and not read.endswith(b"\n"):
        read = file.readline(MOST_BYTES)


def _read(number: int, text: bytes) -> Line:
    if len(text) > MOST_BYTES:
        return WrongLine(number, None, "line_too_long", f"The line is longer than {in_megabytes(MOST_BYTES)}.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return WrongLine(number, None, "invalid_json_line", "The line is no JSON.")
    if not isinstance(data, dict):
        return WrongLine(number, None, "invalid_json_line", "The line is no JSON object.")
    custom_id, method, url, body = (data.get(name) for name in ("custom_id", "method", "url", "body"))
    if not isinstance(custom_id, str) or not custom_id:
        return WrongLine(number, None, "missing_custom_id", "The line has no custom_id, a text that is its own.")
    request = BatchRequest(number, custom_id, str(url), body if isinstance(body, dict) else {})
    if method != "POST":
        return _wrong(request, "invalid_method", f"The method is {_shown(method)}; it has to be POST.")
    if not isinstance(url, str) or not _URL.fullmatch(url):
        why = f"The url is {_shown(url)}; it has to be a path such as /v1/chat/completions."
        return _wrong(request, "invalid_url", why)
    if not isinstance(body, dict):
        return _wrong(request, "invalid_request", "The body is no JSON object.")
    if body.get("stream"):
        return _wrong(request, "invalid_request", "A batch cannot stream; leave stream out.")
    return request


def _wrong(line: Line, code: str, message: str) -> WrongLine:
    return WrongLine(line.number, line.custom_id, code, message)


def _shown(value: object) -> str:
    return json.dumps(value)[:_SHOWN]
