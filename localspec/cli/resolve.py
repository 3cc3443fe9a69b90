"""From options as given to a ``ChatConfig``: what was said, else what the pair recommends, else the defaults."""

from __future__ import annotations

from pathlib import Path

from localspec.base.errors import UsageError
from localspec.cli.options import GivenOptions
from localspec.cli.prompt import require_text
from localspec.cli.sampling import resolve_sampling
from localspec.config.personas import read_persona
from localspec.models.pairs import BUILTIN_ID, RecommendedSampling, load_catalogue
from localspec.runtime.chat_config import ChatConfig, Outlets
from localspec.runtime.messages import TOUR_DEPTH, ReplyOptions
from localspec.runtime.options import MAX_DEPTH, LoadOptions


def resolve(chosen: GivenOptions) -> ChatConfig:
    """Raises UsageError for options that contradict each other, NotFoundError for a pair that is not there."""
    _check(chosen)
    if chosen.target is not None:
        return _of_files(chosen, chosen.target)
    return _of_pair(chosen)


def _check(chosen: GivenOptions) -> None:
    if chosen.pair is not None and (chosen.target or chosen.draft):
        raise UsageError("--pair and --target name two different things to load.", "Leave one of them out.")
    if chosen.draft is not None and chosen.target is None:
        raise UsageError("--draft needs a --target to draft for.", "Add --target FILE.")
    if chosen.depth is not None and chosen.depth > MAX_DEPTH:
        raise UsageError(f"A depth of {chosen.depth} is too deep.", f"Choose one from 0 to {MAX_DEPTH}.")
    if chosen.spec == () and chosen.depth:
        raise UsageError("--spec off leaves nothing to propose at a depth.", "Leave --depth out, or --spec off.")
    if not all(chosen.stop):
        raise UsageError("An empty --stop would end every reply at once.", "Give it a text, or leave it out.")
    require_text("".join((chosen.system or "", *chosen.stop)), "The text of --system or --stop")
    require_text(chosen.persona or "", "The name of the persona")
    if chosen.spec:
        _check_drafters(chosen.spec)
    if chosen.target is not None and chosen.draft is None:
        _check_no_draft_options(chosen)


def _check_no_draft_options(chosen: GivenOptions) -> None:
    for name in ("draft_threads", "draft_gpu_layers", "draft_device"):
        if getattr(chosen, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for a draft, and there is none.", "Add --draft FILE.")


def _check_drafters(names: tuple[str, ...]) -> None:
    """Before anything is loaded; making the drafters would find it out only after."""
    from localspec.engine.drafters import drafter_names

    known = drafter_names()
    for name in names:
        if name not in known:
            raise UsageError(f"There is no drafter {name!r}.", f"Known drafters: {', '.join(known)}.")


def _of_files(chosen: GivenOptions, target: Path) -> ChatConfig:
    _check_draft(chosen, chosen.draft)
    return ChatConfig(
        load=_load_options(chosen, target, chosen.draft),
        reply=_reply_options(chosen, RecommendedSampling()),
        title=" + ".join(path.stem for path in (target, chosen.draft) if path is not None),
        system=_system(chosen),
        outlets=Outlets(chosen.metrics, chosen.audit_log, chosen.otel),
    )


def _of_pair(chosen: GivenOptions) -> ChatConfig:
    pair = load_catalogue().find(chosen.pair or BUILTIN_ID)
    files = pair.files()
    _check_draft(chosen, files.draft)
    return ChatConfig(
        load=_load_options(chosen, files.target, files.draft),
        reply=_reply_options(chosen, pair.sampling, depth=TOUR_DEPTH if pair.tour else None),
        pair_id=pair.id,
        title=pair.title,
        tour=pair.tour,
        pace_tokens_per_second=pair.pace_tokens_per_second,
        system=_system(chosen),
        outlets=Outlets(chosen.metrics, chosen.audit_log, chosen.otel),
    )


def _system(chosen: GivenOptions) -> str | None:
    """The system prompt: a text of its own beats a persona."""
    if chosen.system is not None or chosen.persona is None:
        return chosen.system
    return read_persona(chosen.persona)


def _check_draft(chosen: GivenOptions, draft: Path | None) -> None:
    if draft is None and chosen.spec and "draft" in chosen.spec:
        raise UsageError("--spec draft needs a draft model, and there is none.", "Name one with --target and --draft.")


def _load_options(chosen: GivenOptions, target: Path, draft: Path | None) -> LoadOptions:
    return LoadOptions(
        target,
        draft,
        n_ctx=chosen.ctx,
        threads=chosen.threads,
        draft_threads=chosen.draft_threads,
        gpu_layers=chosen.gpu_layers,
        draft_gpu_layers=chosen.draft_gpu_layers,
        device=chosen.device,
        draft_device=chosen.draft_device,
        require_gpu=chosen.require_gpu,
        cache_type_k=chosen.cache_type_k,
        cache_type_v=chosen.cache_type_v,
        flash_attn=chosen.flash_attn,
        mmap=chosen.mmap,
        mlock=chosen.mlock,
        remember_replies=chosen.remember_replies,
        keep_caches=chosen.keep_caches,
    )


def _reply_options(chosen: GivenOptions, recommended: RecommendedSampling, depth: int | None = None) -> ReplyOptions:
    return ReplyOptions(
        sampling=resolve_sampling(chosen, recommended),
        spec=chosen.spec,
        depth=depth if chosen.depth is None else chosen.depth,
        seed=chosen.seed,
        max_tokens=chosen.max_tokens,
        stop=chosen.stop,
    )
