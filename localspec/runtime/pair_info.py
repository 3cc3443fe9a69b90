"""The facts of a loaded pair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PairInfo:
    """A loaded pair, as measured and as reported by llama.cpp."""

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
    """The device that evaluates the target, in words: "CPU, 2 threads" or "CUDA0, 33/33 layers"."""
    plain_per_second: float | None
    """Measured at load: tokens per second of the target at depth 0; None if not measured."""
    load_s: float
    draft_threads: int | None = None
    draft_device: str | None = None
    """The device that evaluates the draft, in the same words."""
    cache_type_k: str | None = None
    """The type of the keys in the target's context; None if it keeps none."""
    cache_type_v: str | None = None
    flash_attn: bool | None = None
    """True if the target's attention is llama.cpp's fused one; None without attention."""
    target_sample: str | None = None
    """As ``FileIdentity``, for each of the two files; None where a file could not be read."""
    target_sha256: str | None = None
    draft_sample: str | None = None
    draft_sha256: str | None = None
    projector: Path | None = None
    """The projector that the target reads images through."""
    drafters: tuple[str, ...] = ()
    """The drafters that evaluate a model: of a draft file, of the target's MTP layers, or of both."""
    template_digest: str | None = None
    """The digest of the target's chat template, in 16 hexadecimal digits."""
    replies: int = 1
    """Replies that it makes at once."""
    why_fewer: str = ""
    """A clause why those are fewer than were asked for, as "it has a projector"; empty if they are not."""
    server: str | None = None
    """The server that has the pair, in words: "LocalSpec 0.4 at 10.0.0.5:8484"; None on this machine."""
    tells_tokens: bool = True
    """False of a server that sends text only: no origins, no drafters, no probabilities."""
    passes_on: tuple[str, ...] | None = None
    """The fields of ``Sampling`` that a server has; None if it has all, and depth and drafters."""

    @property
    def few_replies(self) -> str:
        """A sentence if it makes fewer replies at once than were asked for; otherwise empty."""
        many = "one reply after another" if self.replies == 1 else f"{self.replies} replies at once"
        return f"It makes {many}: {self.why_fewer}." if self.why_fewer else ""
