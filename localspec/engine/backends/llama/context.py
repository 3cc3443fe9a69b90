"""A context of llama.cpp with its weights: the members that models and heads have in common."""

from __future__ import annotations

from localspec.base.errors import CapacityError, EngineError
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.native_views import NativeViews
from localspec.engine.backends.llama.report import describe_device
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancelled
from localspec.engine.model import Logits

_NO_SLOT, _ABORTED = 1, 2


class LlamaContext:
    """Owns the native handles of a loaded model."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.loaded = loaded
        """The native handles, for heads that read along."""
        self._c = loaded.native.c
        self._context = loaded.short or loaded.context
        self._views = NativeViews()
        self.vocab = LlamaVocab(loaded.native, loaded.model)
        self.n_ctx = loaded.n_ctx
        self.cache_type_k, self.cache_type_v = loaded.cache_type_k, loaded.cache_type_v
        """The types that keys and values are kept as; None if none are."""
        self.flash_attn = loaded.flash_attn
        """True if attention is the fused one in texts of any length; None without attention."""
        self.size_bytes = int(self._c.llama_model_size(loaded.model)) if loaded.owns_model else 0
        """The size of the file's tensors; 0 for MTP layers, which are the target's."""

    @property
    def threads(self) -> int:
        return int(self._c.llama_n_threads(self._context))

    def set_threads(self, n: int) -> None:
        """Evaluate with ``n`` CPU threads from now on."""
        if n < 1:
            raise ValueError(f"{n} threads")
        # A batch of more than one token, hence every verification, uses the second number.
        for context in (self.loaded.context, self.loaded.short):
            if context:
                self._c.llama_set_n_threads(context, n, n)

    @property
    def device(self) -> str:
        """The device that evaluates it, in words: "CPU, 2 threads" or "CUDA0 (...), 33/33 layers"."""
        return describe_device(self.loaded.log_lines, self.threads)

    def _failure(self, code: int) -> Exception:
        """The error for a code that llama.cpp returned in place of 0."""
        if code == _ABORTED:
            return Cancelled()
        if code == _NO_SLOT:
            return CapacityError("The context is full.", "Start a new chat, or choose a larger context with --ctx.")
        why = self.loaded.native.log.last_error() or "it does not say why"
        return EngineError(f"llama.cpp failed (code {code}): {why}.", "Try the prompt again.")

    def _scores(self, first: int, rows_n: int) -> Logits:
        """Scores of the last evaluation where llama.cpp keeps them, from row ``first`` on: shape (rows_n, n_vocab)."""
        scores = self._c.llama_get_logits_ith(self._context, first)
        if not scores:
            raise EngineError("llama.cpp gave no scores.", "Try the prompt again.")
        return self._views.of(scores, rows_n, self.vocab.n_vocab)
