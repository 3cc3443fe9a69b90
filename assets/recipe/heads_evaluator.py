"""A head through llama.cpp's C interface at temperature 0: the target's hidden states, and what the head proposes from them.

It is written for itself, apart from LocalSpec's own drafters, so that each can be held against the other. llama.cpp exports the functions that give
hidden states under their C++ names only.
"""

from __future__ import annotations

import ctypes as C
from collections.abc import Sequence
from pathlib import Path

import llama_cpp.llama_cpp as c
import llama_cpp.llama_cpp_ext as ext
import numpy as np
from evaluator import Evaluator, load

_FLOATS = C.POINTER(C.c_float)


def _function(name: str, arguments: list[type], result: type | None) -> C._NamedFuncPointer:
    function = getattr(c._lib, name)
    function.argtypes, function.restype = arguments, result
    return function


_keep_inputs = _function(
    "_Z30llama_set_embeddings_layer_inpP13llama_contextjb", [C.c_void_p, C.c_uint32, C.c_bool], None
)
_inputs = _function("_Z30llama_get_embeddings_layer_inpP13llama_contextj", [C.c_void_p, C.c_uint32], _FLOATS)
_layers = _function("_Z28llama_model_target_layer_idsPK11llama_model", [C.c_void_p], C.POINTER(C.c_int32))
_layer_count = _function("_Z30llama_model_target_layer_ids_nPK11llama_model", [C.c_void_p], C.c_uint32)


def _rows(pointer: C._Pointer, count: int, width: int) -> np.ndarray:
    return np.ctypeslib.as_array(pointer, (count * width,)).reshape(count, width).copy()


class Batch:
    """A batch of tokens, of rows, or of both, from a position on. It owns what llama.cpp only points to."""

    def __init__(
        self, start: int, tokens: Sequence[int] | None = None, rows: np.ndarray | None = None, scores: bool = True
    ) -> None:
        n = len(tokens) if tokens is not None else len(rows)
        sequence = (C.c_int32 * 1)(0)
        self.kept = [
            (C.c_int32 * n)(*tokens) if tokens is not None else None,
            np.ascontiguousarray(rows, np.float32) if rows is not None else None,
            (C.c_int32 * n)(*range(start, start + n)),
            (C.c_int32 * n)(*[1] * n),
            (C.POINTER(C.c_int32) * n)(*[C.cast(sequence, C.POINTER(C.c_int32))] * n),
            (C.c_int8 * n)(*[int(scores)] * n),
            sequence,
        ]
        self.batch = c.llama_batch()
        self.batch.n_tokens = n
        if tokens is not None:
            self.batch.token = self.kept[0]
        if rows is not None:
            self.batch.embd = self.kept[1].ctypes.data_as(_FLOATS)
        self.batch.pos, self.batch.n_seq_id, self.batch.seq_id, self.batch.logits = self.kept[2:6]


