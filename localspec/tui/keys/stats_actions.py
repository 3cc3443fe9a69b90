"""What can be done on the screen of figures: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

STATS_ACTIONS: tuple[Action, ...] = (
    Action("stats-next", "tab,right", "by", "Tell replies apart by the next trait; last comes the watch.", "turn(1)"),
    Action("stats-previous", "shift+tab,left", "by", "Tell replies apart by the trait before.", "turn(-1)"),
    Action("stats-up", "up", "up", "Go to the group above.", "move(-1)"),
    Action("stats-down", "down", "down", "Go to the group below.", "move(1)"),
    Action("stats-page-up", "pageup", "scroll up", "Scroll the figures up.", "page(-1)"),
    Action("stats-page-down", "pagedown,space", "scroll", "Scroll the figures down.", "page(1)"),
    Action("stats-reread", "f5", "read again", "Count the replies that have come since.", "reread"),
    Action("stats-back", "escape,q", "back", "Return to the conversation.", "back"),
)
