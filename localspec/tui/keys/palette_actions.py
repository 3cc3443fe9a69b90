"""What can be done in the search of commands: a table, as for the chat screen; Enter in its line is Textual's own."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

PALETTE_ACTIONS: tuple[Action, ...] = (
    Action("palette-up", "up", "up", "Go to the command above.", "command_list('cursor_up')"),
    Action("palette-down", "down", "down", "Go to the command below.", "cursor_down"),
    Action("palette-page-up", "pageup", "page up", "Go up by a page.", "command_list('page_up')"),
    Action("palette-page-down", "pagedown", "page down", "Go down by a page.", "command_list('page_down')"),
    Action("palette-first", "ctrl+home", "first", "Go to the first command.", "command_list('first')"),
    Action("palette-last", "ctrl+end", "last", "Go to the last command.", "command_list('last')"),
    Action("palette-close", "escape", "close", "Return without a command.", "escape"),
)
