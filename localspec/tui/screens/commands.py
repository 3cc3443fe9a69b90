"""The search of all commands: where the terminal has no room for what is found, and where it is closed in between."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.command import CommandInput, CommandList, CommandPalette
from textual.css.query import NoMatches
from textual.events import Mount
from textual.worker import ResultType, Worker, WorkerState, WorkType

from localspec.tui.keys import bindings_of
from localspec.tui.palette_actions import PALETTE_ACTIONS

_LONGEST_QUERY = 200
"""Characters; every one more is another search, and comparing a pasted page with each command takes seconds."""


class CommandSearch(CommandPalette):
    """Textual's own (8.2), but that keys which go a page up or down do nothing in a list without a line.

    Textual looks up the line of the highlighted command, and a list that has no room has laid out none. And a search
    that a last key begins while the screen is being taken away finds no list any more, which is no mistake.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(PALETTE_ACTIONS)

    def on_mount(self, _: Mount) -> None:
        self.query_one(CommandInput).max_length = _LONGEST_QUERY

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)

    def run_worker(
        self,
        work: WorkType[ResultType],
        name: str | None = "",
        group: str = "default",
        description: str = "",
        exit_on_error: bool = True,
        start: bool = True,
        exclusive: bool = False,
        thread: bool = False,
    ) -> Worker[ResultType]:
        return super().run_worker(work, name, group, description, False, start, exclusive, thread)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Any other mistake ends the app, as ever."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None and not isinstance(error, NoMatches):
            raise error
