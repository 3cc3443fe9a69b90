"""Answers on their way from the client's reader thread to the screen.

The thread only appends; the screen takes everything at its own pace. While the screen is looking anyway,
nothing wakes it, so a fast engine costs the screen nothing an answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from localspec.runtime.worker.messages import Answer


class AnswerQueue:
    """A queue with a bell that rings once until the screen goes back to sleep."""

    def __init__(self) -> None:
        self._answers: deque[Answer] = deque()
        self._ring: Callable[[], object] | None = None
        self._awake = False

    def put(self, answer: Answer) -> None:
        """Called from any thread; never blocks."""
        self._answers.append(answer)
        self._wake()

    def listen(self, ring: Callable[[], object]) -> None:
        """Have ``ring`` called, from the putting thread, when something arrives while nobody looks."""
        self._ring = ring
        self.sleep()

    def take(self) -> list[Answer]:
        """Everything that has arrived, in order."""
        taken = []
        while self._answers:
            taken.append(self._answers.popleft())
        return taken

    def sleep(self) -> None:
        """The screen stops looking; what arrived at this very moment rings at once."""
        self._awake = False
        if self._answers:
            self._wake()

    def _wake(self) -> None:
        if self._ring and not self._awake:
            self._awake = True
            self._ring()
