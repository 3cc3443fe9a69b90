"""Commands about who speaks and how: pair, persona, marks."""

from __future__ import annotations

from localspec.base.errors import UsageError
from localspec.base.visible import visible_line
from localspec.chat.marks import Marks
from localspec.chat.settings.conversation import (
    Changed,
    describe_own,
    describe_personas,
    persona_from,
    schema_from,
    set_from,
    unset_from,
)
from localspec.line.state import State
from localspec.line.voice import LEGENDS
from localspec.runtime.chat_config import ChatConfig, Settings


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


def persona(state: State, argument: str) -> None:
    """Speak as a persona in this conversation."""
    settings, own = _settings(state), state.chat.stored.settings
    if not argument:
        state.voice.say(describe_personas(settings, own))
        return
    changed = persona_from(settings, own, argument)
    _take(state, changed)
    state.voice.say(changed.sentence)


def set_(state: State, argument: str) -> None:
    """Set something for this conversation, or for the pair; without a name, say what the conversation sets."""
    own = state.chat.stored.settings
    if not argument:
        state.voice.say(describe_own(own), settings=dict(own))
        return
    changed = set_from(_settings(state), own, argument)
    _take(state, changed)
    state.voice.say(changed.sentence, settings=dict(changed.own))


def unset(state: State, argument: str) -> None:
    """Leave a setting to the file again, or all of them; or take one from the pair."""
    changed = unset_from(_settings(state), state.chat.stored.settings, argument)
    _take(state, changed)
    state.voice.say(changed.sentence, settings=dict(changed.own))


def schema(state: State, argument: str) -> None:
    """Hold the replies of this conversation to the JSON Schema in a file, or no more."""
    changed = schema_from(_settings(state), state.chat.stored.settings, argument)
    _take(state, changed)
    state.voice.say(changed.sentence, settings=dict(changed.own))


def _take(state: State, changed: Changed) -> None:
    state.chat.stored.set_settings(changed.own)
    state.chat.adopt(changed.chat_config)


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
