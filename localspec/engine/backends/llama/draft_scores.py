"""A draft model's scores for a part of a large vocabulary, from its final states: llama.cpp computes no others then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace

import numpy as np

from localspec.base.errors import CapacityError, DrafterUnavailableError, ModelFileError
from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary, pays
from localspec.engine.backends.llama.early_end import EarlyEnd, End
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load, on_cpu
from localspec.engine.backends.llama.native import Native
from localspec.engine.backends.llama.output_matrix import OutputMatrix
from localspec.engine.cancel import Cancellation
from localspec.engine.model import Logits


class DraftScores:
    """The scores of a model whose evaluations end with its final states. The owner calls ``close``, and frees it."""

    def __init__(self, early_end: EarlyEnd, vocabulary: DraftVocabulary) -> None:
        self._early_end, self._vocabulary = early_end, vocabulary

    def begin(self, tokens: Iterable[int]) -> None:
        """The next evaluation is of ``tokens``."""
        self.read(tokens)
        self._early_end.begin(End.STATES)

    def read(self, tokens: Iterable[int]) -> None:
        """As ``DraftVocabulary.read``."""
        self._vocabulary.read(tokens)

    def rows(self, n: int, threads: int) -> Logits:
        """The scores of the last evaluation, for the ``n`` tokens whose scores were wanted; valid until the next."""
        if not n:
            return np.empty((0, self._vocabulary.n_vocab), np.float32)
        return self._vocabulary.scores(self._early_end.states(self._vocabulary.matrix.width), threads)

    def close(self) -> None:
        """Free the native memory of its own."""
        self._vocabulary.close()


def load_draft(
    native: Native,
    settings: LoadSettings,
    cancel: Cancellation,
    progress: Callable[[float], None] | None,
    n_vocab: int | None,
) -> tuple[LoadedModel, DraftScores | None]:
    """A draft model, and where it is quicker so, its scores for a part of its vocabulary.

    ``n_vocab`` as of ``LlamaModel``. Raises what ``load`` does.
    """
    wanted = on_cpu(native, settings) if settings.draft_vocabulary is None else settings.draft_vocabulary
    matrix = OutputMatrix.find(native, settings.path) if wanted and settings.mmap is not False else None
    if matrix and matrix.rows_n >= 2 * settings.draft_tokens:
        with ExitStack() as own, suppress(CapacityError, ModelFileError, DrafterUnavailableError, OSError):
            loaded = load(native, replace(settings, early_end=True), cancel, progress)
            own.callback(loaded.free)
            assert loaded.early_end is not None
            all_n = int(native.c.llama_vocab_n_tokens(native.c.llama_model_get_vocab(loaded.model)))
            vocabulary = DraftVocabulary(native, matrix, min(all_n, n_vocab or all_n), settings.draft_tokens)
            own.callback(vocabulary.close)
            if _pays(loaded, loaded.early_end, vocabulary, settings):
                own.pop_all()
                return loaded, DraftScores(loaded.early_end, vocabulary)
    return load(native, settings, cancel, progress), None


def _pays(loaded: LoadedModel, early_end: EarlyEnd, vocabulary: DraftVocabulary, settings: LoadSettings) -> bool:
    """As ``draft_vocabulary.pays``, of the first token of a text."""
    c, context = loaded.native.c, loaded.short or loaded.context
    batch, memory, threads = Batch(c, 1), c.llama_get_memory(context), int(c.llama_n_threads(context))

    def evaluate(end: End | None) -> None:
        c.llama_memory_clear(memory, True)
        batch.clear()
        batch.add([0], 0, 1, 1)
        early_end.begin(end)
        if c.llama_decode(context, batch.native):
            raise ModelFileError("llama.cpp cannot evaluate a token.", "Choose another file.")

    def whole() -> Logits:
        evaluate(None)
        scores: Logits = np.ctypeslib.as_array(c.llama_get_logits_ith(context, 0), (settings.draft_tokens,))
        return scores

    def few() -> Logits:
        evaluate(End.STATES)
        scores: Logits = vocabulary.scores(early_end.states(vocabulary.matrix.width), threads)[0]
        return scores

    try:
        return pays(whole, few, settings.draft_tokens, always=settings.draft_vocabulary is True)
    finally:
        c.llama_memory_clear(memory, True)
