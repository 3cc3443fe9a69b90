"""Draft, verify, commit: one loop for plain and for speculative decoding."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import DepthPolicy
from localspec.engine.dist import Chance
from localspec.engine.drafters import Draft, Drafter
from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
)
from localspec.engine.model import Cancelled, Model
from localspec.engine.sampling import Sampler
from localspec.engine.tally import Tally
from localspec.engine.text import RoundRelease, StopStrings, Utf8Stream
from localspec.engine.verify import Verdict, verify
from localspec.errors import CapacityError, InputError


@dataclass(slots=True)
class Request:
    """One reply to produce."""

    prompt: Sequence[int]
    """Token ids, at least one, at most the target's n_ctx."""
    sampler: Sampler
    chance: Chance
    policy: DepthPolicy
    seed: int = 0
    """Only reported; ``chance`` was made from it."""
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    prompt_chunk: int = 256
    """Prompt tokens evaluated between two looks at the stop signal."""
    plain_per_second: float | None = None
    """Measured plain speed of this target, for the speed-up."""


def generate(target: Model, drafter: Drafter | None, request: Request, cancel: Cancellation) -> Iterator[Event]:
    """The reply to ``request`` as events.

    Raises ``InputError`` or ``CapacityError`` before the first event if the prompt cannot be used.
    A stop signal ends the stream with ``Finished(CANCELLED)``; what was committed stays.
    """
    if not request.prompt:
        raise InputError("The prompt is empty.", "Type something for the model to answer.")
    if len(request.prompt) > target.n_ctx:
        raise CapacityError(
            f"The prompt has {len(request.prompt)} tokens, but the context holds {target.n_ctx}.",
            f"Shorten it, or choose a larger context with --ctx {len(request.prompt) + 512}.",
        )
    reply = _Reply(target, drafter, request, cancel)
    yield Started(len(request.prompt), reply.tally.cache_n, request.seed)
    try:
        yield from reply.read_prompt()
        yield from reply.rounds()
    except Cancelled:
        reply.reason = FinishReason.CANCELLED
    yield from reply.finish()


@dataclass(slots=True)
class _Reply:
    """The state of one reply while it grows."""

    target: Model
    drafter: Drafter | None
    request: Request
    cancel: Cancellation
    context: list[int] = field(init=False)
    tally: Tally = field(init=False)
    utf8: Utf8Stream = field(init=False)
    stops: StopStrings = field(init=False)
    release: RoundRelease = field(init=False)
    reason: FinishReason | None = None

    def __post_init__(self) -> None:
        self.context = list(self.request.prompt)
        # The last prompt token is evaluated by the first round, so it never counts as cached.
        cache_n = min(self.target.held(self.context), len(self.context) - 1)
        self.tally = Tally(
            plain_per_second=self.request.plain_per_second,
            cache_n=cache_n,
            prompt_n=len(self.context) - cache_n,
        )
        self.utf8 = Utf8Stream(self.target.vocab)
        self.stops = StopStrings(self.request.stop)
        self.release = RoundRelease()

    def read_prompt(self) -> Iterator[Event]:
        """Evaluate all of the prompt but its last token, in both models, chunk by chunk."""
        total_n = len(self.context) - 1
        done_n = self.tally.cache_n
        while done_n < total_n:
            self._check_cancel()
            started = time.perf_counter()
            done_n = min(done_n + self.request.prompt_chunk, total_n)
            chunk = self.context[:done_n]
            self.target.logits(chunk, 0)
            if self.drafter:
                self.drafter.prefill(chunk)
            self.tally.prompt_s += time.perf_counter() - started
            yield PromptProgress(done_n, total_n)

    def rounds(self) -> Iterator[Round]:
        """Rounds until the reply ends; sets ``reason``."""
        while self.reason is None:
            self._check_cancel()
            room = self._room()
            if room < 1:
                self.reason = FinishReason.LENGTH
                return
            depth = min(self.request.policy.depth(), room - 1) if self.drafter else 0
            round_ = self._round(depth)
            self.tally.add(round_)
            self.request.policy.observe(round_)
            yield from self.release.add(round_, self.stops.safe_n)

    def finish(self) -> Iterator[Event]:
        """What was held back, and the last event."""
        yield from self.release.finish(self.stops.safe_n if self.stops.found else None)
        assert self.reason is not None
        yield Finished(self.reason, self.release.text, self.tally.timings())

    def _check_cancel(self) -> None:
        if self.cancel.is_set():
            raise Cancelled

    def _room(self) -> int:
        """How many more tokens may be committed."""
        room = self.target.n_ctx - len(self.context) + 1
        if self.request.max_tokens is not None:
            room = min(room, self.request.max_tokens - self.tally.predicted_n)
        return room

    def _round(self, depth: int) -> Round:
        started = time.perf_counter()
        draft = self._draft(depth)
        drafted = time.perf_counter()
        rows = self.target.logits(self.context + draft.tokens, len(draft) + 1)
        verified = time.perf_counter()
        sampler, chance = self.request.sampler, self.request.chance
        verdict = verify(draft, rows, sampler, chance, self.target.vocab.is_end)
        tokens = self._commit(draft, verdict)
        rejected, ignored = _leftover(draft, verdict, len(tokens))
        return Round(
            index=self.tally.rounds_n,
            drafter=self.drafter.name if self.drafter and len(draft) else None,
            depth=depth,
            tokens=tokens,
            rejected=self._proposals(rejected),
            ignored=self._proposals(ignored),
            draft_s=drafted - started,
            verify_s=verified - drafted,
            total_s=time.perf_counter() - started,
        )

    def _draft(self, depth: int) -> Draft:
        if self.drafter is None or depth < 1:
            return Draft()
        return self.drafter.draft(self.context, depth, self.request.sampler, self.request.chance)

    def _commit(self, draft: Draft, verdict: Verdict) -> tuple[Token, ...]:
        """Append the verdict's tokens to the context, up to the end of the reply."""
        ids = draft.tokens[: verdict.accepted]
        origins = [Origin.ACCEPTED] * verdict.accepted
        if verdict.token is not None:
            ids.append(verdict.token)
            origins.append(_origin_of_own(draft, verdict))
        tokens: list[Token] = []
        for token_id, origin in zip(ids, origins, strict=True):
            text = self.utf8.push(token_id)
            tokens.append(Token(token_id, text, origin))
            self.context.append(token_id)
            if self.stops.feed(text) or self.target.vocab.is_end(token_id):
                self.reason = FinishReason.STOP
                break
        return tuple(tokens)

    def _proposals(self, ids: Sequence[int]) -> tuple[Proposal, ...]:
        piece = self.target.vocab.piece
        return tuple(Proposal(i, piece(i).decode("utf-8", errors="replace")) for i in ids)


def _origin_of_own(draft: Draft, verdict: Verdict) -> Origin:
    """The origin of the target's own token in a round."""
    if not len(draft):
        return Origin.PLAIN
    return Origin.BONUS if verdict.accepted == len(draft) else Origin.CORRECTED


def _leftover(draft: Draft, verdict: Verdict, committed_n: int) -> tuple[list[int], list[int]]:
    """Proposals that were not committed, as (rejected, ignored).

    If the target's replacement was committed, everything from the refused proposal on was rejected.
    Otherwise the reply ended first, and what was proposed past its end was never of use to judge.
    """
    refused = verdict.token is not None and verdict.accepted < len(draft)
    if refused and committed_n == verdict.accepted + 1:
        return draft.tokens[verdict.accepted :], []
    return [], draft.tokens[min(committed_n, verdict.accepted) :]
