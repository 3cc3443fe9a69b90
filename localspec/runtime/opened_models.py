"""The models of a pair in memory: the target, and whatever drafts for it from a file or from its own layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from localspec.base.errors import CapacityError, DrafterUnavailableError
from localspec.engine.backends.llama.block_head import LlamaBlockHead
from localspec.engine.backends.llama.head import LlamaHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.projector import Projector
from localspec.engine.backends.llama.sequences import LlamaSequences
from localspec.engine.backends.llama.skipping import SkippingLlama
from localspec.engine.cancel import Cancellation
from localspec.engine.drafter import DrafterInputs
from localspec.engine.head import HeadInputs
from localspec.engine.hidden import HiddenStates
from localspec.engine.suffix_automaton import SuffixAutomaton
from localspec.gguf.draft_heads import DFLASH, DRAFT, EAGLE3, MTP
from localspec.runtime.options import Progress
from localspec.runtime.pair_drafters import PairDrafters
from localspec.runtime.placement import Placement

AnyHead = LlamaHead | LlamaBlockHead


@dataclass(slots=True)
class OpenedModels:
    """The models of a pair, and what its drafters are made from."""

    target: LlamaModel
    projector: Projector | None = None
    """The projector through which the target reads images."""
    draft: LlamaModel | None = None
    """A draft model."""
    head: AnyHead | None = None
    """A head of the target from a file of its own."""
    heads: dict[str, HeadInputs[Any]] = field(default_factory=dict)
    """The heads by kind, which is also the name of their drafter."""
    unavailable: dict[str, DrafterUnavailableError] = field(default_factory=dict)
    """Heads that there are files for, and that cannot be used, by drafter."""

    def drafters(self, past: SuffixAutomaton | None) -> PairDrafters:
        """The drafters; ``past`` are the replies of other conversations."""
        inputs = DrafterInputs(self.target.vocab, self.draft, past, self.heads)
        return PairDrafters(inputs, self.unavailable)


def open_models(
    placement: Placement, draft_kind: str, cancel: Cancellation, progress: Progress, resources: ExitStack
) -> OpenedModels:
    """The target and what drafts for it, with the same context; ``resources`` will close them, the target last."""
    loading = partial(begin_loading, progress)
    target = LlamaModel.open(placement.target, cancel, loading("target"))
    resources.callback(target.close)
    opened = OpenedModels(target, projector=_open_projector(target, placement, cancel, resources, loading))
    if placement.mtp:
        _add_head(opened, MTP, placement.mtp, cancel, resources, None)
    if placement.draft and draft_kind == DRAFT:
        report, n_vocab = loading("draft"), target.vocab.n_vocab
        opened.draft = draft = SkippingLlama.open(placement.draft, cancel, report, n_vocab=n_vocab)
        resources.callback(draft.close)
        if opened.projector:
            draft.leave_out_images()
    elif placement.draft:
        opened.head = _add_head(opened, draft_kind, placement.draft, cancel, resources, loading("draft"))
    return opened


def begin_loading(progress: Progress, what: str) -> Callable[[float], None]:
    """Report that a part of a pair is being loaded; what is returned takes the fraction that is."""
    progress(f"loading the {what}", 0.0)
    return partial(progress, f"loading the {what}")


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


def _add_head(
    opened: OpenedModels,
    kind: str,
    settings: LoadSettings,
    cancel: Cancellation,
    resources: ExitStack,
    progress: Callable[[float], None] | None,
) -> AnyHead | None:
    """The head, or None if it cannot be had, which is noted."""
    target = opened.target
    try:
        head, hidden = open_head(kind, settings, target, target.keep_hidden, cancel, progress, resources)
    except DrafterUnavailableError as error:
        opened.unavailable[kind] = error
        return None
    opened.heads[kind] = HeadInputs(head, hidden)
    return head


def open_head(
    kind: str,
    settings: LoadSettings,
    target: LlamaModel | LlamaSequences,
    keep: Callable[[Sequence[int]], HiddenStates],
    cancel: Cancellation,
    progress: Callable[[float], None] | None,
    resources: ExitStack,
) -> tuple[AnyHead, HiddenStates]:
    """A head, which ``resources`` will close, and the hidden states that it reads, which ``keep`` has the target keep.

    Raises DrafterUnavailableError if llama.cpp or the target cannot serve it, or if memory has no room for the target's
    own MTP layers, which nobody asked for; CapacityError, ModelFileError or Cancelled.
    """
    load = LlamaBlockHead.load if kind == DFLASH else partial(LlamaHead.load, encodes=kind == EAGLE3)
    with ExitStack() as own:
        try:
            head: AnyHead = load(settings, target, cancel, progress)
        except CapacityError as error:
            if settings.path != target.loaded.path:
                raise
            raise DrafterUnavailableError(error.message, error.hint) from error
        own.callback(head.close)
        hidden = keep(head.read_layers)
        resources.push(own.pop_all())
    return head, hidden
