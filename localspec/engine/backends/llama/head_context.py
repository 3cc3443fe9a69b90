"""A head's context in llama.cpp, by whatever protocol the head is read."""

from __future__ import annotations

from pathlib import Path

from localspec.base.errors import EngineError
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancelled

_SEQUENCE = 0
_ABORTED = 2


class HeadContext:
    """The members that all heads share. It must be closed before its target is."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._c = loaded.native.c
        self._functions = hidden_functions()
        self._context = loaded.context
        self._memory = self._c.llama_get_memory(loaded.context)
        self.vocab = LlamaVocab(loaded.native, loaded.model)

    @property
    def n_ctx(self) -> int:
        return self._loaded.n_ctx

    @property
    def threads(self) -> int:
        return int(self._c.llama_n_threads(self._context))

    def set_threads(self, n: int) -> None:
        """Evaluate with ``n`` CPU threads from now on."""
        self._c.llama_set_n_threads(self._context, n, n)

    @property
    def path(self) -> Path:
        """Its file; that of the target for MTP layers."""
        return self._loaded.path

    @property
    def device(self) -> str:
        """The device that evaluates the head, in words."""
        return self._loaded.device(self.threads)

    @property
    def size_bytes(self) -> int:
        """Its own tensors together: none of MTP layers, which are the target's."""
        return int(self._c.llama_model_size(self._loaded.model)) if self._loaded.owns_model else 0

    def forget(self) -> None:
        """Hold nothing."""
        self._cut(0)

    def close(self) -> None:
        """Free the native memory."""
        self._loaded.free()

    def _cut(self, position: int) -> None:
        """Forget what was read at ``position`` and behind."""
        self._c.llama_memory_seq_rm(self._memory, _SEQUENCE, position, -1)

    def _check(self, code: int) -> None:
        """Raise for a failure."""
        if code == _ABORTED:
            raise Cancelled
        if code:
            why = self._loaded.native.log.last_error() or "it does not say why"
            raise EngineError(f"llama.cpp failed (code {code}): {why}.", "Try the prompt again.")
