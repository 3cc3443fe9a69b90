"""What can be done on the settings screen: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

SETTING_ACTIONS: tuple[Action, ...] = (
    Action("setting-change", "enter", "change", "Change the setting: the next of a few values, or a field.", "change"),
    Action("setting-back-step", "shift+tab", "value before", "Take the value before, of a few.", "step(-1)"),
    Action("setting-step", "tab", "next value", "Take the next of a few values.", "step(1)"),
    Action("setting-reset", "ctrl+r", "reset", "Take the setting out of the file, or of the conversation.", "reset"),
    Action(
        "setting-scope",
        "ctrl+t",
        "scope",
        "Change settings for all, for this pair alone, or for this conversation.",
        "scope",
    ),
    Action("setting-load", "ctrl+l", "load again", "Load the pair again, with the settings that wait for it.", "load"),
    Action("setting-reread", "f5", "read file", "Read the file again, if it has changed on disk.", "reread"),
    Action("setting-up", "up", "up", "Go to the setting above.", "move(-1)"),
    Action("setting-down", "down", "down", "Go to the setting below.", "move(1)"),
    Action("setting-page-up", "pageup", "page up", "Go up by a page.", "page(-1)"),
    Action("setting-page-down", "pagedown", "page down", "Go down by a page.", "page(1)"),
    Action("setting-leave", "escape", "back", "Leave a change, or return to the conversation.", "leave"),
)
