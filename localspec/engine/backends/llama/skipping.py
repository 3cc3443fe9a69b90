"""A draft model that may leave out the middle of a long text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from localspec.engine.backends.llama.draft_scores import DraftScores, load_draft
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.images import TextAlone, text_alone
from localspec.engine.model import Likeliest, Logits
from localspec.engine.text_window import TextWindow


class SkippingLlama(LlamaModel):
    """Goes by the text of a context, without images, as far as its window shows it.

    What is left out need not be read, and has no scores.
    """

    def __init__(
        self, loaded: LoadedModel, n_vocab: int | None = None, draft_scores: DraftScores | None = None
    ) -> None:
        super().__init__(loaded, n_vocab, draft_scores)
        self._window = TextWindow()
        self._text: TextAlone | None = None

    @classmethod
    def open(
        cls,
        settings: LoadSettings,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        n_vocab: int | None = None,
    ) -> Self:
        loaded, draft_scores = load_draft(native(), settings, cancel, progress, n_vocab)
        return cls(loaded, n_vocab, draft_scores)

    def leave_out_images(self) -> None:
        """Allow images in contexts from now on."""
        self._text = TextAlone()

    def skip(self, context: Sequence[int], latest_n: int) -> None:
        """As ``SkippingModel.skip``."""
        text = self._text_of(context)
        if text is not context:
            latest_n = len(text_alone(context[len(context) - latest_n :]))
        self._window.skip(text, latest_n)

    def held(self, context: Sequence[int]) -> int:
        text = self._text_of(context)
        text_n = super().held(self._window.of(text)) + self._window.left_out_n(text)
        return text_n if text is context or self._text is None else self._text.length(context, text_n)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        text = self._text_of(context)
        seen = self._window.of(text)
        return super().logits(seen if last <= len(seen) else text, last)

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        return super().likeliest(self._window.of(self._text_of(context)))

    def go_back(self, context: Sequence[int]) -> None:
        super().go_back(self._window.of(self._text_of(context)))

    def _text_of(self, context: Sequence[int]) -> Sequence[int]:
        return self._text.of(context) if self._text else context
