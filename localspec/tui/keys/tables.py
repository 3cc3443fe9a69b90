"""All tables of actions, each for one screen or list: what keys, help and documentation are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from localspec.tui.keys.actions import ACTIONS, Action
from localspec.tui.keys.help_actions import HELP_ACTIONS
from localspec.tui.keys.history_actions import HISTORY_ACTIONS
from localspec.tui.keys.inspector_actions import INSPECTOR_ACTIONS
from localspec.tui.keys.link_actions import LINK_ACTIONS
from localspec.tui.keys.pair_actions import PAIR_ACTIONS
from localspec.tui.keys.palette_actions import PALETTE_ACTIONS
from localspec.tui.keys.race_actions import RACE_ACTIONS
from localspec.tui.keys.search_actions import SEARCH_ACTIONS
from localspec.tui.keys.setting_actions import SETTING_ACTIONS
from localspec.tui.keys.stats_actions import STATS_ACTIONS


@dataclass(frozen=True, slots=True)
class Table:
    """Actions that are there at the same time, so that no two may share a key."""

    title: str
    """The place, as help names it."""
    actions: tuple[Action, ...]
    types: bool = False
    """Whether somebody types there, whatever the action."""


CHAT = Table("Keys", ACTIONS)
TABLES: tuple[Table, ...] = (
    CHAT,
    Table("In the inspector", INSPECTOR_ACTIONS),
    Table("During a race", RACE_ACTIONS),
    Table("Among the links of a reply", LINK_ACTIONS),
    Table("In the list of conversations", HISTORY_ACTIONS, types=True),
    Table("In the list of pairs", PAIR_ACTIONS, types=True),
    Table("In the search of words", SEARCH_ACTIONS, types=True),
    Table("In the search of commands", PALETTE_ACTIONS, types=True),
    Table("Among the figures", STATS_ACTIONS),
    Table("Among the settings", SETTING_ACTIONS, types=True),
    Table("On the help page", HELP_ACTIONS),
)
KNOWN: Mapping[str, Action] = {action.id: action for table in TABLES for action in table.actions}
"""By id, which no two share."""


def types_at(action: Action) -> bool:
    """Whether a key of this action would be missing where somebody types."""
    typing = any(table.types and action in table.actions for table in TABLES)
    return typing or action.handler.startswith("prompt.")
