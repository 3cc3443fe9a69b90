"""What can be done in the list of pairs: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

PAIR_ACTIONS: tuple[Action, ...] = (
    Action("pair-take", "enter", "use or download", "Use the pair; twice, download what is missing of it.", "take"),
    Action("pair-stop", "ctrl+s", "stop", "Stop its download; what has arrived is kept.", "stop"),
    Action("pair-details", "tab", "details", "Go to the details, to scroll them; and back.", "read"),
    Action("pair-up", "up", "up", "Go to the pair above.", "move(-1)"),
    Action("pair-down", "down", "down", "Go to the pair below.", "move(1)"),
    Action("pair-page-up", "pageup", "page up", "Go up by a page.", "page(-1)"),
    Action("pair-page-down", "pagedown", "page down", "Go down by a page.", "page(1)"),
    Action("pair-back", "escape,ctrl+l", "back", "Return to the conversation; downloads go on.", "back"),
)
