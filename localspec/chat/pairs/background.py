"""Background work for the screen, and the signal that there are changes.

Threads are daemons: their work can be interrupted at any moment, and must not keep the app from ending.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from localspec.base.errors import LocalSpecError

logger = logging.getLogger(__name__)

Spawn = Callable[[Callable[[], None]], object]
"""Runs work in the background."""


def in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="localspec-pairs", daemon=True).start()


def failure(error: Exception, what: str, hint: str = "Please report this.") -> LocalSpecError:
    """The error to show for one of a thread; for a bug a sentence that begins with ``what``; the log has more."""
    if isinstance(error, LocalSpecError):
        return error
    logger.error(what, exc_info=error)
    return LocalSpecError(f"{what}: {error!r}.", hint)


class ChangeSignal:
    """Notifies one listener of changes, once until it is armed again, so that drawing stays bounded.

    Any thread may set the signal. A change while it is not armed is delivered when it is armed.
    """

    def __init__(self) -> None:
        self._notify: Callable[[], object] | None = None
        self._disarmed = True
        self._changed = False
        self._lock = threading.Lock()

    def listen(self, notify: Callable[[], object]) -> None:
        """Call ``notify`` for changes, from the thread that sets the signal."""
        self._notify = notify
        self.arm()

    def set(self) -> None:
        with self._lock:
            self._changed = True
            notifies = not self._disarmed
            self._disarmed = True
        if notifies and self._notify is not None:
            self._notify()

    def take(self) -> bool:
        """Return True if there was a change since the last call; to be called before reading the changes."""
        with self._lock:
            changed, self._changed = self._changed, False
            return changed

    def arm(self) -> None:
        """Notify of the next change, and at once of one that was missed."""
        with self._lock:
            self._disarmed = False
            changed = self._changed
        if changed:
            self.set()
