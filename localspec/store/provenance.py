"""The compact encoding of a reply's rounds, in a few bytes a token.

A record is one version byte and a zlib stream of frames, so that frames written while a reply streams can be joined
without decoding. All numbers are unsigned LEB128 ("n" below), times are whole microseconds, texts are UTF-8 after their
length in bytes, and recurring strings (drafters, reasons) stand once at the beginning of their frame::

    frame     MARK;  n strings, each: n bytes, UTF-8;  n rounds, each a round
    round     index, drafter, depth, draft time, verify time, total time, why, divergence, price,
              n failures, each: drafter, message;  n tokens, n rejected, n ignored, then those
    token     id, characters of its text, origin + 4 * drafter
    proposal  id, drafter, n bytes, its text in UTF-8

A string is referred to by its position in the frame, counted from 1; 0 is none. An origin is its index in ``ORIGINS``.
The text of a token is not repeated: it is the next so many characters of the message. A divergence is in thousandths of
a nat, a price in thousandths of a plain round, both plus 1; 0 means not measured. The mark is an overlong zero, a form
that no number has. Frames of version 3 have a shorter mark and their failures in the reason, in words; those of version
2 have no prices either, those of version 1 neither divergences nor a mark. A record may have frames of several
versions, if its reply began under an older program.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from localspec.engine.events import DrafterFailure, Origin, Proposal, Round, Token
from localspec.engine.wire import split_why

VERSION = 4
_READ = (b"\x01", b"\x02", b"\x03", b"\x04")
"""The version bytes that can be read."""
MARKS = {4: b"\x80\x80\x80\x00", 3: b"\x80\x80\x00", 2: b"\x80\x00"}
"""The marks by version; none is a prefix of another, and no frame of version 1 begins with one."""
_PER_UNIT = 1000
"""Divergences and prices are in thousandths."""
ORIGINS = (Origin.PLAIN, Origin.ACCEPTED, Origin.CORRECTED, Origin.BONUS)
"""The origins in the order of their codes, which must never change."""

_HEAD_BYTES = 4096
"""Bytes that nearly always contain the time of the first round and the strings before it."""
_CODES = {origin: code for code, origin in enumerate(ORIGINS)}


def frame(rounds: Sequence[Round]) -> bytes:
    """Encode rounds as one frame."""
    writer = _Writer()
    for round_ in rounds:
        writer.round(round_)
    return writer.frame(len(rounds))


def record(frames: Iterable[bytes]) -> bytes:
    """Encode frames as a record for the database."""
    return bytes([VERSION]) + zlib.compress(b"".join(frames))


def frames_of(stored: bytes) -> bytes:
    """Decode a record to its joined frames. Raises ValueError if it is damaged or of a newer version."""
    if stored[:1] not in _READ:
        raise ValueError(f"rounds are stored in version {stored[0] if stored else 'none'}, not {VERSION}")
    try:
        return zlib.decompress(stored[1:])
    except zlib.error as error:
        raise ValueError(f"stored rounds are damaged: {error}") from error


def rounds_of(stored: bytes, text: str) -> tuple[Round, ...]:
    """Decode a record to rounds; ``text`` has the text of their tokens. Raises ValueError as ``frames_of``."""
    reader = _Reader(frames_of(stored), text)
    try:
        return tuple(reader.rounds())
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("stored rounds are damaged: they end too early") from error


def first_round_s(stored: bytes) -> float | None:
    """Decode the time of the first round only; None if there is no round. Raises ValueError as ``frames_of``."""
    if stored[:1] in _READ:
        with suppress(zlib.error, IndexError):
            return _Reader(zlib.decompressobj().decompress(stored[1:], _HEAD_BYTES), "").first_round_s()
    return next((round_.total_s for round_ in rounds_of(stored, "")), None)


class _Writer:
    """Encodes rounds and collects their strings."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._strings: dict[str, int] = {}

    def frame(self, rounds_n: int) -> bytes:
        body, self._bytes = self._bytes, bytearray(MARKS[VERSION])
        self._number(len(self._strings))
        for string in self._strings:
            self._text(string)
        self._number(rounds_n)
        return bytes(self._bytes + body)

    def round(self, round_: Round) -> None:
        number = self._number
        number(round_.index)
        number(self._string(round_.drafter))
        number(round_.depth)
        for duration_s in (round_.draft_s, round_.verify_s, round_.total_s):
            number(round(max(duration_s, 0.0) * 1e6))
        number(self._string(round_.why or None))
        for measured in (round_.divergence, round_.price):
            number(0 if measured is None else 1 + round(max(measured, 0.0) * _PER_UNIT))
        number(len(round_.failures))
        for failure in round_.failures:
            number(self._string(failure.drafter))
            number(self._string(failure.message))
        for kind in (round_.tokens, round_.rejected, round_.ignored):
            number(len(kind))
        for token in round_.tokens:
            number(token.id)
            number(len(token.text))
            number(_CODES[token.origin] + 4 * self._string(token.drafter))
        for proposal in (*round_.rejected, *round_.ignored):
            number(proposal.id)
            number(self._string(proposal.drafter))
            self._text(proposal.text)

    def _string(self, string: str | None) -> int:
        return 0 if string is None else self._strings.setdefault(string, len(self._strings) + 1)

    def _text(self, text: str) -> None:
        data = text.encode("utf-8", errors="replace")
        self._number(len(data))
        self._bytes += data

    def _number(self, value: int) -> None:
        while value > 0x7F:
            self._bytes.append(value & 0x7F | 0x80)
            value >>= 7
        self._bytes.append(value)


