"""The list above the prompt: choices with a word about each, one of them marked."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from localspec.base.visible import visible_line
from localspec.chat.compose.completing import Completion, CompletionKind, CompletionOffer

MAX_ROWS = 8


class CompletionList(Static):
    """Floats over the conversation, so that nothing moves when it opens."""

    DEFAULT_CSS = """
    CompletionList {
        overlay: screen; display: none; width: 100%; padding: 0 2;
        background: $panel; color: $foreground; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    class Picked(Message):
        """A row was clicked; it is the marked one now."""

    def __init__(self) -> None:
        super().__init__("")
        self.offer: CompletionOffer | None = None
        """The open list; None while it is closed."""
        self._marked = 0
        self._top = 0
        self._room = MAX_ROWS
        self.gone_to = False
        """True if the user went to the highlighted row, by key or mouse."""

    @property
    def choice(self) -> Completion | None:
        """The marked one."""
        return self.offer.choices[self._marked] if self.offer and self.offer.choices else None

    def show(self, offer: CompletionOffer | None, room: int) -> None:
        """Open the list with at most ``room`` rows, or close it if there is nothing to say."""
        if offer is not None and not offer.choices and not offer.empty:
            offer = None
        if (offer, room) == (self.offer, self._room):
            return
        same = offer is not None and self.offer is not None and offer.choices == self.offer.choices
        self.offer = offer
        self._room = room
        if not same:
            self._marked = self._top = 0
            self.gone_to = False
        if offer is None:
            self.display = False
        else:
            self._draw(offer)

    def redraw(self) -> None:
        """Draw again, after the width changed."""
        if self.offer is not None:
            self._draw(self.offer)

    def move(self, step: int) -> None:
        """Mark another row; past the last comes the first."""
        if self.offer is not None and self.offer.choices:
            self._marked = (self._marked + step) % len(self.offer.choices)
            self.gone_to = True
            self._draw(self.offer)

    def on_click(self, event: events.Click) -> None:
        """Choose the row that was clicked."""
        row = self._top + event.y
        if self.offer is not None and row < min(len(self.offer.choices), self._top + self._choices_n(self.offer)):
            self._marked = row
            self.gone_to = True
            self.post_message(self.Picked())

    def _choices_n(self, offer: CompletionOffer) -> int:
        """The number of rows of choices; where there is room, one more row holds the note."""
        return min(MAX_ROWS, max(1, self._room - 1), len(offer.choices))

    def _draw(self, offer: CompletionOffer) -> None:
        choices_n = self._choices_n(offer)
        self._top = min(max(self._top, self._marked - choices_n + 1), self._marked)
        shown = offer.choices[self._top : self._top + choices_n]
        width = max((cell_len(choice.label) for choice in offer.choices), default=0)
        rows = [_row(choice, width, choice is self.choice) for choice in shown]
        note = _note(offer, choices_n)
        if note and len(rows) < max(1, self._room):
            rows.append(Content.styled(note, "$quiet"))
        # As wide as what it belongs to, its padding included.
        if isinstance(self.parent, Widget):
            self.styles.width = self.parent.outer_size.width
            self.styles.offset = (-self.parent.gutter.left, -len(rows))
        self.update(Content("\n").join(rows))
        self.display = True


def _row(choice: Completion, width: int, marked: bool) -> Content:
    # A second cue beside the colour: the mark.
    label = choice.label if not choice.note else set_cell_size(choice.label, width) + "  "
    mark = ("› ", "$accent bold") if marked else "  "
    look = "$accent bold" if marked else "$foreground"
    return Content.assemble(mark, (visible_line(label), look), (visible_line(choice.note), "$quiet"))


def _note(offer: CompletionOffer, shown_n: int) -> str:
    if not offer.choices:
        return offer.empty
    if offer.more:
        return offer.more
    left_n = len(offer.choices) - shown_n
    if left_n and offer.kind is not CompletionKind.COMMAND:
        return f"  {left_n} more; go on typing to narrow them down"
    return f"  {left_n} more" if left_n else ""
