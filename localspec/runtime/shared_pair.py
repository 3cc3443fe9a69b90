"""A loaded pair that makes several replies at once.

One target and one draft model or head, with a sequence of each for every reply. Evaluations are shared; all else of a
reply is made as it is alone, by a ``Replier`` of its own: prompt, drafters, sampler, calls.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any

from localspec.base.errors import CapacityError
from localspec.base.machine import ProcessorWatch
from localspec.config.table import AUTO_MAX_DEPTH, MAX_DEPTH
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.batching import PIECE_N, BatchEvaluation, BatchNetwork, ContinuousBatch
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.events import Event
from localspec.engine.goodput import GoodputPlanner, SharedDepth
from localspec.gguf import GgufHeader
from localspec.gguf.dimensions import Hyperparameters
from localspec.gguf.draft_heads import DRAFT, MTP, drafter_kind, is_dspark
from localspec.models.heads import mtp_fault
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.loaded_pair import LoadedPair
from localspec.runtime.messages import Listener, Message, Prompt, ReplyOptions, Tool
from localspec.runtime.opening import Headers, calibration_file, check_headers, describe, fit_costs
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.past_replies import ReplyMemory
from localspec.runtime.placement import Placement, context_tokens, default_value_type, place_models
from localspec.runtime.replier import Replier
from localspec.runtime.shared_models import SequenceModels, SharedModels, open_shared_models
from localspec.runtime.thread_governor import ThreadGovernor

_LONG_ROPE = "rope_factors_long.weight"
"""A tensor of models whose positions depend on the size of the context, which all replies share."""
_PIECE_ROUNDS = 4.0
"""A text is read beside others' rounds in pieces that take the target as long as so many plain rounds."""
_DRAFT_PIECE_ROUNDS = 1.0
"""As ``_PIECE_ROUNDS``, for a draft model or head."""
_MOST_PIECE_N = 256
_NO_MEMORY = "the memory has no room for more contexts"


def open_for_several(options: LoadOptions, cancel: Cancellation, progress: Progress) -> SharedPair | LoadedPair:
    """As ``load.open_pair``: a ``SharedPair`` if the pair can be one, and memory has room for two contexts at least."""
    headers = check_headers(options)
    why_alone = _why_alone(headers)
    if not why_alone:
        for replies_n in range(options.replies, 1, -1):
            try:
                placement = _place(options, headers, replies_n)
            except CapacityError:
                continue
            if placement is not None:
                return SharedPair.open(options, headers, placement, replies_n, cancel, progress)
    return LoadedPair.open(options, cancel, progress, why_fewer=why_alone or _NO_MEMORY)


