"""Past replies as tokens, on disk and in memory: the suffix drafter proposes from them when a reply repeats one.

One file for each vocabulary: a magic, then records, oldest first, of a token count, a CRC-32 and the tokens, all of
them little-endian 32-bit numbers. Losing them costs speed alone, so a damaged file is read as far as it is
whole and written anew with the next reply.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file
from localspec.engine.suffix_automaton import SuffixAutomaton

_MAGIC = b"replies1"
_HEAD = struct.Struct("<II")
_TOKEN_BYTES = 4
_MOST_N = 2**17
"""Tokens in memory, of some 500 bytes each; beyond that half of them are forgotten."""


class PastReplies:
    """The file of the latest replies in one vocabulary."""

    def __init__(self, folder: Path, key: str, size_bytes: int = 2**18) -> None:
        """``key`` names the vocabulary: its tokens mean nothing in another. The file never exceeds ``size_bytes``."""
        self._path = folder / f"{key}.replies"
        self._size_bytes = size_bytes

    def load(self) -> list[list[int]]:
        """The replies that can be read, oldest first."""
        return [_tokens(record) for record in _whole_records(self._read())]

    def add(self, tokens: Sequence[int]) -> None:
        """Keep a reply, and drop the oldest when there is no room. One that alone has no room is not kept.

        A disk that is full or read-only costs the reply, which nobody but the drafter misses.
        """
        record = _record(tokens)
        if not tokens or len(_MAGIC) + len(record) > self._size_bytes:
            return
        with suppress(OSError), folder_lock(self._path):
            data = self._read()
            records = list(_whole_records(data))
            undamaged = len(data) == _file_bytes(records)
            if undamaged and _file_bytes([*records, record]) <= self._size_bytes:
                # Unbuffered, a record is one write: nothing of another process gets into it.
                with self._path.open("ab", buffering=0) as stream:
                    stream.write(record)
            else:
                # Half of the room stays free, so that not every reply from now on writes all of them.
                newest = _newest([*records, record], self._size_bytes // 2)
                replace_file(self._path, b"".join((_MAGIC, *newest)), private=True)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError:
            return b""


@dataclass(frozen=True, slots=True)
class ReplyMemory:
    """Past replies on disk and, the same, as an automaton."""

    file: PastReplies
    automaton: SuffixAutomaton = field(default_factory=SuffixAutomaton)

    @staticmethod
    def open(vocabulary: str) -> ReplyMemory:
        """The replies kept for a vocabulary, known by its fingerprint."""
        memory = ReplyMemory(PastReplies(user_paths().data / "replies", vocabulary[:32]))
        for reply in memory.file.load():
            memory.automaton.extend_apart(reply)
        return memory

    def add(self, reply: Sequence[int]) -> None:
        """Keep a reply, here and on disk."""
        if reply:
            self.automaton.extend_apart(reply)
            if len(self.automaton) > _MOST_N:
                self.automaton.keep_latest(_MOST_N // 2)
            self.file.add(reply)


def _record(tokens: Sequence[int]) -> bytes:
    body = struct.pack(f"<{len(tokens)}I", *tokens)
    return _HEAD.pack(len(tokens), crc32(body)) + body


def _tokens(record: bytes) -> list[int]:
    return [token for (token,) in struct.iter_unpack("<I", record[_HEAD.size :])]


def _whole_records(data: bytes) -> Iterator[bytes]:
    """The records before the first that is cut short or damaged."""
    begin = len(_MAGIC)
    while data.startswith(_MAGIC) and begin + _HEAD.size <= len(data):
        count, checksum = _HEAD.unpack_from(data, begin)
        body, end = begin + _HEAD.size, begin + _HEAD.size + count * _TOKEN_BYTES
        if not count or end > len(data) or crc32(data[body:end]) != checksum:
            return  # a count of zero is a tail of zeros, which a crash can leave
        yield data[begin:end]
        begin = end


def _file_bytes(records: Sequence[bytes]) -> int:
    return len(_MAGIC) + sum(map(len, records))


def _newest(records: Sequence[bytes], size_bytes: int) -> Sequence[bytes]:
    """The latest records that make a file of ``size_bytes`` at most, but at least the last one."""
    first = len(records) - 1
    while first > 0 and _file_bytes(records[first - 1 :]) <= size_bytes:
        first -= 1
    return records[first:]
