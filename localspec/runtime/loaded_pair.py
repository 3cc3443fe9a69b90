"""A loaded pair: two models in memory, and the replies they give.

Wires checks, backend, prompt and loop together; each of them knows nothing of the others.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.base.errors import ModelFileError, UsageError
from localspec.base.file_identity import identify, text_digest
from localspec.base.paths import user_paths
from localspec.config.table import MAX_DEPTH
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.projector import Projector
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.costs import Costs
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.images import text_alone
from localspec.engine.logprobs import LogprobReader
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.tally import Tally
from localspec.gguf import GgufHeader, read_header
from localspec.gguf.draft_heads import DRAFT, drafter_kind
from localspec.models.compatibility import check_match, check_target
from localspec.models.pairs.split_files import read_parts
from localspec.models.projectors import check_projector
from localspec.runtime.calibration_file import CalibrationFile, calibration_key
from localspec.runtime.calls.reply import ReplyCalls
from localspec.runtime.inspector import Inspector
from localspec.runtime.messages import Infill, Message, Prompt, ReplyOptions, TokenIds, Tool
from localspec.runtime.opened_models import open_models
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_drafters import PairDrafters
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.past_replies import ReplyMemory
from localspec.runtime.placement import place_models
from localspec.runtime.prompt_cache import KeptCaches
from localspec.runtime.prompting import Prompter, RenderedPrompt
from localspec.runtime.sampling import check_ranges
from localspec.runtime.speed.recording import SpeedRecorder
from localspec.runtime.tuning import Tuning

_SHORTEST_KEPT_N, _WORTH_S = 128, 2.0
"""Caches are kept from so many tokens on, if reading them would take so long."""
_AHEAD_N = 64
"""Tokens that are read ahead at once: so few are lost if something else comes in between."""
_MEASURING = "measuring this machine"


class LoadedPair:
    """Two models, and the memory of what they were asked last."""

    def __init__(
        self,
        info: PairInfo,
        target: LlamaModel,
        draft: LlamaModel | None,
        projector: Projector | None,
        drafters: PairDrafters,
        costs: Costs,
        calibration: CalibrationFile,
        memory: ReplyMemory | None,
        caches: KeptCaches | None,
        speeds: SpeedRecorder,
        cancel: Cancellation,
        resources: ExitStack,
    ) -> None:
        self._info = info
        self._target = target
        self._memory = memory
        self._caches = caches
        self._speeds = speeds
        self._costs = costs
        self._calibration = calibration
        self._adaptive = AdaptiveDepth(costs, MAX_DEPTH)
        calibration.recall(self._adaptive.reading)
        self._drafters = drafters
        self._cancel = cancel
        self._resources = resources
        self._ahead: tuple[tuple[tuple[Message, ...], tuple[Tool, ...]], list[int]] = (((), ()), [])
        """Messages that are read ahead with their tools, and the tokens that their prompt begins with."""
        self.prompter = Prompter(target.vocab, target.n_ctx, self._check, projector)
        self.inspector = Inspector(target, draft, MAX_DEPTH + 1, projector)

    @staticmethod
    def open(options: LoadOptions, cancel: Cancellation, progress: Progress) -> LoadedPair:
        """As ``load.open_pair``, which it implements."""
        started = time.perf_counter()
        progress("checking the files", 0.0)
        headers = _read_headers(options)
        placement = place_models(options, headers.target, headers.draft, headers.projector)
        with ExitStack() as resources:
            draft_kind = drafter_kind(headers.draft) if headers.draft else DRAFT
            opened = open_models(placement, draft_kind, cancel, progress, resources)
            target, draft = opened.target, opened.draft
            calibration = _calibration_file(options, target)
            memory = ReplyMemory.open(headers.target.fingerprint) if options.remember_replies else None
            drafters = opened.drafters(memory.automaton if memory else None)
            costs = _fit(options, target, drafters, calibration, cancel, progress)
            if target.can_pad:
                target.pad(costs.pad())
            info = _describe(options, headers, target, draft or opened.head)
            info = replace(info, plain_per_second=1 / costs.plain_s, drafters=tuple(drafters.models))
            info = replace(info, load_s=time.perf_counter() - started)
            caches = _kept_caches(options, target, draft, costs) if options.keep_caches else None
            kept = calibration, memory, caches, SpeedRecorder.of(options, headers.target_parts)
            rest = cancel, resources.pop_all()
            return LoadedPair(info, target, draft, opened.projector, drafters, costs, *kept, *rest)

    @property
    def info(self) -> PairInfo:
        return self._info

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """As ``load.OpenPair.reply``."""
        drafters = self._drafters.chosen(options.spec)
        policy = self._policy(options.depth)
        try:
            ready = self.prompter.prompt(prompt, options, prefix)
        except Cancelled:
            yield Started(0, 0, options.seed or 0)
            yield Finished(FinishReason.CANCELLED, "", Tally().timings())
            return
        calls = self._calls(prompt, options, ready, prefix)
        held = calls.sampling(options.sampling) if calls else options.sampling
        request = self._request(ready.tokens, replace(options, sampling=held), policy, prefix)
        context = list(ready.tokens)
        if self._caches:
            self._caches.before_reply(context, self._cancel)
        if not prefix and not isinstance(prompt, TokenIds | Infill):
            self.inspector.remember(prompt, options, context, held)
        try:
            for event in self._events(request, drafters, calls):
                if isinstance(event, Started):
                    event = replace(event, dropped_n=ready.dropped_n)
                elif isinstance(event, Round):
                    context.extend(token.id for token in event.tokens)
                self._speeds.observe(event, options)
                yield event
        finally:
            self.prompter.remember(context)
            if self._memory:
                self._memory.add(context[len(ready.tokens) :])
            if self._caches:
                self._caches.after_reply(context)

    def scores(self, prompt: Sequence[Message] | str, reply: Sequence[int], width: int) -> Iterator[Logits]:
        """The target's scores before each token of a reply, a row each, ``width`` tokens evaluated at a time.

        A row is valid until the next is asked for. Raises Cancelled.
        """
        ready = self.prompter.raw(prompt) if isinstance(prompt, str) else self.prompter.chat(prompt, len(reply))
        for start in range(0, len(reply), width):
            end = min(start + width, len(reply))
            yield from self._target.logits([*ready.tokens, *reply[: end - 1]], end - start)

    def count_tokens(self, text: str) -> int:
        """As ``load.OpenPair.count_tokens``."""
        return self.prompter.count(text)

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> int:
        """As ``load.OpenPair.read_ahead``."""
        if not self._target.forgets_freely:  # what is read for nothing would have to be read again without it
            return 0
        if self._ahead[0] != (asked := (tuple(messages), tuple(tools))):
            self._ahead = asked, self.prompter.beginning(messages, tools)
        tokens = self._ahead[1]
        if self._caches:
            self._caches.before_reply(tokens, self._cancel)
        known_n = self._target.held(tokens)
        end = min(len(tokens), known_n + _AHEAD_N)
        while end < len(tokens) and tokens[end] < 0:  # an image is read whole
            end += 1
        if end > known_n:
            self._target.logits(tokens[:end], 0)
        return len(tokens) - end

    def close(self, cancel: Cancellation | None = None) -> None:
        """As ``load.OpenPair.close``."""
        with self._resources:
            self._calibration.refresh(self._costs, self._adaptive.reading)
            if self._caches:
                self._caches.keep(cancel)

    def _check(self) -> None:
        """Raises Cancelled."""
        if self._cancel.is_set():
            raise Cancelled

    def _policy(self, depth: int | None) -> DepthPolicy:
        """Adaptive, or fixed at ``depth``. Raises UsageError outside what contexts are prepared for."""
        if depth is None:
            return self._adaptive
        if not 0 <= depth <= MAX_DEPTH:
            raise UsageError(f"A depth of {depth} is not possible.", f"Choose one from 0 to {MAX_DEPTH}.")
        return FixedDepth(depth, self._costs)

    def _events(self, request: Request, drafters: Sequence[Drafter], calls: ReplyCalls | None) -> Iterator[Event]:
        if calls is None:
            return generate(self._target, drafters, request, self._cancel)
        request.written_out = calls.written_out
        return calls.follow(generate(self._target, drafters, request, self._cancel))

    def _calls(self, prompt: Prompt, options: ReplyOptions, ready: RenderedPrompt, prefix: str) -> ReplyCalls | None:
        if isinstance(prompt, str | TokenIds | Infill) or not options.tools:
            return None
        return ReplyCalls.of(self.prompter.call_form, options.tools, self._target.vocab, ready.end, prefix, prompt)

    def _request(self, tokens: list[int], options: ReplyOptions, policy: DepthPolicy, prefix: str) -> Request:
        check_ranges(options.sampling)
        seed = options.seed if options.seed is not None else secrets.randbits(32)
        vocab = self._target.vocab
        return Request(
            prompt=tokens,
            sampler=make_sampler(options.sampling, vocab.n_vocab, vocab, text_alone(tokens), prefix),
            rng=SeededRng(seed),
            policy=policy,
            seed=seed,
            max_tokens=options.max_tokens,
            stop=options.stop,
            logprobs=None if options.logprobs is None else LogprobReader(options.logprobs, vocab.source),
            plain_per_second=self._info.plain_per_second,
        )


@dataclass(frozen=True, slots=True)
class _Headers:
    """The headers of all files."""

    target_parts: list[GgufHeader]
    draft: GgufHeader | None
    projector: GgufHeader | None

    @property
    def target(self) -> GgufHeader:
        return self.target_parts[0]


def _read_headers(options: LoadOptions) -> _Headers:
    """Everything that can be refused without loading gigabytes is refused here."""
    parts = read_parts(options.target)
    target = parts[0]
    draft = read_header(options.draft) if options.draft else None
    check_target(target)
    _check_speaks(target)
    if draft:
        _check_speaks(draft)
        check_match(target, draft, options.target)
    projector = read_header(options.projector) if options.projector else None
    if projector:
        check_projector(target, projector)
    return _Headers(parts, draft, projector)


def _check_speaks(header: GgufHeader) -> None:
    if not header.vocabulary.has_tokens:
        raise ModelFileError(
            f"{header.source} cannot be used: it has no vocabulary, so it can neither read nor write text.",
            "Look for another file of the same model.",
        )


def _describe(
    options: LoadOptions, headers: _Headers, target: LlamaModel, draft: LlamaModel | HeadContext | None
) -> PairInfo:
    """All there is to say before anything is measured."""
    draft_name = (headers.draft.name or headers.draft.source) if headers.draft else None
    target_file, draft_file = identify(options.target), identify(options.draft) if options.draft else None
    return PairInfo(
        target=options.target,
        draft=options.draft,
        projector=options.projector,
        target_name=headers.target.name or headers.target.source,
        draft_name=draft_name,
        # A model may be spread over several files; its header knows the first.
        target_size_bytes=max(headers.target.size_bytes, target.size_bytes),
        draft_size_bytes=max(headers.draft.size_bytes, draft.size_bytes) if headers.draft and draft else 0,
        n_vocab=target.vocab.n_vocab,
        n_ctx=target.n_ctx,
        threads=target.threads,
        device=target.device,
        has_template=target.vocab.chat_template is not None,
        plain_per_second=None,
        load_s=0.0,
        draft_threads=draft.threads if draft else None,
        draft_device=draft.device if draft else None,
        cache_type_k=target.cache_type_k,
        cache_type_v=target.cache_type_v,
        flash_attn=target.flash_attn,
        target_sample=target_file.sample if target_file else None,
        target_sha256=target_file.sha256 if target_file else None,
        draft_sample=draft_file.sample if draft_file else None,
        draft_sha256=draft_file.sha256 if draft_file else None,
        template_digest=text_digest(target.vocab.chat_template),
        infills=target.vocab.infill is not None,
    )


def _calibration_file(options: LoadOptions, target: LlamaModel) -> CalibrationFile:
    """The file for the costs of this pair, loaded like this."""
    files = [file for file in (options.target, options.draft) if file is not None]
    how = replace(options, target=Path(), draft=None, projector=None)
    key = calibration_key(files, (how, target.device, native().build))
    return CalibrationFile(user_paths().data / "calibration", key)


def _fit(
    options: LoadOptions,
    target: LlamaModel,
    drafters: PairDrafters,
    file: CalibrationFile,
    cancel: Cancellation,
    progress: Progress,
) -> Costs:
    """The costs of rounds on this machine, measured or remembered."""
    progress(_MEASURING, 0.0)
    tuning = Tuning(
        target,
        drafters.models,
        tune_target=options.threads is None,
        tune_drafters=options.threads is None and options.draft_threads is None,
        largest=min(MAX_DEPTH + 1, target.n_ctx // 2),
    )
    costs = tuning.fit(
        _measuring_prompt(target), file, cancel, lambda what, fraction: progress(f"{_MEASURING} ({what})", fraction)
    )
    progress(_MEASURING, 1.0)
    return costs


def _kept_caches(options: LoadOptions, target: LlamaModel, draft: LlamaModel | None, costs: Costs) -> KeptCaches:
    """The store for the caches of this pair, and of conversations that are long enough for it."""
    files = [file for file in (options.target, options.draft) if file is not None]
    key = calibration_key(files, (target.cache_type_k, target.cache_type_v, target.flash_attn))
    read_s = costs.round_s(costs.largest) / costs.largest
    worth_n = max(_SHORTEST_KEPT_N, int(_WORTH_S / read_s))
    return KeptCaches(user_paths().data / "caches" / key, (target, draft) if draft else (target,), worth_n)


def _measuring_prompt(target: LlamaModel) -> list[int]:
    """Any text does; this one is easy to go on with."""
    vocab = target.vocab
    tokens = vocab.tokenize(", ".join(map(str, range(1, 25))), special=False)
    text = [vocab.bos, *tokens] if vocab.adds_bos and vocab.bos is not None else tokens
    return text[: max(1, target.n_ctx // 2)]
