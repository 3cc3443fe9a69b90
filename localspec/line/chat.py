"""The loop of the line mode: read a message or a command, answer it, read the next."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from functools import partial

from localspec.base.errors import LocalSpecError, StoreError, UsageError
from localspec.base.paths import user_paths
from localspec.base.visible import visible_line
from localspec.chat.compose.history import SENT_MESSAGES, PromptHistory
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.tools.use import rule_of
from localspec.line.commands import QUIT, file_commands, find_command, names, values
from localspec.line.editing_keys import editing_keys, remember
from localspec.line.reading import InputLine, Lines, PipedLines, TypedLines, read_message
from localspec.line.replying import answer, say_written
from localspec.line.state import State

_JUDGED_S = 0.1
"""Seconds that the next line waits for news of the observers about the reply; later news comes after the next one."""


class LineChat:
    """One chat over standard input and output."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._typed = sys.stdin is not None and sys.stdin.isatty()
        self._edited = self._typed and sys.stdout.isatty()
        self._lines: Lines = TypedLines() if self._edited else PipedLines(invited=self._typed)
        self._patient = self._typed or state.output.lasting
        """True if the chat goes on after an error, or after a reply that was stopped."""
        self._history = PromptHistory(user_paths().data / SENT_MESSAGES)
        state.chat.tool_use.toolbox.late = state.output.remark
        self._warned = ""
        self._warned_to_stay = False
        self._leaving = False
        """True if Ctrl-C came, and no line was typed since."""
        if self._typed:
            state.ask = self.next
        else:
            named = state.chat.chat_config.settings.overrides if state.chat.chat_config.settings else {}
            state.chat.tool_use.rule = rule_of(named, asks=False)

    def run(self) -> None:
        """Answer until the input ends or /quit.

        Raises LocalSpecError if nobody types and nobody reads records; StoreError at the end if nobody types and
        messages were not stored; KeyboardInterrupt if Ctrl-C comes between replies, at a keyboard the second time.
        """
        offered = partial(values, self._state)
        keys = editing_keys(self._history, names(), file_commands(), offered) if self._edited else nullcontext()
        with keys, closing(self._state.meaning):
            while True:
                try:
                    if not self._turn():
                        self._check_stored()
                        return
                except KeyboardInterrupt:
                    if not self._typed or self._leaving:
                        raise
                    self._leaving = True
                    print("\nCtrl-C once more leaves; so does /quit.", file=sys.stderr, flush=True)

    def next(self, invitation: str, begin: str = "") -> str | None:
        """The next line; see ``Lines``."""
        line = self._lines.next(invitation, begin)
        self._leaving = False
        return line

    def _turn(self) -> bool:
        """Read and answer one message or command; False to leave."""
        try:
            line = read_message(self, objects=self._state.output.lasting)
            if line is None or (line.text and not self._obey(line)):
                return not self._may_leave()
        except LocalSpecError as error:
            if not self._patient:
                raise
            self._state.output.report(error)
        if self._state.chat.pair.interrupted and not self._patient:
            raise KeyboardInterrupt
        self._warn()
        for news in self._state.chat.observer.news(_JUDGED_S):
            self._state.output.remark(visible_line(news.text))
        return True

    def _obey(self, line: InputLine) -> bool:
        """Run a command, or have a message answered; False to leave."""
        if self._edited:
            remember(line.text)
        try:
            found = None if line.literal else find_command(line.text)
        except UsageError as error:
            # Not worth ending a script that has more to say.
            self._state.output.report(error)
            return True
        if found is None:
            self._answer(line.text)
            return True
        command, argument = found
        if command.form.name == QUIT:
            return False
        command.do(self._state, argument)
        return True

    def _answer(self, text: str) -> None:
        if self._typed:
            self._history.add(WrittenMessage(text))
        answer(self._state, say_written(self._state, text))

    def _warn(self) -> None:
        """Report once that something could not be stored."""
        trouble = self._state.chat.store.trouble
        sentence = str(trouble) if trouble is not None else ""
        if sentence and sentence != self._warned:
            self._state.output.remark(sentence)
        self._warned = sentence

    def _may_leave(self) -> bool:
        """True to leave. If messages would be lost by it, a person is warned first, once."""
        state = self._state
        state.chat.stored.flush()
        if not self._typed or state.chat.store.trouble is None or self._warned_to_stay:
            return True
        self._warned_to_stay = True
        trouble = visible_line(str(state.chat.store.trouble))
        state.output.remark(f"{trouble}\nWhat is not stored is lost when you leave; /export FILE keeps it.")
        return False

    def _check_stored(self) -> None:
        """Raise StoreError if messages were not stored, and nobody has been warned of leaving without them."""
        store = self._state.chat.store
        forgets = store.path is None and store.conversations()
        lost = store.trouble.message if store.trouble else store.notice if forgets else ""
        if lost and not self._typed:
            raise StoreError(lost, "What is not stored is lost; /export FILE as the last line keeps it.")
