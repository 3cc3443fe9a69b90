"""The table of actions as Textual bindings."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from localspec.tui.actions import ACTIONS, Action

_SCROLLING = ("older", "newer", "latest")


def screen_bindings() -> list[BindingType]:
    """What the chat screen answers to, wherever the focus is."""
    return [_binding(action, action.handler) for action in ACTIONS if not _belongs_to_prompt(action)]


def prompt_bindings() -> list[BindingType]:
    """What the prompt answers to; scrolling keys are its own too, since a text area would take them."""
    own: list[BindingType] = [_binding(action, _local(action)) for action in ACTIONS if _belongs_to_prompt(action)]
    scrolling: list[BindingType] = [_binding(action, action.handler) for action in ACTIONS if action.id in _SCROLLING]
    return own + scrolling


def _belongs_to_prompt(action: Action) -> bool:
    return action.handler.startswith("prompt.")


def _local(action: Action) -> str:
    return action.handler.removeprefix("prompt.")


def _binding(action: Action, handler: str) -> Binding:
    return Binding(
        action.keys, handler, action.title.capitalize(), id=action.id, tooltip=action.help, show=action.hinted
    )
