"""A GGUF model evaluated by llama.cpp, behind the engine's ``Model``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Self

import numpy as np

from localspec.base.errors import EngineError, ModelFileError
from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.context import LlamaContext
from localspec.engine.backends.llama.device_ranking import DeviceRanking
from localspec.engine.backends.llama.draft_scores import DraftScores
from localspec.engine.backends.llama.hidden import HiddenKeeper, LayerStates
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.memory import make_memory
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.projector import ImagePart, Projector
from localspec.engine.backends.llama.saved import Restored, restore_cache, save_cache
from localspec.engine.backends.llama.short_context import carry, is_short
from localspec.engine.cancel import Cancellation
from localspec.engine.images import has_places
from localspec.engine.model import Likeliest, Logits, ScoreRows, common_prefix, with_gaps

_FEW = 4
"""So many tokens are read one by one where a change of shape is costly.

CUDA replays what it recorded of an evaluation as long as its shape stays the same. A draft reads one token at a time
but after a round whose proposals were all accepted, when it reads two: as a batch these cost as much as four or five
single ones, since recording begins anew (figures in docs/benchmarks.md).
"""


class LlamaModel(LlamaContext):
    """One model and one context; its KV cache follows whatever context it is asked about.

    On the CPU short texts may have a native context of their own; all that is held is in one of the two.

    Not thread-safe. Several of llama.cpp's limits end the process when crossed (more tokens in a batch
    than prepared, more outputs than prepared, a token it does not have), so they are kept here.
    """

    def __init__(
        self, loaded: LoadedModel, n_vocab: int | None = None, draft_scores: DraftScores | None = None
    ) -> None:
        """``n_vocab`` as for ``open``; ``draft_scores`` are those of a draft, and are closed with it."""
        super().__init__(loaded)
        self._draft_scores = draft_scores
        self._memory = memory = make_memory(loaded)
        memory.move(self._context)
        self.replay_n = memory.replay_n
        """About how many tokens are read again when some just evaluated are taken back."""
        self.forgets_freely = memory.forgets_freely
        """True if the latest tokens can be forgotten at no cost, however often and whatever was asked."""
        self.can_pad = memory.can_pad
        """True if batches can be evaluated as larger ones."""
        self.singly_n = _FEW if loaded.read_singly else 1
        """The most tokens that are read one by one, where one score is asked for."""
        self._short_texts_apart = True
        self._n_scores = min(self.vocab.n_vocab, n_vocab or self.vocab.n_vocab)
        self._batch = Batch(self._c, self._c.llama_n_batch(loaded.context))
        self._ranking = DeviceRanking.of(loaded, self._n_scores)
        self._hidden: HiddenKeeper | None = None
        self._projector: Projector | None = None
        self._size: Callable[[int], int] | None = None
        self._first_scored = 0
        """The place in the latest batch of the first token that scores were asked for."""
        self._closed = False

    @classmethod
    def open(
        cls,
        settings: LoadSettings,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        n_vocab: int | None = None,
    ) -> Self:
        """Load a model; ``cancel`` stops the load and, later, any evaluation.

        ``n_vocab`` is for a draft whose vocabulary is padded otherwise than the target's: scores of
        tokens past it are left out. Raises ModelFileError, CapacityError or Cancelled.
        """
        return cls(load(native(), settings, cancel, progress), n_vocab)

    def is_context(self, context: int | None) -> bool:
        """True if ``context``, the address of a native one, is this model's."""
        return context is not None and context == self._context

    def pad(self, size: Callable[[int], int]) -> None:
        """Evaluate a batch of n tokens as one of ``size(n)`` from now on, because that is quicker on this machine."""
        self._size = size if self.can_pad else None

    @property
    def held_tokens(self) -> Sequence[int]:
        """The tokens that the cache holds; to be read, not changed."""
        return self._memory.held

    @property
    def keeps_parts(self) -> bool:
        """True if a part of what ``restore`` gives may stay; otherwise a context that differs from it is read anew."""
        return self._memory.keeps_parts

    @property
    def cache_bytes(self) -> int:
        """About the size of the file that ``save`` would write now."""
        return self._memory.size_bytes

    def held(self, context: Sequence[int]) -> int:
        known_n = self._memory.reach(self._known_n(context))
        return self._whole_n(context, known_n)

    def read_images_with(self, projector: Projector) -> None:
        """Allow images in contexts from now on; the ``projector`` stays its owner's."""
        self.keep_one_context()
        self._projector = projector

    @property
    def has_short_context(self) -> bool:
        return bool(self.loaded.short)

    def use_short_context(self, on: bool) -> None:
        """Evaluate short texts in their own context from now on, or in that for texts of any length."""
        self._short_texts_apart = on

    def keep_one_context(self) -> None:
        """Have no native context but that for texts of any length, because something else works on that one."""
        self._work_in(self.loaded.context)
        self.loaded = self.loaded.free_short()

    def logits(self, context: Sequence[int], last: int) -> Logits:
        return self._scored(context, last, ())

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        return with_gaps(self._scored(context, last, unread), last, unread)

    def _scored(self, context: Sequence[int], last: int, unread: Collection[int]) -> Logits:
        """The rows of the last positions but ``unread``."""
        self._check(context, last)
        self._choose_context(context, last)
        if not last:
            context = context[: self._whole_n(context, len(context))]  # half an image waits for its other half
        # Scores exist only for what is evaluated now, so the last positions are evaluated again if need be.
        known_n = min(self._known_n(context), len(context) - last)
        if last and self._ranking:
            self._ranking.detach()
        if known_n < len(context):
            self._evaluate(context, known_n, last, unread)
        if not last:
            self._c.llama_synchronize(self._context)
            return np.empty((0, self._n_scores), dtype=np.float32)
        return self._rows(last - len(unread))

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        self._check(context, 1)
        if self._ranking is None:
            return None
        self._choose_context(context, 1)
        self._ranking.attach()
        self._evaluate(context, min(self._known_n(context), len(context) - 1), 1)
        few = self._ranking.read(self._first_scored)
        if few is None:
            self._ranking.detach()
            self._ranking = None
        elif not isfinite(few.scores.max()):  # as for rows: one that is not a number shows, minus infinity does not
            raise self._not_numbers()
        return few

    def go_back(self, context: Sequence[int]) -> None:
        """Hold no more than a beginning of ``context``, at no cost: what was evaluated past it is forgotten."""
        self._memory.rewind(self._known_n(context))

    def hold_at_most(self, n: int) -> None:
        """Forget all but the first ``n`` tokens, at no cost."""
        self._memory.rewind(n)

    def keep_hidden(self, layers: Sequence[int]) -> LayerStates:
        if self._hidden is None:
            self._hidden = HiddenKeeper(self.loaded, lambda: self._memory.held, self._batch.capacity)
            self._hidden.move(self._context)
        return self._hidden.keep(layers)

    def save(self, path: Path, cancel: Cancellation | None = None) -> None:
        """Keep in a file what the context holds. Raises EngineError if that is not possible, or Cancelled."""
        if why := self._memory.why_not_saved:
            raise EngineError(f"This model's cache cannot be kept: {why}.", "The conversation goes on without.")
        self._work_in(self.loaded.context)
        save_cache(self.loaded, self._memory.held, path, cancel)

    def restore(self, path: Path, cancel: Cancellation | None = None) -> Restored:
        """Hold what a file kept by ``save`` holds; nothing, and the reason, if it is not of this model or damaged.

        Raises Cancelled, holding nothing, if ``cancel`` is set while the file is checked.
        """
        self._memory.forget()
        self._work_in(self.loaded.context)
        if self._hidden:
            self._hidden.clear()
        if why := self._memory.why_not_saved:
            return Restored((), why)
        restored = restore_cache(self.loaded, path, cancel)
        if restored.reason:
            self._memory.forget()
        else:
            self._memory.restored(list(restored.tokens))
            if self._draft_scores:
                self._draft_scores.read(restored.tokens)
        return restored

    def close(self) -> None:
        """Free the native memory; rows given out before must not be touched any more."""
        if not self._closed:
            self._closed = True
            if self._ranking:
                self._ranking.detach()
            if self._draft_scores:
                self._draft_scores.close()
            self.loaded.free()

    def _check(self, context: Sequence[int], last: int) -> None:
        if self._closed:
            raise ValueError("the model is closed")
        if not 0 <= last <= len(context):
            raise ValueError(f"{last} rows asked for of a context of {len(context)} tokens")
        if last > self.loaded.max_outputs:
            raise ValueError(f"{last} rows asked for, {self.loaded.max_outputs} prepared")
        if len(context) > self.n_ctx:
            raise ValueError(f"a context of {len(context)} tokens, {self.n_ctx} prepared")
        if last and has_places(context[-last:]):
            raise ValueError("rows asked for of an image")

    def _choose_context(self, context: Sequence[int], last: int) -> None:
        """Work in the context that texts of this length are evaluated in, with as much as is held of this one.

        Proposals do not count: they come and go.
        """
        if not self.loaded.short:
            return
        in_short = self._context == self.loaded.short
        short = self._short_texts_apart and is_short(len(context) - last, now=in_short)
        chosen = self.loaded.short if short else self.loaded.context
        if chosen != self._context:
            self._memory.rewind(self._known_n(context))
            self._work_in(chosen)

    def _work_in(self, context: Any) -> None:
        """Hold in this native context what is held, or nothing where that cannot be carried."""
        if context == self._context:
            return
        carried = not self._memory.held or carry(self._c, self._context, context, self.loaded.value_type(context))
        self._context = context
        self._memory.move(context)
        if not carried:
            self._memory.forget()
        if self._hidden:
            self._hidden.move(context)

    def _known_n(self, context: Sequence[int]) -> int:
        """The leading tokens of ``context`` that the cache holds, and no half of an image."""
        return self._whole_n(context, common_prefix(self._memory.held, context))

    def _whole_n(self, context: Sequence[int], n: int) -> int:
        """``n``, or as much less as keeps parts of images whole."""
        if not n or context[n - 1] >= 0:
            return n
        start = n - 1
        while start and context[start - 1] < 0:
            start -= 1
        while start < n and (part := self._part(context[start])) and start + len(part.places) <= n:
            start += len(part.places)
        return start

    def _part(self, place: int) -> ImagePart | None:
        return self._projector.part(place) if self._projector else None

    def _evaluate(self, context: Sequence[int], known_n: int, last: int, unread: Collection[int] = ()) -> None:
        """Evaluate what is not held; the final batch contains all of the ``last`` positions.

        The first ``known_n`` tokens were evaluated before, but the memory may have to go back further.
        """
        memory = self._memory
        rewound = known_n < len(memory.held)
        memory.rewind(known_n)
        start = len(memory.held)
        if known_n - start > memory.fold_n:
            self._decode_all(context[:known_n], 0)
        self._decode_all(context, last, unread)
        memory.after(len(context) - start, last, rewound=rewound)

    def _decode_all(self, context: Sequence[int], last: int, unread: Collection[int] = ()) -> None:
        singly = last == 1 and len(context) - len(self._memory.held) <= self.singly_n
        most = 1 if singly else max(last, self._memory.batch_n(self._batch.capacity))
        while (missing_n := len(context) - (at := len(self._memory.held))) > 0:
            if self._projector and (text_n := self._text_n(context, at)) < missing_n:
                self._decode(context[at : at + min(most, text_n)], 0) if text_n else self._decode_image(context[at])
            elif missing_n <= most:
                self._decode(context[at:], last, unread)
            else:
                # Scores belong to the shape, also those that nobody reads.
                self._decode(context[at : at + min(most, missing_n - last)], last if singly else 0)

    def _text_n(self, context: Sequence[int], at: int) -> int:
        """The number of tokens from ``at`` on up to the next image, or to the end."""
        return next((i for i, token in enumerate(context[at:]) if token < 0), len(context) - at)

    def _decode_image(self, place: int) -> None:
        """Evaluate the part of an image that begins with ``place``."""
        part, memory = self._part(place), self._memory
        if part is None or self._projector is None:
            raise EngineError("An image of this conversation is not loaded.", "Start a new chat.")
        memory.before(len(part.places), 0)
        at = len(memory.held)

        def take(n: int) -> None:
            nonlocal at
            if self._hidden:
                self._hidden.take(at, n)
            at += n

        try:
            self._projector.decode(part, memory.position(at), take)
        except BaseException:
            memory.broke_off()
            raise
        memory.added_image(list(part.places), part.positions_n)

    def _decode(self, tokens: Sequence[int], last: int, unread: Collection[int] = ()) -> None:
        self._memory.before(len(tokens), last)
        at = len(self._memory.held)
        padding_n = self._padding_n(len(tokens), at)
        position = self._memory.position(at)
        self._batch.clear()
        if self._draft_scores:
            self._draft_scores.begin(tokens)
        self._first_scored = self._batch.add(tokens, position, last, self.vocab.n_vocab, unread=unread)
        if padding_n:
            self._batch.add([0] * padding_n, position + len(tokens), 0, self.vocab.n_vocab)
        code = self._c.llama_decode(self._context, self._batch.native)
        if code != 0:
            self._memory.broke_off()
            raise self._failure(code)
        self._memory.added(list(tokens))
        if self._hidden:
            self._hidden.take(at, len(tokens))
        if padding_n:
            self._memory.drop_padding()

    def _padding_n(self, n: int, at: int) -> int:
        """The number of tokens of no meaning to evaluate behind ``n`` tokens at this position."""
        size = self._size(n) if self._size else n
        return size - n if size <= min(self._batch.capacity, self.n_ctx - at) else 0

    def _rows(self, n: int) -> Logits:
        """The ``n`` rows of scores of the last evaluation."""
        own = self._draft_scores
        rows = own.rows(n, self.threads) if own else self._scores(self._first_scored, n)
        # A maximum is not a number if anything in the row is not; single scores may well be minus infinity.
        best = rows[0][rows[0].argmax()] if n == 1 else rows.max(axis=1).sum()
        if not isfinite(best):
            raise self._not_numbers()
        return rows[:, : self._n_scores]

    def _not_numbers(self) -> ModelFileError:
        self._memory.forget()  # what is not a number stays in the cache, and spoils all that comes after it
        return not_numbers()
