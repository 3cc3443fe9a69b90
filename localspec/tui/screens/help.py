"""Help: keys, commands and colours, generated from the tables that the app itself uses."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from localspec.tui.actions import ACTIONS
from localspec.tui.keymap import Keymap
from localspec.tui.palette import GHOST_MEANING, MEANINGS, Palette
from localspec.tui.tables import TABLES
from localspec.tui.truth import MODES

_KEY_CELLS = 17
"""Room for the longest name of a key, Ctrl+Shift+Down."""
FIGURES = (
    ("tokens/s", "how fast the reply is being written, measured by the engine"),
    ("plain", "how much faster that is than the target alone on this machine"),
    ("accepted", "the share of proposed tokens that the target kept"),
    ("/round", "tokens committed in a round: draft, verify, commit"),
    ("depth", "tokens proposed in a round, and by which drafter"),
    ("▁▂▄█ ·", "how many were accepted in each of the latest rounds; a dot where nothing was proposed"),
)
INSPECTOR = (
    ("target 93%", "the model's own probability of the token, and its rank among all"),
    ("p, q", "the target's and the draft's probability of it after the sampler's filters"),
    ("kept", "how likely the target keeps it as a guess that was drawn from q, or simply named"),
)


class HelpScreen(ModalScreen[None]):
    """A page to read; any of its closing keys leads back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "Close", id="help-close", tooltip="Close this page.")
    ]

    DEFAULT_CSS = """
    HelpScreen { background: $background; align: center top; }
    HelpScreen VerticalScroll { align-horizontal: center; scrollbar-size-vertical: 1; }
    HelpScreen Static { width: 100%; max-width: 92; height: auto; padding: 1 2 0 2; }
    """

    def __init__(self, palette: Palette, keymap: Keymap | None = None) -> None:
        super().__init__()
        self._palette = palette
        self._keymap = keymap or Keymap({})

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(_section("Colours", self._colours()))
            yield Static(_section("Ways of marking tokens", [_row(mode, said, 12) for mode, said in MODES.items()]))
            yield Static(_section("Keys", [_row(self._keymap.label(a), a.help, _KEY_CELLS) for a in ACTIONS]))
            yield Static(_section("Commands", [_row(f"/{a.command}", a.help, 16) for a in ACTIONS if a.command]))
            yield Static(_section("The live line", [_row(word, meaning, 12) for word, meaning in FIGURES]))
            yield Static(_section("The inspector", [_row(word, meaning, 12) for word, meaning in INSPECTOR]))
            for table in TABLES[1:]:
                rows = [_row(self._keymap.label(a), a.help, _KEY_CELLS) for a in table.actions]
                yield Static(_section(table.title, rows))
            yield Static(Content.styled("Esc closes this page.\n", "$quiet"))

    def _colours(self) -> list[Content]:
        rows = [
            Content.assemble((f"{origin}", self._palette.look(origin)), " " * (12 - len(origin)), (meaning, "$quiet"))
            for origin, meaning in MEANINGS.items()
        ]
        ghost = Style.from_rich_style(self._palette.ghost)
        return [*rows, Content.assemble(("rejected", ghost), "    ", (GHOST_MEANING, "$quiet"))]


def _section(title: str, rows: list[Content]) -> Content:
    return Content("\n").join([Content.styled(title, "$accent bold"), *rows])


def _row(word: str, meaning: str, width: int) -> Content:
    return Content.assemble(f"{word:<{width}}", (meaning, "$quiet"))
