"""A draft model that may leave out the middle of a long text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.model import Likeliest, Logits
from localspec.engine.text_window import TextWindow


class SkippingLlama(LlamaModel):
    """Goes by what its window shows of a context: what is left out need not be read, and has no scores."""

    def __init__(self, loaded: LoadedModel, cancel: Cancellation, n_vocab: int | None = None) -> None:
        super().__init__(loaded, cancel, n_vocab)
        self._window = TextWindow()

    @staticmethod
    def open(
        settings: LoadSettings,
        cancel: Cancellation,
        progress: Callable[[float], None] | None = None,
        *,
        n_vocab: int | None = None,
    ) -> SkippingLlama:
        return SkippingLlama(load(native(), settings, cancel, progress), cancel, n_vocab)

    def skip(self, context: Sequence[int], latest_n: int) -> None:
        """As ``SkippingModel.skip``."""
        self._window.skip(context, latest_n)

    def held(self, context: Sequence[int]) -> int:
        return super().held(self._window.of(context)) + self._window.left_out_n(context)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        seen = self._window.of(context)
        return super().logits(seen if last <= len(seen) else context, last)

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        return super().likeliest(self._window.of(context))

    def go_back(self, context: Sequence[int]) -> None:
        super().go_back(self._window.of(context))
