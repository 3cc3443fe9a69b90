"""The interface between the APIs and the engines: requests in LocalSpec's own words, and the service that answers them.

An API is a module that turns its JSON into a ``ReplyRequest``, and the events of the reply into its own JSON. It knows
neither processes nor queues.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from localspec.base.errors import CapacityError
from localspec.engine.events import Event, Started
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Infill, Message, ReplyOptions, TokenIds
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Answer, Numbered

CLIENT: ContextVar[str] = ContextVar("client", default="")
"""The name of the key that the request in this context came with; empty without one."""
STOPPING = ("The server is stopping.", "Try again when it has been started again.")
STOPPED = ("The server stopped before it was done with this request.", "Ask it again later.")
"""Messages and hints of a server that is to stop: for new requests, and for those that could not end in time."""


class BusyError(CapacityError):
    """A queue that is full, or a limit that is reached; the same request may succeed later."""

    def __init__(self, message: str, hint: str = "", *, retry_after_s: float = 1.0) -> None:
        super().__init__(message, hint)
        self.retry_after_s = retry_after_s


class NoRoomError(CapacityError):
    """A pair that the memory of this machine cannot hold."""


class RateLimitError(BusyError):
    """A client that asks for more than its key allows."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A pair that can be asked."""

    id: str
    """The id of the pair; the name that clients use."""
    name: str
    """The title of the pair, for people."""
    created: int
    """The time of the target's file, in seconds since 1970."""
    size_bytes: int
    """The sizes of all its files."""
    loaded: bool
    info: PairInfo | None = None
    """Known while it is loaded."""
    replies_n: int = 0
    """Replies that it makes now."""
    places_n: int = 0
    """Replies that it makes at once, at most; 0 while it is not loaded."""
    silence: str = ""
    """A clause while it waits in vain for another machine: "no answer from ... for 20 s"."""
    target: Path | None = None
    """The file of its large model; None for an embedding model."""
    embedder: Path | None = None
    """The file of an embedding model, which is no pair and makes no replies; None for a pair."""


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    """One reply that a client asks for."""

    model: str
    """As the client names it; empty for the server's own pair."""
    prompt: tuple[Message, ...] | str | TokenIds | Infill
    """As ``runtime.messages.Prompt``."""
    options: ReplyOptions
    prefix: str = ""
    """The beginning of the reply, which is to be continued."""
    lines_s: float | None = None
    """Seconds from the first token on, after which the reply ends once it has a line break; None for no such limit."""
    is_further: bool = False
    """True for all but the first of several replies to one request: if that one is let in, these wait in any case."""
    is_whole: bool = False
    """True if a prompt that does not fit whole is refused, with CapacityError in place of ``Started``."""

    def check_whole(self, event: Event) -> None:
        """Raise CapacityError if ``event`` tells that more of the prompt is left out than may be."""
        if self.is_whole and isinstance(event, Started) and (event.dropped_n or event.cut_n):
            left_out = f"{event.dropped_n} of its messages would be left out, {event.cut_n} cut short"
            raise CapacityError(
                f"The prompt is too long: with room for a reply it exceeds the available context size. {left_out}.",
                "Send less of the conversation, or give the pair a larger context (--ctx).",
            )


class Service(Protocol):
    """Every pair that the server has. Its methods are called in one event loop."""

    def models(self) -> Sequence[ServedModel]:
        """The pairs that can be asked, the server's own first, as they were when they were last listed."""
        ...

    async def listed(self) -> Sequence[ServedModel]:
        """All that can be asked, as it is now: the pairs, the server's own first, then the embedding models."""
        ...

    async def embedders(self) -> Sequence[ServedModel]:
        """The embedding models, by the names of their files."""
        ...

    def answering(self, model: str) -> str:
        """The id of the pair that answers for a name: the server's own for no name, and for one that no pair has."""
        ...

    def settings(self, model: str) -> ChatConfig:
        """The user's settings for a pair, which stand under what a request says. Raises NotFoundError."""
        ...

    async def info(self, model: str) -> PairInfo:
        """The pair, which is loaded if need be. Raises LocalSpecError."""
        ...

    def reply(self, asked: ReplyRequest) -> AsyncGenerator[Event, None]:
        """The events of a reply: ``Started`` first and ``Finished`` last. Closing it ends the reply within a round.

        Raises BusyError or another LocalSpecError, before the first event or between two.
        """
        ...

    async def ask(self, model: str, request: Numbered) -> Answer:
        """The one answer to a question that is no reply (a count, an inspection); the service numbers it.

        Raises LocalSpecError, which is also made of ``Failed``.
        """
        ...


Endpoints = Sequence[tuple[str, str, Callable[[Service, Request], Awaitable[Response]]]]
"""The endpoints of an API: method, path, and the function that answers, which may raise LocalSpecError."""