class SharedPair:
    """Implements ``load.ConcurrentPair``."""

    def __init__(
        self,
        info: PairInfo,
        batch: ContinuousBatch,
        planner: GoodputPlanner,
        slots: Sequence[_Slot],
        asked: Replier,
        calibration: CalibrationFile,
        governor: ThreadGovernor,
        resources: ExitStack,
    ) -> None:
        """``asked`` answers questions about text and replies, on a sequence of its own."""
        self._info = info
        self._batch = batch
        self._planner = planner
        self._slots = slots
        self._asked = asked
        self._calibration = calibration
        self._governor = governor
        self._resources = resources
        self._begun_n = 0
        self.inspector = asked.inspector
        self.prompter = asked.prompter

    @staticmethod
    def open(
        options: LoadOptions,
        headers: Headers,
        placement: Placement,
        replies_n: int,
        cancel: Cancellation,
        progress: Progress,
    ) -> SharedPair:
        """Load the models with a sequence for each of ``replies_n`` replies and one for questions."""
        started, processors = time.perf_counter(), ProcessorWatch()
        with ExitStack() as resources:
            kind = drafter_kind(headers.draft) if headers.draft else DRAFT
            n_ctx = context_tokens(options, headers.target)
            models = open_shared_models(placement, kind, n_ctx, cancel, progress, resources)
            batch = ContinuousBatch(models.in_order)
            resources.callback(batch.close)
            memory = ReplyMemory.open(headers.target.fingerprint) if options.remember_replies else None
            past = memory.automaton if memory else None
            sequences = [models.sequence(batch, number, past) for number in range(replies_n + 1)]
            target, measured = sequences[0].target, sequences[0].drafters.models
            calibration = calibration_file(options, target)
            costs, tuned = fit_costs(options, target, measured, calibration, cancel, progress)
            costs.pad()
            models.target.pad(costs.size)
            planner = GoodputPlanner(costs, MAX_DEPTH, min(AUTO_MAX_DEPTH, costs.largest - 1))
            batch.piece_n, batch.evaluated = partial(_piece_n, costs, models), partial(_learn, planner, models)
            info = describe(options, headers, target, models.drafting)
            info = replace(info, plain_per_second=1 / costs.plain_s, drafters=tuple(measured), replies=replies_n)
            why_fewer = _NO_MEMORY if replies_n < options.replies else ""
            info = replace(info, load_s=time.perf_counter() - started, why_fewer=why_fewer)
            policies = [planner.policy() for _ in sequences]
            calibration.recall(planner.reading)
            *repliers, asked = [
                _replier(models, number, sequences[number], policy, memory, info.plain_per_second)
                for number, policy in enumerate(policies)
            ]
            slots = [_Slot(*slot) for slot in zip(repliers, policies, strict=False)]
            for slot in slots:
                slot.replier.inspector = asked.inspector
            governor = ThreadGovernor(tuned, processors)
            return SharedPair(info, batch, planner, slots, asked, calibration, governor, resources.pop_all())

    @property
    def info(self) -> PairInfo:
        return self._info

    @property
    def room_n(self) -> int:
        return sum(not slot.busy for slot in self._slots)

    def begin(
        self, prompt: Prompt, options: ReplyOptions, prefix: str, listener: Listener, cancel: Cancellation
    ) -> None:
        if not any(slot.busy for slot in self._slots):
            self._governor.adjust(begins=True)
        slot = max((slot for slot in self._slots if not slot.busy), key=lambda slot: slot.suits(prompt))
        self._begun_n += 1
        slot.take(prompt, cancel, self._begun_n)

        def reply() -> None:
            try:
                for event in slot.replier.reply(prompt, options, prefix):
                    listener.event(event)
            except Exception as error:  # noqa: BLE001 -- the listener is told
                listener.failed(error)
            finally:
                self._planner.leave(slot.policy)
                slot.busy = False

        try:
            self._batch.begin(reply, cancel)
        except RuntimeError:  # the system has no thread for it
            slot.busy = False
            raise

    def step(self) -> bool:
        self._governor.adjust()
        return self._batch.step()

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """A reply beside the others, each evaluation of which is its own."""
        return self._asked.reply(prompt, options, prefix)

    def count_tokens(self, text: str) -> int:
        return self.prompter.count(text)

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        """Nothing: others would wait for it."""
        return 0

    def close(self, cancel: Cancellation | None = None) -> None:
        """As ``load.OpenPair.close``; replies under way end as cancelled."""
        with self._resources:
            self._batch.close()
            self._calibration.refresh(self._planner.costs, self._planner.reading)


@dataclass(slots=True)
class _Slot:
    """A sequence of the models, for one reply after another."""

    replier: Replier
    policy: SharedDepth
    busy: bool = False
    latest: Prompt = ()
    """The prompt of the latest reply."""
    number: int = 0
    """Its number; 0 before the first."""

    def take(self, prompt: Prompt, cancel: Cancellation, number: int) -> None:
        self.busy, self.latest, self.number = True, prompt, number
        self.replier.cancel = cancel

    def suits(self, prompt: Prompt) -> tuple[int, int]:
        """The part of this prompt that it has seen, in messages or characters, and how little it was used lately."""
        latest = self.latest
        if isinstance(prompt, str) and isinstance(latest, str):
            # Slices, as they compare thousands of times as fast as characters; prompts are long.
            ends = range(1, min(len(latest), len(prompt)) + 1)
            return bisect_left(ends, True, key=lambda end: latest[:end] != prompt[:end]), -self.number
        if isinstance(prompt, tuple) and isinstance(latest, tuple):
            same = takewhile(lambda both: both[0] == both[1], zip(latest, prompt, strict=False))
            return sum(1 for _ in same), -self.number
        return 0, -self.number


