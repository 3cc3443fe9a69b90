"""Handlers of commands that do the same in every front end. They raise LocalSpecError, which the front end shows."""

from __future__ import annotations

from localspec.chat.commands.command import FrontEnd
from localspec.chat.settings.conversation import (
    Changed,
    describe_own,
    describe_personas,
    persona_from,
    schema_from,
    set_from,
    unset_from,
)


def set_value(chat: FrontEnd, argument: str) -> None:
    """Set something for this conversation or for the pair; without an argument, list what the conversation sets."""
    if argument:
        _adopt(chat, set_from(chat.settings, chat.own, argument))
    else:
        chat.answer(describe_own(chat.own), settings=dict(chat.own))


def unset_value(chat: FrontEnd, argument: str) -> None:
    """Remove one setting of this conversation or all of them, or one of the pair."""
    _adopt(chat, unset_from(chat.settings, chat.own, argument))


def set_schema(chat: FrontEnd, argument: str) -> None:
    """Hold the replies of this conversation to the JSON Schema in a file, or end that."""
    _adopt(chat, schema_from(chat.settings, chat.own, argument))


def set_persona(chat: FrontEnd, argument: str) -> None:
    """Have a persona speak in this conversation; without an argument, list those there are."""
    if argument:
        _adopt(chat, persona_from(chat.settings, chat.own, argument))
    else:
        chat.answer(describe_personas(chat.settings, chat.own))


def _adopt(chat: FrontEnd, changed: Changed) -> None:
    chat.adopt(changed)
    chat.answer(changed.sentence, settings=dict(changed.own))
