"""The events of a reply: the only vocabulary of the engine that the rest of the program needs.

A reply is ``Started``, any number of ``PromptProgress``, any number of ``Round``, and exactly one
``Finished``. Everything a person sees is a function of that stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from localspec.engine.timings import Timings


class Origin(StrEnum):
    """The origin of a committed token."""

    ACCEPTED = "accepted"
    """Proposed by the drafter, kept by the target."""
    CORRECTED = "corrected"
    """The target's replacement for the first rejected proposal."""
    BONUS = "bonus"
    """The target's extra token after a fully accepted draft."""
    PLAIN = "plain"
    """No draft was asked for, or the drafter had nothing to propose."""


class FinishReason(StrEnum):
    """The reason why a reply ended."""

    STOP = "stop"
    """The model ended its turn, or a stop string appeared."""
    LENGTH = "length"
    """The token limit or the end of the context was reached."""
    CANCELLED = "cancelled"
    """Stopped on request; what was committed stays."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that might have stood at a place."""

    id: int
    piece: bytes
    """The bytes that it stands for, control tokens written out; a character may lie in several tokens."""
    logprob: float
    """The natural logarithm of its probability by the target's softmax, before any sampler; may be -inf."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The target's own opinion of a committed token."""

    piece: bytes
    """The bytes of the token itself; as for ``Alternative``, and so is ``logprob``."""
    logprob: float
    top: tuple[Alternative, ...] = ()
    """The likeliest tokens at its place, the likeliest first, as many as were asked for; it may be among them."""


@dataclass(frozen=True, slots=True)
class Token:
    """One committed token."""

    id: int
    text: str
    """Whole characters only; empty for a token that ends inside a character, for the end-of-turn
    token, and for tokens that belong to a stop string."""
    origin: Origin
    drafter: str | None = None
    """The name of the drafter that proposed it, if it was accepted."""
    logprobs: TokenLogprobs | None = None
    """None where they were not asked for."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed token that did not become part of the reply."""

    id: int
    text: str
    """The token on its own; a cut character shows as U+FFFD."""
    drafter: str | None = None
    """The name of the drafter that proposed it."""


@dataclass(frozen=True, slots=True)
class DrafterFailure:
    """A drafter that failed and is left out for the rest of its reply."""

    drafter: str
    message: str
    """A sentence, from the error it raised."""


class Fallback(StrEnum):
    """The reason why a round has no proposals although there are drafters."""

    FAILED = "failed"
    """A drafter failed, and no other proposed."""
    NO_GAIN = "no_gain"
    """The depth policy expected no gain, or no drafter had a proposal."""


@dataclass(frozen=True, slots=True)
class Round:
    """One draft, verify, commit."""

    index: int
    """The number of the round, from 0."""
    drafter: str | None
    """Name of the drafter that proposed, several joined by "+"; None if nothing was proposed."""
    depth: int
    """The number of tokens proposed."""
    tokens: tuple[Token, ...]
    """Committed, in order: 1 to depth + 1 of them."""
    rejected: tuple[Proposal, ...]
    """Proposed and thrown away, in order; the first is the one the target refused."""
    ignored: tuple[Proposal, ...]
    """Proposed past the end of the reply, never judged."""
    draft_s: float
    """Wall time of drafting."""
    verify_s: float
    """Wall time of the target's pass."""
    total_s: float
    """Wall time of the whole round, host work included; at least draft_s + verify_s."""
    why: str = ""
    """The depth policy's reason for this depth, in a line; empty where the depth is fixed."""
    failures: tuple[DrafterFailure, ...] = ()
    """Drafters left out, in the order in which they failed; those of the rounds before are among them."""
    divergence: float | None = None
    """A lower bound of the divergence (KL) of draft and target at the first token, in nats; None where not measured."""
    price: float | None = None
    """Measured price of verifying these proposals, in plain rounds; None where it was not measured."""
    unscored_n: int = 0
    """Proposals that a grammar had decided, so that the target's scores at their places were left out."""
    held_n: int = 0
    """Characters at the end of the reply so far that may be a call of a tool; they are text if none comes of them.

    0 where the reply may call none."""

    @property
    def accepted_n(self) -> int:
        return sum(token.origin is Origin.ACCEPTED for token in self.tokens)

    @property
    def proposed_n(self) -> int:
        return self.accepted_n + len(self.rejected) + len(self.ignored)

    @property
    def fallback(self) -> Fallback | None:
        """None for a round with a proposal, and where speculation is off."""
        if self.depth:
            return None
        if self.failures:
            return Fallback.FAILED
        return Fallback.NO_GAIN if self.why else None


@dataclass(frozen=True, slots=True)
class Started:
    """The prompt is tokenized and the reply is under way."""

    prompt_n: int
    """Tokens of the whole prompt."""
    cache_n: int
    """Tokens of it that the target's cache already holds."""
    seed: int
    """The seed in force, also when the caller left it to chance."""
    dropped_n: int = 0
    """Messages left out, oldest first, because the context is too small for all."""
    cut_n: int = 0
    """Results of tools that were cut short, because the context is too small for all of them."""
    reasons: bool = False
    """True if the prompt has begun the reasoning, with which the reply goes on."""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The prompt is being read."""

    done_n: int
    total_n: int
    image: bool = False
    """True if the next tokens are an image's, which has to be encoded before they are read: that can take seconds."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a complete reply makes."""

    id: str
    name: str
    arguments: str
    """A JSON object as text."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every reply."""

    reason: FinishReason
    text: str
    """The whole reply: exactly the concatenation of all round tokens' texts."""
    timings: Timings
    calls: tuple[ToolCall, ...] = ()
    """Calls of tools, in order; only where ``reason`` is stop."""
    call_error: str | None = None
    """A sentence for the model about a call in the reply that cannot be read; then there are no ``calls``."""
    said_n: int | None = None
    """Characters of ``text`` that are said, before the white space and the first of ``calls``, or before a call that
    was cut off; None for all."""
    stop: str | None = None
    """The stop string that ended the reply, which is no part of ``text``."""


Event = Started | PromptProgress | Round | Finished
