"""What can be done in the search of words: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

SEARCH_ACTIONS: tuple[Action, ...] = (
    Action("search-open", "enter", "go there", "Go to where it was said.", "open"),
    Action("search-up", "up", "up", "Go to the hit above.", "move(-1)"),
    Action("search-down", "down", "down", "Go to the hit below.", "move(1)"),
    Action("search-page-up", "pageup", "page up", "Go up by a few.", "move(-5)"),
    Action("search-page-down", "pagedown", "page down", "Go down by a few.", "move(5)"),
    Action("search-back", "escape", "back", "Return to the conversation.", "dismiss(None)"),
)
