"""The parser of GGUF headers: reads forward only, from anything with ``read``, up to the tensor data.

Files are untrusted: no count or length is believed before the bytes are there, and at most ``MAX_HEADER_BYTES`` are
read.
"""

from __future__ import annotations

import stat
import sys
from array import array
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Protocol

from localspec.base.errors import ModelFileError, NotFoundError
from localspec.gguf.draft_heads import DRAFT_TOKENS
from localspec.gguf.header import GgufHeader
from localspec.gguf.metadata import Value, get
from localspec.gguf.soundness import UNFINISHED, check_sound
from localspec.gguf.tensors import I64, TensorInfo
from localspec.gguf.vocabulary import vocabulary

MAX_HEADER_BYTES = 64 * 2**20
"""Four times the longest header in use (Gemma 4's, with 262,144 tokens and 514,906 merges)."""
MAX_COUNT = 100_000
"""The largest accepted number of tensors, and of metadata entries."""
MAX_STRINGS = 2_000_000
"""The largest accepted number of strings in arrays: 2.5 times those of Gemma 4. In memory short ones grow tenfold."""
MAX_LAYERS = 10_000
"""The largest accepted number of layers; memory is estimated layer by layer."""

_UINT32, _UINT64 = Struct("<I"), Struct("<Q")

# Metadata types: numbers by their `array` code, and three that are not numbers.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_BOOL, _STRING, _ARRAY = 7, 8, 9


class Readable(Protocol):
    """A source of bytes: ``read`` returns the next ones, at most ``size``, and none at the end."""

    def read(self, size: int, /) -> bytes: ...


