"""What can be done during a race: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.actions import Action

RACE_ACTIONS: tuple[Action, ...] = (
    Action("race-again", "r", "again", "Run it again from the start, as it was recorded.", "again"),
    Action("race-end", "space,end", "to the end", "Show at once how it ends.", "finish"),
    Action("race-close", "escape,q", "back", "Return to the conversation; what is being recorded ends.", "leave"),
)
