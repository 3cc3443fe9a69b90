"""Help: keys, commands and colours, generated from the tables that the app itself uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from localspec.base.token_legend import MEANINGS
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.places import HELP_CLOSE, IN_HELP, PLACES
from localspec.chat.tokens.marking import MODES
from localspec.engine.events import Origin
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import CommandTarget, handles
from localspec.tui.textual_fixes.compositor import RowModal
from localspec.tui.tokens.palette import GHOST, GHOST_MEANING, Palette
from localspec.tui.widgets.glossary import Glossary

_KEY_CELLS = 17
"""Room for the longest name of a key, Ctrl+Shift+Down."""
_WORD_CELLS, _COMMAND_CELLS = 12, 16
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
    ("kept", "how likely the target keeps it, if the draft draws it or a drafter guesses it outright"),
)


class HelpScreen(RowModal[None], CommandTarget):
    """The help page."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(IN_HELP.commands)

    DEFAULT_CSS = """
    HelpScreen { background: $background; align-horizontal: center; }
    HelpScreen VerticalScroll { align-horizontal: center; scrollbar-size-vertical: 1; }
    HelpScreen Glossary, HelpScreen Static { width: 100%; max-width: 92; padding: 1 2 0 2; }
    """

    def __init__(self, palette: Palette, keymap: Keymap) -> None:
        super().__init__()
        self._palette = palette
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Glossary("Colours", self._colours(), _WORD_CELLS)
            yield Glossary("Ways of marking tokens", _rows(MODES.items()), _WORD_CELLS)
            yield Glossary("Keys", self._keys(CHAT.commands), _KEY_CELLS)
            yield Glossary(
                "Commands", _rows((f"/{each.slash}", each.help) for each in CHAT.commands if each.slash), _COMMAND_CELLS
            )
            yield Glossary("The live line", _rows(FIGURES), _WORD_CELLS)
            yield Glossary("The inspector", _rows(INSPECTOR), _WORD_CELLS)
            for place in PLACES[1:]:
                yield Glossary(place.title, self._keys(place.commands), _KEY_CELLS)
            if key := self._keymap.label(HELP_CLOSE):
                yield Static(Content.styled(f"{key} closes this page.\n", "$quiet"))

    @handles(HELP_CLOSE)
    def leave(self) -> None:
        self.dismiss()

    def _colours(self) -> list[tuple[Content, str]]:
        rows = [(Content.styled(f"{origin}", self._palette.look(origin)), MEANINGS[origin]) for origin in Origin]
        return [*rows, (Content.styled("rejected", Style.from_rich_style(GHOST)), GHOST_MEANING)]

    def _keys(self, commands: Iterable[Command]) -> list[tuple[Content, str]]:
        return _rows((self._keymap.label(command), command.help) for command in commands)


def _rows(rows: Iterable[tuple[str, str]]) -> list[tuple[Content, str]]:
    return [(Content(word), meaning) for word, meaning in rows]
