"""The search of all commands, where the terminal has no room for what is found too."""

from __future__ import annotations

from textual.command import CommandList, CommandPalette


class CommandSearch(CommandPalette):
    """Textual's own, but that keys which go a page up or down do nothing in a list without a line.

    Textual looks up the line of the highlighted command, and a list that has no room has laid out none.
    """

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
