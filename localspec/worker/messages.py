"""What travels between the app and the engine process: one JSON object a line, both ways.

App to engine: ``Load``, ``Generate``, ``Cancel``, ``Unload``. Engine to app: ``LoadProgress``,
``Loaded``, ``Unloaded``, ``Emitted``, ``Failed``. Closing the engine's standard input ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

from localspec.chat import Message, ReplyOptions
from localspec.engine.events import Event
from localspec.load import LoadOptions, PairInfo


@dataclass(frozen=True, slots=True)
class Load:
    """Open this pair, in place of the one that is open."""

    options: LoadOptions


@dataclass(frozen=True, slots=True)
class Generate:
    """Reply; answered by ``Emitted`` with the same ``request_id`` and at last a Finished event, or by ``Failed``."""

    request_id: int
    prompt: tuple[Message, ...] | str
    options: ReplyOptions


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the reply (or the load) that is under way, within a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Unload:
    """Free the models; the process stays."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    what: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Loaded:
    info: PairInfo


@dataclass(frozen=True, slots=True)
class Unloaded:
    """Nothing is loaded any more."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """An event of the reply ``request_id``."""

    request_id: int
    event: Event


@dataclass(frozen=True, slots=True)
class Failed:
    """A load (``request_id`` None) or a reply could not be done; the engine lives on.

    When the engine process itself died, the client makes one with ``died`` set.
    """

    request_id: int | None
    exit_code: int
    message: str
    hint: str
    died: bool = False


Request = Load | Generate | Cancel | Unload
Answer = LoadProgress | Loaded | Unloaded | Emitted | Failed
