"""A message as it is written: text, in which marks stand for pasted text and mentions for attached files.

The text for the model is made when it is sent. A mark that is deleted takes with it what it stood for; the same mark
typed or undone back brings it back, until the message is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from localspec.chat.compose.attachment import (
    Attachment,
    as_folder,
    as_read,
    attached_in,
    fitted,
    search_of,
    searched,
    with_files,
)
from localspec.chat.compose.mentions import Mention, mentions, readings
from localspec.chat.compose.sizes import kilobytes, line_n, lines, size_bytes
from localspec.chat.papers.meaning import Meaning
from localspec.chat.papers.passages import PassageIndex

FOLD_CHARS = 2000
FOLD_LINES = 20
"""A paste with more of either than this is folded into a mark."""
UNFOLD_CHARS = 50_000
UNFOLD_LINE_CHARS = 8_000
"""The most text, and the longest line, that is written on in the prompt; more is for an editor."""

_MARK = re.compile(r"\[pasted text(?: \d+)?: [\d,.]+ kB, [\d,]+ lines?\]")


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A message ready to be sent, or kept for later."""

    text: str
    """The text as written, with marks and mentions in it."""
    pasted: Mapping[str, str] = field(default_factory=dict)
    """The pasted text of each mark."""
    attachments: tuple[Attachment, ...] = ()
    meaning: Meaning | None = field(default=None, compare=False, repr=False)
    """Ranks passages of the attachments by meaning, where that is known."""

    @property
    def unfolded(self) -> str:
        """The text with the pastes in place of their marks."""
        return _MARK.sub(lambda mark: self.pasted.get(mark[0], mark[0]), self.text)

    @property
    def as_read(self) -> tuple[Attachment, ...]:
        """The attachments as the model reads them, in part where they are too large."""
        return as_read(self.attachments, self.unfolded.strip(), self.meaning)

    @property
    def search(self) -> tuple[str, tuple[PassageIndex, ...]]:
        """The text that passages are searched for, and the files they are searched in."""
        return search_of(self.attachments, self.unfolded)

    @property
    def content(self) -> str:
        """The message as the model reads it; see ``attachment`` for its form."""
        return with_files(self.attachments, self.unfolded.strip(), self.meaning)

    @property
    def beginning(self) -> str:
        """The part of the content that stays while the user writes on: none of it where files are being searched."""
        return "" if searched(self.attachments) else self.content

    @property
    def shown(self) -> str:
        """The message as a transcript shows it: marks, and a chip for each attachment."""
        return "\n".join([*(f"[{attachment.chip}]" for attachment in self.as_read), self.text.strip()])

    @property
    def blank(self) -> bool:
        return not self.text.strip()

    def says(self, text: str) -> bool:
        """True if this message has that text, where a mark whose paste is lost matches anything."""
        first, *others = _MARK.split(self.unfolded.strip())
        if not others:
            return first == text
        at = len(first) if text.startswith(first) else -1
        for part in others:
            at = text.find(part, at) + len(part) if 0 <= at <= text.find(part, at) else -1
        return at >= 0 and text.endswith(others[-1])

    def to_dict(self) -> dict[str, Any]:
        """The message for a file; attachments are named in the text and read again."""
        return {"text": self.text, "pasted": dict(self.pasted)} if self.pasted else {"text": self.text}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> WrittenMessage:
        """Undo ``to_dict``. Raises ValueError, KeyError or TypeError."""
        text, pasted = data["text"], data.get("pasted", {})
        if not isinstance(text, str) or not all(isinstance(part, str) for pair in pasted.items() for part in pair):
            raise ValueError("no message")
        return WrittenMessage(text, dict(pasted))


