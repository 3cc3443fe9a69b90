"""A setting: one declaration, from which all front ends, the file and the documentation are made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from localspec.config.kinds import Texts, ValueKind
from localspec.config.statements import Path, dotted

PAIR_TABLES = "pair"
"""The table of the file in which each pair has a table of its own, by its id: ``[pair."qwen2.5-7b"]``."""
_SECTIONS_OF_PAIRS = ("model", "speculation", "sampling", "reply")


class Applies(StrEnum):
    """The moment from which a changed setting counts."""

    NOW = "at once"
    REPLY = "with the next reply"
    RELOAD = "when the pair is loaded again"


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of the file of settings.

    ``section`` and ``key`` say where it stands there, ``option`` and the properties below where else it may be set.
    The built-in value itself is the default of the field that takes it: in ``LoadOptions``, ``ReplyOptions``,
    ``Sampling`` or ``Preferences``.
    """

    section: str
    key: str
    """Named as the field that takes it. No two sections share a key, as options have no sections."""
    kind: ValueKind
    about: str
    """A sentence without its full stop, which refers to other settings as options: ``--threads``."""
    default: str
    """The built-in value in words; empty for none."""
    applies: Applies = Applies.REPLY
    option: bool = True
    """True if the command line has it too."""
    spellings: tuple[str, ...] = ()
    """The names of its option, unless that is its key with dashes."""
    also: tuple[str, ...] = ()
    """Other words for it, which the searches of settings and of commands understand too."""

    @property
    def name(self) -> str:
        """``section.key``, which is unique."""
        return f"{self.section}.{self.key}"

    @property
    def title(self) -> str:
        """The key as people read it."""
        return self.key.replace("_", " ")

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its option, the common one first; empty without one."""
        return (self.spellings or (f"--{self.key.replace('_', '-')}",)) if self.option else ()

    @property
    def per_pair(self) -> bool:
        """True if pairs may differ in it: it is about loading or about replies."""
        return self.section in _SECTIONS_OF_PAIRS and self.option and self.key not in ("pair", "connect")

    @property
    def per_conversation(self) -> bool:
        """True if conversations may differ in it: it is about replies, and nothing has to be loaded for it."""
        return self.option and self.applies is Applies.REPLY

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
        """The built-in value in words, for the file and the screen."""
        return _without_dashes(self.default) or "none"

    def place(self, pair: str | None = None) -> Path:
        """Its path in the file, for all pairs or for one."""
        return (self.section, self.key) if pair is None else (PAIR_TABLES, pair, self.key)

    def name_in(self, pair: str | None = None) -> str:
        """Its path as the file spells it: ``speculation.depth``, or ``pair."qwen2.5-7b".depth``."""
        return dotted(self.place(pair))


def _without_dashes(text: str) -> str:
    """``text`` with options spelt as keys of the file."""
    return re.sub(r"`[^`]*`|--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_") if match[1] else match[0], text)
