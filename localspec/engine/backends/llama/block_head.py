"""Block heads that llama.cpp evaluates: a DFlash or DSpark file, in a context that may use its target's weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from localspec.engine.backends.llama.batch import Batch, PairBatch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.block_head import Block, BlockHead
from localspec.engine.cancel import Cancellation
from localspec.engine.head import HeadInputs
from localspec.engine.hidden import Rows

_DEFAULT_BLOCK_SIZE = 16
"""Tokens of a block where the file does not name their number."""
BLOCK_BATCH_TOKENS = 64
"""Tokens that are evaluated at once, which llama.cpp prepares scores for; rows of a prompt are read in such pieces."""


class LlamaBlockHead(HeadContext):
    """A block head behind the engine's ``BlockHead``. It must be closed before its target is.

    A DFlash block has the last token of the text in front, whose place proposes nothing, and so have some DSpark
    blocks; others propose at that place too (``sample_from_anchor``).
    """

    def __init__(self, loaded: LoadedModel, settings: LoadSettings, target: LlamaModel) -> None:
        super().__init__(loaded)
        metadata = _Metadata(loaded)
        self._n_scores = min(self.vocab.n_vocab, target.vocab.n_vocab)
        self._anchor_n = 0 if settings.dspark and metadata.flag("sample_from_anchor", default=True) else 1
        """Places in front of a block that propose nothing."""
        size = min(metadata.number("block_size", _DEFAULT_BLOCK_SIZE), loaded.max_outputs)
        self.block_n = size - self._anchor_n
        self._mask = int(self._c.llama_vocab_mask(self.vocab.handle))
        self._confident = settings.confidence
        if self._confident:
            self._functions.set_final(self._context, True, True)
        self._c.llama_set_causal_attn(self._context, metadata.flag("attention.causal", default=False))
        self._tokens = Batch(self._c, size)
        self._rows: PairBatch | None = None

    @staticmethod
    def open(
        settings: LoadSettings,
        target: LlamaModel,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
    ) -> tuple[LlamaBlockHead, HeadInputs[BlockHead]]:
        """A head from its file, and what its drafter is made from.

        Raises DrafterUnavailableError if llama.cpp or the target cannot serve it, and what ``load`` raises.
        """
        hidden_functions()
        loaded = load(native(), settings, cancel, progress, target=target.loaded)
        try:
            head = LlamaBlockHead(loaded, settings, target)
            return head, HeadInputs(head, target.keep_hidden(head.target_layers))
        except BaseException:
            loaded.free()
            raise

    def inject(self, features: Rows, position: int) -> None:
        self._cut(position)
        if self._rows is None:
            self._rows = PairBatch(self._c, BLOCK_BATCH_TOKENS, features.shape[1])
        for at in range(0, len(features), BLOCK_BATCH_TOKENS):
            self._rows.clear()
            self._rows.add(None, features[at : at + BLOCK_BATCH_TOKENS], position + at, scored=False)
            self._check(self._c.llama_decode(self._context, self._rows.native))

    def guess(self, token: int, position: int, n: int) -> Block:
        self._cut(position)
        size = n + self._anchor_n
        # DSpark's chain runs over the scores of the whole block, so all are asked for.
        self._tokens.fill([token, *[self._mask] * (size - 1)], position, size, self.vocab.n_vocab)
        self._check(self._c.llama_decode(self._context, self._tokens.native))
        return self._block(size)

    def close(self) -> None:
        self._tokens.free()
        super().close()

    def _block(self, size: int) -> Block:
        """The guesses of the last evaluation."""
        rows = self._scores(0, size)[self._anchor_n :, : self._n_scores]
        # Tokens that the head cannot propose have minus infinity; a maximum shows what is not a number.
        if not np.isfinite(rows.max(axis=1)).all():
            raise not_numbers()
        if not self._confident:
            return Block(rows)
        width = int(self._c.llama_model_n_embd(self._loaded.model))
        confidence = np.ctypeslib.as_array(self._functions.get_final(self._context), (size, width))
        return Block(rows, confidence[self._anchor_n :, 0].copy())


class _Metadata:
    """The metadata of a head's file, under the keys of its architecture."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded

    def number(self, key: str, default: int) -> int:
        return int(self._loaded.metadata(f"dflash.{key}") or default)

    def flag(self, key: str, *, default: bool) -> bool:
        text = self._loaded.metadata(f"dflash.{key}")
        return text == "true" if text else default
