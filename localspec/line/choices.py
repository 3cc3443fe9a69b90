"""Commands about the pair, the marks and the settings of the conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from localspec.base.errors import UsageError
from localspec.base.visible import visible, visible_line
from localspec.chat.compose.completing import pairs_here
from localspec.chat.marks import Marks
from localspec.chat.settings.conversation import Changed
from localspec.chat.tools.use import ToolUse
from localspec.line.output import LEGENDS
from localspec.line.reading import can_be_edited
from localspec.line.replying import answer, say
from localspec.line.state import State
from localspec.runtime.chat_config import ChatConfig, Settings
from localspec.store import StoredConversation


class LineFrontEnd:
    """The line mode for the commands that all front ends share."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def settings(self) -> Settings:
        return settings_of(self._state)

    @property
    def stored(self) -> StoredConversation:
        return self._state.chat.stored

    def adopt(self, changed: Changed) -> None:
        self._state.chat.stored.set_settings(changed.own)
        self._state.chat.adopt(changed.chat_config)

    def answer(self, text: str, **data: Any) -> None:
        self._state.output.say(text, **data)

    def ask(self, title: str, about: str, fields: Mapping[str, str], then: Callable[[Mapping[str, str]], None]) -> None:
        if self._state.ask is None:
            raise UsageError(f"Nobody can be asked here for {', '.join(fields)}.", "Write the message itself.")
        self._state.output.remark(visible(f"{title}: {about}"))
        answers = {}
        for field, text in fields.items():
            kept = "" if can_be_edited(text) else text
            if kept:
                self._state.output.remark(visible(f"{field} now: {kept}\nAn empty line leaves it as it is."))
            typed = self._state.ask(visible_line(f"{field}: "), text)
            if typed is None:
                self._state.output.say("Nothing was changed.")
                return
            answers[field] = typed.strip() or kept
        then(answers)

    @property
    def tool_use(self) -> ToolUse:
        return self._state.chat.tool_use

    def put_later(self, message: Future[str]) -> None:
        self.put(message.result())

    def put(self, message: str) -> None:
        answer(self._state, say(self._state, message))


def pair(state: State, argument: str) -> None:
    """Go on with another pair; the conversation stays."""
    if not argument:
        state.output.say(_pairs(state.chat.chat_config))
        return
    chat_config = settings_of(state).for_pair(argument).resolve(settings_of(state).config, state.chat.stored.settings)
    if chat_config.load == state.chat.chat_config.load:
        state.output.say(f"You are talking to {visible_line(chat_config.title)} already.")
        return
    state.output.remark(f"Loading {visible_line(chat_config.title)}; the conversation stays.")
    state.chat.switch(chat_config)
    now = visible_line(f"{chat_config.title} now, on {state.chat.pair.info.device}")
    state.output.say(f"You are talking to {now}.", pair=chat_config.pair_id)


def marks(state: State, argument: str) -> None:
    """Mark tokens by origin, or stop marking them."""
    choices = {
        "": Marks.NEVER if state.output.marks is Marks.ASCII else Marks.ASCII,
        **{str(each): each for each in Marks},
    }
    if argument not in choices:
        raise UsageError(f"Tokens cannot be marked as {argument!r}.", f"Choose one of: {', '.join(map(str, Marks))}.")
    if state.output.lasting:
        raise UsageError("With --json tokens are not marked.", "The events name the origin of every token.")
    state.output.marks = choices[argument]
    state.output.say(LEGENDS[state.output.marks])


def settings_of(state: State) -> Settings:
    """The settings of the pair in use."""
    settings = state.chat.chat_config.in_use
    assert settings is not None, "the command line resolves every configuration from settings"
    return settings


def _pairs(now: ChatConfig) -> str:
    """A list of the pairs whose files are here."""
    lines = [
        visible_line(f"{id_}: {title}{', in use' if id_ == now.pair_id else ''}") for id_, title in pairs_here().items()
    ]
    return "\n".join([*lines, "/pair ID changes to one. `localspec pairs list` shows those that can be fetched."])
