"""The part of the engine's client that the screen needs."""

from __future__ import annotations

from typing import Protocol

from localspec.runtime.worker.messages import Request


class EngineHandle(Protocol):
    """Takes requests, and answers through an inbox."""

    def send(self, request: Request) -> None: ...