class _Reader:
    """Decodes frames. Raises IndexError where they end too early."""

    def __init__(self, data: bytes, text: str) -> None:
        self._data = data
        self._text = text
        self._at = 0
        self._text_at = 0
        self._strings: list[str] = []
        self._version = 1

    def rounds(self) -> Iterator[Round]:
        while self._at < len(self._data):
            self._version = self._read_mark()
            self._strings = [self._read_text() for _ in range(self._number())]
            for _ in range(self._number()):
                yield self._round()

    def first_round_s(self) -> float | None:
        """The time of the first round, of which no more is read: every reply's is wanted for the figures."""
        while self._at < len(self._data):
            self._read_mark()
            for _ in range(self._number()):
                self._read_text()
            if self._number():
                _index, _drafter, _depth, _draft, _verify, total = (self._number() for _ in range(6))
                return total / 1e6
        return None

    def _read_mark(self) -> int:
        """Read the mark at the beginning of a frame and return its version."""
        for version, mark in MARKS.items():
            if self._data.startswith(mark, self._at):
                self._at += len(mark)
                return version
        return 1

    def _round(self) -> Round:
        index, drafter, depth = self._number(), self._string(self._number()), self._number()
        draft_s, verify_s, total_s = (self._number() / 1e6 for _ in range(3))
        why = self._string(self._number()) or ""
        divergence = self._measured(since=2)
        price = self._measured(since=3)
        if self._version >= 4:
            failures = tuple([self._failure() for _ in range(self._number())])
        else:
            why, failures = split_why(why)
        tokens_n, rejected_n, ignored_n = self._number(), self._number(), self._number()
        return Round(
            index=index,
            drafter=drafter,
            depth=depth,
            tokens=tuple([self._token() for _ in range(tokens_n)]),
            rejected=tuple([self._proposal() for _ in range(rejected_n)]),
            ignored=tuple([self._proposal() for _ in range(ignored_n)]),
            draft_s=draft_s,
            verify_s=verify_s,
            total_s=total_s,
            why=why,
            failures=failures,
            divergence=divergence,
            price=price,
        )

    def _measured(self, *, since: int) -> float | None:
        """Read a value in thousandths that exists ``since`` a version; None if it was not measured."""
        stored = self._number() if self._version >= since else 0
        return (stored - 1) / _PER_UNIT if stored else None

    def _failure(self) -> DrafterFailure:
        drafter, message = self._string(self._number()), self._string(self._number())
        return DrafterFailure(drafter or "", message or "")

    def _token(self) -> Token:
        token_id, length, code = self._number(), self._number(), self._number()
        begin, self._text_at = self._text_at, self._text_at + length
        return Token(token_id, self._text[begin : begin + length], ORIGINS[code & 3], self._string(code >> 2))

    def _proposal(self) -> Proposal:
        token_id, drafter = self._number(), self._string(self._number())
        return Proposal(token_id, self._read_text(), drafter)

    def _string(self, place: int) -> str | None:
        return None if place == 0 else self._strings[place - 1]

    def _read_text(self) -> str:
        length = self._number()
        begin, self._at = self._at, self._at + length
        if self._at > len(self._data):
            raise IndexError
        return self._data[begin : begin + length].decode("utf-8")

    def _number(self) -> int:
        value = self._data[self._at]
        self._at += 1
        if value > 0x7F:
            value &= 0x7F
            shift = 7
            while True:
                byte = self._data[self._at]
                self._at += 1
                value |= (byte & 0x7F) << shift
                if byte <= 0x7F:
                    break
                shift += 7
        return value
