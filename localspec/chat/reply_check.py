"""The user's check of replies: a command or a Python function that sees each sentence before anybody else does.

It gets verified text sentence by sentence and may stop the reply. Until it has let a sentence pass, the events that
hold the sentence reach no screen, store, observer or tool. Guesses that were thrown away are taken out of them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from queue import Empty, SimpleQueue

from localspec.base.errors import ReplyStoppedError, reason_of
from localspec.base.visible import visible_line
from localspec.engine.events import Event, Finished, Proposal, Round

ANSWER_S = 10.0
"""Seconds that a check may take for a sentence."""
_LONGEST = 2_000
"""Characters after which a sentence that does not end is cut."""
_LONGEST_REASON = 200
_ENDS = re.compile(rf"[.!?…。！？][\"')\]»”]*\s|\n|(?<=[\s\S]{{{_LONGEST}}})")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_STOPS = 1
"""The exit code of a command that stops the reply."""
_HINT = "--reply-check or the setting reply_check names the check."

Check = Callable[[str], str | None]
"""Gives the reason for which a sentence must not pass, or None. Raises if it fails."""


class _Broken(Exception):
    """A check that gave no answer; says why."""


def check_of(named: str | None) -> Check | None:
    """The check that a setting names: "module:function", or else a command with its arguments."""
    if not named:
        return None
    if _FUNCTION.fullmatch(named):
        return lambda sentence: _ask_function(named, sentence)
    return lambda sentence: _ask_command(named, sentence)


class CheckedEvents:
    """The events of one reply on their way through a check. Asking goes on in a thread of its own."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._held: deque[tuple[int, Event]] = deque()
        """Events, each with the number of characters that have to pass before it."""
        self._rest = ""
        self._seen_n = self._passed_n = 0
        self._asked: SimpleQueue[str | None] = SimpleQueue()
        self._open: deque[tuple[int, float]] = deque()
        """The end of each sentence that has no answer yet, and when it was asked about, or came first."""
        self._answers: SimpleQueue[str | Exception | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def holding(self) -> bool:
        return bool(self._held)

    def push(self, event: Event) -> None:
        if isinstance(event, Round):
            event = _without_guesses(event)
            text = "".join(token.text for token in event.tokens)
            self._seen_n += len(text)
            self._rest += text
            while end := _ENDS.search(self._rest):
                self._ask(end.end())
        elif isinstance(event, Finished):
            self._ask(len(self._rest))
        self._held.append((self._seen_n, event))

    def due(self, wait_s: float = 0.0) -> list[Event]:
        """The events that may go on. Raises ReplyStoppedError if the check stops the reply, fails or hangs."""
        while self._open:
            try:
                answer = self._answers.get(timeout=wait_s) if wait_s else self._answers.get_nowait()
            except Empty:
                if time.monotonic() - self._open[0][1] > ANSWER_S:
                    raise _failed(f"it did not answer within {ANSWER_S:g} seconds") from None
                break
            self._hear(answer)
        free: list[Event] = []
        while self._held and self._held[0][0] <= self._passed_n:
            free.append(self._held.popleft()[1])
        return free

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """All events, each when it may go on. Raises as ``due``."""
        try:
            for event in events:
                self.push(event)
                yield from self.due()
            while self._held:
                yield from self.due(wait_s=ANSWER_S / 100)
        finally:
            self.close()

    def close(self) -> None:
        """Ask nothing more."""
        self._asked.put(None)

    def _ask(self, length: int) -> None:
        sentence, self._rest = self._rest[:length], self._rest[length:]
        end = self._seen_n - len(self._rest)
        if not sentence.strip() and not self._open:
            self._passed_n = end
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="reply check", daemon=True)
            self._thread.start()
        self._open.append((end, time.monotonic()))
        self._asked.put(sentence)

    def _hear(self, answer: str | Exception | None) -> None:
        if isinstance(answer, Exception):
            raise _failed(str(answer) if isinstance(answer, _Broken) else f"{type(answer).__name__}: {answer}")
        if answer is not None:
            reason = visible_line(answer.strip()[:_LONGEST_REASON]).rstrip(".") or "it gives no reason"
            raise ReplyStoppedError(f"The check stopped the reply: {reason}.", _HINT)
        self._passed_n, _ = self._open.popleft()
        if self._open:  # it begins with the next one now
            self._open[0] = (self._open[0][0], time.monotonic())

    def _work(self) -> None:
        while (sentence := self._asked.get()) is not None:
            try:
                self._answers.put(self._check(sentence) if sentence.strip() else None)
            except Exception as error:  # noqa: BLE001 -- a check may raise anything, and then holds the reply
                self._answers.put(error)
                return


def _without_guesses(round_: Round) -> Round:
    """The round with its numbers, and nothing of what was proposed and not verified."""
    return replace(
        round_,
        rejected=tuple(Proposal(0, "", proposal.drafter) for proposal in round_.rejected),
        ignored=tuple(Proposal(0, "", proposal.drafter) for proposal in round_.ignored),
    )


def _ask_function(named: str, sentence: str) -> str | None:
    module, _, function = named.partition(":")
    answer = getattr(import_module(module), function)(sentence)
    if answer is not None and not isinstance(answer, str):
        raise _Broken(f"{named} returned neither None nor a text")
    return answer or None


def _ask_command(named: str, sentence: str) -> str | None:
    try:
        done = subprocess.run(
            shlex.split(named),
            input=sentence.encode(errors="replace"),
            capture_output=True,
            timeout=ANSWER_S,
            check=False,
            start_new_session=True,  # Ctrl-C stops the reply, and not the check of what it said
        )
    except subprocess.TimeoutExpired:
        raise _Broken(f"it did not answer within {ANSWER_S:g} seconds") from None
    except (OSError, ValueError) as error:
        raise _Broken(f"{named} cannot be started: {reason_of(error)}") from None
    if done.returncode == _STOPS:
        return done.stdout.decode(errors="replace").strip().partition("\n")[0] or "it gives no reason"
    if done.returncode:
        raise _Broken(
            f"{named} ended with exit code {done.returncode}; 0 lets a sentence pass, {_STOPS} stops the reply"
        )
    return None


def _failed(why: str) -> ReplyStoppedError:
    text = visible_line(why[:_LONGEST_REASON]).rstrip(".")
    return ReplyStoppedError(
        f"The check of replies failed, so the rest of the reply is held back: {text}.", f"Repair the check; {_HINT}"
    )
