"""What the file of settings can say of one pair alone, in a table of its own: ``[pair."qwen2.5-7b"]``."""

from __future__ import annotations

from localspec.config.setting import Setting
from localspec.config.statements import Path, dotted

PAIR_TABLES = "pair"
"""The table of the file in which each pair has one, by its id."""
_SECTIONS = ("model", "speculation", "sampling", "reply")


def can_be_of_pair(setting: Setting) -> bool:
    """Whether pairs may differ in it: it is about what is loaded or how replies are made."""
    return setting.section in _SECTIONS and setting.option and setting.name != "model.pair"


def place_of(setting: Setting, pair: str | None = None) -> Path:
    """Where it stands in the file, for all pairs or for one."""
    return (setting.section, setting.key) if pair is None else (PAIR_TABLES, pair, setting.key)


def name_in(setting: Setting, pair: str | None = None) -> str:
    """The same as the file would have it: ``speculation.depth``, or ``pair."qwen2.5-7b".depth``."""
    return dotted(place_of(setting, pair))
