"""Draft, verify, commit: one loop for plain and for speculative decoding."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from localspec.base.errors import CapacityError, InputError, LocalSpecError
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.depth import DepthPolicy
from localspec.engine.dist import RepeatableRng, Rng
from localspec.engine.divergence import divergence_of
from localspec.engine.drafter import Draft, Drafter, NextProposal
from localspec.engine.drafting import draft_round
from localspec.engine.events import (
    DrafterFailure,
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
from localspec.engine.images import begins_image
from localspec.engine.logprobs import LogprobReader
from localspec.engine.model import Model, ScoreRows, SelectiveModel
from localspec.engine.reading import Unread
from localspec.engine.sampling import Sampler
from localspec.engine.tally import Tally
from localspec.engine.text import RoundRelease, StopStrings, Utf8Stream
from localspec.engine.text_window import can_skip
from localspec.engine.verify import Verdict, verify


@dataclass(slots=True)
class Request:
    """One reply to produce."""

    prompt: Sequence[int]
    """Token ids, at least one, at most the target's n_ctx."""
    sampler: Sampler
    rng: Rng
    policy: DepthPolicy
    seed: int = 0
    """Only reported; ``rng`` was made from it."""
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    prompt_chunk: int = 256
    """Prompt tokens evaluated between two checks of the stop signal."""
    written_out: Mapping[int, bytes] = field(default_factory=dict)
    """Control tokens that are shown in the reply, with what is shown for them."""
    logprobs: LogprobReader | None = None
    """Reads the log probabilities of committed tokens; None where they were not asked for."""
    plain_per_second: float | None = None
    """Measured plain speed of this target, for the speed-up, if the policy does not know what rounds cost."""


def generate(target: Model, drafters: Sequence[Drafter], request: Request, cancel: Cancellation) -> Iterator[Event]:
    """The reply to ``request`` as events; the cheapest of ``drafters`` come first.

    Raises ``InputError`` or ``CapacityError`` before the first event if the prompt cannot be used.
    A stop signal ends the stream with ``Finished(CANCELLED)``; what was committed stays, also if something fails.
    """
    if not request.prompt:
        raise InputError("The prompt is empty.", "Type something for the model to answer.")
    if len(request.prompt) > target.n_ctx:
        raise CapacityError(
            f"The prompt has {len(request.prompt):,} tokens, but the context holds {target.n_ctx:,}.",
            f"Shorten it, or choose a larger context with --ctx {len(request.prompt) + 512}.",
        )
    reply = _Reply(target, drafters, request, cancel)
    yield Started(len(request.prompt), reply.tally.cache_n, request.seed)
    try:
        yield from reply.read_prompt()
        yield from reply.rounds()
    except Cancelled:
        reply.reason = FinishReason.CANCELLED
    except Exception:
        yield from reply.held_back()
        raise
    yield from reply.finish()


