"""The error of a pair, below the conversation until a pair is loaded."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible_line
from localspec.tui.conversation.transcript import Transcript


class Complaint:
    """A complaint in sight, at most one at a time."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def show(self, error: LocalSpecError, advice: str = "") -> None:
        """Show an error and what to do next, in place of an earlier one."""
        self.withdraw()
        next_step = visible_line(f"{error.hint} {advice}".strip())
        text = Content.assemble(visible_line(error.message), " ", (next_step, "$foreground"))
        self._transcript.run_worker(self._add(Static(text, classes="load-error")))

    def withdraw(self) -> None:
        """Remove the error: a pair is loaded."""
        self._transcript.query(".load-error").remove()

    async def _add(self, widget: Static) -> None:
        await self._transcript.add(widget)
        self._transcript.call_after_refresh(self._transcript.scroll_end, animate=False)
