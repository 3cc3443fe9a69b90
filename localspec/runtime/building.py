"""``ChatConfig`` from the values of settings, by their keys, as their kinds resolve them.

Three values are no settings: ``target``, ``draft`` and ``projector``, files in place of a pair. None and missing values
are not set; what the pair recommends counts for them, else the defaults in ``LoadOptions``, ``ReplyOptions`` and
``Sampling``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from localspec.base.errors import LocalSpecError, UsageError
from localspec.config.kinds import NONE
from localspec.config.text_folder import read_persona
from localspec.config.texts import require_text
from localspec.gguf.draft_heads import DRAFTERS, MTP
from localspec.models.pairs import BUILTIN_ID, PairFiles, RecommendedSampling, load_catalogue
from localspec.models.projectors import find_projector
from localspec.runtime.chat_config import ChatConfig, Outlets, ToolChoice
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from localspec.runtime.remote.address import ServerAddress
from localspec.runtime.sampling import build_sampling, taken_by

DRAFT_SETTINGS = ("draft_threads", "draft_gpu_layers", "draft_device")
"""Settings that need a draft model, or heads."""

Values = Mapping[str, Any]


def build_chat_config(values: Values) -> ChatConfig:
    """Raises UsageError for values that contradict each other, NotFoundError for a pair that is not there."""
    _check(values)
    if is_elsewhere(values):
        found = _for_server(values)
    elif values.get("target") is not None:
        found = _for_files(values, PairFiles(values["target"], values.get("draft"), values.get("projector")))
    else:
        found = _for_pair(values)
    outlets, tools = Outlets(**taken_by(Outlets, values)), ToolChoice(**taken_by(ToolChoice, values))
    return replace(found, system=_system(values), outlets=outlets, tools=tools)


def is_elsewhere(values: Values) -> bool:
    """True if the values name the pair of a server."""
    return values.get("connect") not in (None, NONE)


def _check(values: Values) -> None:
    target, draft, spec = values.get("target"), values.get("draft"), values.get("spec")
    if is_elsewhere(values):
        _check_connected(values)
    if values.get("pair") is not None and (target or draft):
        given = "target" if target else "draft"
        raise UsageError(f"--pair and --{given} name two different things to load.", "Leave one of them out.")
    if draft is not None and target is None:
        raise UsageError("--draft needs a --target to draft for.", "Add --target FILE.")
    if values.get("projector") is not None and target is None:
        raise UsageError("--projector needs a --target to read images for.", "Add --target FILE.")
    if spec == () and values.get("depth"):
        raise UsageError("--spec off leaves nothing to propose at a depth.", "Leave --depth out, or --spec off.")
    stop = values.get("stop") or ()
    if not all(stop):
        raise UsageError("An empty --stop would end every reply at once.", "Give it a text, or leave it out.")
    require_text("".join((values.get("system") or "", *stop)), "The text of --system or --stop")
    require_text(values.get("persona") or "", "The name of the persona")
    if spec:
        _check_drafters(spec)
    if target is not None and draft is None:
        _check_no_draft_settings(values, target)


def _check_connected(values: Values) -> None:
    for name in ("target", "draft", "projector"):
        if values.get(name) is not None:
            raise UsageError(f"--connect and --{name} name two different things to load.", "Leave one of them out.")


def _check_no_draft_settings(values: Values, target: Path) -> None:
    for name in DRAFT_SETTINGS:
        if values.get(name) is not None and not _brought(target, None, ()):
            raise UsageError(f"--{name.replace('_', '-')} is for a draft, and there is none.", "Add --draft FILE.")


def _check_drafters(names: tuple[str, ...]) -> None:
    """Raise UsageError for an unknown drafter before anything is loaded; making the drafters would do so later."""
    from localspec.engine.drafters import drafter_names

    known = drafter_names()
    for name in names:
        if name not in known:
            raise UsageError(f"There is no drafter {name!r}.", f"Known drafters: {', '.join(known)}.")


def _for_files(values: Values, files: PairFiles) -> ChatConfig:
    target, draft = files.target, files.draft
    _check_brought(values, target, draft)
    return ChatConfig(
        load=_load_options(values, files),
        reply=_reply_options(values, RecommendedSampling()),
        title=" + ".join(path.stem for path in (target, draft) if path is not None),
    )


def _for_server(values: Values) -> ChatConfig:
    """A pair of a server. A pair that the catalogue here knows recommends the same sampling there."""
    where, _, named = values["connect"].partition("#")
    address = ServerAddress.parse(where)
    pair_id = values.get("pair") or named
    known = next((pair for pair in load_catalogue().pairs if pair.id == pair_id), None)
    name = f"{pair_id} at {address.place}" if pair_id else address.place
    return ChatConfig(
        load=LoadOptions(Path(pair_id.rpartition("/")[2] or address.place), server=address.url, server_pair=pair_id),
        reply=_reply_options(values, known.sampling if known else RecommendedSampling()),
        pair_id=name,
        title=name,
    )


def _for_pair(values: Values) -> ChatConfig:
    pair = load_catalogue().find(values.get("pair") or BUILTIN_ID)
    files = pair.files(values.get("spec") or ())
    _check_brought(values, files.target, files.draft)
    return ChatConfig(
        load=_load_options(values, files),
        reply=_reply_options(values, pair.sampling),
        pair_id=pair.id,
        title=pair.title,
        tour=pair.tour,
        pace_tokens_per_second=pair.pace_tokens_per_second,
    )


def _system(values: Values) -> str | None:
    """The system prompt: a text of its own beats a persona."""
    if values.get("system") is not None or values.get("persona") is None:
        return values.get("system")
    return read_persona(values["persona"])


def _check_brought(values: Values, target: Path, draft: Path | None) -> None:
    """Raise UsageError for a drafter in ``spec`` that needs a model or a head which the files do not bring."""
    wanted = [name for name in values.get("spec") or () if name in DRAFTERS]
    if not wanted:
        return
    # Loading says what is wrong with a file that cannot be read.
    brought = _brought(target, draft, (MTP,) if draft is None else tuple(DRAFTERS))
    for name in wanted:
        if name not in brought:
            raise UsageError(*_lack(name))


def _lack(drafter: str) -> tuple[str, str]:
    if drafter == MTP:
        return "--spec mtp needs MTP layers, and there are none.", "`localspec pairs check TARGET` says why."
    return f"--spec {drafter} needs {DRAFTERS[drafter]}, and there is none.", "Name one with --target and --draft."


def _brought(target: Path, draft: Path | None, unknown: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of drafters that the files bring; ``unknown`` if one of them cannot be read."""
    try:
        return PairFiles(target, draft).drafters()
    except LocalSpecError:
        return unknown


def _load_options(values: Values, files: PairFiles) -> LoadOptions:
    projector = files.projector or find_projector(files.target)
    paths = {"target": files.target, "draft": files.draft, "projector": projector}
    return LoadOptions(**taken_by(LoadOptions, {**values, "n_ctx": values.get("ctx"), **paths}))


def _reply_options(values: Values, recommended: RecommendedSampling) -> ReplyOptions:
    return ReplyOptions(
        **taken_by(ReplyOptions, values)
        | {"sampling": build_sampling(values, recommended), "repeatable": values.get("seed") is not None}
    )
