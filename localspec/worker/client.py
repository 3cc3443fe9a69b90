"""The app's end of the engine process: start, ask, listen, start again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localspec.worker.messages import Answer, Request


class EngineClient:
    """One engine process at a time.

    ``deliver`` is called from the client's reader thread with every answer, in order. It must not
    block (post a message, put into a queue). If the process dies, ``deliver`` gets
    ``Failed(died=True)`` once per outstanding request (or once with request_id None), and the next
    ``send`` starts a new process, loads the same pair again, and goes on.
    """

    def __init__(self, deliver: Callable[[Answer], None], log_file: Path) -> None: ...

    def start(self) -> None:
        """Start the process; call it before a terminal app takes the screen."""

    def send(self, request: Request) -> None:
        """Queue a request; never blocks for long, never raises because the engine is gone."""

    def close(self) -> None:
        """End the process and wait for it."""
