"""A projector: the network beside a target that makes rows of an image, which the target reads in place of tokens.

llama.cpp calls this mtmd. Its library (``libmtmd``) comes with llama-cpp-python. An image becomes a list of chunks:
tokens that frame it or its parts, and parts, each of which is encoded and read as a whole.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import CapacityError, EngineError, InputError, ModelFileError
from localspec.base.file_identity import sample_digest
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.native import native, reason
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.images import image_places

_SEQUENCE, _TEXT, _IMAGE = 0, 0, 1
_ABORTED = 2
_KEPT_BYTES = 256 * 2**20
"""Encoded parts that are kept, so that an image is not encoded again when the cache has lost it."""
_NODES_AT_ONCE = 8
"""Operations of the encoder's graph between two looks at the stop signal: a third of a layer."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A part of an image that is read as a whole."""

    places: tuple[int, ...]
    """Its numbers in a context, one a row."""
    positions_n: int
    """The number of positions that it takes; fewer than rows where positions lie in a plane."""
    image: bytes
    """The file of its image."""
    number: int
    """Among the chunks of its image."""


class Projector:
    """A projector in memory, and what it encoded latest. It must be closed before its target is."""

    def __init__(self, mtmd: Any, context: Any, target: LoadedModel, path: Path, stop: _Stop) -> None:
        self._mtmd = mtmd
        self._context = context
        self._stop = stop
        self._target = target
        self._digest = sample_digest(path)
        self._batch_n = int(target.native.c.llama_n_batch(target.context))
        self._at_once_n = int(target.native.c.llama_n_ubatch(target.context))
        self._width = int(target.native.c.llama_model_n_embd_inp(target.model))
        self._parts: dict[int, ImagePart] = {}
        """The parts of images by the first of their places."""
        self._encoded: dict[int, NDArray[np.float32]] = {}
        """Rows by a part's first place, the latest last."""
        self.encoded_n = 0
        """Parts encoded so far."""

    @staticmethod
    def open(
        path: Path, target: LoadedModel, cancel: Cancellation, *, threads: int, on_gpu: bool, at_once: bool = False
    ) -> Projector:
        """Load a projector for ``target``; ``at_once`` if the target must read all rows of an image in one batch.

        ``cancel`` stops the encoding of an image. Raises ModelFileError.
        """
        mtmd = _library()
        stop = _Stop(cancel, mtmd.mtmd_context_params)
        params = mtmd.mtmd_context_params_default()
        params.cb_eval = stop.callback
        params.use_gpu, params.n_threads = on_gpu, threads
        params.print_timings = params.warmup = False
        if at_once:
            params.image_max_tokens = target.native.c.llama_n_ubatch(target.context)
        with target.native.log.heard() as lines:
            context = mtmd.mtmd_init_from_file(os.fsencode(path), target.model, params)
        if not context:
            raise ModelFileError(
                f"llama.cpp cannot load {path.name}: {reason(lines) or 'it does not say why'}.",
                "Choose the projector that was made for this model.",
            )
        if not mtmd.mtmd_support_vision(context):
            mtmd.mtmd_free(context)
            raise ModelFileError(f"{path.name} reads no images.", "Choose a projector for images.")
        return Projector(mtmd, context, target, path, stop)

    def tokens(self, image: bytes) -> list[int]:
        """The numbers that stand for an image in a context: the tokens around its parts, and the parts' places.

        ``image`` is a file in one of the formats that every build of llama.cpp reads, such as PNG.
        Raises InputError if it cannot be read, EngineError if llama.cpp refuses it.
        """
        identity = sha256(self._digest + image).digest()
        numbers: list[int] = []
        with self._chunks(image) as chunks:
            for number, chunk in enumerate(chunks):
                n = int(self._mtmd.mtmd_input_chunk_get_n_tokens(chunk))
                if self._mtmd.mtmd_input_chunk_get_type(chunk) == _TEXT:
                    tokens = self._mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(ctypes.c_size_t()))
                    # A token that the vocabulary lacks is -1.
                    numbers += [token for token in tokens[:n] if token >= 0]
                    continue
                self._check_size(n, chunk)
                places = image_places(identity + number.to_bytes(4), n)
                positions_n = int(self._mtmd.mtmd_input_chunk_get_n_pos(chunk))
                self._parts[places[0]] = ImagePart(places, positions_n, image, number)
                numbers += places
        return numbers

    def forget(self, tokens: Sequence[int]) -> None:
        """Let go of the image with these numbers: it cannot be read any more until ``tokens`` gives them anew."""
        for token in tokens:
            self._parts.pop(token, None)
            self._encoded.pop(token, None)

    def part(self, place: int) -> ImagePart | None:
        """The part that begins with ``place``."""
        return self._parts.get(place)

    def decode(self, part: ImagePart, position: int, taken: Callable[[int], None]) -> None:
        """Have the target read ``part`` at ``position``; ``taken`` is called with each evaluation's number of rows.

        Raises Cancelled, CapacityError or EngineError.
        """
        rows = self._rows(part)
        after = ctypes.c_int32()
        c, mtmd = self._target.native.c, self._mtmd

        def on_decoded(batch: Any, _: object) -> int:
            taken(int(batch.contents.n_tokens))
            return 0

        with self._chunks(part.image) as chunks:
            code = mtmd.mtmd_helper_decode_image_chunk(
                self._context,
                self._target.context,
                chunks[part.number],
                rows.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                position,
                _SEQUENCE,
                self._batch_n,
                ctypes.byref(after),
                mtmd.mtmd_helper_post_decode_callback(on_decoded),
                None,
            )
        c.llama_synchronize(self._target.context)
        if code == _ABORTED:
            raise Cancelled
        if code == 1:
            raise CapacityError("The context is full.", "Start a new chat, or choose a larger context with --ctx.")
        if code:
            raise self._failure(f"llama.cpp failed on an image (code {code})")

    def close(self) -> None:
        """Free the native memory."""
        self._mtmd.mtmd_free(self._context)

    def _check_size(self, n: int, chunk: Any) -> None:
        """Raise EngineError for a part that llama.cpp would end the process over.

        Rows that see each other in both directions have to be evaluated at once.
        """
        if n > self._at_once_n and self._mtmd.mtmd_decode_use_non_causal(self._context, chunk):
            raise EngineError(
                f"The image has {n:,} rows, and {self._at_once_n:,} can be read at once.", "Choose a smaller image."
            )

    def _rows(self, part: ImagePart) -> NDArray[np.float32]:
        """The rows of a part; encoded unless they are kept. Raises Cancelled or EngineError."""
        rows = self._encoded.pop(part.places[0], None)
        if rows is None:
            with self._chunks(part.image) as chunks:
                code = self._mtmd.mtmd_encode_chunk(self._context, chunks[part.number])
                if self._stop.cancel.is_set():
                    raise Cancelled  # the rows may be those of a graph that was left unfinished
                if code:
                    raise self._failure("llama.cpp cannot encode the image")
            first = self._mtmd.mtmd_get_output_embd(self._context)
            rows = np.ctypeslib.as_array(first, (len(part.places), self._width)).copy()
            self.encoded_n += 1
        self._encoded[part.places[0]] = rows
        while len(self._encoded) > 1 and sum(kept.nbytes for kept in self._encoded.values()) > _KEPT_BYTES:
            del self._encoded[next(iter(self._encoded))]
        return rows

    @contextmanager
    def _chunks(self, image: bytes) -> Iterator[list[Any]]:
        """The chunks of an image, which live as long as the ``with``."""
        mtmd = self._mtmd
        data = (ctypes.c_uint8 * len(image)).from_buffer_copy(image)
        bitmap = mtmd.mtmd_helper_bitmap_init_from_buf(self._context, data, len(image), False)
        if not bitmap:
            raise InputError("llama.cpp cannot read the image.", "Save it as PNG, and attach that.")
        chunks = mtmd.mtmd_input_chunks_init()
        try:
            part = mtmd.mtmd_input_part(bitmap=bitmap)
            parts = (ctypes.POINTER(mtmd.mtmd_input_part) * 1)(ctypes.pointer(part))
            if mtmd.mtmd_tokenize_from_parts(self._context, chunks, parts, 1, False):
                raise self._failure("llama.cpp cannot prepare the image")
            yield [mtmd.mtmd_input_chunks_get(chunks, i) for i in range(mtmd.mtmd_input_chunks_size(chunks))]
        finally:
            mtmd.mtmd_input_chunks_free(chunks)
            mtmd.mtmd_bitmap_free(bitmap)

    def _failure(self, what: str) -> EngineError:
        why = self._target.native.log.last_error() or "it does not say why"
        return EngineError(f"{what}: {why}.", "Try another image, or a smaller one.")


