"""The loop: a message, its reply, the next."""

from __future__ import annotations

import sys
from contextlib import nullcontext

from localspec.base.errors import LocalSpecError, NotFoundError, UsageError
from localspec.base.paths import user_paths
from localspec.base.visible import visible_line
from localspec.chat.compose.attachment import Attachment, read_attachment, with_files
from localspec.chat.compose.history import SENT_MESSAGES, PromptHistory
from localspec.chat.compose.mentions import mentions, readings
from localspec.chat.compose.message import WrittenMessage
from localspec.line.commands import QUIT, find_command, names, told_a_file
from localspec.line.editing_keys import editing_keys, remember
from localspec.line.reading import InputLine, Lines, PipedLines, TypedLines, read_said
from localspec.line.replying import answer
from localspec.line.state import State
from localspec.line.turns import place_of

_JUDGED_S = 0.1
"""How long the next line waits for what the watch makes of the reply; it is told later where that takes longer."""


class LineChat:
    """One chat over standard input and output."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._typed = sys.stdin is not None and sys.stdin.isatty()
        self._edited = self._typed and sys.stdout.isatty()
        self._lines: Lines = TypedLines() if self._edited else PipedLines(invited=self._typed)
        self._patient = self._typed or state.voice.lasting
        """Whether the chat goes on after an error, or after a reply that was stopped."""
        self._history = PromptHistory(user_paths().data / SENT_MESSAGES)
        self._warned = ""
        self._told = False
        if self._typed:
            state.ask = self._lines.next

    def run(self) -> None:
        """Answer until the input ends or /quit.

        Raises LocalSpecError if nobody types and nobody reads records; KeyboardInterrupt if Ctrl-C comes while
        nothing is being said, at a keyboard the second time.
        """
        with editing_keys(self._history, names(), told_a_file()) if self._edited else nullcontext():
            leaving = False
            while True:
                try:
                    if not self._turn():
                        return
                except KeyboardInterrupt:
                    if not self._typed or leaving:
                        raise
                    leaving = True
                    print("\nCtrl-C once more leaves; so does /quit.", file=sys.stderr, flush=True)
                else:
                    leaving = False

    def _turn(self) -> bool:
        """One message or command; whether there may be more."""
        try:
            said = read_said(self._lines, objects=self._state.voice.lasting)
            if said is None or (said.text and not self._obey(said)):
                return not self._may_leave()
        except LocalSpecError as error:
            if not self._patient:
                raise
            self._state.voice.refuse(error)
        if self._state.chat.pair.interrupted and not self._patient:
            raise KeyboardInterrupt
        self._warn()
        for news in self._state.chat.observer.news(_JUDGED_S):
            self._state.voice.remark(visible_line(news.text))
        return True

    def _obey(self, said: InputLine) -> bool:
        """Do what was said, or have it answered; whether to go on."""
        if self._edited:
            remember(said.text)
        try:
            found = None if said.literal else find_command(said.text)
        except UsageError as error:
            # Not worth ending a script that has more to say.
            self._state.voice.refuse(error)
            return True
        if found is None:
            self._answer(said.text)
            return True
        command, argument = found
        if command.form.name == QUIT:
            return False
        command.do(self._state, argument)
        return True

    def _answer(self, text: str) -> None:
        state = self._state
        if self._typed:
            self._history.add(WrittenMessage(text))
        files = (*state.attached, *(self._mentioned(text) if self._typed else ()))
        turn = state.chat.ask(with_files(files, text))
        state.attached.clear()
        answer(state, turn)

    def _mentioned(self, text: str) -> list[Attachment]:
        """The files that a person names with @ in what they type; a name that no file has is only text."""
        found: dict[str, Attachment] = {}
        for mention in mentions(text):
            for reading in readings(mention):
                try:
                    attachment = read_attachment(place_of(reading.path), reading.path, self._state.chat.pair.info.n_ctx)
                except NotFoundError:
                    continue
                found[reading.path] = attachment
                self._state.voice.remark(f"Attached {' '.join(attachment.chip.split())}.")
                break
        return list(found.values())

    def _warn(self) -> None:
        """Say once that something is not stored."""
        trouble = self._state.chat.store.trouble
        sentence = str(trouble) if trouble is not None else ""
        if sentence and sentence != self._warned:
            self._state.voice.remark(sentence)
        self._warned = sentence

    def _may_leave(self) -> bool:
        """Whether to leave now: a person is told first, and once, if what was said would be lost by it."""
        state = self._state
        state.chat.stored.flush()
        if state.chat.store.trouble is None or self._told:
            return True
        self._told = True
        trouble = visible_line(str(state.chat.store.trouble))
        state.voice.remark(f"{trouble}\nWhat is not stored is lost when you leave; /export FILE keeps it.")
        return not self._typed
