"""The list above the prompt: opened to fit the text, and its choice put into the text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.chat.commands.writing import COMPLETE, SEND
from localspec.chat.compose.completing import (
    Completion,
    CompletionKind,
    CompletionOffer,
    CompletionPlace,
    command_offer,
    command_with_argument,
    file_offer,
    path_argument,
    path_offer,
    place_of,
    sent_offer,
    value_offer,
)
from localspec.chat.compose.file_tree import Listing
from localspec.chat.compose.mentions import unfinished
from localspec.chat.compose.message import WrittenMessage
from localspec.tui.keys.bindings import key_of
from localspec.tui.prompt.area import PromptParts
from localspec.tui.prompt.completion import CompletionList

NamesOf = Callable[[Callable[[], object]], Mapping[str, str]]
"""Gives the names of what can be attached beside files, with notes; calls its argument when there are others."""


class Offers:
    """Opens, moves and closes the list. While sent messages are searched, the line holds the query."""

    def __init__(
        self, prompt: PromptParts, leave: Callable[[WrittenMessage], None], values: Callable[[str], Mapping[str, str]]
    ) -> None:
        """``leave`` keeps a message that a sent one takes the place of; ``values`` is ``argument_values``."""
        self.list = CompletionList()
        self.others: NamesOf = lambda _: {}
        self.aside: WrittenMessage | None = None
        """The message that was being written when a search began; None while there is no search."""
        self._prompt = prompt
        self._leave = leave
        self._values_of = values
        self._values: dict[str, Mapping[str, str]] = {}
        """The values of the command that is written, once they are known."""
        self._listings: dict[str, Listing] = {}
        self._looking: str | None = None
        self._dismissed: tuple[CompletionKind, int] | None = None
        """The list that was closed by key; it stays closed until another is due."""
        self._refused: str | None = None
        """The text that was refused; no list covers the reason as long as the text stays."""

    def refresh(self) -> None:
        """Show the list that fits the text and the cursor, while the prompt is written in."""
        if not self._prompt.area.has_focus:
            self.list.show(None, 0)
            return
        self._refused = self._refused if self._refused == self._prompt.text else None
        offer = self._due() if self._refused is None else None
        if offer is None or (offer.kind, offer.start) != self._dismissed:
            self._dismissed = None
        else:
            offer = None
        self.list.show(offer, self._prompt.region.y)

    def refuse(self) -> None:
        """Close the list until the text is another: there is something to read about this one."""
        self._refused = self._prompt.text
        self.refresh()

    def search(self) -> None:
        """Search the messages sent before; again, go on to the next."""
        if self.aside is not None:
            self.list.move(1)
            return
        self.aside = self._prompt.written
        self._prompt.searching(True)
        self._prompt.area.text = ""
        self.refresh()

    def dismiss(self) -> bool:
        """Close the list, or end the search; False if neither is open."""
        if self.leave_search():
            return True
        self.refresh()
        offer = self.list.offer
        if offer is None:
            return False
        self._dismissed = (offer.kind, offer.start)
        self.list.show(None, 0)
        return True

    def leave_search(self) -> bool:
        """End the search and go back to the message; False if there is no search."""
        if self.aside is None:
            return False
        self._put(self.aside)
        return True

    def end_search(self) -> None:
        """End the search; the line holds a message again."""
        if self.aside is not None:
            self.aside = None
            self._prompt.searching(False)

    def move(self, direction: int) -> bool:
        """Highlight another row; False if no list is open."""
        self.refresh()
        if self.list.choice is None:
            return False
        self.list.move(direction)
        return True

    def accept(self, *, into: bool) -> bool:
        """Take the highlighted row, or open it with ``into`` if it is a folder; False if the text is to be sent."""
        if into:
            self._refused = None  # who completes it has read the reason
        self.refresh()  # for keys that came in one burst the text may have changed since the list was drawn
        offer, choice = self.list.offer, self.list.choice
        if offer is None or choice is None:
            return self.aside is not None
        match offer.kind:
            case CompletionKind.SENT:
                if self.aside is not None:
                    self._leave(self.aside)
                self._put(choice.message or WrittenMessage(choice.value))
            case CompletionKind.FILE:
                self._take_file(offer, choice, into=into)
            case CompletionKind.PATH:
                return self._take_path(offer, choice, into=into)
            case CompletionKind.COMMAND:
                return self._take_command(choice, into=into)
        return True

    def _take_command(self, choice: Completion, *, into: bool) -> bool:
        """Enter sends what is whole: a row's own text, or a command of whose argument there is no letter yet."""
        text = self._prompt.text
        if not into and (text == choice.value.strip() or (text.endswith(" ") and not self.list.gone_to)):
            return False
        self._prompt.set_text(choice.value)
        return into or not choice.final

    def _take_file(self, offer: CompletionOffer, choice: Completion, *, into: bool) -> None:
        area = self._prompt.area
        start = area.index - area.cursor_location[1] + offer.start
        if into and not choice.final:
            area.put(choice.value.removesuffix('"'), start, area.index)
            return
        area.put(f"{choice.value} ", start, area.index)
        self._prompt.attach(choice.label)

    def _take_path(self, offer: CompletionOffer, choice: Completion, *, into: bool) -> bool:
        """Enter takes a path only if the user went to its row: the text may be meant as it is."""
        if not (into or self.list.gone_to):
            return False
        area = self._prompt.area
        area.put(choice.value, area.index - area.cursor_location[1] + offer.start, area.index)
        return into or not choice.final

    def _put(self, written: WrittenMessage) -> None:
        self._prompt.put(written)
        self.refresh()

    def _due(self) -> CompletionOffer | None:
        prompt = self._prompt
        if self.aside is not None:
            return sent_offer(prompt.history.messages, prompt.text)
        row, column = prompt.area.cursor_location
        line = prompt.area.document.get_line(row)
        commands = row == 0 and prompt.area.document.line_count == 1 and prompt.text.startswith("/")
        told = path_argument(line, column) if commands else None
        sought = told if commands else unfinished(line[:column])
        if sought is None:
            self._listings.clear()
            command = command_with_argument(prompt.text) if commands else None
            if command is not None:
                return value_offer(command, prompt.text, self._values_behind(command.slash))
            self._values.clear()
            return command_offer(prompt.text) if commands else None
        place = place_of(sought, self._listings.get(""))
        if place.folder not in self._listings:
            self._look(place)
        complete, listing = key_of(prompt.area, COMPLETE), self._listings.get(place.folder)
        if told is not None:
            return path_offer(told, place, listing, complete)
        return file_offer(sought, place, listing, (key_of(prompt.area, SEND), complete), self.others(self.refresh))

    def _values_behind(self, command: str) -> Mapping[str, str]:
        """The values of the argument, as far as they are known."""
        if command not in self._values:
            self._prompt.area.run_worker(self._find_values(command), group="values", exclusive=True)
        return self._values.setdefault(command, {})

    async def _find_values(self, command: str) -> None:
        with suppress(LocalSpecError):  # the command itself says why
            self._values = {command: await asyncio.to_thread(self._values_of, command)}
            self.refresh()

    def _look(self, place: CompletionPlace) -> None:
        if self._looking != place.folder:
            self._looking = place.folder
            self._prompt.area.run_worker(self._list(place), group="files", exclusive=True)

    async def _list(self, place: CompletionPlace) -> None:
        listing = await asyncio.to_thread(place.look, Path())
        self._looking = None
        self._listings = {folder: known for folder, known in self._listings.items() if not folder}
        self._listings[place.folder] = listing
        self.refresh()
