"""The figures of replies as OpenAI's clients read them, and llama-server's ``timings``."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from localspec import __version__
from localspec.engine.events import Alternative, Event, Finished, FinishReason, Round, Started, Token, TokenLogprobs
from localspec.engine.timings import Timings
from localspec.runtime.reasoning import tokens_before

FINGERPRINT = f"localspec-{__version__}"
REASONS = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length", FinishReason.CANCELLED: "stop"}
"""The reasons of a reply's end, in OpenAI's words."""
_LEAST = -9999.0
"""OpenAI's stand-in for the logarithm of 0, which JSON cannot write."""


@dataclass(slots=True)
class ReplyFigures:
    """The events of one reply that its figures are made of."""

    tokens: list[Token] = field(default_factory=list)
    started: Started | None = None
    finished: Finished | None = None
    reasoning_n: int = 0
    """Characters before its answer."""

    def receive(self, event: Event) -> None:
        """Take in the next event."""
        match event:
            case Started():
                self.started = event
            case Round():
                self.tokens += event.tokens
            case Finished():
                self.finished = event


def new_id(prefix: str) -> str:
    """An id that nothing else has."""
    return prefix + secrets.token_hex(12)


def usage(
    replies: Iterable[ReplyFigures], read: str = "prompt_tokens", written: str = "completion_tokens"
) -> dict[str, Any]:
    """The tokens of replies to one prompt, which is counted once; two of the names are those of the API.

    Proposals that the target took or refused are what OpenAI calls tokens of a prediction.
    """
    ended = [reply for reply in replies if reply.started and reply.finished]
    timings = [reply.finished.timings for reply in ended if reply.finished]
    prompt_n = next((reply.started.prompt_n for reply in ended if reply.started), 0)
    written_n = sum(each.predicted_n for each in timings)
    accepted_n = sum(each.draft_n_accepted for each in timings)
    return {
        read: prompt_n,
        written: written_n,
        "total_tokens": prompt_n + written_n,
        f"{read}_details": {"cached_tokens": max((each.cache_n for each in timings), default=0)},
        f"{written}_details": {
            "reasoning_tokens": sum(tokens_before(reply.tokens, reply.reasoning_n) for reply in ended),
            "accepted_prediction_tokens": accepted_n,
            "rejected_prediction_tokens": sum(each.draft_n for each in timings) - accepted_n,
        },
    }


def timings_of(replies: Sequence[ReplyFigures]) -> dict[str, Any] | None:
    """The timings of the only reply; several replies have none in common."""
    ended = replies[0].finished
    return llama_timings(ended.timings) if ended and len(replies) == 1 else None


def llama_timings(timings: Timings) -> dict[str, Any]:
    """The figures under llama-server's names, all of them numbers, with the speed-up where LocalSpec knows it."""
    speedup = timings.speedup_vs_plain
    return {
        "cache_n": timings.cache_n,
        "prompt_n": timings.prompt_n,
        "prompt_ms": timings.prompt_ms,
        "prompt_per_token_ms": timings.prompt_ms / timings.prompt_n if timings.prompt_n else 0.0,
        "prompt_per_second": 1000 * timings.prompt_n / timings.prompt_ms if timings.prompt_ms else 0.0,
        "predicted_n": timings.predicted_n,
        "predicted_ms": timings.predicted_ms,
        "predicted_per_token_ms": timings.predicted_ms / timings.predicted_n if timings.predicted_n else 0.0,
        "predicted_per_second": timings.predicted_per_second or 0.0,
        "draft_n": timings.draft_n,
        "draft_n_accepted": timings.draft_n_accepted,
        **({} if speedup is None else {"speedup_vs_plain": speedup}),
    }


def origins(round_: Round) -> dict[str, Any]:
    """A round's tokens with their origins, its rejected proposals and why it had as many: LocalSpec's addition."""
    tokens = [
        {"id": each.id, "text": each.text, "origin": str(each.origin), "drafter": each.drafter}
        for each in round_.tokens
    ]
    rejected = [{"id": each.id, "text": each.text} for each in round_.rejected]
    return {"tokens": tokens, "rejected": rejected, "why": round_.why}


@dataclass(slots=True)
class TextTokens:
    """The tokens of a reply that its text is made of: neither its end nor those of a stop string."""

    _waiting: list[Token] = field(default_factory=list)
    """Without text of their own: a part of a character, unless nothing follows."""

    def of(self, tokens: Iterable[Token]) -> Iterator[Token]:
        """The tokens that are certain now."""
        for token in tokens:
            self._waiting.append(token)
            if token.text:
                yield from self._waiting
                self._waiting.clear()


def chat_logprobs(tokens: Sequence[Token]) -> dict[str, Any]:
    """The log probabilities of tokens, as chats have them."""
    listed = []
    for token in tokens:
        if (said := token.logprobs) is not None:
            listed.append({**_logprob(said), "top_logprobs": [_logprob(other) for other in said.top]})
    return {"content": listed, "refusal": None}


def _logprob(each: TokenLogprobs | Alternative) -> dict[str, Any]:
    return {"token": spelled(each.piece), "logprob": finite(each.logprob), "bytes": list(each.piece)}


def spelled(piece: bytes) -> str:
    """The text of a token; a part of a character shows as U+FFFD."""
    return piece.decode(errors="replace")


def finite(logprob: float) -> float:
    """The logarithm as JSON can write it."""
    return max(logprob, _LEAST)
