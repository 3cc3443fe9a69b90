"""Block heads that llama.cpp evaluates: a DFlash or DSpark file, in a context that may use its target's weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.device_ranking import DeviceRanking
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.sequences import LlamaSequences
from localspec.engine.batched_head import BlockQuestion
from localspec.engine.block_head import Block
from localspec.engine.cancel import Cancellation
from localspec.engine.hidden import Rows

_SEQUENCE = 0
_DEFAULT_BLOCK_SIZE = 16
"""Tokens of a block where the file does not name their number."""
BLOCK_BATCH_TOKENS = 64
"""Tokens that are evaluated at once, which llama.cpp prepares scores for; rows of a prompt are read in such pieces."""


class LlamaBlockHead(HeadContext):
    """A block head behind the engine's ``BlockHead`` and ``BatchBlockHead``. It must be closed before its target is.

    A DFlash block has the last token of the text in front, whose place proposes nothing, and so have some DSpark
    blocks; others propose at that place too (``sample_from_anchor``).
    """

    def __init__(self, loaded: LoadedModel, settings: LoadSettings, target: LlamaModel | LlamaSequences) -> None:
        super().__init__(loaded)
        self._n_scores = min(self.vocab.n_vocab, target.vocab.n_vocab)
        if not settings.dspark:  # whose chain runs over all scores
            self._ranking = DeviceRanking.of(loaded, self._n_scores)
        self._anchor_n = 0 if settings.dspark and _flag(loaded, "sample_from_anchor", default=True) else 1
        """Places in front of a block that propose nothing."""
        size = min(int(loaded.metadata("dflash.block_size") or _DEFAULT_BLOCK_SIZE), loaded.max_outputs)
        self.block_n = size - self._anchor_n
        self._mask = int(self._c.llama_vocab_mask(self.vocab.handle))
        self._confident = settings.confidence
        if self._confident:
            self._functions.set_final(self._context, True, True)
        self._c.llama_set_causal_attn(self._context, _flag(loaded, "attention.causal", default=False))
        # Where attention is not causal, llama.cpp ends the process over more tokens than it evaluates at once.
        self.batch_n = min(int(self._c.llama_n_batch(self._context)), int(self._c.llama_n_ubatch(self._context)))
        """The most rows, or tokens of blocks, that one evaluation may have."""
        self._tokens = Batch(self._c, min(self.batch_n, loaded.max_outputs))
        self._rows: Batch | None = None

    @staticmethod
    def load(
        settings: LoadSettings,
        target: LlamaModel | LlamaSequences,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
    ) -> LlamaBlockHead:
        """A head from its file. Raises DrafterUnavailableError if llama.cpp cannot serve it, and what ``load`` does."""
        hidden_functions()
        settings = replace(settings, ranked_outputs=1 if settings.dspark else settings.max_outputs)
        return LlamaBlockHead(load(native(), settings, cancel, progress, target=target.loaded), settings, target)

    @property
    def read_layers(self) -> list[int]:
        """The layers of the target that it reads, as for ``keep_hidden``."""
        return self.target_layers

    def inject(self, features: Rows, position: int) -> None:
        self._inject([BlockQuestion(_SEQUENCE, position, features)])

    def guess(self, token: int, position: int, n: int) -> Block:
        questions = [BlockQuestion(_SEQUENCE, position, token=token, n=n)]
        if self._ranks:
            (place,) = self._evaluate(questions).values()
            likeliest = [self._likeliest(place + self._anchor_n + i) for i in range(n)]
            if self._ranks:
                return Block(None, likeliest=[few for few in likeliest if few])
        (block,) = self._guess(questions).values()
        return block

    def answer(self, questions: Sequence[BlockQuestion]) -> Sequence[Block | None]:
        """As ``BatchNetwork.answer``."""
        self._inject([question for question in questions if question.rows is not None])
        blocks = self._guess([question for question in questions if question.rows is None])
        return [blocks.get(question) for question in questions]

    def _inject(self, questions: Sequence[BlockQuestion]) -> None:
        """Hold the rows of all questions."""
        for question in questions:
            self._cut(question.position, question.sequence)
        parts = [(question, question.rows) for question in questions if question.rows is not None]
        if not parts:
            return
        if self._rows is None:
            self._rows = Batch(self._c, self.batch_n, parts[0][1].shape[1])
        batch = self._rows

        def add(part: tuple[BlockQuestion, Rows], first: int, end: int) -> None:
            question, rows = part
            batch.add_rows(None, rows[first:end], question.position + first, question.sequence, scored=False)

        self._evaluate_all(batch, ((part, len(part[1])) for part in parts), add)

    def _guess(self, questions: Sequence[BlockQuestion]) -> dict[BlockQuestion, Block]:
        """The blocks of all questions."""
        return {question: self._block(place, question.n) for question, place in self._evaluate(questions).items()}

    def _evaluate(self, questions: Sequence[BlockQuestion]) -> dict[BlockQuestion, int]:
        """The places where the blocks of all questions begin in the batch that is evaluated."""
        self._tokens.clear()
        places = {}
        for question in questions:
            self._cut(question.position, question.sequence)
            size = question.n + self._anchor_n
            tokens = [question.token, *[self._mask] * (size - 1)]
            # DSpark's chain runs over the scores of the whole block, and DFlash's graph gives no others either.
            places[question] = self._tokens.add(tokens, question.position, size, self.vocab.n_vocab, question.sequence)
        if questions:
            self._decode(self._tokens)
        return places

    def _block(self, place: int, n: int) -> Block:
        """The guesses of the last evaluation for the block that begins at this place."""
        first, end = place + self._anchor_n, place + self._anchor_n + n
        rows = self._scores(first, n)[:, : self._n_scores]
        # Tokens that the head cannot propose have minus infinity; a maximum shows what is not a number.
        if not np.isfinite(rows.max(axis=1)).all():
            raise not_numbers()
        if not self._confident:
            return Block(rows)
        width = int(self._c.llama_model_n_embd(self.loaded.model))
        confidence = self._views.of(self._functions.get_final(self._context), end, width)
        return Block(rows, confidence[first:end, 0].copy())


def _flag(loaded: LoadedModel, key: str, *, default: bool) -> bool:
    """An entry of the file's metadata under the key of its architecture."""
    text = loaded.metadata(f"dflash.{key}")
    return text == "true" if text else default
