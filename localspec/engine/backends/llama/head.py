"""Heads that llama.cpp evaluates: an EAGLE-3 file, the MTP layers of a loaded target, or its assistant's file.

Each has a context of its own that knows the target's, whose embeddings or cache it may use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path

import numpy as np

from localspec.base.errors import ModelFileError
from localspec.base.hidden_architectures import MTP_ROW_ARCHITECTURES
from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.device_ranking import DeviceRanking
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary, pays
from localspec.engine.backends.llama.early_end import End
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load, load_mtp, on_cpu
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.output_matrix import OF_HEAD, OF_MODEL, OF_MTP, OutputMatrix
from localspec.engine.backends.llama.sequences import LlamaSequences
from localspec.engine.batched_head import HeadAnswer, HeadQuestion
from localspec.engine.cancel import Cancellation
from localspec.engine.head import HeadStep
from localspec.engine.hidden import FINAL, Rows
from localspec.engine.model import Logits

_SEQUENCE = 0
OUTPUTS_N: Mapping[str, int] = {"eagle3": 32, "mtp": 4}
"""Answers to prepare a head for, as ``LoadSettings.max_outputs``, by the name of its drafter.

llama.cpp prepares scores for every row that is encoded at once, and ends the process past their number.
"""
WIDE = 1024
"""The width from which on a pair takes longer than one evaluation more, about 0.1 ms."""


class LlamaHead(HeadContext):
    """A head behind the engine's ``Head`` and ``BatchHead``. It must be closed before its target is."""

    def __init__(self, loaded: LoadedModel, target: LlamaModel | LlamaSequences, *, encodes: bool) -> None:
        super().__init__(loaded)
        self._target = target
        self.encodes = encodes
        """True if the target's rows are encoded before they are paired with tokens."""
        self._functions.set_final(self._context, True, True)
        self._n_scores = min(self.vocab.n_vocab, target.vocab.n_vocab)
        self._ranking = DeviceRanking.of(loaded, self._n_scores)
        width = self._c.llama_model_n_embd if encodes else self._c.llama_model_n_embd_out
        self.width = int(width(loaded.model))
        self.layers_n = 1
        self.shares_cache = False
        if not encodes:
            other = self._functions.other_context(self._context)
            if isinstance(target, LlamaModel) and target.is_context(other):
                self.shares_cache = True
                target.keep_one_context()
            layers_n = int(self._c.llama_model_n_layer_nextn(loaded.model))
            self.layers_n = 1 if self.shares_cache else max(1, layers_n)
        self.batch_n = int(self._c.llama_n_batch(self._context))
        """As ``BatchNetwork.batch_n``."""
        self._pairs = Batch(self._c, self.batch_n, self.width)
        self._vocabulary: DraftVocabulary | None = None
        """The tokens that it proposes, where these are not all."""
        self._features: Batch | None = None

    @staticmethod
    def load(
        settings: LoadSettings,
        target: LlamaModel | LlamaSequences,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        encodes: bool,
    ) -> LlamaHead:
        """A head from its file, or the MTP layers of ``target`` from that.

        ``encodes`` is true for EAGLE-3, which fuses the target's rows. Raises DrafterUnavailableError if llama.cpp
        cannot serve it, and what ``load.load`` raises.
        """
        hidden_functions()
        settings = replace(settings, early_end=on_cpu(native(), settings))
        if settings.path == target.loaded.path:
            loaded = load_mtp(native(), settings, target.loaded, cancel)
        else:
            loaded = load(native(), settings, cancel, progress, target=target.loaded)
        head = LlamaHead(loaded, target, encodes=encodes)
        try:
            if settings.draft_vocabulary is not False and settings.mmap is not False:
                head._propose_few(settings.draft_tokens, always=settings.draft_vocabulary is True)
        except BaseException:
            head.close()
            raise
        return head

    @property
    def read_layers(self) -> list[int]:
        """The layers of the target that it reads, as for ``keep_hidden``."""
        if not self.encodes:
            return [FINAL]
        layers_n = int(self._c.llama_model_n_layer(self._target.loaded.model))
        return [FINAL if n == layers_n else n for n in self.target_layers]

    def encode(self, features: Rows) -> Rows:
        if not self.encodes:
            return features
        if self._features is None:
            self._features = Batch(self._c, self.loaded.max_outputs, features.shape[1])
        encoded = np.empty((len(features), self.width), np.float32)
        for at in range(0, len(features), self._features.capacity):
            part = features[at : at + self._features.capacity]
            self._features.clear()
            # llama.cpp looks at no sequence and no position here, but that the position follows the last one.
            after = int(self._c.llama_memory_seq_pos_max(self._memory, _SEQUENCE)) + 1
            self._features.add_rows(None, part, after, scored=True)
            self._check(self._c.llama_encode(self._context, self._features.native))
            encoded[at : at + len(part)] = self._own_rows(len(part))
        return encoded

    def read(
        self, tokens: Sequence[int], rows: Rows, position: int, *, scored: bool, layer: int = 0
    ) -> HeadStep | None:
        question = HeadQuestion(_SEQUENCE, tokens, rows, position, scored)
        return self._read([question], layer).get(question)

    def answer(self, questions: Sequence[HeadQuestion]) -> Sequence[HeadAnswer]:
        """As ``BatchNetwork.answer``."""
        encoding = [question for question in questions if not question.tokens]
        rows = dict(zip(encoding, self._encoded([question.rows for question in encoding]), strict=True))
        steps = self._read([question for question in questions if question.tokens])
        return [HeadAnswer(steps.get(question), rows.get(question)) for question in questions]

    def forget(self, sequence: int = _SEQUENCE) -> None:
        """Hold nothing of a sequence."""
        if not self.shares_cache:
            super().forget(sequence)

    def close(self) -> None:
        if self._vocabulary:
            self._vocabulary.close()
        super().close()

    def _propose_few(self, first_n: int, *, always: bool) -> None:
        """Propose the tokens of a draft vocabulary from now on, and compute their scores here.

        Nothing changes where that gives other scores or, unless ``always``, takes longer, or the vocabulary is small.
        """
        if self._ranking or self.layers_n > 1 or self.shares_cache:
            return
        vocabulary = self._own_vocabulary(first_n)
        if vocabulary is None:
            return
        self._functions.set_final(self._context, True, False)  # rows of pairs that are not scored, too
        try:
            with suppress(ModelFileError):  # as any reply would say, if scores are not numbers
                if self._is_served_well(vocabulary, always=always):
                    return
        finally:
            self.forget()
        vocabulary.close()
        self._vocabulary = None
        self._functions.set_final(self._context, True, True)

    def _own_vocabulary(self, first_n: int) -> DraftVocabulary | None:
        """The tokens to propose; None where llama.cpp does not hand over what their scores are made of."""
        path: Path = self.path
        names: Sequence[str] = OF_MTP
        if self.encodes:
            if self.loaded.early_end is None:
                return None
            if OutputMatrix.find(self.loaded.native, path, OF_HEAD):
                names = OF_HEAD
            else:  # it uses its target's
                path, names = self._target.loaded.path, OF_MODEL
        elif self.loaded.metadata("general.architecture") not in MTP_ROW_ARCHITECTURES:
            return None
        return DraftVocabulary.of(self.loaded.native, path, self.width, self._n_scores, first_n, names)

    def _is_served_well(self, vocabulary: DraftVocabulary, *, always: bool) -> bool:
        """As ``draft_vocabulary.pays``, of the first pair of a text."""
        row = np.random.default_rng(0).standard_normal((1, self.width), np.float32)

        def scores(tried: DraftVocabulary | None) -> Logits:
            self._vocabulary = tried
            step = self.read([0], row, 0, scored=True)
            assert step is not None
            found: Logits = step.scores
            return found

        return pays(partial(scores, None), partial(scores, vocabulary), vocabulary.first_n, always=always)

    def _encoded(self, features: Sequence[Rows]) -> Sequence[Rows]:
        """Rows of several sequences, encoded together."""
        if not features:
            return ()
        ends = np.cumsum([len(rows) for rows in features])
        return np.split(self.encode(np.concatenate(features)), ends[:-1])

    def _read(self, questions: Sequence[HeadQuestion], layer: int = 0) -> dict[HeadQuestion, HeadStep]:
        """Read the pairs of all questions; the steps of those that are scored."""
        for question in questions:
            if self.shares_cache and isinstance(self._target, LlamaModel):
                self._target.hold_at_most(question.position)
            else:
                self._cut(question.position, question.sequence)
        if self.layers_n > 1:
            self._functions.set_mtp_layer(self._context, layer)
        scored = [question for question in questions if question.scored]
        if few := self._vocabulary:
            few.read(token for question in questions for token in question.tokens)
        together = scored and sum(len(question.tokens) for question in questions) <= self._together_n
        if not together:
            unscored = ((question, len(question.tokens) - question.scored) for question in questions)
            self._end_with(End.ATTENTION)
            self._evaluate_all(self._pairs, unscored, partial(self._add, scored=False))
        self._pairs.clear()
        add = partial(self._add, scored=not few)
        places = {question: add(question, 0) for question in (questions if together else ())}
        places |= {question: add(question, len(question.tokens) - 1) for question in scored if not together}
        if places:
            self._end_with(End.STATES if few and self.encodes else None)
            self._decode(self._pairs)
        if few:
            return self._few_scored({question: places[question] for question in scored}, few)
        return {question: self._step(places[question]) for question in scored}

    @property
    def _together_n(self) -> int:
        """The most pairs that are evaluated together if one of them is scored; of more, that one is evaluated apart.

        Where evaluations can end early, all others of a wide head end with the attention. Otherwise scores are wanted
        of all pairs or of none: graphs of heads (llama.cpp 0c1e570) compute the scores or the hidden rows of all, and
        hand over as many as are wanted from the first on. A device ranks one row of an evaluation.
        """
        if self.loaded.early_end and self.width >= WIDE:
            return 0
        return 1 if self._ranks else self._pairs.capacity if self._vocabulary else self.loaded.max_outputs

    def _end_with(self, end: End | None) -> None:
        """Have the next evaluations end so, where they can end early."""
        if self.loaded.early_end:
            self.loaded.early_end.begin(end)

    def _add(self, question: HeadQuestion, first: int, end: int | None = None, *, scored: bool = True) -> int:
        """Put pairs of a question into the batch; returns the place of the last."""
        n_vocab = self.vocab.n_vocab
        # As for a draft model, whose vocabulary may lack the target's padding; and an image has rows, but no tokens.
        known = [token if 0 <= token < n_vocab else 0 for token in question.tokens[first:end]]
        rows, position = question.rows[first:end], question.position + first
        return self._pairs.add_rows(known, rows, position, question.sequence, scored=scored)

    def _step(self, place: int) -> HeadStep:
        """The answer to the pair at this place of the batch."""
        hidden = self._own_rows(place + 1)[-1:].copy()
        if self._ranks:
            return HeadStep(None, hidden, self._likeliest(place))
        scores = self._scores(place, 1)[0, : self._n_scores]
        # Tokens that the head cannot propose have minus infinity; a maximum shows what is not a number.
        if not isfinite(scores.max()):
            raise not_numbers()
        return HeadStep(scores, hidden)

    def _few_scored(self, places: dict[HeadQuestion, int], few: DraftVocabulary) -> dict[HeadQuestion, HeadStep]:
        """The answers to the pairs at these places of the batch, by the draft vocabulary's scores."""
        if not places:
            return {}
        hidden = self._own_rows(max(places.values()) + 1)[list(places.values())]
        if self.encodes and self.loaded.early_end:
            states = self.loaded.early_end.states(self.width)[list(places.values())]
        else:
            states = hidden
        scores = few.scores(states, self.threads)
        if not np.isfinite(scores.max(axis=1)).all():
            raise not_numbers()
        return {question: HeadStep(scores[n], hidden[n : n + 1]) for n, question in enumerate(places)}

    def _own_rows(self, n: int) -> Rows:
        """The first ``n`` rows that the last evaluation gave; valid until the next."""
        return self._views.of(self._functions.get_final(self._context), n, self.width)