class _Reply:
    """The state of one reply while it grows."""

    def __init__(self, target: Model, drafters: Sequence[Drafter], request: Request, cancel: Cancellation) -> None:
        self.target, self.drafters, self.request, self.cancel = target, drafters, request, cancel
        request.policy.begin()
        self.context = list(request.prompt)
        # The last prompt token is evaluated by the first round, so it never counts as cached.
        cache_n = min(target.held(self.context), len(self.context) - 1)
        prompt_n = len(self.context) - cache_n
        self.tally = Tally(plain_per_second=request.plain_per_second, cache_n=cache_n, prompt_n=prompt_n)
        self.utf8 = Utf8Stream(target.vocab, request.written_out)
        self.stops = StopStrings(request.stop)
        self.release = RoundRelease()
        self.reason: FinishReason | None = None
        self.failures: list[DrafterFailure] = []
        """Drafters that are not asked again in this reply."""
        self.selective = target if isinstance(target, SelectiveModel) and request.logprobs is None else None
        """The target, where scores that nobody reads may be left out."""
        self.owed_s = 0.0
        """Time spent on a round after its events were made; the next one counts it."""

    def read_prompt(self) -> Iterator[Event]:
        """Evaluate all of the prompt but its last token, chunk by chunk; drafters read along if the policy has them."""
        total_n = len(self.context) - 1
        done_n = self.tally.cache_n
        while done_n < total_n:
            self._check_cancel()
            started = time.perf_counter()
            if begins_image(self.context, done_n):
                yield PromptProgress(done_n, total_n, image=True)
            end = min(done_n + self.request.prompt_chunk, total_n)
            done_n = next((at for at in range(done_n + 1, end) if begins_image(self.context, at)), end)
            self.target.logits(self.context[:done_n], 0)
            self._read_with_drafters(done_n)
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
            round_ = self._round(room - 1)
            self.tally.add(round_)
            yield from self.release.add(round_, self.stops.safe_n)

    def held_back(self) -> Iterator[Round]:
        """The rounds that waited for what comes after them, now that nothing does."""
        yield from self.release.finish(self.stops.safe_n if self.stops.found else None)

    def finish(self) -> Iterator[Event]:
        """The rounds held back, and the last event."""
        yield from self.held_back()
        assert self.reason is not None
        self.request.policy.end(self.tally.predicted_n, ended=self.reason is FinishReason.STOP)
        yield Finished(self.reason, self.release.text, self.tally.timings(), stop=self.stops.found)

    def _check_cancel(self) -> None:
        if self.cancel.is_set():
            raise Cancelled

    def _room(self) -> int:
        """The number of tokens that may still be committed."""
        room = self.target.n_ctx - len(self.context) + 1
        if self.request.max_tokens is not None:
            room = min(room, self.request.max_tokens - self.tally.predicted_n)
        return room

    def _round(self, room: int) -> Round:
        started = time.perf_counter() - self.owed_s
        request, is_end = self.request, self.target.vocab.is_end
        self._read_with_drafters(len(self.context) - 1)
        drafters = self._drafters()
        plan = request.policy.plan(room if drafters else 0)
        self._place_rng()
        draft = draft_round(drafters, self.context, plan, request.sampler, request.rng, is_end)
        self.failures += [DrafterFailure(name, error.message) for name, error in draft.failures.items()]
        drafted = time.perf_counter()
        unread = self._unread(draft)
        rows = self._rows(self.context + draft.tokens, len(draft) + 1, unread)
        verified = time.perf_counter()
        self._place_rng()
        verdict = verify(draft, rows, request.sampler, request.rng, is_end)
        tokens = self._commit(draft, verdict, rows)
        judged = draft.proposals[: verdict.accepted + (verdict.accepted < len(draft))]
        if judged:
            self._teach(judged, verdict)
        divergence = divergence_of(draft, rows, self.tally.rounds_n)
        # Without a drafter it is the price of a clock, or of another program that came in between.
        draft_s = drafted - started - self.owed_s if drafters else 0.0
        rejected, ignored = self._leftover(draft, verdict, len(tokens))
        round_ = Round(
            index=self.tally.rounds_n,
            drafter="+".join(dict.fromkeys(proposal.drafter for proposal in draft.proposals)) or None,
            depth=len(draft),
            tokens=tokens,
            rejected=rejected,
            ignored=ignored,
            draft_s=draft_s,
            verify_s=verified - drafted,
            total_s=time.perf_counter() - started,
            why=request.policy.explain() if self.drafters else "",
            failures=tuple(self.failures),
            divergence=divergence,
            price=request.policy.price(len(draft), len(unread)),
            unscored_n=len(unread),
        )
        ended = time.perf_counter()
        request.policy.observe(round_, judged, verdict.accepted)
        self.owed_s = time.perf_counter() - ended
        return round_

    def _unread(self, draft: Draft) -> frozenset[int]:
        """The places of a draft whose scores nobody reads, because their tokens are certain."""
        if self.selective is None or not self.request.policy.leaves_out_scores:
            return frozenset()
        return frozenset(place for place, proposal in enumerate(draft.proposals) if proposal.certain)

    def _rows(self, context: Sequence[int], last: int, unread: frozenset[int]) -> ScoreRows:
        """The target's scores, empty rows in place of the ``unread``."""
        if self.selective is None or not unread:
            return self.target.logits(context, last)
        return self.selective.selected_logits(context, last, unread)

    def _place_rng(self) -> None:
        """Have random decisions that belong to places begin at the end of the text."""
        if isinstance(self.request.rng, RepeatableRng):
            self.request.rng.begin(len(self.context))

    def _read_with_drafters(self, end: int) -> None:
        """Let drafters read what the policy wants of the text up to ``end``, before the token that a query reads."""
        policy = self.request.policy
        for drafter in self._drafters():
            model = drafter.model
            if model is None or not policy.may_read(drafter.name, self.tally.predicted_n):
                continue
            text = self.context[:end]
            if (unread_n := len(text) - model.held(text)) <= 0:
                continue
            written_n, so_far_s = self.tally.predicted_n, self.tally.prompt_s + self.tally.predicted_s
            unread = Unread(drafter.name, unread_n, can_skip(model), written_n, self._room(), so_far_s)
            reading = policy.read(unread)
            started = time.perf_counter()
            if reading.latest_n is not None and can_skip(model):
                model.skip(text, reading.latest_n)
            if not reading.tokens_n:
                continue
            try:
                drafter.prefill(text[: model.held(text) + reading.tokens_n])
            except LocalSpecError as error:
                self.failures.append(DrafterFailure(drafter.name, error.message))
            policy.have_read(drafter.name, reading.tokens_n, time.perf_counter() - started)

    def _drafters(self) -> Sequence[Drafter]:
        """The drafters that have not failed: without a draft a reply is slower, never another text."""
        if not self.failures:
            return self.drafters
        failed = {failure.drafter for failure in self.failures}
        return [drafter for drafter in self.drafters if drafter.name not in failed]

    def _teach(self, judged: Sequence[NextProposal], verdict: Verdict) -> None:
        """Let each drafter learn from the target's distributions at its own proposals."""
        for drafter in self._drafters():
            own = [
                (proposal, target_dist)
                for proposal, target_dist in zip(judged, verdict.target_dists, strict=False)
                if proposal.drafter == drafter.name
            ]
            drafter.learn([proposal for proposal, _ in own], [target_dist for _, target_dist in own])

    def _commit(self, draft: Draft, verdict: Verdict, rows: ScoreRows) -> tuple[Token, ...]:
        """Append the verdict's tokens to the context, up to the end of the reply; ``rows`` has a row for each."""
        ids = draft.tokens[: verdict.accepted]
        sources: list[tuple[Origin, str | None]]
        sources = [(Origin.ACCEPTED, proposal.drafter) for proposal in draft.proposals[: verdict.accepted]]
        if verdict.token is not None:
            ids.append(verdict.token)
            sources.append((_origin_of_own(draft, verdict), None))
        tokens: list[Token] = []
        read = self.request.logprobs
        for token_id, (origin, drafter), row in zip(ids, sources, rows, strict=False):
            text = self.utf8.push(token_id)
            tokens.append(Token(token_id, text, origin, drafter, read.of(row, token_id) if read else None))
            self.context.append(token_id)
            if self.stops.feed(text) or self.target.vocab.is_end(token_id):
                self.reason = FinishReason.STOP
                break
        return tuple(tokens)

    def _leftover(
        self, draft: Draft, verdict: Verdict, committed_n: int
    ) -> tuple[tuple[Proposal, ...], tuple[Proposal, ...]]:
        """Proposals that were not committed, as (rejected, ignored).

        If the target's replacement was committed, everything from the refused proposal on was rejected.
        Otherwise the reply ended first, and what was proposed past its end was never of use to judge.
        """
        refused = verdict.token is not None and verdict.accepted < len(draft)
        if refused and committed_n == verdict.accepted + 1:
            return self._proposals(draft, verdict.accepted), ()
        return (), self._proposals(draft, min(committed_n, verdict.accepted))

    def _proposals(self, draft: Draft, start: int) -> tuple[Proposal, ...]:
        piece = self.target.vocab.piece
        return tuple(
            Proposal(token, piece(token).decode("utf-8", errors="replace"), proposal.drafter)
            for token, proposal in zip(draft.tokens[start:], draft.proposals[start:], strict=True)
        )


def _origin_of_own(draft: Draft, verdict: Verdict) -> Origin:
    """The origin of the target's own token in a round."""
    if not len(draft):
        return Origin.PLAIN
    return Origin.BONUS if verdict.accepted == len(draft) else Origin.CORRECTED
