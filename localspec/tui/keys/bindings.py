"""Commands as Textual's key bindings, and the keys in force as people write them."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType
from textual.dom import DOMNode

from localspec.base.visible import capitalised
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command, key_label
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.moving import HELP, PALETTE, QUIT
from localspec.chat.commands.places import known

_UNBOUND = "unbound"
"""Begins the names of keys that no keyboard has, for commands that are to have none."""


def bindings_of(commands: Iterable[Command]) -> list[BindingType]:
    """Bindings for the class of a ``CommandTarget``."""
    return [_binding(command) for command in commands]


def screen_bindings() -> list[BindingType]:
    """The chat screen's, which count wherever the focus is."""
    return bindings_of(command for command in CHAT.commands if not command.in_prompt)


def prompt_bindings() -> list[BindingType]:
    """The prompt's: its own, and those of the screen too, since a text area would take some of these keys."""
    return bindings_of(
        [
            *(command for command in CHAT.commands if command.in_prompt),
            *(command for command in CHAT.commands if not command.in_prompt and not command.in_turn),
        ]
    )


def app_bindings() -> list[BindingType]:
    """The app's, which count on every screen.

    Help comes after whatever has the focus, which a letter may be typed into.
    """
    return [_binding(QUIT, priority=True), _binding(PALETTE, priority=True), _binding(HELP)]


def textual_keymap(keymap: Keymap) -> dict[str, str]:
    """The argument of ``App.set_keymap``: the commands whose keys differ from their own."""
    return {
        command.id: keymap.keys[command.id] or f"{_UNBOUND}_{command.id}"
        for command in known().values()
        if keymap.keys.get(command.id, command.keys) != command.keys
    }


def key_of(node: DOMNode, command: Command) -> str:
    """The key in force in the app, as people write it; empty if the command has none."""
    keys = node.app._keymap.get(command.id, command.keys)
    return "" if keys.startswith(_UNBOUND) else key_label(keys)


def _binding(command: Command, *, priority: bool = False) -> Binding:
    return Binding(
        command.keys,
        f"command('{command.id}')",
        capitalised(command.title),
        priority=priority,
        id=command.id,
        tooltip=command.help,
    )
