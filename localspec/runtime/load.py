"""From two files to something that replies: what is asked for, what is got, and the way from one to the other.

Importing this module loads no library that takes time; ``open_pair`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event
from localspec.engine.inspection import Inspection
from localspec.runtime.messages import Message, ReplyOptions

MAX_DEPTH = 16
"""The deepest draft a context is prepared for."""
DEFAULT_N_CTX = 8192
"""The longest context taken unasked: its cache costs memory for every token."""
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
"""What the keys and values of a context may be kept as, in llama.cpp's words."""
FLASH_ATTN = ("auto", "on", "off")
NO_DEVICE = "none"
"""The device that stands for the CPU."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What to load, and how."""

    target: Path
    draft: Path | None = None
    n_ctx: int | None = None
    """Tokens of context; None takes what the model was trained for, at most 8192."""
    threads: int | None = None
    """CPU threads; None takes as many as measured fastest, up to one for each physical core; one for a toy."""
    draft_threads: int | None = None
    """None takes what ``threads`` says."""
    gpu_layers: int | None = None
    """Layers of the target offloaded to a GPU; None offloads all where there is one."""
    draft_gpu_layers: int | None = None
    """None offloads all of the draft where there is a GPU for it."""
    device: str | None = None
    """Names of devices as llama.cpp lists them, commas between, or ``NO_DEVICE``; None leaves it to llama.cpp."""
    draft_device: str | None = None
    """None takes the target's."""
    require_gpu: bool = False
    """Fail instead of evaluating the target on the CPU."""
    cache_type_k: str = "f16"
    """One of ``CACHE_TYPES``, for the keys of both models' contexts."""
    cache_type_v: str = "f16"
    flash_attn: str = "auto"
    """One of ``FLASH_ATTN``."""
    mmap: bool | None = None
    """Whether weights are mapped from their file instead of copied; None leaves it to llama.cpp."""
    remember_replies: bool = False
    """Keep replies on disk, as tokens, for the suffix drafter to propose from in other conversations."""
    keep_caches: bool = False
    """Keep the caches of long conversations on disk, so that going back to one does not mean reading it again."""
    mlock: bool = False
    """Keep the weights in RAM, so that the system cannot swap them out."""


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
    draft_threads: int | None = None
    draft_device: str | None = None
    """What evaluates the draft, in the same words."""
    cache_type_k: str | None = None
    """What the keys of the target's context are kept as; None if it keeps none."""
    cache_type_v: str | None = None
    flash_attn: bool | None = None
    """Whether the target's attention is llama.cpp's fused one; None without attention."""
    target_sample: str | None = None
    """As ``FileIdentity``, for each of the two files; None where a file could not be read."""
    target_sha256: str | None = None
    draft_sample: str | None = None
    draft_sha256: str | None = None
    template_digest: str | None = None
    """Of the target's chat template, in 16 hexadecimal digits."""


Progress = Callable[[str, float], None]
"""Called with a fraction 0..1 and what is being done: "loading the target", "measuring this machine (threads)"."""


class OpenPair(Protocol):
    """A loaded pair. One owner, one thread; ``close`` frees the native memory."""

    @property
    def info(self) -> PairInfo: ...

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """The reply to a conversation, or to raw text (no chat template, control tokens written in it count).

        ``prefix`` is how the reply begins: what comes goes on from there.

        Raises InputError, CapacityError or UsageError before the first event.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens ``text`` has in a message."""
        ...

    def close(self, cancel: Cancellation | None = None) -> None:
        """Keep what is worth keeping, and free the native memory.

        Raises ``engine.model.Cancelled``, having freed everything, if ``cancel`` ended the keeping.
        """
        ...


class PairInspector(Protocol):
    """Asks a pair again about a reply, which is named by what was asked and by the ids of its tokens.

    Raises InputError, CapacityError or ``engine.model.Cancelled``.
    """

    def inspect(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], position: int
    ) -> Inspection:
        """What target and draft think of the reply's token at ``position``."""
        ...

    def probs(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], start: int, stop: int
    ) -> tuple[float, ...]:
        """The target's own probability of each of the reply's tokens from ``start`` up to ``stop``."""
        ...


class InspectablePair(OpenPair, Protocol):
    """A pair that can be asked about what it wrote."""

    @property
    def inspector(self) -> PairInspector: ...


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> InspectablePair:
    """Check both files, load them, measure plain speed.

    Raises NotFoundError, ModelFileError, PairMismatchError or CapacityError, and ``engine.model.Cancelled``
    if ``cancel`` is set meanwhile; on failure nothing stays loaded. ``cancel`` goes on to stop replies.
    """
    from localspec.runtime.loaded_pair import LoadedPair

    return LoadedPair.open(options, cancel, progress or _say_nothing)


def _say_nothing(what: str, fraction: float) -> None:
    """Progress that nobody asked for."""
