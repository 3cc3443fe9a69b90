"""The prompt: the line in which the user writes, which grows with its text and is always ready.

What marks and mentions stand for is in ``chat.compose.message``; which lists there are, in ``chat.compose.completing``.
This widget brings them together with the text area, and keeps what is unsent on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import HorizontalGroup, VerticalGroup
from textual.content import Content
from textual.events import DescendantBlur, DescendantFocus, Event, Key
from textual.message import Message
from textual.widgets import Static, TextArea

from localspec.base.errors import LocalSpecError
from localspec.base.paths import user_paths
from localspec.base.visible import visible
from localspec.chat.commands.slash import is_command
from localspec.chat.commands.writing import ATTACH, EDITOR, RECALL
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.cleaning import cleaned, cleaning_note
from localspec.chat.compose.history import SENT_MESSAGES, PromptHistory, Recall
from localspec.chat.compose.mentions import written as written_path
from localspec.chat.compose.message import Enclosures, WrittenMessage, is_long, is_too_long, joined
from localspec.chat.compose.token_counts import TokenCount
from localspec.chat.compose.unsent import UNSENT, UnsentMessages
from localspec.chat.compose.weighing import Weighing
from localspec.chat.images.reading import pasted_image
from localspec.chat.papers.meaning import Meaning
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.after_pause import AfterPause
from localspec.tui.prompt.area import PromptArea
from localspec.tui.prompt.attached import Attached
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.editor import edit_in
from localspec.tui.prompt.mentions import Mentions
from localspec.tui.prompt.offers import NamesOf, Offers
from localspec.tui.widgets.pictures import Pictures

SAVE_AFTER_S = 1.0
WEIGH_AFTER_S = 0.3


class Prompt(VerticalGroup):
    """The line with its mark, the attachments above it, and the list that floats over both."""

    DEFAULT_CSS = """
    Prompt { background: $surface; padding: 0 2; }
    Prompt > Pictures { margin: 0 0 0 2; }
    Prompt > #trouble { color: $error; display: none; }
    Prompt > HorizontalGroup > Static { width: 2; height: 1; color: $accent; }
    Prompt PromptArea {
        height: auto; min-height: 1; max-height: 10; padding: 0; scrollbar-size-vertical: 1;
    }
    Prompt PromptArea .text-area--placeholder { color: $quiet; }
    """

    class Submitted(Message):
        """The user sent a message."""

        def __init__(self, written: WrittenMessage) -> None:
            super().__init__()
            self.written = written

        @property
        def text(self) -> str:
            """The text as it was written."""
            return self.written.text

    class Typed(Message):
        """The text changed."""

        def __init__(self, text: str, *, by_hand: bool) -> None:
            super().__init__()
            self.text = text
            self.by_hand = by_hand
            """True if it changed by a key, False if all at once."""

    class Noted(Message):
        """A note about what the user did."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class PassagesChanged(Message):
        """Other passages may fit the message, as more is known of what they mean."""

    class Counted(Message):
        """The number of tokens of the message; None if it is empty."""

        def __init__(self, count: TokenCount | None) -> None:
            super().__init__()
            self.count = count

        @property
        def text(self) -> str:
            """The number in words; empty for an empty message."""
            return "" if self.count is None else str(self.count)

    def __init__(
        self,
        placeholder: str,
        *,
        ask: Callable[[str], bool] = lambda text: False,
        withdraw: Callable[[], WrittenMessage | None] = lambda: None,
        waiting: Callable[[], Sequence[WrittenMessage]] = tuple,
        paused: Callable[[WrittenMessage], object] = lambda written: None,
        examples: Callable[[], Sequence[str]] = tuple,
        values: Callable[[str], Mapping[str, str]] = lambda command: {},
        meaning: Meaning | None = None,
        data_folder: Path | None = None,
        key: str = "",
    ) -> None:
        """``ask`` has the engine count a text, if it is free; ``withdraw`` takes back the last message that waits, and
        ``waiting`` gives all of them; ``paused`` is told the message when the user pauses; ``examples`` are messages to
        try that the screen shows; ``values`` is ``argument_values``; ``meaning`` ranks passages of what is attached;
        ``key`` is the conversation whose unsent message is loaded, empty for a new one.
        """
        super().__init__()
        folder = data_folder or user_paths().data
        self.area = PromptArea(self, placeholder)
        self.enclosures = Enclosures(meaning)
        self._meaning = meaning
        self.history = PromptHistory(folder / SENT_MESSAGES)
        self._unsent = UnsentMessages(folder / UNSENT)
        self._weighing = Weighing(ask)
        self._mentions = Mentions(self, self.enclosures, self._weighing, meaning)
        self._withdraw = withdraw
        self._waiting = waiting
        self._paused = paused
        self._attached = Attached()
        self._sees = True
        """False if the loaded pair reads no images."""
        self._pictures = Pictures(6)
        self._trouble = Static("", id="trouble")
        self._mark = Static("› ")
        self._recall = Recall(self.history, examples)
        self._offers = Offers(self, self._recall.leave, values)
        self._put = False
        """True while the next change of the text is one that was made all at once."""
        self._aside: WrittenMessage | None = None
        """The unsent message, put aside while an earlier message is edited; else None."""
        self._key = key
        self.put(self._unsent.load(key))  # at once: what is typed while the app starts arrives before the mount

    def compose(self) -> ComposeResult:
        self._saving = AfterPause(self, SAVE_AFTER_S, self.save)
        self._counting = AfterPause(self, WEIGH_AFTER_S, self.weigh)
        yield self._offers.list
        yield self._trouble
        yield self._pictures
        yield self._attached
        with HorizontalGroup():
            yield self._mark
            yield self.area

    def on_mount(self) -> None:
        if self._meaning is not None:
            self._meaning.news = lambda: self.post_message(self.PassagesChanged())

    def on_resize(self) -> None:
        self._offers.list.redraw()

    @on(DescendantFocus)
    @on(DescendantBlur)
    def refresh_offers(self) -> None:
        self._offers.refresh()

    def on_unmount(self) -> None:
        self._mentions.attaching.clear()
        self.save(leaving=True)

    # What is written

    @property
    def text(self) -> str:
        return self.area.text

    @property
    def written(self) -> WrittenMessage:
        """The message as it stands, also while the line is used to search."""
        return self._offers.aside or self.enclosures.written(self.text)

    def set_text(self, text: str) -> None:
        """Replace the text, with the cursor at its end."""
        self.put(WrittenMessage(text))
        self.area.focus()

    def attach_from(self, read: Callable[[str], Attachment | None], names: NamesOf) -> None:
        """Offer ``names``, with notes, beside files; ``read`` gives what to attach, as in ``Attaching``."""
        self._mentions.attaching.elsewhere, self._offers.others = read, names

    def put(self, written: WrittenMessage) -> None:
        """Replace the text by an earlier message, with visible signs for control characters; a search ends."""
        self._offers.end_search()
        self.enclosures.take_over(written)
        self._put = True
        self.area.text = visible(written.text)
        self.area.move_cursor(self.area.document.end)

    def insert(self, text: str) -> None:
        """Write at the cursor, all at once."""
        self._put = True
        self.area.insert(text, maintain_selection_offset=False)

    def put_back(self, messages: list[WrittenMessage], *, refused: bool = False) -> None:
        """Put messages that were not sent in front of the text. If one was refused, no list opens over the reason."""
        self.put(joined([*messages, self.written]))
        self.area.focus()
        if refused:
            self._offers.refuse()

    def put_aside(self, instead: WrittenMessage) -> None:
        """Write ``instead`` for a while; the unsent message is kept, and ``take_up`` brings it back."""
        self._aside = self._to_keep
        self._replace(instead)
        self.area.focus()

    def take_up(self) -> None:
        """Go on with the message that was put aside."""
        if self._aside is not None:
            aside, self._aside = self._aside, None
            self._replace(aside)

    def open(self, key: str) -> None:
        """Go to another conversation: keep what is unsent of this one, and load that one's."""
        self.save(leaving=True)
        self._key, self._aside = key, None
        self._replace(self._unsent.load(key))

    def belong_to(self, key: str) -> None:
        """Give the unsent message to the conversation that has just begun here."""
        if key != self._key:
            self._unsent.save(self._key, WrittenMessage(""))
            self._key = key
            self.save()

    def save(self, *, leaving: bool = False) -> None:
        """Save the unsent message, for the next start.

        Once the conversation is left nothing else keeps the messages that wait: they are saved in front of it.
        """
        self._saving.forget()
        self._unsent.save(self._key, joined([*self._waiting(), self._to_keep]) if leaving else self._to_keep)

    @property
    def _to_keep(self) -> WrittenMessage:
        return self._aside or self.written

    def _replace(self, written: WrittenMessage) -> None:
        """Replace the message, its files and its pastes."""
        self.enclosures.clear()
        self._mentions.clear()
        self.put(written)

    def grows_by(self, event: Event) -> bool:
        """True if a key only adds to the end of the message."""
        area = self.area
        at_end = area.has_focus and area.selection.is_empty and area.cursor_at_end_of_text
        return at_end and isinstance(event, Key) and event.is_printable

    def set_calm(self, calm: bool) -> None:
        """Stop the cursor from blinking: while the model runs it needs every cycle."""
        self.area.cursor_blink = not calm

    def say(self, text: str) -> None:
        """Post a note."""
        if text:
            self.post_message(self.Noted(text))

    def complain(self, text: str) -> None:
        """Show an error right above the line until the user types on; an empty text removes it."""
        self._trouble.update(Content(text))
        self._trouble.display = bool(text)

    @property
    def troubled(self) -> bool:
        """True if an error is shown that the user has not typed on from."""
        return bool(self._trouble.display)

    def searching(self, on: bool) -> None:
        """Show that the line is used to search."""
        self._mark.update("? " if on else "› ")

    # Counting

    def fit(self, n_ctx: int | None, *, sees: bool = True) -> None:
        """A pair with this context is loaded, which reads images or not; None if there is none any more."""
        self._sees = sees
        self._weighing.fit(n_ctx)
        self.enclosures.fit(n_ctx)
        self.weigh()

    def weigh(self) -> None:
        """Count the tokens of the message, if the engine is free."""
        self._counting.forget()
        self._weighing.write(self.written)
        self._show_weight()
        self._paused(self.written)

    def counted(self, n: int | None) -> None:
        """The engine's answer to ``ask``."""
        self._weighing.counted(n)
        for attachment, error in self._weighing.too_large(self.written.as_read):
            self._mentions.attaching.refuse(attachment.path)
            self.complain(str(error))
        self._show_weight()

    def _show_weight(self) -> None:
        written = self.written
        self._pictures.show([attachment.image for attachment in written.attachments if attachment.image])
        as_read = [(read, self._weighing.of(read)) for read in written.as_read]
        self._attached.show(written.attachments, as_read, sees=self._sees)
        total = None if written.blank or is_command(written.text) else self._weighing.total
        self.post_message(self.Counted(total))

    # What the area hands on

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._offers.refresh()
        if self._offers.aside is None:
            self._saving.touch()
            if self.written.blank:
                self.weigh()
            else:
                self._counting.touch()
            self._mentions.follow(self.text)
        if not self._put:
            self.complain("")
        self.post_message(self.Typed(self.text, by_hand=not self._put))
        self._put = False

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._offers.refresh()

    def on_prompt_passages_changed(self, event: PassagesChanged) -> None:
        """More is known of what the attached files mean."""
        event.stop()
        if self._meaning is not None and self._meaning.trouble:
            self.say(str(self._meaning.trouble))
        self.weigh()

    def on_completion_list_picked(self, event: CompletionList.Picked) -> None:
        event.stop()
        self.send()
        self.area.focus()

    def send(self) -> None:
        """Enter: take the highlighted row, or send."""
        if self._offers.accept(into=False):
            return
        written = self.written
        if written.blank or self._mentions.hold(written):
            return
        if not is_command(written.text):
            self.history.add(written)
        self.enclosures.clear()
        self._mentions.clear()
        self.set_text("")
        self.save()
        self.post_message(self.Submitted(written))

    def complete(self) -> None:
        """Tab: take the highlighted row, or unfold the paste at the cursor."""
        if self._offers.accept(into=True):
            return
        mark = self.enclosures.mark_around(self.text, self.area.index)
        pasted = self.enclosures.pasted(mark[0]) if mark is not None else ""
        if is_too_long(pasted):
            self.complain("This text is too long to be changed here; /editor opens it in your own editor.")
        elif mark is not None:
            self.area.put(pasted, mark.start(), mark.end())

    def step_in_list(self, direction: int) -> bool:
        """Up or down while a list is open; False if none is."""
        return self._offers.move(direction)

    def step(self, direction: int) -> bool:
        """Up and down through messages sent and examples; up in an empty prompt first takes back one that waits."""
        if direction < 0 and not self.written.text and (withdrawn := self._withdraw()) is not None:
            self.put(withdrawn)
            return True
        found = self._recall.step(direction, self.written)
        if found is not None:
            self.put(found)
        return found is not None

    def dismiss(self) -> bool:
        """Close the list above the prompt; False if none is open."""
        return self._offers.dismiss()

    def paste(self, text: str) -> str:
        """Return the text to insert for a paste: itself, made harmless; a mark if it is long, a mention of an image."""
        text, replaced_n = cleaned(text)
        self.say(cleaning_note(replaced_n))
        self._put = True
        if self._offers.aside is not None:
            return " ".join(text[:200].split())
        if image := pasted_image(text):
            self.attach(image)
            return f"{written_path(image)} "
        return self.enclosures.fold(text) if is_long(text) else text

    def mark_inside(self, line: str, column: int) -> tuple[int, int] | None:
        """The columns of the mark whose inside a place is in; None if it is in none."""
        mark = self.enclosures.mark_around(line, column)
        return mark.span() if mark is not None and mark.start() < column < mark.end() else None

    # What commands do

    def attach(self, path: str) -> None:
        """Attach the file or folder at ``path``, which the text mentions."""
        self._mentions.attach(path)

    @handles(ATTACH)
    def begin_attaching(self, path: str = "") -> None:
        """Attach the file or folder at ``path``, or begin a mention; a search of messages ends."""
        self._offers.leave_search()
        self._mentions.write(path)

    @handles(RECALL)
    def search_sent(self) -> None:
        self._offers.search()
        self.area.focus()

    @handles(EDITOR)
    def edit_outside(self) -> None:
        try:
            text = edit_in(self.app.suspend, self.written.unfolded, os.environ)
        except LocalSpecError as error:
            self.complain(str(error))
            return
        self._offers.dismiss()
        text, replaced_n = cleaned(text)
        self.set_text(self.enclosures.fold(text) if is_too_long(text) else text.removesuffix("\n"))
        self.say(cleaning_note(replaced_n))
