"""The networks of a pair that makes several replies at once: a target, and whatever drafts for it, with sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.backends.llama.block_head import LlamaBlockHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.sequences import LlamaSequence, LlamaSequences
from localspec.engine.batched_head import SequenceBlockHead, SequenceHead
from localspec.engine.batching import BatchNetwork, ContinuousBatch
from localspec.engine.cancel import Cancellation
from localspec.engine.drafter import DrafterInputs
from localspec.engine.head import HeadInputs
from localspec.engine.suffix_automaton import SuffixAutomaton
from localspec.gguf.draft_heads import DRAFT, MTP
from localspec.runtime.opened_models import AnyHead, begin_loading, open_head
from localspec.runtime.options import Progress
from localspec.runtime.pair_drafters import PairDrafters
from localspec.runtime.placement import Placement


@dataclass(frozen=True, slots=True)
class SequenceModels:
    """One sequence of the networks."""

    target: LlamaSequence
    draft: LlamaSequence | None
    """The sequence of a draft model."""
    drafters: PairDrafters


@dataclass(slots=True)
class SharedModels:
    """The networks, with all their sequences."""

    target: LlamaSequences
    draft: LlamaSequences | None = None
    """A draft model."""
    heads: dict[str, AnyHead] = field(default_factory=dict)
    """The heads by kind, which is also the name of their drafter."""
    unavailable: dict[str, DrafterUnavailableError] = field(default_factory=dict)
    """As ``OpenedModels.unavailable``."""

    @property
    def in_order(self) -> list[BatchNetwork[Any, Any]]:
        """As they are to answer."""
        return [*self.heads.values(), *([self.draft] if self.draft else []), self.target]

    @property
    def drafting(self) -> LlamaSequences | AnyHead | None:
        """The draft model, or the head from a file of its own."""
        return self.draft or next((head for kind, head in self.heads.items() if kind != MTP), None)

    def borrow(self, sequence: int, context: Sequence[int]) -> None:
        """As ``LlamaSequences.borrow``; a head reads the target's rows of what is taken over itself."""
        self.target.borrow(sequence, context)
        if self.draft:
            self.draft.borrow(sequence, context)

    def drafter_of(self, network: BatchNetwork[Any, Any]) -> str | None:
        """The name of the drafter that evaluates a network; None for the target."""
        if network is self.target:
            return None
        return next((kind for kind, head in self.heads.items() if head is network), DRAFT)

    def sequence(self, batch: ContinuousBatch, number: int, past: SuffixAutomaton | None) -> SequenceModels:
        """The models and drafters of one sequence; ``past`` are the replies of other conversations."""
        target = LlamaSequence(batch, self.target, number)
        draft = LlamaSequence(batch, self.draft, number) if self.draft else None
        heads: dict[str, HeadInputs[Any]] = {}
        for kind, head in self.heads.items():
            one: SequenceHead | SequenceBlockHead
            if isinstance(head, LlamaBlockHead):
                one = SequenceBlockHead(batch, head, number, self.target.n_ctx)
            else:
                one = SequenceHead(batch, head, number, self.target.n_ctx)
            heads[kind] = HeadInputs(one, self.target.keep_hidden(number, head.read_layers))
        inputs = DrafterInputs(target.vocab, draft, past, heads)
        return SequenceModels(target, draft, PairDrafters(inputs, self.unavailable))


def open_shared_models(
    placement: Placement, draft_kind: str, n_ctx: int, cancel: Cancellation, progress: Progress, resources: ExitStack
) -> SharedModels:
    """The networks, with sequences of ``n_ctx`` tokens; ``resources`` will close them, the target last."""
    loading = partial(begin_loading, progress)
    target = LlamaSequences.open(placement.target, cancel, loading("target"), n_ctx=n_ctx)
    resources.callback(target.close)
    models = SharedModels(target)
    if placement.mtp:
        _add_head(models, MTP, placement.mtp, cancel, resources, None)
    if placement.draft and draft_kind == DRAFT:
        report, n_vocab = loading("draft"), target.vocab.n_vocab
        models.draft = LlamaSequences.open_draft(placement.draft, cancel, report, n_ctx=n_ctx, n_vocab=n_vocab)
        resources.callback(models.draft.close)
    elif placement.draft:
        _add_head(models, draft_kind, placement.draft, cancel, resources, loading("draft"))
    return models


def _add_head(
    models: SharedModels,
    kind: str,
    settings: LoadSettings,
    cancel: Cancellation,
    resources: ExitStack,
    progress: Callable[[float], None] | None,
) -> None:
    """Open a head, unless it cannot be had, which is noted."""
    # No cells are taken from a sequence of a head, so there are enough for all.
    settings = replace(settings, n_ctx=settings.sequences * models.target.n_ctx)
    keep = partial(models.target.keep_hidden, 0)
    try:
        models.heads[kind], _ = open_head(kind, settings, models.target, keep, cancel, progress, resources)
    except DrafterUnavailableError as error:
        models.unavailable[kind] = error
