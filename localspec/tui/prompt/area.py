"""The text area of the prompt: keys of its own, pastes made harmless, marks of pastes that stay or go as a whole."""

from __future__ import annotations

from typing import ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from localspec.base.visible import visible
from localspec.chat.commands.writing import COMPLETE, EARLIER, LATER, NEWLINE, SEND
from localspec.chat.compose.history import PromptHistory
from localspec.chat.compose.message import WrittenMessage
from localspec.tui.keys.bindings import prompt_bindings
from localspec.tui.keys.handling import CommandTarget, handles


class PromptParts(Protocol):
    """The prompt, as its text area, its list and its attachments use it; ``Prompt`` says what each does."""

    @property
    def area(self) -> PromptArea: ...

    @property
    def history(self) -> PromptHistory: ...

    @property
    def text(self) -> str: ...

    @property
    def written(self) -> WrittenMessage: ...

    @property
    def region(self) -> Region: ...

    @property
    def troubled(self) -> bool: ...

    def put(self, written: WrittenMessage) -> None: ...

    def set_text(self, text: str) -> None: ...

    def insert(self, text: str) -> None: ...

    def attach(self, path: str) -> None: ...

    def searching(self, on: bool) -> None: ...

    def send(self) -> None: ...

    def say(self, text: str) -> None: ...

    def complain(self, text: str) -> None: ...

    def weigh(self) -> None: ...

    def complete(self) -> None: ...

    def step(self, direction: int) -> bool: ...

    def step_in_list(self, direction: int) -> bool: ...

    def dismiss(self) -> bool: ...

    def paste(self, text: str) -> str: ...

    def mark_inside(self, line: str, column: int) -> tuple[int, int] | None: ...


class BoundArea(TextArea, CommandTarget):
    """A text area whose keys are those of its place, also where a text area would insert them."""

    def __init__(self, text: str = "", placeholder: str = "") -> None:
        super().__init__(
            text, show_line_numbers=False, highlight_cursor_line=False, compact=True, placeholder=placeholder
        )

    async def _on_key(self, event: events.Key) -> None:
        """Run the binding of a key at once; a text area would insert Enter as text.

        A priority binding would not do: it overtakes the letters typed just before it. Nor would leaving a key to
        the app, which looks for its binding only after this: letters typed behind it overtake it.
        """
        if self.is_left:
            self._pass_on(event)
            return
        if event.is_printable and event.key.startswith("alt+"):
            # Terminals send Escape and the letter, which a text area would insert.
            event.stop()
            event.prevent_default()
            if (bound := self.screen.active_bindings.get(event.key)) is not None:
                await self.app.run_action(bound.binding.action, bound.node)
            return
        if event.is_printable:
            return
        active = self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self:
            event.prevent_default()
            if await self.app.run_action(active.binding.action, self):
                event.stop()  # else it is another widget's, as Ctrl+C where nothing is selected here

    def type_in(self, text: str) -> None:
        """Write in place of what is selected, or else at the cursor, which goes behind it."""
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)

    def _refresh_size(self) -> None:
        """As Textual's (8.2), which during an undo still has the cursor on lines that are gone, and so ends the app."""
        self.selection = Selection(*map(self.clamp_visitable, self.selection))
        super()._refresh_size()

    @property
    def is_left(self) -> bool:
        """True once something else has the focus, also before this area is told."""
        return self.app.screen is not self.screen or self.screen.focused is not self

    def _pass_on(self, event: events.Key) -> None:
        """Give a key that came in one burst with the one that moved the focus to what has the focus then."""
        event.stop()
        event.prevent_default()
        # By way of the screen, which may have opened just now and gives its focus only once it is mounted.
        self.app.screen.call_later(self.app.post_message, events.Key(event.key, event.character))

    def get_line(self, line_index: int) -> Text:
        """As Textual's, which drops some control characters and so shows the cursor in the wrong place."""
        return Text(visible(self.document.get_line(line_index)), end="", no_wrap=True)


class PromptArea(BoundArea):
    """The text area itself; see ``Prompt``."""

    BINDINGS: ClassVar[list[BindingType]] = prompt_bindings()

    def __init__(self, owner: PromptParts, placeholder: str) -> None:
        super().__init__(placeholder=placeholder)
        self._owner = owner

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape" and not self.is_left and self._owner.dismiss():
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.type_in(self._owner.paste(event.text))
        self.focus()

    @property
    def index(self) -> int:
        """The cursor as a number of characters from the beginning of the text."""
        return self.document.get_index_from_location(self.cursor_location)  # type: ignore[attr-defined,no-any-return]

    def put(self, text: str, start: int, end: int) -> None:
        """Replace the text from ``start`` to ``end`` and put the cursor behind it; can be undone."""
        places = [self.document.get_location_from_index(index) for index in (start, end)]  # type: ignore[attr-defined]
        result = self.replace(text, *places, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    @handles(SEND)
    def send(self) -> None:
        self._owner.send()

    @handles(COMPLETE)
    def complete(self) -> None:
        self._owner.complete()

    @handles(NEWLINE)
    def insert_newline(self) -> None:
        self.type_in("\n")

    @handles(EARLIER)
    def go_up(self) -> None:
        if self._owner.step_in_list(-1):
            return
        top = self.navigator.is_first_wrapped_line(self.cursor_location)
        if not (top and self._owner.step(-1)):
            self.action_cursor_up()

    @handles(LATER)
    def go_down(self) -> None:
        if self._owner.step_in_list(1):
            return
        bottom = self.navigator.is_last_wrapped_line(self.cursor_location)
        if not (bottom and self._owner.step(1)):
            self.action_cursor_down()

    def edit(self, edit: Edit) -> EditResult:
        """As Textual's, but a mark stays or goes as a whole: what begins or ends in it is widened, or put behind it."""
        top, bottom = edit.top, edit.bottom
        end = self._edge_of_mark(bottom, 1)
        start = end if top == bottom else self._edge_of_mark(top, 0)
        return super().edit(Edit(edit.text, start, end, edit.maintain_selection_offset))

    def _edge_of_mark(self, place: Location, side: int) -> Location:
        """The left (0) or right (1) edge of the mark that a place is inside of; the place itself outside of marks."""
        row, column = place
        mark = self._owner.mark_inside(self.document.get_line(row), column) if column else None
        return place if mark is None else (row, mark[side])
