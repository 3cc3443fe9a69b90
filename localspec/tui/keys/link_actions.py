"""What can be done in the list of links: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

LINK_ACTIONS: tuple[Action, ...] = (
    Action("link-copy", "enter,c,y", "copy", "Copy the address.", "copy"),
    Action("link-open", "o", "open in the browser", "Open the address in the browser of this machine.", "open"),
    Action("link-up", "up,k", "up", "Go to the link above.", "move(-1)"),
    Action("link-down", "down,j", "down", "Go to the link below.", "move(1)"),
    Action("link-back", "escape,q", "back", "Return to the conversation.", "back"),
)
