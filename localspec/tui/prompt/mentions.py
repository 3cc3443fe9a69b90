"""The files that the prompt's text mentions: read while the user types, and attached to the message."""

from __future__ import annotations

import asyncio

from localspec.chat.commands.slash import find_command, is_command
from localspec.chat.commands.watching import COMPARE, RACE
from localspec.chat.compose.attaching import Attaching
from localspec.chat.compose.mentions import written as written_path
from localspec.chat.compose.message import Enclosures, WrittenMessage
from localspec.chat.compose.weighing import Weighing
from localspec.chat.papers.meaning import Meaning
from localspec.tui.prompt.area import PromptParts

PATIENCE_S = 1.0
"""A message waits no longer for what it is near to: it then goes with the passages that its words find."""
_OF_MESSAGES = (COMPARE, RACE)
"""Commands with a message behind them, whose files go with it."""
NOT_SENT = "A message was not sent: it was changed or left while its files were being read."


class Mentions:
    """Reads mentioned files, and holds a message back until they are read."""

    def __init__(
        self, prompt: PromptParts, enclosures: Enclosures, weighing: Weighing, meaning: Meaning | None = None
    ) -> None:
        self._prompt = prompt
        self._meaning = meaning
        self._weighing = weighing
        self.attaching = Attaching(enclosures)
        self._held: str | None = None
        """The text of the message that will be sent as soon as its files are read."""
        self._waited = ""
        """The question that was waited for last."""

    def follow(self, text: str) -> None:
        """Read the files that are newly mentioned."""
        if untried := self.attaching.claim(text):
            self._begin(untried)

    def hold(self, written: WrittenMessage) -> bool:
        """Return True if the message must wait for its files; it is sent as soon as they are read."""
        command = is_command(written.text)
        files = not command or find_command(written.text) in _OF_MESSAGES
        untried = self.attaching.claim(f"{written.text} ") if files else []
        if not untried and not self.attaching.busy:
            return not command and self._wait_for_meaning(written)
        self._held = written.text
        self._begin(untried)
        return True

    def _wait_for_meaning(self, written: WrittenMessage) -> bool:
        """Return True if the message waits for a moment until it is known what its question is near to."""
        meaning = self._meaning
        if meaning is None or not meaning.wanted:
            return False
        question, places = written.search
        if not places or meaning.knows(question) or question == self._waited:
            return False
        meaning.want(question, places)
        self._held, self._waited = written.text, question
        self._prompt.area.run_worker(self._send_then(meaning, written.text))
        return True

    async def _send_then(self, meaning: Meaning, held: str) -> None:
        await asyncio.to_thread(meaning.wait, PATIENCE_S)
        if self._held == held:
            self._release(held)

    def attach(self, path: str) -> None:
        """Attach the file or folder at ``path``, which the text mentions."""
        self.attaching.claim_path(path)
        self._begin([path], meant=True)

    def write(self, path: str = "") -> None:
        """Mention the file at ``path`` and attach it; without a path, begin a mention."""
        area = self._prompt.area
        area.focus()
        before = self._prompt.text[: area.index]
        gap = "" if not before or before[-1].isspace() else " "
        path = path.strip("\"'")
        self._prompt.insert(f"{gap}{written_path(path)} " if path else f"{gap}@")
        if path:
            self.attach(path)

    def clear(self) -> None:
        """Begin another message."""
        self.attaching.clear()
        if self._held is not None:
            self._held = None
            self._prompt.say(NOT_SENT)

    def _begin(self, paths: list[str], *, meant: bool = False) -> None:
        if paths:
            self._prompt.area.run_worker(self._read(paths, self.attaching.message_n, meant=meant))

    async def _read(self, paths: list[str], message_n: int, *, meant: bool) -> None:
        errors = await self.attaching.attach(paths, message_n, self._weighing.n_ctx, meant=meant)
        if errors:
            self._prompt.complain("\n".join(map(str, errors)))
        self._prompt.weigh()
        if self._held is not None and not self.attaching.busy:
            self._release(self._held)

    def _release(self, held: str) -> None:
        """Send the message that was held back, if the text is still the same."""
        self._held = None
        if held != self._prompt.text:
            self._prompt.say(NOT_SENT)
        elif not self._prompt.troubled:
            self._prompt.send()
