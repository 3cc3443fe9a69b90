"""Replies on one target, one after another: prompt, drafters, sampler, calls and loop put together."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from localspec.base.errors import UsageError
from localspec.config.table import MAX_DEPTH
from localspec.engine.backends.llama.projector import Projector
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.depth import DepthPolicy
from localspec.engine.dist import RepeatableRng, SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.images import text_alone
from localspec.engine.logprobs import LogprobReader
from localspec.engine.loop import Request, generate
from localspec.engine.model import Model
from localspec.engine.settings import BANNED
from localspec.engine.tally import Tally
from localspec.runtime.calls.message_heads import ASKED, CHANNEL, without_format, without_recipient
from localspec.runtime.calls.reply import ReplyCalls
from localspec.runtime.inspector import Inspector
from localspec.runtime.messages import Infill, Prompt, ReplyOptions, TokenIds
from localspec.runtime.opening import PairTarget
from localspec.runtime.pair_drafters import PairDrafters
from localspec.runtime.past_replies import ReplyMemory
from localspec.runtime.prompt_images import PromptImages
from localspec.runtime.prompting import Prompter, RenderedPrompt
from localspec.runtime.reasoning import tags_in
from localspec.runtime.sampling import check_ranges
from localspec.runtime.speed.recording import SpeedRecorder
from localspec.runtime.thread_governor import ThreadGovernor


class Policies(Protocol):
    """The depth policies that a reply may choose from."""

    @property
    def adaptive(self) -> DepthPolicy: ...

    def fixed(self, depth: int) -> DepthPolicy: ...


class Caches(Protocol):
    """Caches of other texts that a reply may begin from."""

    def before_reply(self, context: Sequence[int], cancel: Cancellation) -> None: ...

    def after_reply(self, context: Sequence[int]) -> None: ...


class Replier:
    """Makes the replies of a target, or of one of its sequences. It owns no model."""

    def __init__(
        self,
        target: PairTarget,
        draft: Model | None,
        drafters: PairDrafters,
        policies: Policies,
        *,
        projector: Projector | None = None,
        memory: ReplyMemory | None = None,
        caches: Caches | None = None,
        speeds: SpeedRecorder | None = None,
        governor: ThreadGovernor | None = None,
        cancel: Cancellation,
        plain_per_second: float | None,
    ) -> None:
        self.cancel = cancel
        """Ends the reply under way."""
        self._target = target
        self._drafters = drafters
        self._policies = policies
        self._memory = memory
        self._caches = caches
        self._speeds = speeds
        self._governor = governor
        self._plain_per_second = plain_per_second
        images = PromptImages(projector)
        self.prompter = Prompter(target.vocab, target.n_ctx, self._check, images)
        self.inspector = Inspector(target, draft, MAX_DEPTH + 1, images)

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """As ``load.InspectablePair.reply``."""
        drafters = self._drafters.chosen(options.spec)
        policy = self._policy(options.depth)
        try:
            ready = self.prompter.prompt(prompt, options, prefix)
        except Cancelled:
            yield Started(0, 0, options.seed or 0)
            yield Finished(FinishReason.CANCELLED, "", Tally().timings())
            return
        calls = self._calls(prompt, options, ready, prefix)
        held = calls.sampling(options) if calls else options.sampling
        if options.ignore_end:
            ends = self._target.vocab.ends
            others = (bias for bias in held.logit_bias if bias[0] not in ends)
            held = replace(held, logit_bias=(*others, *((token, BANNED) for token in ends)))
        request = self._request(ready.tokens, replace(options, sampling=held), policy, prefix)
        context = list(ready.tokens)
        if self._caches:
            self._caches.before_reply(context, self.cancel)
        if not prefix and not isinstance(prompt, TokenIds | Infill):
            self.inspector.remember(prompt, options, context, held)
        if not isinstance(prompt, str | TokenIds | Infill):
            vocab = self._target.vocab
            request.written_out = tags_in(vocab.written_controls, vocab.ends)
        try:
            for event in self._events(request, drafters, calls, asked=not prefix and ready.end.endswith(ASKED)):
                if isinstance(event, Started):
                    event = replace(event, dropped_n=ready.dropped_n, cut_n=ready.cut_n, reasons=ready.reasons)
                elif isinstance(event, Round):
                    context.extend(token.id for token in event.tokens)
                self._between_events(event, options)
                yield event
        finally:
            self._keep(context, len(ready.tokens))

    def _between_events(self, event: Event, options: ReplyOptions) -> None:
        if self._speeds:
            self._speeds.observe(event, options)
        if self._governor:
            self._governor.adjust(begins=isinstance(event, Started))

    def _keep(self, context: Sequence[int], prompt_n: int) -> None:
        """Remember a reply that is over, and its prompt of so many tokens before it."""
        self.prompter.remember(context)
        if self._memory:
            self._memory.add(context[prompt_n:])
        if self._caches:
            self._caches.after_reply(context)

    def _check(self) -> None:
        """Raises Cancelled."""
        if self.cancel.is_set():
            raise Cancelled

    def _policy(self, depth: int | None) -> DepthPolicy:
        """Adaptive, or fixed at ``depth``. Raises UsageError outside what contexts are prepared for."""
        if depth is None:
            return self._policies.adaptive
        if not 0 <= depth <= MAX_DEPTH:
            raise UsageError(f"A depth of {depth} is not possible.", f"Choose one from 0 to {MAX_DEPTH}.")
        return self._policies.fixed(depth)

    def _events(
        self, request: Request, drafters: Sequence[Drafter], calls: ReplyCalls | None, *, asked: bool
    ) -> Iterator[Event]:
        """``asked``: the prompt asks for a recipient."""
        if calls is not None:
            request.written_out = {**request.written_out, **calls.written_out}
        events = generate(self._target, drafters, request, self.cancel)
        if asked:
            events = without_recipient(events)
        if CHANNEL in request.written_out.values():
            events = without_format(events)
        return calls.follow(events) if calls is not None else events

    def _calls(self, prompt: Prompt, options: ReplyOptions, ready: RenderedPrompt, prefix: str) -> ReplyCalls | None:
        if isinstance(prompt, str | TokenIds | Infill) or not options.tools:
            return None
        form = self.prompter.call_form
        reasons = ready.end.rstrip().endswith(form.syntax.reasoning[0])
        return ReplyCalls(form, options.tools, self._target.vocab, reasons, prefix, prompt)

    def _request(self, tokens: list[int], options: ReplyOptions, policy: DepthPolicy, prefix: str) -> Request:
        check_ranges(options.sampling)
        seed = options.seed if options.seed is not None else secrets.randbits(32)
        vocab = self._target.vocab
        return Request(
            prompt=tokens,
            sampler=make_sampler(options.sampling, vocab.n_vocab, vocab, text_alone(tokens), prefix),
            rng=RepeatableRng(seed) if options.repeatable else SeededRng(seed),
            policy=policy,
            seed=seed,
            max_tokens=options.max_tokens,
            stop=options.stop,
            logprobs=None if options.logprobs is None else LogprobReader(options.logprobs, vocab.source),
            plain_per_second=self._plain_per_second,
        )
