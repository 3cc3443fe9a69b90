"""The panel on one token: facts, and the tokens that the two models thought likely in its place."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.chat.tokens.facts import Fact, legend, packed, round_facts, token_facts, top_rows
from localspec.chat.tokens.inspectable_reply import InspectableReply


class TokenPanel(VerticalScroll, can_focus=False):
    """Facts around the likeliest tokens."""

    DEFAULT_CSS = """
    TokenPanel { scrollbar-size-vertical: 1; }
    TokenPanel Static { width: 100%; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = Static("")

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, reply: InspectableReply, index: int, waiting: str, *, wide: bool) -> None:
        """Describe a token; beside the text there is room for a line to every fact."""
        width = max(self.scrollable_content_region.width, 40)
        inspection = reply.inspections.get(index)
        top = top_rows(inspection, width) if inspection else []
        lines = [
            *_lines(token_facts(reply, index, waiting), width, wide),
            *[_pair(*row, head=not at) for at, row in enumerate(top)],
            *([Content("")] if top and wide else []),
            *_lines(round_facts(reply, index), width, wide),
            *([Content.styled(legend(inspection), "$quiet")] if inspection and legend(inspection) else []),
        ]
        self._text.update(Content("\n").join(lines))


def _lines(told: list[Fact], width: int, wide: bool) -> list[Content]:
    if not wide:
        return [Content(line) for line in packed(told, width)]
    rows = [Content.assemble((f"{fact.label} " if fact.label else "", "$quiet"), fact.text) for fact in told]
    return [*rows, Content("")]


def _pair(left: str, right: str, *, head: bool) -> Content:
    style = "$quiet" if head else ""
    return Content.assemble((left, style), "  ", (right, style))
