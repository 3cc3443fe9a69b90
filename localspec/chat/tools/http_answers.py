"""Answers of MCP servers over HTTP, read up to a limit: the SDK bounds the events of a stream, and no other answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from localspec.chat.tools.relay import MOST_LINE

PLAIN = {"Accept-Encoding": "identity"}
"""The header by which a server is asked not to compress: a few bytes could become more than memory holds."""


async def bound(response: httpx2.Response) -> None:
    """Have reading the answer fail where it is longer than an answer over stdio may be, or compressed all the same."""
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, 0 if "content-encoding" in response.headers else MOST_LINE)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, left_n: int) -> None:
        self._stream = stream
        self._left_n = left_n

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left_n -= len(piece)
            if self._left_n < 0:
                raise httpx2.StreamError(f"it is longer than {MOST_LINE // 1_000_000} MB, or compressed")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
