"""A context's cache in a file, so that a long conversation need not be read again.

The file is llama.cpp's own (a sequence state: its tokens, then cells and states) with a fingerprint of model
and cache in front of the tokens, and a trailer that tells a file that is cut or damaged: llama.cpp itself
would end the process over some of those.
"""

from __future__ import annotations

import ctypes
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from struct import Struct

import numpy as np

from localspec.base.errors import EngineError
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.cancel import Cancellation, Cancelled

_SEQUENCE = 0
_FRONT = Struct("<4sII")
"""Magic, version, number of tokens: llama.cpp's."""
_MAGIC, _VERSION = b"qsgg", 3
_TRAILER = Struct("<8sQI")
"""Magic, size of all before it, and its CRC-32."""
_TRAILER_MAGIC = b"lspcache"
_FINGERPRINT_N = 8
"""Token numbers that the fingerprint takes."""
_SAMPLES_N, _SAMPLE_BYTES = 64, 4096
_PIECE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Restored:
    """The outcome of reading a saved cache."""

    tokens: tuple[int, ...]
    """The tokens held now; none if the file was ignored."""
    reason: str = ""
    """The reason why the file was ignored; empty if it was not."""


def save_cache(loaded: LoadedModel, held: Sequence[int], path: Path, cancel: Cancellation | None = None) -> None:
    """Write what the context holds, ``held``, to ``path``: all of it or nothing.

    Raises EngineError if that is not possible, Cancelled if ``cancel`` is set before it is in its place.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    numbers = np.concatenate([_fingerprint(loaded), np.asarray(held, np.int32)])
    tokens = numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
    c = loaded.native.c
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not c.llama_state_seq_save_file(loaded.context, os.fsencode(draft), _SEQUENCE, tokens, len(numbers)):
            raise EngineError(
                f"The conversation's cache cannot be kept: {loaded.native.log.last_error() or 'llama.cpp says no'}.",
                "Check the disk; the conversation goes on without.",
            )
        with draft.open("r+b") as file:
            size, checksum = _summed(file.fileno(), draft.stat().st_size, cancel)
            file.seek(0, os.SEEK_END)
            file.write(_TRAILER.pack(_TRAILER_MAGIC, size, checksum))
        draft.replace(path)
    except OSError as error:
        raise EngineError(
            f"The conversation's cache cannot be kept in {path}: {error.strerror or error}.",
            "Check the disk; the conversation goes on without.",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def restore_cache(loaded: LoadedModel, path: Path, cancel: Cancellation | None = None) -> Restored:
    """Put back what a file holds into the context, which must hold nothing. A file that does not fit is ignored.

    After a reason other than "", the context has to be cleared. Raises Cancelled, having put nothing back, if
    ``cancel`` is set while the file is checked.
    """
    try:
        tokens, reason = _checked(loaded, path, cancel)
    except FileNotFoundError:
        return Restored((), "there is no such file")
    except OSError as error:
        return Restored((), f"it cannot be read ({error.strerror or error})")
    if reason:
        return Restored((), reason)
    room = _FINGERPRINT_N + len(tokens)
    read, count = (ctypes.c_int32 * room)(), ctypes.c_size_t()
    c = loaded.native.c
    if (
        not c.llama_state_seq_load_file(loaded.context, os.fsencode(path), _SEQUENCE, read, room, ctypes.byref(count))
        or c.llama_memory_seq_pos_max(c.llama_get_memory(loaded.context), _SEQUENCE) != len(tokens) - 1
    ):
        return Restored((), f"llama.cpp does not take it ({loaded.native.log.last_error() or 'it does not say why'})")
    return Restored(tokens)


def _checked(loaded: LoadedModel, path: Path, cancel: Cancellation | None) -> tuple[tuple[int, ...], str]:
    """The tokens in a file, or why it is of no use here."""
    nothing: tuple[int, ...] = ()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size - _TRAILER.size
        if size < _FRONT.size:
            return nothing, "it is cut short"
        file.seek(size)
        trailer = _TRAILER.unpack(file.read(_TRAILER.size))
        if trailer != (_TRAILER_MAGIC, *_summed(file.fileno(), size, cancel)):
            return nothing, "it is cut short or damaged"
        file.seek(0)
        magic, version, n = _FRONT.unpack(file.read(_FRONT.size))
        if (magic, version) != (_MAGIC, _VERSION) or n < _FINGERPRINT_N:
            return nothing, "another version wrote it"
        numbers = np.frombuffer(file.read(4 * n), np.int32)
    if not np.array_equal(numbers[:_FINGERPRINT_N], _fingerprint(loaded)):
        return nothing, "it is of another model, or of a cache kept otherwise"
    if n - _FINGERPRINT_N > loaded.n_ctx:
        return nothing, f"it holds {n - _FINGERPRINT_N} tokens, the context {loaded.n_ctx}"
    return tuple(numbers[_FINGERPRINT_N:].tolist()), ""


def _summed(descriptor: int, size: int, cancel: Cancellation | None) -> tuple[int, int]:
    """A file's size, and the CRC-32 of that many bytes from its beginning. Raises Cancelled."""
    checksum = at = 0
    while at < size and (piece := os.pread(descriptor, min(_PIECE_BYTES, size - at), at)):
        if cancel is not None and cancel.is_set():
            raise Cancelled
        checksum = zlib.crc32(piece, checksum)
        at += len(piece)
    return size, checksum


def _fingerprint(loaded: LoadedModel) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Eight numbers that differ between models, and between ways to keep their cache."""
    digest = sha256(repr((loaded.cache_type_k, loaded.cache_type_v, loaded.flash_attn, loaded.swa_full)).encode())
    with loaded.path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(repr(size).encode())
        for i in range(_SAMPLES_N):
            file.seek(i * max(0, size - _SAMPLE_BYTES) // (_SAMPLES_N - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return np.frombuffer(digest.digest(), np.int32)
