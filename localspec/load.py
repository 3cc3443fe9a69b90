"""From two files to something that replies: what is asked for, what is got, and the way from one to the other.

Importing this module loads no library that takes time; ``open_pair`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from localspec.chat import Message, ReplyOptions
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event

MAX_DEPTH = 16
"""The deepest draft a context is prepared for."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What to load, and how."""

    target: Path
    draft: Path | None = None
    n_ctx: int | None = None
    """Tokens of context; None takes what the model was trained for, at most 8192."""
    threads: int | None = None
    """None takes the number of physical cores, or one for a toy."""
    gpu_layers: int | None = None
    """Layers offloaded to a GPU; None offloads all where there is one."""


@dataclass(frozen=True, slots=True)
class PairInfo:
    """What was loaded, as measured and as reported by llama.cpp."""

    target: Path
    draft: Path | None
    target_name: str
    """general.name of the target, else its file name."""
    draft_name: str | None
    target_size_bytes: int
    draft_size_bytes: int
    n_vocab: int
    n_ctx: int
    threads: int
    device: str
    """What evaluates the target, in words, e.g. "CPU, 2 threads" or "CUDA0, 33/33 layers"."""
    has_template: bool
    plain_per_second: float | None
    """Measured at load: tokens per second of the target at depth 0; None if not measured."""
    load_s: float


Progress = Callable[[str, float], None]
"""Called with what is being done ("loading target", "measuring plain speed") and a fraction 0..1."""


class OpenPair(Protocol):
    """A loaded pair. One owner, one thread; ``close`` frees the native memory."""

    @property
    def info(self) -> PairInfo: ...

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions) -> Iterator[Event]:
        """The reply to a conversation, or to raw text (no chat template, special tokens as text).

        Raises InputError, CapacityError or UsageError before the first event.
        """
        ...

    def close(self) -> None: ...


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
    """Check both files, load them, measure plain speed.

    Raises NotFoundError, ModelFileError, PairMismatchError or CapacityError, and ``engine.model.Cancelled``
    if ``cancel`` is set meanwhile; on failure nothing stays loaded. ``cancel`` goes on to stop replies.
    """
    from localspec.session import Session

    return Session.open(options, cancel, progress or _say_nothing)


def _say_nothing(what: str, fraction: float) -> None:
    """Progress that nobody asked for."""
