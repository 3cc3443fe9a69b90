"""An embedding model in llama.cpp: a vector for a text, by the pooling that the model was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import EngineError, ModelFileError
from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.load import LoadSettings, load_model
from localspec.engine.backends.llama.native import Native, reason
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancellation

MOST_PASSAGE_TOKENS = 512
"""The first tokens of a passage that count: most are shorter, and many models were trained on no more."""
_MEAN = 1


class LlamaEmbedder:
    """Owns the weights and a context that keeps nothing from one text to the next."""

    def __init__(self, native: Native, path: Path, threads: int, most_tokens: int = MOST_PASSAGE_TOKENS) -> None:
        """Load the file. Of a text ``most_tokens`` count, or as many as the model was trained on.

        Raises ModelFileError, CapacityError.
        """
        self._c = native.c
        self.most_tokens = most_tokens
        self._model, _ = load_model(native, LoadSettings(path, 1, gpu_layers=0, devices=()), Cancellation(), None)
        self._context, pooled = self._make_context(native, path, threads)
        self.vocab = LlamaVocab(native, self._model)
        self.width = int(self._c.llama_model_n_embd_out(self._model))
        self._batch = Batch(self._c, self.most_tokens)
        self._native = native
        if not pooled:
            self.close()
            raise ModelFileError(f"{path.name} gives no vector for a text.", "Choose an embedding model.")

    def embed(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The vector of a text by its ``tokens``, of length 1, shape (width,); of a long text, that of its beginning.

        Raises EngineError, ModelFileError.
        """
        if len(tokens) > self.most_tokens:
            tokens = [*tokens[: self.most_tokens - 1], tokens[-1]]  # the last stands for the end
        self._batch.clear()
        self._batch.add(tokens, 0, len(tokens), self.vocab.n_vocab)
        if memory := self._c.llama_get_memory(self._context):
            self._c.llama_memory_clear(memory, False)
        code = self._c.llama_decode(self._context, self._batch.native)
        values = None if code else self._c.llama_get_embeddings_seq(self._context, 0)
        if not values:
            why = self._native.log.last_error() or f"code {code}"
            raise EngineError(f"llama.cpp gave no vector for a text ({why}).", "Try another embedding model.")
        vector = np.ctypeslib.as_array(values, (self.width,)).astype(np.float32)
        if not np.isfinite(vector).all():
            if memory:
                self._c.llama_memory_clear(memory, True)  # what is not a number would spoil the next text
            raise ModelFileError(
                "The model's vectors are not numbers.", "Its file may be damaged; check or replace it."
            )
        return vector / max(float(np.linalg.norm(vector)), 1e-12)

    def close(self) -> None:
        """Free the native memory."""
        self._c.llama_free(self._context)
        self._c.llama_model_free(self._model)

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, with those that the model expects at the ends."""
        return self.vocab.tokenize(text, special=False, ends=True) or [0]

    def _make_context(self, native: Native, path: Path, threads: int) -> tuple[Any, bool]:
        """The context, and True if it gives one vector for a text. Raises ModelFileError."""
        c = self._c
        self.most_tokens = max(1, min(self.most_tokens, int(c.llama_model_n_ctx_train(self._model))))
        params = c.llama_context_default_params()
        # A text is read in both directions, so all of it at once.
        params.n_ctx = params.n_batch = params.n_ubatch = params.n_outputs_max = self.most_tokens
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        with native.log.heard() as lines:
            context = c.llama_init_from_model(self._model, params)
            if context and not c.llama_pooling_type(context):
                c.llama_free(context)
                params.pooling_type = _MEAN
                context = c.llama_init_from_model(self._model, params)
        if not context:
            c.llama_model_free(self._model)
            why = reason(lines) or "it does not say why"
            raise ModelFileError(f"llama.cpp cannot use {path.name}: {why}.", "Choose another embedding model.")
        return context, 0 < c.llama_pooling_type(context) <= 3
