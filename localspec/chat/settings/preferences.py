"""The settings of the screen: its look, its keys and its pace."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from localspec.base.machine import on_battery
from localspec.chat.commands.keymap import Keymap, resolve_keymap
from localspec.chat.tokens.marking import GhostMode, MarkMode, ReplyFormat
from localspec.config import Config
from localspec.config.kinds import AUTO


@dataclass(frozen=True, slots=True)
class Preferences:
    """The settings of the screen, each with its built-in value."""

    theme: str = AUTO
    mode: MarkMode = ReplyFormat().mode
    ghosts: GhostMode = GhostMode.BRIEF
    pace: float | str = AUTO
    """Tokens a second, ``auto`` or ``full``."""
    read_ahead: str = AUTO
    """``auto``, ``on`` or ``off``."""
    model_titles: bool = False
    reduced_motion: bool = False
    terminal_title: bool = True
    keymap: Keymap = field(default_factory=lambda: Keymap({}))

    def reply_format(self, now: ReplyFormat) -> ReplyFormat:
        """``now`` with the mode of marks that is set; without marks replies are shown as Markdown."""
        return replace(now, mode=self.mode, markdown=now.markdown or self.mode is MarkMode.OFF)

    @property
    def reads_ahead(self) -> bool:
        """True if the engine may read while the user types: by default not on battery."""
        return self.read_ahead == "on" or (self.read_ahead == AUTO and not on_battery())

    def pace_for(self, pairs_own: float | None) -> float | None:
        """Tokens a second at which a pair with this pace of its own is shown; None is no limit."""
        if self.pace == AUTO:
            return pairs_own
        return None if isinstance(self.pace, str) else self.pace


def preferences(config: Config) -> Preferences:
    """The preferences that the file sets."""
    found = {name.removeprefix("screen."): value for name, value in config.values.items() if name.startswith("screen.")}
    plain = Preferences()
    reduced = found.get("reduced_motion") is True
    pace = found.get("pace", plain.pace)
    return Preferences(
        theme=str(found.get("theme", plain.theme)),
        mode=MarkMode(str(found.get("truth", plain.mode))),
        ghosts=GhostMode.OFF if reduced else GhostMode(str(found.get("ghosts", plain.ghosts))),
        pace=pace if isinstance(pace, str) else float(pace) if isinstance(pace, int | float) else plain.pace,
        read_ahead=str(found.get("read_ahead", plain.read_ahead)),
        model_titles=found.get("model_titles") is True,
        reduced_motion=reduced,
        terminal_title=found.get("terminal_title") is not False,
        keymap=resolve_keymap(config),
    )
