"""Several sequences in one llama.cpp context, with one pool of cells that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Self

import numpy as np

from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.context import LlamaContext
from localspec.engine.backends.llama.draft_scores import DraftScores, load_draft
from localspec.engine.backends.llama.hidden import HiddenKeeper, LayerStates
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.batching import ContinuousBatch, SequenceModel, TextQuestion
from localspec.engine.cancel import Cancellation
from localspec.engine.model import ScoreRows, common_prefix, with_gaps

_NO_SLOT = 1
_WORTH_SHARING_N = 16
"""Tokens that have to be held more for a sequence to take over the cells of another."""


class LlamaSequences(LlamaContext):
    """A model with several sequences, behind the engine's ``BatchModel``; one that keeps a cell for every token."""

    def __init__(
        self,
        loaded: LoadedModel,
        n_ctx: int,
        n_vocab: int | None = None,
        draft_scores: DraftScores | None = None,
    ) -> None:
        """``n_ctx`` is the most tokens of a sequence, ``n_vocab`` and ``draft_scores`` as of ``LlamaModel``."""
        super().__init__(loaded)
        self.n_ctx = n_ctx
        self._draft_scores = draft_scores
        self._size: Callable[[int], int] | None = None
        self._memory = self._c.llama_get_memory(loaded.context)
        self._window = max(0, int(self._c.llama_model_n_swa(loaded.model)))
        """Tokens that layers with a window see; 0 if no layer has one."""
        self.batch_n = int(self._c.llama_n_batch(loaded.context))
        self._batch = Batch(self._c, self.batch_n)
        self._n_scores = min(self.vocab.n_vocab, n_vocab or self.vocab.n_vocab)
        self._held: dict[int, list[int]] = {}
        """The tokens of each sequence; the one that was evaluated longest ago comes first."""
        self._hidden: dict[int, HiddenKeeper] = {}
        """The hidden states that are kept of a sequence."""

    @classmethod
    def open(
        cls,
        settings: LoadSettings,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        n_ctx: int,
    ) -> Self:
        """Load a model with ``settings.sequences`` sequences of ``n_ctx`` tokens at most.

        Raises ModelFileError, CapacityError or Cancelled.
        """
        return cls(load(native(), settings, cancel, progress), n_ctx)

    @classmethod
    def open_draft(
        cls,
        settings: LoadSettings,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        n_ctx: int,
        n_vocab: int,
    ) -> Self:
        """Load a draft model as ``open`` loads a target; ``n_vocab`` as of ``LlamaModel``."""
        loaded, draft_scores = load_draft(native(), settings, cancel, progress, n_vocab)
        return cls(loaded, n_ctx, n_vocab, draft_scores)

    def pad(self, size: Callable[[int], int]) -> None:
        """As ``LlamaModel.pad``, for the tokens of all sequences together."""
        self._size = size

    def held(self, sequence: int, context: Sequence[int]) -> int:
        held = self._held.get(sequence, [])
        n = common_prefix(held, context)
        if not self._window or n == len(held):
            return n
        # What a window has moved past makes room for other sequences, from the first position on.
        lowest = self._c.llama_memory_seq_pos_min(self._memory, sequence)
        return n if 0 <= lowest <= max(0, n - self._window) else 0

    def keep_hidden(self, sequence: int, layers: Sequence[int]) -> LayerStates:
        """As ``HiddenModel.keep_hidden``, of one sequence."""
        if sequence not in self._hidden:
            self._hidden[sequence] = HiddenKeeper(
                self.loaded, lambda: self._held.get(sequence, []), self._batch.capacity
            )
        return self._hidden[sequence].keep(layers)

    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[ScoreRows]:
        self._batch.clear()
        first_scored, evaluated = [], []
        for question in questions:
            known_n = question.known_n(self)
            self._keep(question.sequence, known_n)
            tokens = question.context[known_n:]
            evaluated.append((known_n, len(tokens), self._batch.used))
            first_scored.append(
                self._batch.add(tokens, known_n, question.last, self.vocab.n_vocab, question.sequence, question.unread)
            )
        if own := self._draft_scores:
            lacking = zip(questions, evaluated, strict=True)
            own.begin(token for question, (known_n, *_) in lacking for token in question.context[known_n:])
        padded = self._pad(questions[-1])
        if self._batch.used:
            self._decode([question.sequence for question in questions])
        if padded:
            self._c.llama_memory_seq_rm(self._memory, questions[-1].sequence, len(questions[-1].context), -1)
        for question, (position, n, place) in zip(questions, evaluated, strict=True):
            del self._held[question.sequence]  # the latest comes last
            self._held[question.sequence] = list(question.context)
            if n and (hidden := self._hidden.get(question.sequence)):
                hidden.take(position, n, place)
        if own:
            return self._split(own, questions)
        return [self._rows(first, question) for first, question in zip(first_scored, questions, strict=True)]

    def borrow(self, sequence: int, context: Sequence[int]) -> None:
        """Let a sequence hold what another holds of ``context``, if that is clearly more than it holds itself."""
        source = max(self._held, key=lambda other: self.held(other, context), default=sequence)
        n = self.held(source, context)
        if n < self.held(sequence, context) + _WORTH_SHARING_N:
            return
        self.forget(sequence)
        self._c.llama_memory_seq_cp(self._memory, source, sequence, 0, n)
        self._held[sequence] = self._held[source][:n]
        if hidden := self._hidden.get(sequence):
            hidden.take_over(self._hidden.get(source), n)

    def forget(self, sequence: int) -> None:
        """Free the cells of a sequence, but for those that others share."""
        self._c.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        self._held.pop(sequence, None)

    def close(self) -> None:
        """Free the native memory."""
        if self._draft_scores:
            self._draft_scores.close()
        self.loaded.free()

    def _split(self, own: DraftScores, questions: Sequence[TextQuestion]) -> Sequence[ScoreRows]:
        """The rows of each question, which are computed at once."""
        ends = np.cumsum([question.last - len(question.unread) for question in questions])
        rows = own.rows(ends[-1], self.threads)[:, : self._n_scores]
        parts = zip(questions, np.split(rows, ends[:-1]), strict=True)
        return [with_gaps(part, question.last, question.unread) for question, part in parts]

    def _keep(self, sequence: int, n: int) -> None:
        """Let a sequence hold its first ``n`` tokens alone."""
        held = self._held.setdefault(sequence, [])
        if n < len(held):
            self._c.llama_memory_seq_rm(self._memory, sequence, n, -1)
            del held[n:]

    def _pad(self, question: TextQuestion) -> bool:
        """Add tokens of no meaning behind those of the last question, if the batch is quicker so."""
        n = self._batch.used
        size, at = self._size(n) if self._size else n, len(question.context)
        padding_n = size - n
        if not 0 < padding_n <= min(self._batch.capacity - n, self.n_ctx - at):
            return False
        self._batch.add([0] * padding_n, at, 0, self.vocab.n_vocab, question.sequence)
        return True

    def _decode(self, asking: Sequence[int]) -> None:
        """Evaluate the batch. Where cells run out, sequences that ask nothing now lose theirs, the oldest first."""
        while code := self._c.llama_decode(self._context, self._batch.native):
            # A failed batch may have left a part of its tokens in cells.
            for sequence in asking:
                self._c.llama_memory_seq_rm(self._memory, sequence, len(self._held[sequence]), -1)
            idle = next((sequence for sequence, held in self._held.items() if held and sequence not in asking), None)
            if code != _NO_SLOT or idle is None:
                for sequence in asking:
                    self.forget(sequence)
                raise self._failure(code)
            self.forget(idle)

    def _rows(self, first: int, question: TextQuestion) -> ScoreRows:
        last, unread = question.last, question.unread
        if not last:
            return np.empty((0, self._n_scores), dtype=np.float32)
        return with_gaps(self._scores(first, last - len(unread))[:, : self._n_scores], last, unread)


class LlamaSequence(SequenceModel):
    """One sequence of ``LlamaSequences``, with what a pair wants to know of a model."""

    vocab: LlamaVocab
    replay_n = 0
    forgets_freely = True
    singly_n = 1

    def __init__(self, batch: ContinuousBatch, pool: LlamaSequences, sequence: int) -> None:
        super().__init__(batch, pool, sequence)
        self._pool = pool
        self.size_bytes, self.flash_attn = pool.size_bytes, pool.flash_attn
        self.cache_type_k, self.cache_type_v = pool.cache_type_k, pool.cache_type_v

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        """As ``SelectiveModel.selected_logits``.

        What is not a number spoils what comes after it, but only in this sequence.
        """
        rows = super().selected_logits(context, last, unread)
        if not all(np.isfinite(row.max()) for row in rows if len(row)):
            self._pool.forget(self._sequence)
            raise not_numbers()
        return rows

    @property
    def threads(self) -> int:
        return self._pool.threads

    def set_threads(self, n: int) -> None:
        """As ``LlamaContext.set_threads``, for all sequences."""
        self._pool.set_threads(n)

    @property
    def device(self) -> str:
        return self._pool.device
