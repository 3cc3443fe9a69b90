"""The heads of messages that people are not shown: Functionary 3.2's recipient, and the format of gpt-oss's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from localspec.engine.events import Event, Finished, Round

ASKED = ">>>"
"""The end of a prompt that asks for a recipient."""
CHANNEL = b"<|channel|>"
"""The control token before the channel of a message, in vocabularies that have channels."""
_PEOPLE = "all\n"
_BEGINS, _ENDS = CHANNEL.decode(), "<|message|>"
_ANSWER = "final"


def without_recipient(events: Iterator[Event]) -> Iterator[Event]:
    """The events of a reply whose first tokens have no text if they are the recipient "all"."""
    text: str | None = ""
    """The text that may be the recipient; None once that is clear."""

    def shown(token: str) -> str:
        nonlocal text
        if text is None:
            return token
        text += token
        if len(text) < len(_PEOPLE) and _PEOPLE.startswith(text):
            return ""
        begun, text = text.removeprefix(_PEOPLE), None
        return begun

    return _with_texts(events, shown)


def without_format(events: Iterator[Event]) -> Iterator[Event]:
    """The events of a reply in channels, where nothing stands between "final" and the answer.

    A model that is to answer in JSON writes a format there: ``<|channel|>final <|constrain|>json<|message|>``.
    """
    head: str | None = None
    """The text since the latest channel began; None behind a head."""

    def shown(token: str) -> str:
        nonlocal head
        if token == _BEGINS:
            head = ""
        elif token == _ENDS:
            head = None
        elif head is not None:
            before_n, head = len(head), head + token
            if head.startswith(_ANSWER):
                return token[: max(0, len(_ANSWER) - before_n)]
        return token

    return _with_texts(events, shown)


def _with_texts(events: Iterator[Event], shown: Callable[[str], str]) -> Iterator[Event]:
    text = ""
    for event in events:
        if isinstance(event, Round):
            event = replace(event, tokens=tuple(replace(token, text=shown(token.text)) for token in event.tokens))
            text += "".join(token.text for token in event.tokens)
        elif isinstance(event, Finished):
            event = replace(event, text=text)
        yield event
