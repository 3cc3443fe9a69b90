"""Which part of a file an answer holds, by its ``Content-Range``."""

from __future__ import annotations

import re

import httpx2

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


def begins_at(response: httpx2.Response, start: int, size_bytes: int) -> bool:
    """Whether it begins where it was asked to, in a file as long as it should be."""
    found = _RANGE.fullmatch(response.headers.get("content-range", ""))
    return found is not None and int(found[1]) == start and found[3] in ("*", str(size_bytes))
