"""The figures of a reply, in the names of llama-server (``prompt_n`` ... ``draft_n_accepted``) and vLLM
(``draft_acceptance_rate``, ``mean_acceptance_length``, ``accepted_per_pos``), with our own ``speedup_vs_plain``.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Timings:
    """The figures of one reply. ``None`` means that nothing was there to measure."""

    prompt_n: int
    """Prompt tokens evaluated for this reply (the cached ones are in cache_n)."""
    prompt_ms: float
    cache_n: int
    predicted_n: int
    """Committed tokens, the end-of-turn token included."""
    predicted_ms: float
    """Wall time of all rounds, without the time that the consumer of the events takes."""
    predicted_per_second: float | None
    draft_n: int
    """Proposed = accepted + rejected + ignored."""
    draft_n_accepted: int
    draft_n_ignored: int
    rounds_n: int
    """0 also of a reply from a server that does not tell its rounds."""
    draft_ms: float
    verify_ms: float
    draft_acceptance_rate: float | None
    """draft_n_accepted / draft_n."""
    mean_acceptance_length: float | None
    """Committed tokens per round."""
    accepted_per_pos: tuple[int, ...]
    """Times that the first, second, ... proposal of a round was accepted."""
    plain_per_second: float | None
    """Speed of this target at depth 0 in the same minutes: by what the rounds took and their prices in plain rounds."""
    speedup_vs_plain: float | None
    """predicted_per_second / plain_per_second; None where ``busy``, too."""
    origins: dict[str, int] = field(default_factory=dict)
    """Committed tokens by origin; their sum is predicted_n."""
    divergence: float | None = None
    """Mean divergence of draft and target, in nats, over the rounds in which it was measured."""
    busy: bool = False
    """True if other programs took so much of the machine that no true speed-up is known."""
