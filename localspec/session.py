"""A pair that is open: the session between two loaded models and whoever asks them.

Wires checks, backend, prompt and loop together; each of them knows nothing of the others.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from localspec.calibrate import plain_speed
from localspec.chat import DEFAULT_DEPTH, Message, ReplyOptions
from localspec.engine.backends.llama import LlamaModel
from localspec.engine.backends.llama_load import LoadSettings
from localspec.engine.backends.llama_sampler import make_sampler
from localspec.engine.backends.llama_vocab import LlamaVocab
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededChance
from localspec.engine.drafters import Drafter, Parts, make_drafter
from localspec.engine.events import Event, Round, Started
from localspec.engine.loop import Request, generate
from localspec.errors import UsageError
from localspec.gguf import GgufHeader, read_header
from localspec.load import MAX_DEPTH, LoadOptions, PairInfo, Progress
from localspec.match import check_match
from localspec.prompt import Prompter


class Session:
    """Two models, and the memory of what they were asked last."""

    def __init__(
        self, info: PairInfo, target: LlamaModel, draft: LlamaModel | None, cancel: Cancellation, resources: ExitStack
    ) -> None:
        self._info = info
        self._target = target
        self._parts = Parts(target.vocab, draft)
        self._cancel = cancel
        self._resources = resources
        self._prompter = Prompter(target.vocab, target.n_ctx)

    @staticmethod
    def open(options: LoadOptions, cancel: Cancellation, progress: Progress) -> Session:
        """As ``load.open_pair``, which it implements."""
        started = time.perf_counter()
        progress("checking the files", 0.0)
        headers = _read_headers(options)
        with ExitStack() as resources:
            target, draft = _open_models(options, cancel, progress, resources)
            progress("measuring plain speed", 0.0)
            speed = plain_speed(target, _measuring_prompt(target.vocab), cancel)
            info = _describe(options, headers, target, draft)
            info = replace(info, plain_per_second=speed, load_s=time.perf_counter() - started)
            progress("measuring plain speed", 1.0)
            return Session(info, target, draft, cancel, resources.pop_all())

    @property
    def info(self) -> PairInfo:
        return self._info

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions) -> Iterator[Event]:
        """As ``load.OpenPair.reply``."""
        drafter = self._drafter(options.spec)
        depth = resolve_depth(options.depth)
        if isinstance(prompt, str):
            ready = self._prompter.raw(prompt)
        else:
            ready = self._prompter.chat(prompt, options.max_tokens)
        request = self._request(ready.tokens, options, depth)
        context = list(ready.tokens)
        try:
            for event in generate(self._target, drafter, request, self._cancel):
                if isinstance(event, Started):
                    event = replace(event, dropped_n=ready.dropped_n)
                elif isinstance(event, Round):
                    context.extend(token.id for token in event.tokens)
                yield event
        finally:
            self._prompter.remember(context)

    def close(self) -> None:
        """Free the native memory."""
        self._resources.close()

    def _drafter(self, spec: tuple[str, ...] | None) -> Drafter | None:
        if spec is None:
            spec = ("draft",) if self._parts.draft else ()
        drafters = [make_drafter(name, self._parts) for name in dict.fromkeys(spec)]
        if len(drafters) > 1:
            raise UsageError("Only one drafter can propose at a time.", f"Choose one of {', '.join(spec)}.")
        return drafters[0] if drafters else None

    def _request(self, tokens: list[int], options: ReplyOptions, depth: int) -> Request:
        seed = options.seed if options.seed is not None else secrets.randbits(32)
        return Request(
            prompt=tokens,
            sampler=make_sampler(options.sampling, self._target.vocab.n_vocab),
            chance=SeededChance(seed),
            policy=FixedDepth(depth),
            seed=seed,
            max_tokens=options.max_tokens,
            stop=options.stop,
            plain_per_second=self._info.plain_per_second,
        )


def resolve_depth(depth: int | None) -> int:
    """The depth to speculate at. Raises UsageError outside what contexts are prepared for."""
    if depth is None:
        return DEFAULT_DEPTH
    if not 0 <= depth <= MAX_DEPTH:
        raise UsageError(f"A depth of {depth} is not possible.", f"Choose one from 0 to {MAX_DEPTH}.")
    return depth


@dataclass(frozen=True, slots=True)
class _Headers:
    """What the files say about themselves."""

    target: GgufHeader
    draft: GgufHeader | None


def _read_headers(options: LoadOptions) -> _Headers:
    """Everything that can be refused without loading gigabytes is refused here."""
    target = read_header(options.target)
    draft = read_header(options.draft) if options.draft else None
    if draft:
        check_match(target, draft)
    return _Headers(target, draft)


def _open_models(
    options: LoadOptions, cancel: Cancellation, progress: Progress, resources: ExitStack
) -> tuple[LlamaModel, LlamaModel | None]:
    """The target and, if there is one, its draft with the same context; ``resources`` will close them."""

    def opened(path: Path, what: str, max_outputs: int, n_ctx: int | None, n_vocab: int | None) -> LlamaModel:
        report: Callable[[float], None] = partial(progress, f"loading the {what}")
        report(0.0)
        settings = LoadSettings(path, max_outputs, n_ctx, options.threads, options.gpu_layers)
        model = LlamaModel.open(settings, cancel, report, n_vocab=n_vocab)
        resources.callback(model.close)
        return model

    target = opened(options.target, "target", MAX_DEPTH + 1, options.n_ctx, None)
    if options.draft is None:
        return target, None
    return target, opened(options.draft, "draft", 1, target.n_ctx, target.vocab.n_vocab)


def _describe(options: LoadOptions, headers: _Headers, target: LlamaModel, draft: LlamaModel | None) -> PairInfo:
    """All there is to say before anything is measured."""
    draft_name = (headers.draft.name or headers.draft.source) if headers.draft else None
    return PairInfo(
        target=options.target,
        draft=options.draft,
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
    )


def _measuring_prompt(vocab: LlamaVocab) -> list[int]:
    """Any text does; this one is easy to go on with."""
    tokens = vocab.tokenize("One, two, three, four, five, six, seven,", special=False)
    return [vocab.bos, *tokens] if vocab.adds_bos and vocab.bos is not None else tokens
