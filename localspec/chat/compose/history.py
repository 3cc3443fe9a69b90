"""The messages sent before: kept on disk, walked through with Up and Down, searched.

The file has one JSON object a line, oldest first: ``{"text": ..., "pasted": {mark: text}}``. A line that cannot be
read is passed over, and a file that cannot be written costs the history alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from localspec.base.file_lock import folder_lock
from localspec.base.fuzzy import fuzzy
from localspec.base.shared_file import replace_file
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.sizes import size_bytes

SENT_MESSAGES = "sent-messages.jsonl"
"""Name of the file in the data folder, which the chat screen and the line mode share."""
MAX_MESSAGES = 1000
MAX_FILE_BYTES = 2_000_000
MAX_PASTED_BYTES = 64_000
"""The most of a paste that is kept with its message; of a longer one the mark is kept alone."""
_BEGINNING_CHARS = 16_000
"""The part that is kept of a message whose own text is longer than a paste may be."""


class PromptHistory:
    """The history of one user. The file is read when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._messages: list[WrittenMessage] | None = None

    @property
    def messages(self) -> Sequence[WrittenMessage]:
        """Oldest first, none like the one before it."""
        if self._messages is None:
            self._messages = list(self._read())
        return self._messages

    def add(self, written: WrittenMessage) -> None:
        """Keep a message, unless it is the same as the last."""
        kept = _without_bulk(written)
        known = self.messages
        if kept.blank or (known and known[-1] == kept):
            return
        self._messages = [*known, kept][-MAX_MESSAGES:]
        with suppress(OSError), folder_lock(self._path):
            self._append(kept)

    def forget(self, texts: Collection[str]) -> None:
        """Remove the messages that have one of these texts, attached files aside. Raises OSError."""
        if not self._path.exists():
            return
        with folder_lock(self._path):
            kept = [written for written in self._read() if not any(_is_of(written, text) for text in texts)]
            replace_file(self._path, b"".join(map(_line, kept)), private=True)
        self._messages = None

    def _append(self, written: WrittenMessage) -> None:
        line = _line(written)
        # One write at the end of the file: whatever happens, the lines that are there stay whole.
        handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 1))
            cut_short = size > 0 and stream.read(1) != b"\n"
            stream.write(b"\n" * cut_short + line)
        if size + len(line) > MAX_FILE_BYTES:
            self._shorten()

    def _shorten(self) -> None:
        """Write the file anew at half its size at most, so that not every message does."""
        lines = [_line(written) for written in self._read()][-MAX_MESSAGES:]
        while len(lines) > 1 and sum(map(len, lines)) > MAX_FILE_BYTES // 2:
            del lines[: max(1, len(lines) // 10)]
        replace_file(self._path, b"".join(lines), private=True)

    def _read(self) -> Iterable[WrittenMessage]:
        try:
            with self._path.open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - 2 * MAX_FILE_BYTES))
                rows = stream.read(2 * MAX_FILE_BYTES).splitlines()
        except OSError:
            return []
        read: list[WrittenMessage] = []
        for row in rows:
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                written = WrittenMessage.from_dict(json.loads(row))
                if not read or read[-1] != written:
                    read.append(written)
        return read[-MAX_MESSAGES:]


class HistoryCursor:
    """A walk back through the history, forth again to the unsent message, and on to drafts and examples of messages."""

    def __init__(
        self, messages: Sequence[WrittenMessage], examples: Sequence[str] = (), drafts: Sequence[WrittenMessage] = ()
    ) -> None:
        """``drafts`` are messages that were left unsent before."""
        self._messages = messages
        self._drafts = drafts
        self._later = [*drafts, *map(WrittenMessage, examples)]
        self._at = len(messages)
        self._unsent = WrittenMessage("")

    @property
    def left(self) -> list[WrittenMessage]:
        """The drafts that the walk leaves unsent: all but the one it stands at."""
        drafts = enumerate((self._unsent, *self._drafts), len(self._messages))
        return [draft for at, draft in drafts if at != self._at and not draft.blank]

    def step(self, direction: int, current: WrittenMessage) -> WrittenMessage | None:
        """The message before (-1) or after (1), at last the unsent one, then drafts and examples; None at an end.

        ``current`` is the message in the prompt.
        """
        own_n = len(self._messages)
        at = self._at + direction
        if not 0 <= at <= own_n + len(self._later):
            return None
        if self._at == own_n:
            self._unsent = current
        self._at = at
        if at > own_n:
            return self._later[at - own_n - 1]
        return self._unsent if at == own_n else self._messages[at]


class Recall:
    """Steps through a history from the text that stands there; another text or another history begins another walk.

    It also steps on: to drafts that were left for another message, until one of them is continued, and from an empty
    prompt to the examples of messages that the screen shows.
    """

    def __init__(self, history: PromptHistory, examples: Callable[[], Sequence[str]] = tuple) -> None:
        self._history = history
        self._examples = examples
        self._messages: Sequence[WrittenMessage] = ()
        self._cursor = HistoryCursor(())
        self._led_to: str | None = None

    def step(self, direction: int, current: WrittenMessage) -> WrittenMessage | None:
        """The message before (-1) or after (1); None if there is none."""
        messages = self._history.messages
        if current.text != self._led_to or messages is not self._messages:
            self._messages = messages
            examples = () if current.text else self._examples()
            self._cursor = HistoryCursor(messages, examples, self._cursor.left)
        found = self._cursor.step(direction, current)
        if found is not None:
            self._led_to = found.text
        return found

    def leave(self, draft: WrittenMessage) -> None:
        """Keep a draft that another message takes the place of."""
        self._cursor = HistoryCursor((), drafts=[draft, *self._cursor.left])
        self._led_to = None


def search(messages: Sequence[WrittenMessage], query: str, n: int) -> list[WrittenMessage]:
    """Messages that contain ``query``, the newest first, each once; if none does, those with its letters in order."""
    newest = {message.text: message for message in messages}
    newest = {message.text: message for message in reversed(messages) if newest[message.text] is message}
    wanted = query.lower()
    hits = [text for text in newest if wanted in text.lower()][:n]
    if not hits:
        texts = list(newest)
        hits = [texts[match.index] for match in fuzzy(query, texts, n)]
    return [newest[text] for text in hits]


def _without_bulk(written: WrittenMessage) -> WrittenMessage:
    kept = {mark: text for mark, text in written.pasted.items() if size_bytes(text) <= MAX_PASTED_BYTES}
    text = written.text if size_bytes(written.text) <= MAX_PASTED_BYTES else written.text[:_BEGINNING_CHARS]
    return WrittenMessage(text, kept)


def _is_of(written: WrittenMessage, text: str) -> bool:
    """True if a message that was kept has this text, or is the beginning of it that was kept."""
    cut = len(written.text) == _BEGINNING_CHARS
    return written.says(text) or (cut and text.startswith(written.unfolded.strip()))


def _line(written: WrittenMessage) -> bytes:
    return json.dumps(written.to_dict(), separators=(",", ":")).encode("ascii") + b"\n"
