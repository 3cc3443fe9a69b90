"""Heads that llama.cpp evaluates: an EAGLE-3 file, the MTP layers of a loaded target, or its assistant's file.

Each has a context of its own that knows the target's, whose embeddings or cache it may use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.batch import PairBatch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load, load_mtp
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.head import Head, HeadInputs, HeadStep
from localspec.engine.hidden import FINAL, Rows

_SEQUENCE = 0
OUTPUTS_N: Mapping[str, int] = {"eagle3": 32, "mtp": 4}
"""Answers to prepare a head for, as ``LoadSettings.max_outputs``, by the name of its drafter.

llama.cpp prepares scores for every row that is encoded at once, and ends the process past their number. Of pairs that
are more than that, the last is read apart: scoring many of them costs more than one evaluation.
"""


class LlamaHead(HeadContext):
    """A head behind the engine's ``Head``. It must be closed before its target is."""

    def __init__(self, loaded: LoadedModel, target: LlamaModel, *, encodes: bool) -> None:
        super().__init__(loaded)
        self._target = target
        self._encodes = encodes
        self._functions.set_final(self._context, True, True)
        self._n_scores = min(self.vocab.n_vocab, target.vocab.n_vocab)
        width = self._c.llama_model_n_embd if encodes else self._c.llama_model_n_embd_out
        self.width = int(width(loaded.model))
        self.layers_n = 1
        self.shares_cache = False
        if not encodes:
            self.shares_cache = target.is_context(self._functions.other_context(self._context))
            if self.shares_cache:
                target.keep_one_context()
            layers_n = int(self._c.llama_model_n_layer_nextn(loaded.model))
            self.layers_n = 1 if self.shares_cache else max(1, layers_n)
        self._pairs = PairBatch(self._c, self._c.llama_n_batch(self._context), self.width)
        self._features: PairBatch | None = None

    @staticmethod
    def open(
        settings: LoadSettings,
        target: LlamaModel,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        encodes: bool,
    ) -> tuple[LlamaHead, HeadInputs[Head]]:
        """A head from its file, or the MTP layers of ``target`` from that, and what its drafter is made from.

        ``encodes`` is true for EAGLE-3, which fuses the target's rows. Raises DrafterUnavailableError if llama.cpp or
        the target cannot serve it, and what ``load`` raises.
        """
        hidden_functions()
        if settings.path == target.loaded.path:
            loaded = load_mtp(native(), settings, target.loaded, cancel)
        else:
            loaded = load(native(), settings, cancel, progress, target=target.loaded)
        try:
            head = LlamaHead(loaded, target, encodes=encodes)
            layers_n = int(loaded.native.c.llama_model_n_layer(target.loaded.model))
            layers = [FINAL if n == layers_n else n for n in head.target_layers] if encodes else [FINAL]
            return head, HeadInputs(head, target.keep_hidden(layers))
        except BaseException:
            loaded.free()
            raise

    def encode(self, features: Rows) -> Rows:
        if not self._encodes:
            return features
        if self._features is None:
            self._features = PairBatch(self._c, self._loaded.max_outputs, features.shape[1])
        encoded = np.empty((len(features), self.width), np.float32)
        for at in range(0, len(features), self._features.capacity):
            part = features[at : at + self._features.capacity]
            # llama.cpp looks at no position here, but that it follows the last one.
            after = int(self._c.llama_memory_seq_pos_max(self._memory, _SEQUENCE)) + 1
            self._features.fill(None, part, after, scored=True)
            self._check(self._c.llama_encode(self._context, self._features.native))
            encoded[at : at + len(part)] = self._own_rows(len(part))
        return encoded

    def read(
        self, tokens: Sequence[int], rows: Rows, position: int, *, scored: bool, layer: int = 0
    ) -> HeadStep | None:
        if self.shares_cache:
            self._target.hold_at_most(position)
        else:
            self._cut(position)
        if self.layers_n > 1:
            self._functions.set_mtp_layer(self._context, layer)
        known = np.array(tokens, np.int32)
        # As for a draft model, whose vocabulary may lack the target's padding; and an image has rows, but no tokens.
        known[(known < 0) | (known >= self.vocab.n_vocab)] = 0
        # Scores are wanted of all pairs that are evaluated at once, or of none: graphs of heads (llama.cpp 0c1e570)
        # compute the scores or the hidden rows of all, and hand over as many as are wanted from the first on.
        together = scored and len(known) <= self._loaded.max_outputs
        before_n = 0 if together else len(known) - scored
        for at in range(0, before_n, self._pairs.capacity):
            end = min(at + self._pairs.capacity, before_n)
            self._decode(known[at:end], rows[at:end], position + at, scored=False)
        if not scored:
            return None
        self._decode(known[before_n:], rows[before_n:], position + before_n, scored=True)
        return self._step()

    def forget(self) -> None:
        if not self.shares_cache:
            super().forget()

    def _decode(self, tokens: NDArray[np.int32], rows: Rows, position: int, *, scored: bool) -> None:
        self._pairs.fill(tokens, rows, position, scored=scored)
        self._check(self._c.llama_decode(self._context, self._pairs.native))

    def _step(self) -> HeadStep:
        scores = self._scores(self._pairs.used - 1, 1)[0, : self._n_scores]
        # Tokens that the head cannot propose have minus infinity; a maximum shows what is not a number.
        if not isfinite(scores.max()):
            raise not_numbers()
        return HeadStep(scores, self._own_rows(self._pairs.used)[-1:])

    def _own_rows(self, n: int) -> Rows:
        """The first ``n`` rows that the last evaluation gave."""
        rows: Rows = np.ctypeslib.as_array(self._functions.get_final(self._context), (n, self.width)).copy()
        return rows