def read_header(path: Path) -> GgufHeader:
    """Read the header of a file on disk, and the list of tokens of a draft head that has one.

    Raises NotFoundError if it is missing, ModelFileError if it is not a complete GGUF.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ModelFileError(f"{path} is {kind}.", "Give the path of a .gguf file.")
        with path.open("rb") as file:
            header = parse_header(file, source=path.name, size_bytes=status.st_size)
            return _with_draft_tokens(header, file)
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = "It is a link to a missing file; download that again." if path.is_symlink() else "Check the path."
        raise NotFoundError(f"There is no file {path}.", hint) from error
    except PermissionError as error:
        raise ModelFileError(f"{path} may not be read.", "Change its permissions, or ask its owner.") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.", "Check the disk.") from error


def parse_header(file: Readable, *, source: str, size_bytes: int) -> GgufHeader:
    """Read the header at the beginning of ``file``, whose whole length is ``size_bytes``.

    ``source`` names the file in messages. Raises ModelFileError.
    """
    cursor = _Cursor(file, source)
    version, n_tensors, n_entries = _preamble(cursor)
    metadata = _metadata(cursor, n_entries)
    architecture = get(metadata, "general.architecture", str) or ""
    # llama.cpp's splitter writes the metadata into the first file alone.
    is_later_part = bool(get(metadata, "split.no", int))
    if not architecture.isprintable() or not (architecture or is_later_part):
        raise ModelFileError(f"{source} is a GGUF file, but not a model.", "It has no architecture.")
    tensors = tuple(_tensor(cursor) for _ in range(n_tensors))
    alignment = _alignment(cursor, metadata)
    header = GgufHeader(
        source=source,
        version=version,
        metadata=metadata,
        tensors=tensors,
        data_offset=-(-cursor.position // alignment) * alignment,
        size_bytes=size_bytes,
        vocabulary=vocabulary(metadata),
    )
    layers = header.block_count or 0
    if not 0 <= layers <= MAX_LAYERS:
        raise cursor.damaged(f"it claims {layers:,} layers")
    check_sound(header)
    return header


def _with_draft_tokens(header: GgufHeader, file: BinaryIO) -> GgufHeader:
    tensor = next((tensor for tensor in header.tensors if tensor.name == DRAFT_TOKENS), None)
    if tensor is None or tensor.type_id != I64 or tensor.n_elements > MAX_STRINGS:
        return header
    file.seek(header.data_offset + tensor.offset)
    tokens = array("q", file.read(tensor.size_bytes))
    if sys.byteorder == "big":
        tokens.byteswap()
    return replace(header, draft_tokens=tokens)


def _alignment(cursor: _Cursor, metadata: Mapping[str, Value]) -> int:
    alignment = get(metadata, "general.alignment", int)
    if alignment is None:
        return 32
    if alignment <= 0 or alignment.bit_count() != 1:
        raise cursor.damaged(f"its data is aligned to {alignment:,} bytes, which is not a power of two")
    return alignment


class _Cursor:
    """A forward reader with a buffer of large pieces; a read returns all it was asked for or raises ModelFileError."""

    def __init__(self, file: Readable, source: str) -> None:
        self.source = source
        self._file = file
        self._buffer = b""
        self._at = 0
        self._dropped = 0
        self._strings = 0

    @property
    def position(self) -> int:
        """The number of bytes taken so far."""
        return self._dropped + self._at

    def peek(self, n: int) -> bytes:
        """The next bytes without taking them: ``n``, or fewer at the end of the file."""
        self._fetch(n)
        return self._buffer[self._at : self._at + n]

    def take(self, n: int) -> bytes:
        """Take the next ``n`` bytes."""
        if self.position + n > MAX_HEADER_BYTES:
            raise self.damaged(f"its header would be longer than {MAX_HEADER_BYTES >> 20} MiB")
        self._fetch(n)
        end = self._at + n
        if end > len(self._buffer):
            length = self._dropped + len(self._buffer)
            raise ModelFileError(
                f"{self.source} is truncated: it ends inside its header, at byte {length:,}.", UNFINISHED
            )
        taken = self._buffer[self._at : end]
        self._at = end
        return taken

    def uint32(self) -> int:
        return int(_UINT32.unpack(self.take(4))[0])

    def uint64(self) -> int:
        return int(_UINT64.unpack(self.take(8))[0])

    def string(self) -> str:
        return self.take(self.uint64()).decode(errors="surrogateescape")

    def strings(self, count: int) -> tuple[str, ...]:
        """Take ``count`` strings. A vocabulary has hundreds of thousands, hence the inner loop without calls."""
        self._strings += count
        if self._strings > MAX_STRINGS:
            raise self.damaged(f"it claims {self._strings:,} strings")
        strings: list[str] = []
        unpack = _UINT64.unpack_from
        while len(strings) < count:
            strings.append(self.string())  # fetches the next piece where the last one ran out
            buffer, at, end = self._buffer, self._at, len(self._buffer)
            for _ in range(count - len(strings)):
                start = at + 8
                if start > end:
                    break
                stop = start + unpack(buffer, at)[0]
                if stop > end:
                    break
                strings.append(buffer[start:stop].decode("utf-8", "surrogateescape"))
                at = stop
            self._at = at
        return tuple(strings)

    def damaged(self, why: str) -> ModelFileError:
        """The error for a header with impossible values."""
        return ModelFileError(f"{self.source} is damaged: {why}.", "Download the file again, or choose another.")

    def _fetch(self, n: int) -> None:
        """Buffer ``n`` bytes, or all that are left; a length beyond the end allocates nothing."""
        held = len(self._buffer) - self._at
        if held >= n:
            return  # before anything is copied: a header is taken in thousands of small pieces
        pieces = [self._buffer[self._at :]]
        while held < n and (piece := self._file.read(2**20)):
            pieces.append(piece)
            held += len(piece)
        self._dropped += self._at
        self._buffer, self._at = b"".join(pieces), 0


def _preamble(cursor: _Cursor) -> tuple[int, int, int]:
    """Read the version, the number of tensors and the number of metadata entries."""
    start = cursor.peek(512)
    if not start:
        raise ModelFileError(f"{cursor.source} is empty.", UNFINISHED)
    if not start.startswith(b"GGUF"[: len(start)]):
        kind, hint = _not_gguf(start)
        raise ModelFileError(f"{cursor.source} is not a GGUF file{kind}.", hint)
    cursor.take(4)
    version = cursor.uint32()
    if version & 0xFFFF == 0:
        raise ModelFileError(
            f"{cursor.source} is a big-endian GGUF file; LocalSpec reads little-endian ones.",
            "Look for the usual file of the same model.",
        )
    if version not in (2, 3):
        raise ModelFileError(
            f"{cursor.source} is a GGUF file of version {version}; LocalSpec reads versions 2 and 3.",
            "Look for a newer file of the same model." if version < 2 else "Update LocalSpec.",
        )
    n_tensors, n_entries = cursor.uint64(), cursor.uint64()
    for count, what in ((n_tensors, "tensors"), (n_entries, "metadata entries")):
        if count > MAX_COUNT:
            raise cursor.damaged(f"it claims {count:,} {what}")
    return version, n_tensors, n_entries


def _not_gguf(start: bytes) -> tuple[str, str]:
    """The end of the sentence "FILE is not a GGUF file...", and a hint, guessed from the first bytes of the file."""
    other_format = "Look for a GGUF version of the model; such repositories usually end in -GGUF."
    failed = "The download went wrong; fetch the file again."
    text = start.lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return " but a web page", f"{failed} The site may have asked you to sign in."
    if text.startswith(b"version https://git-lfs"):
        return " but a git-lfs pointer to one", "Run `git lfs pull` where it was cloned, or download the file itself."
    if start.startswith(b"PK\x03\x04"):
        return " but a zip archive, perhaps a PyTorch checkpoint", other_format
    if start[8:9] == b"{" and start[5:8] == b"\0\0\0":
        return " but a safetensors file", other_format
    if start.startswith((b"lmgg", b"tjgg", b"fmgg", b"algg")):
        return " but its predecessor, GGML", other_format
    if text.startswith(b"{"):
        return " but JSON text", f"{failed} The server may have sent an error."
    if not start.strip(b"\0"):
        return ": it begins with zeros", failed
    return "", other_format


def _metadata(cursor: _Cursor, count: int) -> Mapping[str, Value]:
    metadata: dict[str, Value] = {}
    for _ in range(count):
        key = cursor.string()
        if not key or key in metadata:
            raise cursor.damaged(f"its metadata has {'an entry twice: ' + repr(key[:80]) if key else 'an empty key'}")
        metadata[key] = _value(cursor, cursor.uint32())
    return metadata


def _value(cursor: _Cursor, type_id: int) -> Value:
    if type_id == _ARRAY:
        return _array(cursor, cursor.uint32(), cursor.uint64())
    if type_id == _STRING:
        return cursor.string()
    if type_id not in _NUMBERS:
        raise cursor.damaged(f"its metadata has a value of unknown type {type_id}")
    number = _numbers(cursor, type_id, 1)[0]
    return bool(number) if type_id == _BOOL else number


def _array(cursor: _Cursor, type_id: int, count: int) -> Value:
    if type_id == _STRING:
        return cursor.strings(count)
    if type_id not in _NUMBERS:
        raise cursor.damaged(f"its metadata has an array of unknown type {type_id}")
    return _numbers(cursor, type_id, count)


def _numbers(cursor: _Cursor, type_id: int, count: int) -> array[int] | array[float]:
    numbers: array[int] | array[float] = array(_NUMBERS[type_id])
    numbers.frombytes(cursor.take(count * numbers.itemsize))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _tensor(cursor: _Cursor) -> TensorInfo:
    name = cursor.string()
    n_dimensions = cursor.uint32()
    if n_dimensions > 4:
        raise cursor.damaged(f"tensor {name[:80]!r} has {n_dimensions:,} dimensions")
    shape = tuple(cursor.uint64() for _ in range(n_dimensions))
    return TensorInfo(name, shape, type_id=cursor.uint32(), offset=cursor.uint64())
