"""The table of actions as Textual bindings."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from localspec.tui.actions import ACTIONS, Action
from localspec.tui.keymap import Keymap

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


def textual_keymap(keymap: Keymap) -> dict[str, str]:
    """What ``App.set_keymap`` takes: the actions whose keys differ from their own."""
    return {
        action.id: keymap.keys[action.id] or f"{_UNBOUND}_{action.id}"
        for action in ACTIONS
        if keymap.keys.get(action.id, action.keys) != action.keys
    }


def _belongs_to_prompt(action: Action) -> bool:
    return action.handler.startswith("prompt.")


def _local(action: Action) -> str:
    return action.handler.removeprefix("prompt.")


def _binding(action: Action, handler: str) -> Binding:
    return Binding(
        action.keys, handler, action.title.capitalize(), id=action.id, tooltip=action.help, show=action.hinted
    )
