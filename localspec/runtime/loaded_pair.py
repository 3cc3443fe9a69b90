"""A loaded pair: two models in memory, and the replies they give.

Wires checks, backend, prompt and loop together; each of them knows nothing of the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from localspec.base.machine import ProcessorWatch
from localspec.base.paths import user_paths
from localspec.config.table import AUTO_MAX_DEPTH
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.events import Event
from localspec.engine.model import Logits
from localspec.gguf.draft_heads import DRAFT, drafter_kind
from localspec.runtime.calibration_file import CalibrationFile, calibration_key
from localspec.runtime.messages import Message, Prompt, ReplyOptions, Tool
from localspec.runtime.opened_models import open_models
from localspec.runtime.opening import calibration_file, check_headers, describe, fit_costs
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.past_replies import ReplyMemory
from localspec.runtime.placement import place_models
from localspec.runtime.prompt_cache import KeptCaches
from localspec.runtime.replier import Replier
from localspec.runtime.speed.recording import SpeedRecorder
from localspec.runtime.thread_governor import ThreadGovernor

_SHORTEST_KEPT_N, _WORTH_S = 128, 2.0
"""Caches are kept from so many tokens on, if reading them would take so long."""
_AHEAD_N = 64
"""Tokens that are read ahead at once: so few are lost if something else comes in between."""


class LoadedPair:
    """Two models, and the memory of what they were asked last. Implements ``load.InspectablePair``."""

    def __init__(
        self,
        info: PairInfo,
        target: LlamaModel,
        replier: Replier,
        adaptive: AdaptiveDepth,
        calibration: CalibrationFile,
        caches: KeptCaches | None,
        resources: ExitStack,
    ) -> None:
        self._info = info
        self._target = target
        self._replier = replier
        self._adaptive = adaptive
        self._calibration = calibration
        self._caches = caches
        self._resources = resources
        self._ahead: tuple[tuple[tuple[Message, ...], tuple[Tool, ...], str | None], list[int]] = (((), (), None), [])
        """The arguments of ``read_ahead``, and the tokens that their prompt begins with."""
        self.prompter = replier.prompter
        self.inspector = replier.inspector

    @staticmethod
    def open(options: LoadOptions, cancel: Cancellation, progress: Progress, *, why_fewer: str = "") -> LoadedPair:
        """As ``load.open_pair``, for one reply at a time; ``why_fewer`` says why, if several were asked for."""
        started, processors = time.perf_counter(), ProcessorWatch()
        progress("checking the files", 0.0)
        headers = check_headers(options)
        placement = place_models(options, headers.target, headers.draft, headers.projector)
        with ExitStack() as resources:
            draft_kind = drafter_kind(headers.draft) if headers.draft else DRAFT
            opened = open_models(placement, draft_kind, cancel, progress, resources)
            target, draft = opened.target, opened.draft
            calibration = calibration_file(options, target)
            memory = ReplyMemory.open(headers.target.fingerprint) if options.remember_replies else None
            drafters = opened.drafters(memory.automaton if memory else None)
            costs, tuned = fit_costs(options, target, drafters.models, calibration, cancel, progress)
            if target.can_pad:
                costs.pad()
                target.pad(costs.size)
            info = describe(options, headers, target, draft or opened.head)
            info = replace(info, plain_per_second=1 / costs.plain_s, drafters=tuple(drafters.models))
            info = replace(info, load_s=time.perf_counter() - started, why_fewer=why_fewer)
            caches = _kept_caches(options, target, draft, costs) if options.keep_caches else None
            policies = _Policies(AdaptiveDepth(costs, min(AUTO_MAX_DEPTH, costs.largest - 1)))
            calibration.recall(policies.adaptive.reading)
            replier = Replier(
                target,
                draft,
                drafters,
                policies,
                projector=opened.projector,
                memory=memory,
                caches=caches,
                speeds=SpeedRecorder.of(options, headers.target_parts),
                governor=ThreadGovernor(tuned, processors),
                cancel=cancel,
                plain_per_second=info.plain_per_second,
            )
            return LoadedPair(info, target, replier, policies.adaptive, calibration, caches, resources.pop_all())

    @property
    def info(self) -> PairInfo:
        return self._info

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        return self._replier.reply(prompt, options, prefix)

    def scores(self, prompt: Sequence[Message] | str, reply: Sequence[int], width: int) -> Iterator[Logits]:
        """The target's scores before each token of a reply, a row each, ``width`` tokens evaluated at a time.

        A row is valid until the next is asked for. Raises Cancelled.
        """
        ready = self.prompter.raw(prompt) if isinstance(prompt, str) else self.prompter.chat(prompt, len(reply))
        for start in range(0, len(reply), width):
            end = min(start + width, len(reply))
            yield from self._target.logits([*ready.tokens, *reply[: end - 1]], end - start)

    def count_tokens(self, text: str) -> int:
        return self.prompter.count(text)

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        if not self._target.forgets_freely:  # what is read for nothing would have to be read again without it
            return 0
        if self._ahead[0] != (asked := (tuple(messages), tuple(tools), reasoning)):
            self._ahead = asked, self.prompter.beginning(messages, tools, reasoning)
        tokens = self._ahead[1]
        if self._caches:
            self._caches.before_reply(tokens, self._replier.cancel)
        known_n = self._target.held(tokens)
        end = min(len(tokens), known_n + _AHEAD_N)
        while end < len(tokens) and tokens[end] < 0:  # an image is read whole
            end += 1
        if end > known_n:
            self._target.logits(tokens[:end], 0)
        return len(tokens) - end

    def close(self, cancel: Cancellation | None = None) -> None:
        with self._resources:
            self._calibration.refresh(self._adaptive.costs, self._adaptive.reading)
            if self._caches:
                self._caches.keep(cancel)


@dataclass(frozen=True, slots=True)
class _Policies:
    """Those of a reply that has the models for itself."""

    adaptive: AdaptiveDepth

    def fixed(self, depth: int) -> DepthPolicy:
        self.adaptive.costs.read_text()
        return FixedDepth(depth, self.adaptive.costs)


def _kept_caches(options: LoadOptions, target: LlamaModel, draft: LlamaModel | None, costs: Costs) -> KeptCaches:
    """The store for the caches of this pair, and of conversations that are long enough for it."""
    files = [file for file in (options.target, options.draft) if file is not None]
    key = calibration_key(files, (target.cache_type_k, target.cache_type_v, target.flash_attn))
    read_s = costs.round_s(costs.largest) / costs.largest
    worth_n = max(_SHORTEST_KEPT_N, int(_WORTH_S / read_s))
    return KeptCaches(user_paths().data / "caches" / key, (target, draft) if draft else (target,), worth_n)