class HeadEvaluator:
    """A target, its head, and the text that both have read; the head is beside the target, or within it for MTP."""

    def __init__(self, target: Path, head: Path | None, context: int = 1024, threads: int = 2) -> None:
        self.target = Evaluator(target, context, threads, mtp=head is None)
        self.model = load(head) if head else self.target.model
        own = c.llama_context_default_params()
        own.n_ctx = own.n_batch = own.n_ubatch = own.n_outputs_max = context
        own.n_threads = own.n_threads_batch = threads
        own.ctx_other = self.target.context
        if head is None:
            own.ctx_type = c.LLAMA_CONTEXT_TYPE_MTP
        self.context = c.llama_init_from_model(self.model, own)
        self.kind = self._text("general.architecture") if head else "mtp"
        self.width = c.llama_model_n_embd(self.target.model)
        self.layers = [_layers(self.model)[n] for n in range(_layer_count(self.model))] if head else []
        for layer in self.layers:
            _keep_inputs(self.target.context, layer, True)
        ext.llama_set_embeddings_nextn(self.target.context, not self.layers, False)
        ext.llama_set_embeddings_nextn(self.context, True, True)
        if self.kind == "dflash":
            c.llama_set_causal_attn(self.context, False)
            self.block = int(self._text("dflash.block_size"))
            self.mask = c.llama_vocab_mask(c.llama_model_get_vocab(self.model))
        self.states = np.zeros((0, 0), np.float32)
        self.tokens: list[int] = []

    def _text(self, key: str) -> str:
        room = C.create_string_buffer(64)
        c.llama_model_meta_val_str(self.model, key.encode(), room, 64)
        return room.value.decode()

    def read(self, tokens: Sequence[int]) -> None:
        """Give a whole text to the target and its states to the head."""
        self.tokens = list(tokens)
        self.target.held = []
        self.target.logits(self.tokens)
        self.seen = 0
        self._cut(0)  # llama.cpp wants the positions of an encoding to follow the cache
        n = len(self.tokens)
        if self.layers:
            found = [_rows(_inputs(self.target.context, layer), n, self.width) for layer in self.layers]
            self.states = np.concatenate(found, 1)
        else:
            self.states = _rows(ext.llama_get_embeddings_nextn(self.target.context), n, self.width)
        if self.kind == "eagle3":
            self._run(Batch(0, rows=self.states), c.llama_encode)
            self.states = _rows(ext.llama_get_embeddings_nextn(self.context), n, self.width)

    def guesses(self, known: int, depth: int) -> list[int]:
        """The likeliest next tokens behind the first ``known`` ones of the text, whose states are seen but for the last."""
        return [int(row.argmax()) for row in self.logits(known, depth)]

    def logits(self, known: int, depth: int) -> list[np.ndarray]:
        """The scores of each place, the places before it filled with the likeliest tokens."""
        return self._block(known, depth) if self.kind == "dflash" else self._chain(known, depth)

    def _chain(self, known: int, depth: int) -> list[np.ndarray]:
        shift = 0 if self.kind == "eagle3" else 1
        self._cut(self.seen)
        if self.seen == 0 and shift:
            self._run(Batch(0, self.tokens[:1], np.zeros((1, self.width)), scores=False))
        old = range(self.seen, known - 2)
        if old:
            pairs = [self.tokens[at + 1] for at in old]
            self._run(Batch(old.start + shift, pairs, self.states[old.start : old.stop], scores=False))
        self.seen = max(self.seen, known - 2)
        found: list[np.ndarray] = []
        token, state, at = self.tokens[known - 1], self.states[known - 2], known - 2 + shift
        for _ in range(depth):
            self._run(Batch(at, [token], state[None]))
            found.append(self._scores(0))
            token, at = int(found[-1].argmax()), at + 1
            state = _rows(ext.llama_get_embeddings_nextn_ith(self.context, 0), 1, self.width)[0]
        return found

    def _block(self, known: int, depth: int) -> list[np.ndarray]:
        self._cut(self.seen)
        if known - 1 > self.seen:
            self._run(Batch(self.seen, rows=self.states[self.seen : known - 1], scores=False))
        self.seen = known - 1
        self._run(Batch(known - 1, [self.tokens[known - 1], *[self.mask] * (self.block - 1)]))
        return [self._scores(place) for place in range(1, 1 + min(depth, self.block - 1))]

    def _scores(self, row: int) -> np.ndarray:
        return np.ctypeslib.as_array(c.llama_get_logits_ith(self.context, row), (self.target.size,)).copy()

    def _cut(self, pairs: int) -> None:
        """Forget all but the first pairs or rows; MTP's first pair has no state and is kept."""
        kept = pairs + 1 if self.kind == "mtp" and pairs else pairs
        c.llama_memory_seq_rm(c.llama_get_memory(self.context), 0, kept, -1)

    def _run(self, batch: Batch, what: object = c.llama_decode) -> None:
        if what(self.context, batch.batch) != 0:
            raise RuntimeError(f"llama.cpp cannot run the {self.kind} head")
