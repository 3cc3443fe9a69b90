"""A whole front end: questions on standard input, replies on standard output, each token marked by its origin.

    python docs/examples/plain_loop.py TARGET.gguf [DRAFT.gguf]

[Guessed by the draft and kept], {corrected by the target}, <one more from the target>. Ctrl-C stops a reply; its text
stays, and an empty line goes on with it. What is asked and replied is kept: `localspec history` lists it.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.base.terminal_stream import filtered
from localspec.chat.in_process import InProcessChat
from localspec.chat.marks import Marks, marked
from localspec.chat.pair_slot import InProcessPair
from localspec.chat.turn import Turn
from localspec.engine.events import Event, Round
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.figures import sentence
from localspec.runtime.load import open_pair
from localspec.runtime.options import LoadOptions
from localspec.store import Store


def main(target: Path, draft: Path | None = None) -> None:
    """Load a pair, and chat until the input ends. Raises LocalSpecError if the pair cannot be loaded."""
    sys.stdout, sys.stderr = filtered(sys.stdout), filtered(sys.stderr)  # no reply steers the terminal
    config = ChatConfig(LoadOptions(target, draft), title=target.stem)
    with closing(Store.open_or_memory()) as store, InProcessPair(open_pair, config) as pair:
        chat = InProcessChat(pair, store)
        say(f"{config.title}, on {pair.info.device}.")
        while (text := read()) is not None:
            turn = chat.ask(text) if text else unfinished(chat)
            if turn is not None:
                answer(chat, turn)


def read() -> str | None:
    """The next line; None at the end of the input, and for Ctrl-C."""
    say("> ", end="")
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        return None
    return line.strip() if line else None


def unfinished(chat: InProcessChat) -> Turn | None:
    """The last turn, to go on with its reply; None if the model ended that itself."""
    return None if chat.last is None or chat.last.complete else chat.thread.carry_on(chat.last)


def answer(chat: InProcessChat, turn: Turn) -> None:
    """Write the reply of a turn while it is made, then its figures."""
    try:
        reply = chat.answer(turn, show)
        say(f"\n{sentence(reply.timings)}")
    except LocalSpecError as error:
        say(f"\n{error}")


def show(event: Event) -> None:
    """Write the tokens that a round committed."""
    if isinstance(event, Round):
        print(marked(event.tokens, Marks.ASCII), end="", flush=True)


def say(text: str, end: str = "\n") -> None:
    """Write to standard error what is no reply."""
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
