"""One measurement: what is asked of a contestant, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message


@dataclass(frozen=True, slots=True)
class Pair:
    """The files, and what both engines are told about them."""

    target: Path
    draft: Path | None
    """A draft model or a draft head; None where the target has heads of its own."""
    n_ctx: int
    threads: int
    draft_threads: int
    """For the server's draft; ours decides by itself unless told ``--threads``."""
    drafter: str = "draft"
    """Our name of the drafter that these files are for: draft, eagle3, mtp, dflash."""

    @property
    def size_bytes(self) -> int:
        return self.target.stat().st_size + (self.draft.stat().st_size if self.draft else 0)


@dataclass(frozen=True, slots=True)
class Ready:
    """A prompt of the suite as messages and as the token ids they make."""

    name: str
    kind: str
    messages: tuple[Message, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """What a contestant is asked."""

    prompt: Ready
    sampling: Sampling
    seed: int
    max_tokens: int
    schema: str | None = None
    """The JSON Schema that the reply is held to."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it. None where an engine does not say."""

    tokens: list[int]
    predicted_n: int
    predicted_ms: float
    predicted_per_second: float
    """Tokens over the time from a prompt in the cache, all but its last token, to the end of the reply.

    The server's is the sum of its two times. Ours is taken from outside, so that nothing the engine does goes
    uncounted.
    """
    prompt_ms: float
    draft_n: int
    draft_n_accepted: int
    rounds_n: int | None = None
    draft_ms: float | None = None
    verify_ms: float | None = None
    native_ms: float | None = None
    """Of predicted_ms, spent evaluating in llama.cpp."""
    told_per_second: float | None = None
    """What the engine itself says its speed was."""
    proposed: dict[str, int] = field(default_factory=dict)
    """Rounds by the number of tokens proposed in them."""


class Contestant(Protocol):
    """An engine in one configuration."""

    @property
    def name(self) -> str:
        """As ``--configs`` takes it: "own:auto", "server:3:0.5"."""
        ...

    def ready(self) -> int:
        """Be up, and return the id of the process that does the work. What this takes is not measured."""
        ...

    def run(self, case: Case) -> Run: ...


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is asked for; no pattern asks for all."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