@dataclass(frozen=True, slots=True)
class _Policies:
    """Those of a reply beside others."""

    adaptive: SharedDepth

    def fixed(self, depth: int) -> DepthPolicy:
        self.adaptive.planner.costs.read_text()
        return FixedDepth(depth)  # what its rounds take says nothing about costs


@dataclass(frozen=True, slots=True)
class _OthersCells:
    """Implements ``Caches``: a reply begins from the beginning that another sequence holds."""

    models: SharedModels
    sequence: int

    def before_reply(self, context: Sequence[int], cancel: Cancellation) -> None:
        self.models.borrow(self.sequence, context)

    def after_reply(self, context: Sequence[int]) -> None:
        """Nothing: its cells stay until others need them."""


def _why_alone(headers: Headers) -> str:
    """A clause why a pair cannot make several replies at once; empty if it can: it keeps a cell for every token."""
    if headers.projector:
        return "it has a projector"
    if Hyperparameters(headers.target).n_mtp > 1 and not mtp_fault(headers.target_parts):
        return "it has several MTP layers"  # ``BatchHead``
    models = [*headers.target_parts, *([headers.draft] if headers.draft else [])]
    if any(Hyperparameters(header).has_states for header in models):
        return "it has recurrent layers"
    if any(tensor.name == _LONG_ROPE for header in models for tensor in header.tensors):
        return "its positions depend on the size of the context"
    return _why_head_alone(headers.draft) if headers.draft else ""


def _why_head_alone(draft: GgufHeader) -> str:
    """As ``_why_alone``: blocks whose places know of each other, and heads that look into the target's cells."""
    if is_dspark(draft):
        return "it has a DSpark head"
    return "its draft is an assistant" if drafter_kind(draft) == MTP else ""


def _place(options: LoadOptions, headers: Headers, replies_n: int) -> Placement | None:
    """Settings with cells for so many replies; None where memory has no room for all cells. Raises CapacityError.

    Attention is fused unless asked otherwise, also on the CPU: unfused each row is computed against the cells of all
    sequences, fused only against its own (figures in docs/benchmarks.md).
    """
    cells_n = replies_n * context_tokens(options, headers.target)
    cells = replace(options, n_ctx=cells_n)
    placement = place_models(cells, headers.target, headers.draft, sequences=replies_n + 1)
    if not placement.target.swa_full:
        return None
    if options.flash_attn != "auto":
        return placement
    draft = placement.draft and _fused(placement.draft, options)
    return replace(placement, target=_fused(placement.target, options), draft=draft)


def _fused(settings: LoadSettings, options: LoadOptions) -> LoadSettings:
    value_type = options.cache_type_v or default_value_type(settings.devices or (), settings.gpu_layers, fused=True)
    return replace(settings, flash_attn=None, cache_type_v=value_type)


def _replier(
    models: SharedModels,
    sequence: int,
    own: SequenceModels,
    policy: SharedDepth,
    memory: ReplyMemory | None,
    plain_per_second: float | None,
) -> Replier:
    """The maker of one sequence's replies."""
    return Replier(
        *(own.target, own.draft, own.drafters, _Policies(policy)),
        memory=memory,
        caches=_OthersCells(models, sequence),
        cancel=Cancellation(),
        plain_per_second=plain_per_second,
    )


def _learn(planner: GoodputPlanner, models: SharedModels, evaluation: BatchEvaluation) -> None:
    """Let the prices of evaluations follow."""
    if evaluation.reading:
        planner.costs.read_text()
        return
    drafter = models.drafter_of(evaluation.network)
    if drafter is None:
        planner.verified(evaluation.tokens_n, evaluation.spent_s, evaluation.unscored_n)
    elif evaluation.replies_n <= evaluation.tokens_n <= 2 * evaluation.replies_n:
        planner.drafted(drafter, evaluation.replies_n, evaluation.spent_s)


def _piece_n(costs: Costs, models: SharedModels, network: BatchNetwork[Any, Any]) -> int:
    """The tokens that a network reads at once beside others' rounds."""
    query = costs.queries.get(models.drafter_of(network) or "")
    if query:
        n = _DRAFT_PIECE_ROUNDS * costs.plain_s / query.catch_up_s
    else:
        n = _PIECE_ROUNDS * costs.plain_s * costs.largest / costs.round_s(costs.largest)
    return min(max(PIECE_N, int(n)), _MOST_PIECE_N)
