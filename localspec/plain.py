"""The chat in plain text, line by line: for pipes, for screen readers, for terminals that cannot be drawn on.

Every line of the input is a turn of one conversation. Replies go to standard output; everything else
(the invitation to type, figures, errors) goes to standard error.
"""

from __future__ import annotations

import re
import sys

from localspec.chat import Conversation, Message, Reply
from localspec.engine.events import Finished, Round, Started
from localspec.errors import InputError, LocalSpecError
from localspec.figures import sentence
from localspec.interruptible import InterruptiblePair
from localspec.launch import Launch
from localspec.marks import Marks, harmless, marked

_COMMAND = re.compile(r"/[a-z]+")
_HELP = """\
/new   begin a new conversation
/quit  leave, as does the end of the input
/help  this list
Everything else is said to the model. Ctrl-C ends a reply."""


class LineChat:
    """One conversation over standard input and output."""

    def __init__(self, pair: InterruptiblePair, launch: Launch, *, marks: Marks, colour: bool) -> None:
        self._pair = pair
        self._launch = launch
        self._marks = marks
        self._colour = colour
        self._conversation = Conversation(system=launch.system)
        self._typed = sys.stdin is not None and sys.stdin.isatty()
        self._shown = sys.stdout.isatty()

    def run(self) -> None:
        """Answer until the input ends or /quit.

        Raises KeyboardInterrupt if Ctrl-C comes while nothing is being said, or, without a person typing, at all.
        """
        while (line := self._next_line()) is not None:
            line = line.strip()
            if line == "/quit":
                return
            if _COMMAND.fullmatch(line):
                self._obey(line)
            elif line:
                self._turn(line)

    def _next_line(self) -> str | None:
        """The next line of the input; None at its end."""
        if sys.stdin is None:
            return None
        if self._typed and self._shown:
            return _ask()
        if self._typed:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        try:
            return line.decode("utf-8") if line else None
        except UnicodeDecodeError:
            raise InputError(
                "A line of the input is not UTF-8 text.", "Convert it first, for example with iconv."
            ) from None

    def _obey(self, command: str) -> None:
        match command:
            case "/help":
                print(_HELP, file=sys.stderr)
            case "/new":
                self._conversation.clear()
                print("A new conversation.", file=sys.stderr)
            case _:
                print(f"There is no command {command}; /help lists them.", file=sys.stderr)

    def _turn(self, prompt: str) -> None:
        """One question and its reply. An error ends the input's turn; a person typing may go on."""
        turn = self._conversation.ask(prompt)
        try:
            self._answer(turn.reply, self._conversation.messages())
        except LocalSpecError as error:
            turn.reply.fail(error)
            if not self._typed:
                raise
            print(error, file=sys.stderr)
        if self._pair.interrupted and not self._typed:
            raise KeyboardInterrupt

    def _answer(self, reply: Reply, messages: list[Message]) -> None:
        for event in self._pair.reply(messages, self._launch.reply):
            reply.receive(event)
            match event:
                case Started() if event.dropped_n:
                    print(f"The context is full: the {event.dropped_n} oldest messages are left out.", file=sys.stderr)
                case Round():
                    clean = harmless if self._shown else str
                    print(marked(event.tokens, self._marks, colour=self._colour, clean=clean), end="", flush=True)
                case Finished():
                    print(end="" if reply.text.endswith("\n") else "\n", flush=True)
                    print(sentence(event.timings), file=sys.stderr, flush=True)


def _ask() -> str | None:
    """A line typed at a terminal, with the editing keys of readline where Python has it."""
    try:
        return input("> ")
    except EOFError:
        print(file=sys.stderr)
        return None
