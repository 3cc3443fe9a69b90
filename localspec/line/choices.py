"""Handlers of commands about the pair and the marks, and of what a conversation sets for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localspec.base.errors import UsageError
from localspec.base.visible import visible_line
from localspec.chat.marks import Marks
from localspec.chat.settings.conversation import Changed
from localspec.config import Value
from localspec.line.state import State
from localspec.line.voice import LEGENDS
from localspec.runtime.chat_config import ChatConfig, Settings


class LineFrontEnd:
    """The line mode as the commands of every front end see it."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def settings(self) -> Settings:
        return _settings(self._state)

    @property
    def own(self) -> Mapping[str, Value]:
        return self._state.chat.stored.settings

    def adopt(self, changed: Changed) -> None:
        self._state.chat.stored.set_settings(changed.own)
        self._state.chat.adopt(changed.chat_config)

    def answer(self, text: str, **data: Any) -> None:
        self._state.voice.say(text, **data)


def pair(state: State, argument: str) -> None:
    """Go on with another pair; the conversation stays."""
    if not argument:
        state.voice.say(_pairs(state.chat.chat_config))
        return
    chat_config = _settings(state).for_pair(argument).resolve(_settings(state).config, state.chat.stored.settings)
    if chat_config.load == state.chat.chat_config.load:
        state.voice.say(f"You are talking to {visible_line(chat_config.title)} already.")
        return
    state.voice.remark(f"Loading {visible_line(chat_config.title)}; the conversation stays.")
    state.chat.switch(chat_config)
    now = visible_line(f"{chat_config.title} now, on {state.chat.pair.info.device}")
    state.voice.say(f"You are talking to {now}.", pair=chat_config.pair_id)


def marks(state: State, argument: str) -> None:
    """Mark tokens by origin, or no more."""
    ways = {"": Marks.NEVER if state.voice.marks is Marks.ASCII else Marks.ASCII, **{str(way): way for way in Marks}}
    if argument not in ways:
        raise UsageError(f"There is no way {argument!r} to mark tokens.", f"There are: {', '.join(map(str, Marks))}.")
    if state.voice.lasting:
        raise UsageError("Records are not marked.", "They name the origin of every token.")
    state.voice.marks = ways[argument]
    state.voice.say(LEGENDS[state.voice.marks])


def _settings(state: State) -> Settings:
    settings = state.chat.chat_config.in_use
    assert settings is not None, "the command line makes every launch of settings"
    return settings


def _pairs(now: ChatConfig) -> str:
    """Those that can be talked to at once."""
    from localspec.models.pairs import load_catalogue
    from localspec.models.pairs.state import HERE, state_of

    here = [each for each in load_catalogue().pairs if state_of(each).state == HERE]
    lines = [visible_line(f"{each.id}: {each.title}{', in use' if each.id == now.pair_id else ''}") for each in here]
    return "\n".join([*lines, "/pair ID changes to one. `localspec pairs list` shows those that can be fetched."])
