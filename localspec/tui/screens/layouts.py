"""The layouts of screens over the chat: a column of rows, and a dialog."""

from __future__ import annotations

from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ScreenResultType

from localspec.tui.keys.handling import CommandTarget
from localspec.tui.textual_fixes.compositor import RowModal, RowScreen
from localspec.tui.widgets.row_list import QuietList


class ColumnScreen(RowScreen[ScreenResultType], CommandTarget):
    """Rows from edge to edge; where there is room for more, a column in the middle."""

    DEFAULT_CSS = """
    ColumnScreen { align-horizontal: center; }
    ColumnScreen > * { width: 100%; max-width: 92; }
    ColumnScreen .head { height: 1; padding: 0 2; }
    ColumnScreen .head > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    ColumnScreen .head > .title { width: auto; max-width: 80%; color: $accent; text-style: bold; }
    ColumnScreen .head > .count { width: 1fr; margin-left: 2; color: $quiet; text-align: right; }
    ColumnScreen .field-row { height: 1; background: $surface; padding: 0 2; }
    ColumnScreen .field-row > Static { width: auto; color: $accent; }
    """


class DialogBox(Vertical):
    """The box of a dialog, no higher than what is in it.

    Textual's (8.2) takes a part that scrolls at its full height, unless the most of that is a number of cells.
    """

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.arrange(Size(width, viewport.height)).total_region.height


class DialogScreen(RowModal[ScreenResultType], CommandTarget):
    """A ``DialogBox`` with a title and keys; on a low screen it takes all rows and has none that are empty."""

    DEFAULT_CSS = """
    DialogScreen { align: center middle; }
    DialogScreen > Vertical {
        width: 90%; max-width: 92; height: auto; max-height: 90%; background: $surface; padding: 1 2;
    }
    DialogScreen .dialog-title { color: $accent; text-style: bold; margin: 0 0 1 0; }
    DialogScreen .dialog-quiet { color: $quiet; max-height: 4; }
    DialogScreen KeyRow { padding: 0; margin: 1 0 0 0; }
    DialogScreen.-short > Vertical { padding: 0 2; max-height: 100%; }
    DialogScreen.-short .dialog-title, DialogScreen.-short .dialog-quiet, DialogScreen.-short KeyRow { margin: 0; }
    """


class ChoiceList(QuietList, can_focus=False):
    """The choices of a dialog."""

    DEFAULT_CSS = """
    ChoiceList { height: auto; max-height: 16; background: $surface; scrollbar-gutter: auto; }
    ChoiceList > .option-list--option { padding: 0; }
    ChoiceList > .option-list--option-hover { background: $block-hover-background; }
    """
