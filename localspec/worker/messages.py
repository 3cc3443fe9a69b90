"""What travels between the app and the engine process: one JSON object a line, both ways.

App to engine: ``Load``, ``Generate``, ``Cancel``, ``Unload``. Engine to app: ``LoadProgress``,
``Loaded``, ``Unloaded``, ``Emitted``, ``Failed``. Closing the engine's standard input ends it.

The engine does one thing after another, in the order of the requests, and each request but
``Cancel`` gets exactly one last answer:

========  =============================================================================
Load      ``Loaded``; ``Unloaded`` if it was cancelled; else ``Failed(None)``
Generate  ``Emitted`` with a ``Finished`` event; else ``Failed`` with its ``request_id``
Unload    ``Unloaded``
========  =============================================================================

``codec`` knows how they are written.
"""

from __future__ import annotations

from dataclasses import dataclass

from localspec.chat import Message, ReplyOptions
from localspec.engine.events import Event
from localspec.load import LoadOptions, PairInfo


@dataclass(frozen=True, slots=True)
class Load:
    """Open this pair, in place of the one that is open: that one is closed first, whatever comes of this."""

    options: LoadOptions


@dataclass(frozen=True, slots=True)
class Generate:
    """Reply; answered by ``Emitted`` with the same ``request_id`` and at last a Finished event, or by ``Failed``."""

    request_id: int
    """The app's own number, new for every reply."""
    prompt: tuple[Message, ...] | str
    options: ReplyOptions


@dataclass(frozen=True, slots=True)
class Cancel:
    """End everything that was asked for before this, within a tenth of a second, and nothing that is asked for after.

    A reply ends with ``Finished(CANCELLED)``, also one that had not begun; a load ends with ``Unloaded``.
    """


@dataclass(frozen=True, slots=True)
class Unload:
    """Free the models; the process stays."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A load is under way."""

    what: str
    """What is being done, in words."""
    fraction: float
    """How much of it is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pair is open."""

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
    ``errors.error_from_code`` turns it back into an error.
    """

    request_id: int | None
    exit_code: int
    message: str
    hint: str
    died: bool = False


Request = Load | Generate | Cancel | Unload
Answer = LoadProgress | Loaded | Unloaded | Emitted | Failed
