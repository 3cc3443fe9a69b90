"""The models of a pair in memory: the target, and whatever drafts for it from a file or from its own layers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from localspec.base.errors import CapacityError, DrafterUnavailableError
from localspec.engine.backends.llama.block_head import LlamaBlockHead
from localspec.engine.backends.llama.head import LlamaHead
from localspec.engine.backends.llama.head_context import HeadContext
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.projector import Projector
from localspec.engine.backends.llama.skipping import SkippingLlama
from localspec.engine.block_head import BlockHead
from localspec.engine.cancel import Cancellation
from localspec.engine.drafter import DrafterInputs
from localspec.engine.head import Head, HeadInputs
from localspec.engine.suffix_automaton import SuffixAutomaton
from localspec.gguf.draft_heads import DFLASH, DRAFT, EAGLE3, MTP
from localspec.runtime.options import Progress
from localspec.runtime.pair_drafters import PairDrafters
from localspec.runtime.placement import Placement


@dataclass(slots=True)
class OpenedModels:
    """The models of a pair, and what its drafters are made from."""

    target: LlamaModel
    projector: Projector | None = None
    """The projector through which the target reads images."""
    draft: LlamaModel | None = None
    """A draft model."""
    head: HeadContext | None = None
    """A head of the target from a file of its own."""
    heads: dict[str, HeadInputs[Head]] = field(default_factory=dict)
    """The heads by kind, which is also the name of their drafter."""
    block_head: HeadInputs[BlockHead] | None = None
    unavailable: dict[str, DrafterUnavailableError] = field(default_factory=dict)
    """Heads that there are files for, and that cannot be used, by drafter."""

    def drafters(self, past: SuffixAutomaton | None) -> PairDrafters:
        """The drafters; ``past`` are the replies of other conversations."""
        inputs = DrafterInputs(
            self.target.vocab,
            self.draft,
            past,
            eagle3=self.heads.get(EAGLE3),
            mtp=self.heads.get(MTP),
            dflash=self.block_head,
        )
        return PairDrafters(inputs, self.unavailable)


def open_models(
    placement: Placement, draft_kind: str, cancel: Cancellation, progress: Progress, resources: ExitStack
) -> OpenedModels:
    """The target and what drafts for it, with the same context; ``resources`` will close them, the target last."""

    def loading(what: str) -> Callable[[float], None]:
        report: Callable[[float], None] = partial(progress, f"loading the {what}")
        report(0.0)
        return report

    target = LlamaModel.open(placement.target, cancel, loading("target"))
    resources.callback(target.close)
    opened = OpenedModels(target, projector=_open_projector(target, placement, cancel, resources, loading))
    if placement.mtp:
        try:
            _open_head(opened, MTP, placement.mtp, cancel, resources, None)
        except CapacityError as error:
            opened.unavailable[MTP] = DrafterUnavailableError(error.message, error.hint)  # nobody asked for them
    if placement.draft and draft_kind == DRAFT:
        report, n_vocab = loading("draft"), target.vocab.n_vocab
        opened.draft = draft = SkippingLlama.open(placement.draft, cancel, report, n_vocab=n_vocab)
        resources.callback(draft.close)
        if opened.projector:
            draft.leave_out_images()
    elif placement.draft:
        opened.head = _open_head(opened, draft_kind, placement.draft, cancel, resources, loading("draft"))
    return opened


def _open_projector(
    target: LlamaModel,
    placement: Placement,
    cancel: Cancellation,
    resources: ExitStack,
    loading: Callable[[str], object],
) -> Projector | None:
    if placement.projector is None:
        return None
    loading("projector")
    settings = placement.target
    projector = Projector.open(
        placement.projector,
        target.loaded,
        cancel,
        threads=target.threads,
        on_gpu=bool(settings.devices) and settings.gpu_layers != 0,
        at_once=settings.at_once,
    )
    resources.callback(projector.close)
    target.read_images_with(projector)
    return projector


def _open_head(
    opened: OpenedModels,
    kind: str,
    settings: LoadSettings,
    cancel: Cancellation,
    resources: ExitStack,
    progress: Callable[[float], None] | None,
) -> HeadContext | None:
    """The head, or None if llama.cpp or the target cannot serve it, which is noted."""
    head: HeadContext
    try:
        if kind == DFLASH:
            head, opened.block_head = LlamaBlockHead.open(settings, opened.target, cancel, progress)
        else:
            encodes = kind == EAGLE3
            head, opened.heads[kind] = LlamaHead.open(settings, opened.target, cancel, progress, encodes=encodes)
    except DrafterUnavailableError as error:
        opened.unavailable[kind] = error
        return None
    resources.callback(head.close)
    return head
