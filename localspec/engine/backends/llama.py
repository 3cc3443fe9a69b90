"""A GGUF model evaluated by llama.cpp, behind the engine's ``Model``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from localspec.engine.backends.llama_load import Loaded, LoadSettings, load
from localspec.engine.backends.llama_vocab import LlamaVocab
from localspec.engine.backends.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.model import Cancelled, Logits
from localspec.errors import CapacityError, EngineError

_SEQUENCE = 0
_NO_SLOT, _ABORTED = 1, 2


class LlamaModel:
    """One model and one context; its KV cache follows whatever context it is asked about.

    Not thread-safe. Several of llama.cpp's limits end the process when crossed (more tokens in a batch
    than prepared, more outputs than prepared, a token it does not have), so they are kept here.
    """

    def __init__(self, loaded: Loaded, cancel: Cancellation, n_vocab: int | None = None) -> None:
        self._loaded = loaded
        self._cancel = cancel  # llama.cpp reads its buffer: it must live as long as the context
        self._c = loaded.native.c
        self._context = loaded.context
        self._memory = self._c.llama_get_memory(loaded.context)
        self._vocab = LlamaVocab(loaded.native, loaded.model)
        self._n_scores = min(self._vocab.n_vocab, n_vocab or self._vocab.n_vocab)
        self._batch = _Batch(self._c, self._c.llama_n_batch(loaded.context))
        self._held: list[int] = []
        self._closed = False

    @staticmethod
    def open(
        settings: LoadSettings,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        n_vocab: int | None = None,
    ) -> LlamaModel:
        """Load a model; ``cancel`` stops the load and, later, any evaluation.

        ``n_vocab`` is for a draft whose vocabulary is padded otherwise than the target's: scores of
        tokens past it are left out. Raises ModelFileError, CapacityError or Cancelled.
        """
        return LlamaModel(load(native(), settings, cancel, progress), cancel, n_vocab)

    @property
    def vocab(self) -> LlamaVocab:
        return self._vocab

    @property
    def n_ctx(self) -> int:
        return self._loaded.n_ctx

    @property
    def threads(self) -> int:
        return self._loaded.threads

    @property
    def device(self) -> str:
        """What evaluates the model, in words."""
        return self._loaded.device

    @property
    def size_bytes(self) -> int:
        """All its tensors together."""
        return int(self._c.llama_model_size(self._loaded.model))

    def held(self, context: Sequence[int]) -> int:
        return common_prefix(self._held, list(context))

    def logits(self, context: Sequence[int], last: int) -> Logits:
        self._check(context, last)
        # Scores exist only for what is evaluated now, so the last positions are evaluated again if need be.
        start = min(self.held(context), len(context) - last)
        if start < len(context):
            self._rewind(start)
            self._evaluate(context, last)
        if not last:
            self._c.llama_synchronize(self._context)
            return np.empty((0, self._n_scores), dtype=np.float32)
        return self._rows(last)

    def close(self) -> None:
        """Free the native memory; rows given out before must not be touched any more."""
        if not self._closed:
            self._closed = True
            self._batch.free()
            self._loaded.free()

    def _check(self, context: Sequence[int], last: int) -> None:
        if self._closed:
            raise ValueError("the model is closed")
        if not 0 <= last <= len(context):
            raise ValueError(f"{last} rows asked for of a context of {len(context)} tokens")
        if last > self._loaded.max_outputs:
            raise ValueError(f"{last} rows asked for, {self._loaded.max_outputs} prepared")
        if len(context) > self.n_ctx:
            raise ValueError(f"a context of {len(context)} tokens, {self.n_ctx} prepared")

    def _rewind(self, n: int) -> None:
        """Forget all but the first ``n`` tokens held."""
        if n >= len(self._held):
            return
        if self._c.llama_memory_seq_rm(self._memory, _SEQUENCE, n, -1):
            del self._held[n:]
        else:
            self._forget()  # recurrent states cannot be taken back token by token

    def _forget(self) -> None:
        self._c.llama_memory_clear(self._memory, True)
        self._held.clear()

    def _evaluate(self, context: Sequence[int], last: int) -> None:
        """Evaluate what is not held yet; the final batch contains all of the ``last`` positions."""
        while (missing_n := len(context) - len(self._held)) > 0:
            at = len(self._held)
            if missing_n <= self._batch.capacity:
                self._decode(context[at:], last)
            else:
                self._decode(context[at : at + min(self._batch.capacity, missing_n - last)], 0)

    def _decode(self, tokens: Sequence[int], last: int) -> None:
        at = len(self._held)
        self._batch.fill(tokens, at, last, self._vocab.n_vocab)
        code = self._c.llama_decode(self._context, self._batch.native)
        self._held.extend(tokens)
        if code != 0:
            self._resynchronise()
            raise self._failure(code)

    def _resynchronise(self) -> None:
        """After an evaluation that broke off: believe the cache, not the plan."""
        model = self._loaded.model
        if self._c.llama_model_is_recurrent(model) or self._c.llama_model_is_hybrid(model):
            self._forget()  # a state that was half written tells nothing
        else:
            del self._held[self._c.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1 :]

    def _failure(self, code: int) -> Exception:
        if code == _ABORTED:
            return Cancelled()
        why = self._loaded.native.log.last_error()
        if code == _NO_SLOT:
            return CapacityError("The context is full.", "Start a new chat, or choose a larger context with --ctx.")
        return EngineError(f"llama.cpp failed (code {code}): {why or 'it does not say why'}.", "Try the prompt again.")

    def _rows(self, last: int) -> Logits:
        """The scores of the last evaluation, where llama.cpp keeps them."""
        first = self._c.llama_get_logits_ith(self._context, self._batch.used - last)
        if not first:
            raise EngineError("llama.cpp gave no scores.", "Try the prompt again.")
        rows: Logits = np.ctypeslib.as_array(first, (last, self._vocab.n_vocab))
        if np.isnan(rows[:, 0]).any():
            raise EngineError("The model's scores are not numbers.", "Its file may be damaged; check or replace it.")
        return rows[:, : self._n_scores]


class _Batch:
    """One llama_batch, used again for every evaluation."""

    def __init__(self, c: Any, capacity: int) -> None:
        self.capacity = capacity
        self.native = c.llama_batch_init(capacity, 0, 1)
        self.used = 0
        self._c = c
        shape = (capacity,)
        self._tokens = np.ctypeslib.as_array(self.native.token, shape)
        self._positions = np.ctypeslib.as_array(self.native.pos, shape)
        self._wanted = np.ctypeslib.as_array(self.native.logits, shape)
        np.ctypeslib.as_array(self.native.n_seq_id, shape)[:] = 1
        for i in range(capacity):
            self.native.seq_id[i][0] = _SEQUENCE

    def fill(self, tokens: Sequence[int], at: int, last: int, n_vocab: int) -> None:
        """Put in ``tokens`` from position ``at`` on, with scores wanted for the ``last`` of them."""
        n = self.used = self.native.n_tokens = len(tokens)
        self._tokens[:n] = tokens
        # A draft may lack the padding at the end of the target's vocabulary; any token will do there.
        np.copyto(self._tokens[:n], 0, where=self._tokens[:n] >= n_vocab)
        self._positions[:n] = np.arange(at, at + n)
        self._wanted[: n - last] = 0
        self._wanted[n - last : n] = 1

    def free(self) -> None:
        self._c.llama_batch_free(self.native)


def common_prefix(a: list[int], b: list[int]) -> int:
    """How many leading elements are equal. Compares slices, which is a hundred times a loop's speed."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