class _Stop:
    """Leaves an encoder's graph unfinished once ``cancel`` is set.

    mtmd has no function to abort with. It hands on the callback with which tensors are inspected: that is asked before
    each operation whether it wants to see the result, and after each that it wants to see whether to go on. It runs in
    the thread that computes, so it waits for nobody.
    """

    def __init__(self, cancel: Cancellation, params: Any) -> None:
        self.cancel = cancel
        self._asked_n = 0
        self.callback = dict(params._fields_)["cb_eval"](self._answer)
        """The C callback, to be kept as long as the context."""

    def _answer(self, _tensor: Any, asks: bool, _data: Any) -> bool:
        if not asks:
            return not self.cancel.is_set()
        self._asked_n += 1
        return self._asked_n % _NODES_AT_ONCE == 0


@cache
def _library() -> Any:
    """The functions of mtmd, its log sent where llama.cpp's goes. Raises ModelFileError where it is not installed."""
    try:
        from llama_cpp import mtmd_cpp as mtmd
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise ModelFileError(
            f"This build of llama.cpp cannot read images ({error}).",
            "Install the version of llama-cpp-python that LocalSpec names.",
        ) from error
    mtmd.mtmd_helper_log_set(native().log_callback, ctypes.c_void_p(0))
    return mtmd
