"""The recipient that Functionary 3.2 names before each message: a tool, or "all", which people are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from localspec.engine.events import Event, Finished, Round, Token

ASKED = ">>>"
"""The end of a prompt that asks for a recipient."""
_PEOPLE = "all\n"


def without_recipient(events: Iterator[Event]) -> Iterator[Event]:
    """The events of a reply whose first tokens have no text if they are the recipient "all"."""
    text: str | None = ""
    """The text that may be the recipient; None once that is clear."""
    shown = ""

    def shortened(token: Token) -> Token:
        nonlocal text
        if text is None:
            return token
        text += token.text
        if len(text) < len(_PEOPLE) and _PEOPLE.startswith(text):
            return replace(token, text="")
        begun, text = text.removeprefix(_PEOPLE), None
        return replace(token, text=begun)

    for event in events:
        if isinstance(event, Round):
            event = replace(event, tokens=tuple(map(shortened, event.tokens)))
            shown += "".join(token.text for token in event.tokens)
        elif isinstance(event, Finished):
            event = replace(event, text=shown)
        yield event
