"""What can be done in the list of conversations: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

HISTORY_ACTIONS: tuple[Action, ...] = (
    Action("history-open", "enter", "open", "Open the conversation.", "open", hinted=True),
    Action("history-rename", "f2", "rename", "Give it another title.", "rename", hinted=True),
    Action("history-pin", "f4", "pin", "Keep it at the top, or no more.", "pin", hinted=True),
    Action("history-delete", "f8", "delete", "Delete it; undo brings it back.", "delete", hinted=True),
    Action("history-undo", "ctrl+z", "undo", "Bring back the one that was deleted.", "undo"),
    Action("history-up", "up", "up", "Go to the one above.", "move(-1)"),
    Action("history-down", "down", "down", "Go to the one below.", "move(1)"),
    Action("history-page-up", "pageup", "page up", "Go up by a page.", "page(-1)"),
    Action("history-page-down", "pagedown", "page down", "Go down by a page.", "page(1)"),
    Action("history-close", "escape,f7", "close", "Return to the conversation.", "close", hinted=True),
)
