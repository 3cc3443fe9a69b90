"""The tables of actions as Textual bindings."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding, BindingType
from textual.dom import DOMNode

from localspec.chat.commands.command import Action, key_label
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.places import ACTIONS, KNOWN

_UNBOUND = "unbound"
"""Begins the names of keys that no keyboard has, for actions that are to have none."""


def screen_bindings() -> list[BindingType]:
    """What the chat screen answers to, wherever the focus is."""
    return [_binding(action, action.handler) for action in ACTIONS if not _belongs_to_prompt(action)]


def prompt_bindings() -> list[BindingType]:
    """What the prompt answers to; all other keys are its own too, since a text area would take some of them."""
    own: list[BindingType] = [_binding(action, _local(action)) for action in ACTIONS if _belongs_to_prompt(action)]
    others: list[BindingType] = [
        _binding(action, action.handler) for action in ACTIONS if not _belongs_to_prompt(action) and not action.in_turn
    ]
    return own + others


def app_bindings() -> list[BindingType]:
    """What every screen answers to, Textual's own under our ids, so that their keys can be changed too.

    Help comes after whatever has the focus, which a letter may be typed into.
    """
    everywhere = {action.id: action.keys for action in ACTIONS if action.id in ("quit", "palette", "help")}
    return [
        Binding(everywhere["quit"], "quit", id="quit", show=False, priority=True),
        Binding(everywhere["palette"], "command_palette", id="palette", show=False, priority=True),
        Binding(everywhere["help"], "help", id="help", show=False),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]


def textual_keymap(keymap: Keymap) -> dict[str, str]:
    """What ``App.set_keymap`` takes: the actions whose keys differ from their own."""
    return {
        action.id: keymap.keys[action.id] or f"{_UNBOUND}_{action.id}"
        for action in KNOWN.values()
        if keymap.keys.get(action.id, action.keys) != action.keys
    }


def bindings_of(actions: Sequence[Action]) -> list[BindingType]:
    """What a screen of its own answers to."""
    return [_binding(action, action.handler) for action in actions]


def labels_of(node: DOMNode, actions: Sequence[Action]) -> dict[str, str]:
    """The keys that are in force in the app, as people write them, by id; empty for an action that has none."""
    keys = {each.id: node.app._keymap.get(each.id, each.keys) for each in actions}
    return {name: "" if each.startswith(_UNBOUND) else key_label(each) for name, each in keys.items()}


def hint_line(hints: Sequence[tuple[str, str]]) -> str:
    """Keys with what they do, in a row; those that have no key are left out."""
    return "  ".join(f"{key} {what}".strip() for key, what in hints if key)


def both(one: str, other: str) -> str:
    """Two keys that belong together, for one hint."""
    return "/".join(filter(None, (one, other)))


def _belongs_to_prompt(action: Action) -> bool:
    return action.handler.startswith("prompt.")


def _local(action: Action) -> str:
    return action.handler.removeprefix("prompt.")


def _binding(action: Action, handler: str) -> Binding:
    return Binding(
        action.keys, handler, action.title.capitalize(), id=action.id, tooltip=action.help, show=action.hinted
    )
