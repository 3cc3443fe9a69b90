"""The reasoning before an answer: one row, and the text itself once it is unfolded."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.widgets import Static

from localspec.runtime.reasoning import Reasoning


class ReasoningView(Static):
    """Folded at first."""

    DEFAULT_CSS = "ReasoningView { color: $quiet; margin: 0 0 1 0; }"

    def __init__(self) -> None:
        super().__init__("")
        self._reasoning: Reasoning | None = None
        self._tokens_n = 0
        self._unfolded = False

    @property
    def known(self) -> bool:
        """True if there is reasoning to show."""
        return self._reasoning is not None and bool(self._reasoning.text)

    def tell(self, reasoning: Reasoning, tokens_n: int) -> None:
        """Show this reasoning and its number of tokens; 0 if that is not known."""
        self._reasoning, self._tokens_n = reasoning, tokens_n
        self._draw()

    def turn(self) -> bool:
        """Unfold or fold; returns False if there is nothing to show."""
        self._unfolded = not self._unfolded
        self._draw()
        return self.known

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self.text_selection is None:  # else it ends a selection of text in here
            self.turn()

    def _draw(self) -> None:
        thought = self._reasoning
        if thought is None:
            return
        verb = "thought" if thought.closed else "was still thinking"
        length = f", {self._tokens_n:,} tokens" if self._tokens_n else ""
        label = f"{'▾' if self._unfolded else '▸'} {verb}{length}"
        self.update(Content(f"{label}\n\n{thought.text}" if self._unfolded else label))
