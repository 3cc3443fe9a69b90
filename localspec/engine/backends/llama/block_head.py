"""Block heads that llama.cpp evaluates: a DFlash or DSpark file, in a context that may use its target's weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

import numpy as np

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.device_ranking import DeviceRanking
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary, agree
from localspec.engine.backends.llama.early_end import End
from localspec.engine.backends.llama.file_header import tensor_names
from localspec.engine.backends.llama.ggml import has_amx
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.report import offloaded_layers
from localspec.engine.backends.llama.sequences import LlamaSequences
from localspec.engine.batched_head import BlockQuestion
from localspec.engine.block_head import Block
from localspec.engine.cancel import Cancellation
from localspec.engine.hidden import Rows

_SEQUENCE = 0
_DEFAULT_BLOCK_SIZE = 16
"""Tokens of a block where the file does not name their number."""
_OWN = {"output.weight", "token_embd.weight", "d2t", "selector_hidden.weight"}
"""Tensors of heads that have another output than the target's, or choose among its scores themselves."""
BLOCK_BATCH_TOKENS = 64
"""Tokens that are evaluated at once, which llama.cpp prepares scores for; rows of a prompt are read in such pieces."""


class LlamaBlockHead(HeadContext):
    """A block head behind the engine's ``BlockHead`` and ``BatchBlockHead``. It must be closed before its target is.

    A DFlash block has the last token of the text in front, whose place proposes nothing, and so have some DSpark
    blocks; others propose at that place too (``sample_from_anchor``).
    """

    def __init__(
        self,
        loaded: LoadedModel,
        settings: LoadSettings,
        target: LlamaModel | LlamaSequences,
        vocabulary: DraftVocabulary | None = None,
    ) -> None:
        """``vocabulary`` has the tokens that it proposes, where these are not all, and is closed with the head.

        Then its evaluations can end early.
        """
        super().__init__(loaded)
        self._vocabulary = vocabulary
        self._n_scores = min(self.vocab.n_vocab, target.vocab.n_vocab)
        if not settings.dspark and vocabulary is None:  # DSpark's chain runs over all scores
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
        if vocabulary := _draft_vocabulary(settings, target):
            with ExitStack() as own, suppress(ModelFileError, OSError):
                few = replace(settings, early_end=True)
                loaded = load(native(), few, cancel, progress, target=target.loaded)
                head = LlamaBlockHead(loaded, settings, target, vocabulary)
                own.callback(head.close)
                if head._agrees():
                    own.pop_all()
                    return head
        return LlamaBlockHead(load(native(), settings, cancel, progress, target=target.loaded), settings, target)

    @property
    def read_layers(self) -> list[int]:
        """The layers of the target that it reads, as for ``keep_hidden``."""
        return self.target_layers

    def inject(self, features: Rows, position: int, tokens: Sequence[int]) -> None:
        self._inject([BlockQuestion(_SEQUENCE, position, features, tokens)])

    def guess(self, token: int, position: int, n: int) -> Block:
        questions = [BlockQuestion(_SEQUENCE, position, None, (token,), n)]
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

    def _agrees(self) -> bool:
        """True if the draft vocabulary's scores are llama.cpp's, but for rounding."""
        vocabulary, question = self._vocabulary, BlockQuestion(_SEQUENCE, 0, None, (0,), self.block_n)
        self._vocabulary = None
        (place,) = self._evaluate([question]).values()
        theirs = np.array(self._scores(place, self.block_n)[:, : self._n_scores])
        self._vocabulary = vocabulary
        self._evaluate([question])
        self.forget()
        assert vocabulary is not None
        (ours,) = self._few_scores([(place, self.block_n)])
        return agree(*(scores[:, : vocabulary.first_n] for scores in (ours, theirs, theirs)))

    def close(self) -> None:
        if self._vocabulary:
            self._vocabulary.close()
        super().close()

    def _inject(self, questions: Sequence[BlockQuestion]) -> None:
        """Hold the rows of all questions."""
        for question in questions:
            self._cut(question.position, question.sequence)
            self._see(question.tokens)
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
        for question in questions:
            self._see(question.tokens)
        places = self._evaluate(questions)
        if self._vocabulary is None:
            return {question: self._block(place, question.n) for question, place in places.items()}
        scores = self._few_scores([(place + self._anchor_n, question.n) for question, place in places.items()])
        return {question: Block(_numbers(rows)) for question, rows in zip(questions, scores, strict=True)}

    def _see(self, tokens: Sequence[int]) -> None:
        if self._vocabulary:
            self._vocabulary.read(tokens)

    def _few_scores(self, parts: Sequence[tuple[int, int]]) -> Sequence[Rows]:
        """The draft vocabulary's scores for so many places of the last batch from one on, part by part."""
        if not parts:
            return ()
        assert self._vocabulary is not None
        assert self.loaded.early_end is not None
        rows = self.loaded.early_end.states(self._vocabulary.matrix.width)
        asked = np.concatenate([rows[place : place + n] for place, n in parts])
        ends = np.cumsum([n for _, n in parts])
        return np.split(self._vocabulary.scores(asked, self.threads)[:, : self._n_scores], ends[:-1])

    def _evaluate(self, questions: Sequence[BlockQuestion]) -> dict[BlockQuestion, int]:
        """The places where the blocks of all questions begin in the batch that is evaluated."""
        self._tokens.clear()
        places = {}
        for question in questions:
            self._cut(question.position, question.sequence)
            size = question.n + self._anchor_n
            tokens = [*question.tokens, *[self._mask] * (size - 1)]
            places[question] = self._tokens.used
            # DSpark's chain runs over the scores of the whole block, and DFlash's graph gives no others either.
            scored_n = 0 if self._vocabulary else size
            self._tokens.add(tokens, question.position, scored_n, self.vocab.n_vocab, question.sequence)
        if questions:
            if early_end := self.loaded.early_end:
                early_end.begin(End.STATES if self._vocabulary else None)
            self._decode(self._tokens)
        return places

    def _block(self, place: int, n: int) -> Block:
        """The guesses of the last evaluation for the block that begins at this place."""
        first, end = place + self._anchor_n, place + self._anchor_n + n
        rows = _numbers(self._scores(first, n)[:, : self._n_scores])
        if not self._confident:
            return Block(rows)
        width = int(self._c.llama_model_n_embd(self.loaded.model))
        confidence = self._views.of(self._functions.get_final(self._context), end, width)
        return Block(rows, confidence[first:end, 0].copy())


