"""What can be done in the inspector: a table, as for the chat screen."""

from __future__ import annotations

from localspec.tui.keys.actions import Action

INSPECTOR_ACTIONS: tuple[Action, ...] = (
    Action("inspector-left", "left,h", "token before", "Look at the token before.", "step(-1)"),
    Action("inspector-right", "right,l", "token after", "Look at the token after.", "step(1)"),
    Action("inspector-up", "up,k", "line above", "Look at the token above.", "line(-1)"),
    Action("inspector-down", "down,j", "line below", "Look at the token below.", "line(1)"),
    Action(
        "inspector-round-before",
        "left_square_bracket,ctrl+left",
        "round before",
        "Go to the beginning of the round, or of the one before.",
        "round(-1)",
    ),
    Action(
        "inspector-round-after",
        "right_square_bracket,ctrl+right",
        "round after",
        "Go to the beginning of the next round.",
        "round(1)",
    ),
    Action("inspector-rejection", "n", "rejection", "Go to the next token that replaced a rejected one.", "rejection"),
    Action("inspector-first", "home", "first token", "Go to the first token.", "go(0)"),
    Action("inspector-last", "end", "last token", "Go to the last token.", "go(-1)"),
    Action("inspector-panel-up", "pageup", "scroll up", "Scroll what is known up.", "panel(-1)"),
    Action("inspector-panel-down", "pagedown", "scroll down", "Scroll what is known down.", "panel(1)"),
    Action("inspector-marks", "m,f2", "marks", "Mark tokens in another way.", "next_mode"),
    Action("inspector-close", "escape,q,f3", "back", "Return to the conversation.", "dismiss"),
)
