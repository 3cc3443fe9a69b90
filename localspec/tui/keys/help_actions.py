"""What can be done on the help page: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

CLOSE = Action("help-close", "escape,f1,q,enter", "close", "Close this page.", "dismiss")
HELP_ACTIONS: tuple[Action, ...] = (CLOSE,)
