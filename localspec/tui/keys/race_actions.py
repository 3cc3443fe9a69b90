"""What can be done during a race: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

RACE_ACTIONS: tuple[Action, ...] = (
    Action("race-again", "r", "side by side", "Show both again on one clock, each at the speed it had.", "again"),
    Action("race-end", "space,end", "to the end", "Show at once how that ends.", "finish"),
    Action("race-close", "escape,q", "back", "Return to the conversation; a race under way ends.", "leave"),
)
