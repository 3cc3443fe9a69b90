"""The options of loading a pair, as they were asked for: nothing is checked against files or devices yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The files to load, and how; a field of each setting that takes effect when the pair is loaded."""

    target: Path
    draft: Path | None = None
    projector: Path | None = None
    """The projector that the target reads images through."""
    _: KW_ONLY
    n_ctx: int | None = None
    """Tokens of context; None takes what the model was trained for, at most 8192."""
    threads: int | None = None
    """CPU threads; None takes as many as measured fastest, up to one for each physical core; one for a tiny model."""
    draft_threads: int | None = None
    """None takes ``threads``."""
    gpu_layers: int | None = None
    """Layers of the target offloaded to a GPU; None offloads all where there is one."""
    draft_gpu_layers: int | None = None
    """None offloads all of the draft where there is a GPU for it."""
    device: str | None = None
    """Names of devices as llama.cpp lists them, commas between, or "none" for the CPU; None leaves it to llama.cpp."""
    draft_device: str | None = None
    """None takes the target's; a draft model stays off those of other machines unless they are named here."""
    rpc: str | None = None
    """Addresses of llama.cpp's RPC servers, HOST:PORT with commas between, whose devices there are too."""
    require_gpu: bool = False
    """Fail instead of evaluating the target on the CPU."""
    cache_type_k: str = "f16"
    """A type of llama.cpp, for the keys of both models' contexts."""
    cache_type_v: str | None = None
    """None is bf16 where the CPU computes attention fused and is quicker with it, and f16 elsewhere."""
    flash_attn: str = "auto"
    """"auto", "on" or "off"."""
    mmap: bool | None = None
    """True maps weights from their file, False copies them; None leaves it to llama.cpp."""
    remember_replies: bool = False
    """Keep replies on disk, as tokens, for the suffix drafter to propose from in other conversations."""
    keep_caches: bool = False
    """Keep the caches of long conversations on disk, so that going back to one does not mean reading it again."""
    server: str | None = None
    """The URL of the server that has the pair, in place of files; ``target`` is then only a name."""
    server_pair: str = ""
    """The pair or model there; empty for the server's own."""
    mlock: bool = False
    """Keep the weights in RAM, so that the system cannot swap them out."""
    replies: int = 1
    """Replies that are made at once, each with a context of its own; fewer where the pair cannot (see ``PairInfo``)."""


Progress = Callable[[str, float], None]
"""Called with a fraction 0..1 and what is being done: "loading the target", "measuring this machine (threads)"."""