class Enclosures:
    """The pastes and attachments behind the marks and mentions of the message being written."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self._meaning = meaning
        self._pasted: dict[str, str] = {}
        self._attached: dict[str, Attachment] = {}
        self._n_ctx: int | None = None

    def take_over(self, written: WrittenMessage) -> None:
        """Add the pastes and attachments of an earlier message."""
        self._pasted.update(written.pasted)
        for attachment in written.attachments:
            self.attach(attachment)

    def clear(self) -> None:
        """Forget all: the message was sent."""
        self._pasted.clear()
        self._attached.clear()

    def fold(self, pasted: str) -> str:
        """The mark that stands for ``pasted`` from now on."""
        amounts = f"{kilobytes(size_bytes(pasted))}, {lines(line_n(pasted))}"
        mark, n = f"[pasted text: {amounts}]", 1
        while self._pasted.get(mark, pasted) != pasted:
            n += 1
            mark = f"[pasted text {n}: {amounts}]"
        self._pasted[mark] = pasted
        return mark

    def attach(self, attachment: Attachment) -> None:
        """Its mention stands for it from now on."""
        self._attached[attachment.path] = replace(attachment, n_ctx=self._n_ctx or attachment.n_ctx)

    def fit(self, n_ctx: int | None) -> None:
        """Set the context of another pair, or of none."""
        self._n_ctx = n_ctx
        self._attached = {attachment.path: attachment for attachment in fitted(self._attached.values(), n_ctx)}

    def detach(self, path: str) -> None:
        """The mention is text again."""
        self._attached.pop(path, None)

    def knows(self, path: str) -> bool:
        return path in self._attached

    def attachments(self, text: str) -> tuple[Attachment, ...]:
        """The attachments mentioned in ``text``, in order, each once."""
        found = map(self._attached_for, mentions(text))
        return tuple(dict.fromkeys(attachment for attachment in found if attachment))

    def unknown(self, text: str) -> list[str]:
        """The paths that ``text`` mentions, followed by white space, for which nothing whole is attached.

        Passages were found for another question, from whose message they come.
        """
        followed = (mention for mention in mentions(text) if mention.end < len(text))
        attached = ((mention.path, self._attached_for(mention)) for mention in followed)
        return [path for path, attachment in attached if attachment is None or attachment.passages_n]

    def written(self, text: str) -> WrittenMessage:
        """The message that ``text`` is."""
        marks = {mark[0]: self._pasted[mark[0]] for mark in marks_in(text) if mark[0] in self._pasted}
        return WrittenMessage(text, marks, self.attachments(text), self._meaning)

    def mark_around(self, text: str, at: int) -> re.Match[str] | None:
        """The mark of a paste that the place ``at`` is in or next to."""
        return next(
            (mark for mark in marks_in(text) if mark.start() <= at <= mark.end() and mark[0] in self._pasted), None
        )

    def pasted(self, mark: str) -> str:
        return self._pasted[mark]

    def _attached_for(self, mention: Mention) -> Attachment | None:
        paths = (path for reading in readings(mention.path) for path in (reading, as_folder(reading)))
        return next((self._attached[path] for path in paths if path in self._attached), None)


def joined(messages: Sequence[WrittenMessage]) -> WrittenMessage:
    """One message of several, each from a line of its own on."""
    pasted = {mark: text for message in messages for mark, text in message.pasted.items()}
    attachments = tuple(attachment for message in messages for attachment in message.attachments)
    return WrittenMessage("\n".join(message.text for message in messages if message.text), pasted, attachments)


def taken_apart(content: str) -> tuple[WrittenMessage, tuple[Attachment, ...]]:
    """Undo ``WrittenMessage.content``: the message with the files it mentions, and files that went with it besides."""
    attachments, text = attached_in(content)
    enclosures = Enclosures()
    enclosures.take_over(WrittenMessage(text, attachments=attachments))
    written = enclosures.written(text)
    return written, tuple(attachment for attachment in attachments if attachment not in written.attachments)


def marks_in(text: str) -> Iterator[re.Match[str]]:
    """Everything that looks like the mark of a paste."""
    return _MARK.finditer(text)


def is_too_long(text: str) -> bool:
    """True if a text is too long to be edited in the prompt."""
    return len(text) > UNFOLD_CHARS or max(map(len, text.split("\n"))) > UNFOLD_LINE_CHARS


def is_long(text: str) -> bool:
    """True if a paste is long enough to be folded into a mark."""
    return len(text) > FOLD_CHARS or text.count("\n") >= FOLD_LINES
