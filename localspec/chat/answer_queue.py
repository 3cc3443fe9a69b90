"""A queue of answers from the thread that reads the engine process to the screen.

The thread appends, and the screen takes everything at its own pace. While the screen polls anyway nothing wakes it, so
that a fast engine costs the screen nothing per answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from localspec.runtime.worker.messages import Answer


class AnswerQueue:
    """A queue that wakes its reader once, until the reader calls ``sleep`` again."""

    def __init__(self) -> None:
        self._answers: deque[Answer] = deque()
        self._wake_reader: Callable[[], object] | None = None
        self._awake = False

    def put(self, answer: Answer) -> None:
        """Add an answer. Thread-safe; never blocks."""
        self._answers.append(answer)
        self._wake()

    def listen(self, wake: Callable[[], object]) -> None:
        """Have ``wake`` called, from the thread that puts, when an answer arrives while the reader sleeps."""
        self._wake_reader = wake
        self.sleep()

    def take(self) -> list[Answer]:
        """Remove and return all answers, oldest first."""
        taken = []
        while self._answers:
            taken.append(self._answers.popleft())
        return taken

    def sleep(self) -> None:
        """The reader stops polling; it is woken at once if an answer has arrived meanwhile."""
        self._awake = False
        if self._answers:
            self._wake()

    def _wake(self) -> None:
        if self._wake_reader and not self._awake:
            self._awake = True
            self._wake_reader()
