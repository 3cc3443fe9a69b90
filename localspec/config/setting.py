"""One thing that can be set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from localspec.config.kinds import Texts, ValueKind


class Applies(StrEnum):
    """When a changed setting takes effect."""

    NOW = "at once"
    REPLY = "with the next reply"
    RELOAD = "when the pair is loaded again"


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of the file, and all there is to say about it."""

    section: str
    """The table it stands in."""
    key: str
    """Named as the option of the command line, where there is one."""
    kind: ValueKind
    about: str
    """A sentence without its full stop."""
    default: str
    """What holds where nothing is said, in words."""
    applies: Applies = Applies.REPLY
    option: bool = True
    """Whether the command line has it too."""

    @property
    def name(self) -> str:
        """``section.key``, which nothing else is called."""
        return f"{self.section}.{self.key}"

    @property
    def title(self) -> str:
        """The key as people read it."""
        return self.key.replace("_", " ")

    @property
    def help(self) -> str:
        """The sentence for the help of the command line; refers to other settings as options."""
        several = "; may be given several times" if isinstance(self.kind, Texts) else ""
        default = f" (default: {self.default})" if self.default else ""
        return f"{self.about}{several}{default}."

    @property
    def description(self) -> str:
        """The sentence for the file and the screen; refers to other settings by their keys."""
        return _without_dashes(self.about) + "."

    @property
    def default_words(self) -> str:
        """What is built in, for the file and the screen."""
        return _without_dashes(self.default) or "none"


def _without_dashes(text: str) -> str:
    """``text`` with options named as the file names them."""
    return re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), text)