def _numbers(rows: Rows) -> Rows:
    """The scores. Raises ModelFileError if some are not numbers."""
    # Tokens that the head cannot propose have minus infinity; a maximum shows what is not a number.
    if not np.isfinite(rows.max(axis=1)).all():
        raise not_numbers()
    return rows


def _draft_vocabulary(settings: LoadSettings, target: LlamaModel | LlamaSequences) -> DraftVocabulary | None:
    """That of the target, if a head that uses the target's output is quicker with it."""
    wanted, loaded = settings.draft_vocabulary, target.loaded
    # With AMX llama.cpp multiplies several rows in less time than it takes here.
    here = offloaded_layers(loaded.log_lines) is None and not has_amx(native())
    if wanted is False or settings.mmap is False or settings.dspark or not (wanted or here):
        return None
    if _OWN & set(tensor_names(native(), settings.path)):
        return None
    width = int(native().c.llama_model_n_embd(loaded.model))
    return DraftVocabulary.of(native(), loaded.path, width, target.vocab.n_vocab, settings.draft_tokens)


def _flag(loaded: LoadedModel, key: str, *, default: bool) -> bool:
    """An entry of the file's metadata under the key of its architecture."""
    text = loaded.metadata(f"dflash.{key}")
    return text == "true" if text else default
