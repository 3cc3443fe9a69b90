"""The addition of a user's pair to ``pairs.toml``, checked and named, and suggestions of drafts for a target."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from localspec.base.errors import LocalSpecError, ModelFileError, UsageError, reason_of
from localspec.base.shared_file import resolved
from localspec.gguf import GgufHeader, read_header
from localspec.gguf.draft_heads import DRAFT, MTP, announced_mtp_layers, drafter_in_words, drafter_kind
from localspec.models.compatibility import check_match, check_target, judge_match
from localspec.models.heads import can_run, mtp_fault
from localspec.models.pairs.catalogue import Catalogue, load_catalogue
from localspec.models.pairs.draft_size import LARGEST, SMALLEST, draft_distance, is_draft_size
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.references import Resolved
from localspec.models.pairs.scan import FOLDER
from localspec.models.pairs.schema import PAIR_ID
from localspec.models.pairs.split_files import called, parts_of, stem
from localspec.models.pairs.stores import Found
from localspec.models.pairs.user_pairs import append_pairs
from localspec.models.projectors import check_projector

_MIN_NAME_CHARS = 3
"""Shorter names in headers are ignored: converters write a letter where they know none."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A file that can draft for a target, or one that cannot, with the reason."""

    name: str
    """The name to give to ``--draft``."""
    path: Path
    size_bytes: int
    share: float
    """The draft's size over the target's."""
    reason: str
    kind: str
    """The kind of drafter."""
    header: GgufHeader | None
    """Its header; None if it does not fit."""

    @property
    def fits(self) -> bool:
        return self.header is not None

    @property
    def is_head(self) -> bool:
        return self.kind != DRAFT


def add_pair(
    target: Resolved,
    draft: Resolved | None,
    projector: Resolved | None = None,
    *,
    pair_id: str | None = None,
    title: str | None = None,
) -> tuple[Pair, Path]:
    """Add the pair to ``pairs.toml``; return it and the path of that file.

    Raises ModelFileError, PairMismatchError, UsageError for an id that is taken or a pair that is known, ConfigError.
    """
    files = [each for each in (target, draft) if each is not None]
    for each in files:
        _check_context(each)
    check_target(target.header)
    if draft is not None:
        check_match(target.header, draft.header, target.here)
    if projector is not None:
        check_projector(target.header, projector.header)
    pair = Pair(
        id=pair_id or free_id(name_of(target)),
        title=title or _title(files),
        target=target.model,
        draft=draft.model if draft else None,
        drafter=drafter_of(target, draft),
        projector=projector.model if projector else None,
    )
    catalogue = load_catalogue()
    _refuse_known(pair, catalogue)
    _check_id(pair.id, catalogue)
    return pair, append_pairs(pair)


def drafter_of(target: Resolved, draft: Resolved | None) -> str:
    """The kind of drafter of a pair of these files."""
    if draft is not None:
        return drafter_kind(draft.header)
    return MTP if brings_mtp(target) else DRAFT


def brings_mtp(target: Resolved) -> bool:
    """True if the target drafts for itself: it has MTP layers that llama.cpp can run.

    Of a split model on the Hub, whose last file has them, only the first is read: they count where it announces them.
    """
    parts = header, *_ = (target.header, *target.later_parts)
    if len(parts) < header.split_count:
        return announced_mtp_layers(header) > 0 and can_run(MTP, header.architecture)
    return not mtp_fault(parts)


def suggest_drafts(target: Resolved, found: Iterable[Found]) -> list[Suggestion]:
    """Files that can draft for the target, heads first, then models of the size of a draft, the best first.

    Raises ModelFileError for a file that is no target.
    """
    check_target(target.header)
    suggestions = [each for each in judge_drafts(target, found) if each.fits]
    return sorted(suggestions, key=lambda each: (not each.is_head, draft_distance(each.size_bytes, target.size_bytes)))


def judge_drafts(target: Resolved, found: Iterable[Found]) -> Iterator[Suggestion]:
    """The other files, each with the reason why it can draft for the target or why it cannot."""
    own = resolved(target.path)
    for file in found:
        if resolved(file.path) != own:
            yield _judged(target, file)


def relatives(target: Resolved) -> list[Pair]:
    """Catalogued pairs with the target's vocabulary, or whose family is in its name."""
    names, own = _bare(f"{target.header.name or ''} {target.path.name}"), target.header.fingerprint
    return [
        pair
        for pair in load_catalogue().pairs
        if own in {model.fingerprint for model in pair.models} or (pair.family and _bare(pair.family) in names)
    ]


def _bare(name: str) -> str:
    """A name as it compares with others: "GLM-4.5" and "glm 4.5" are one family."""
    return name.lower().replace(" ", "").replace("-", "")


def judge_draft(target: Resolved, draft: GgufHeader, share: float) -> tuple[bool, str]:
    """True if a draft or a head of ``share`` of the target's size fits it; and the reason why it does or does not."""
    verdict = judge_match(target.header, draft, target.here)
    if not verdict.fits:
        return False, verdict.reason
    ours, theirs = target.header.vocabulary, draft.vocabulary  # their fingerprints would take a tenth of a second each
    is_same = (ours.kind, ours.tokens) == (theirs.kind, theirs.tokens)
    same = "the same vocabulary" if is_same else "a vocabulary that fits"
    what = same if drafter_kind(draft) == DRAFT else f"{drafter_in_words(draft)} that fits"
    return True, "; ".join((f"{what}, {share:.0%} of the target's size", *verdict.warnings))


def _judged(target: Resolved, found: Found) -> Suggestion:
    size, share, kind = 0, 0.0, DRAFT
    header = None
    try:
        size = sum(part.stat().st_size for part in parts_of(found.path))
        share = size / max(1, target.size_bytes)
        reason = f"{share:.0%} of the target's size; a draft has {SMALLEST:.0%} to {LARGEST:.0%} of it"
        # Sizes are cheap and rule out most files before their headers are read.
        if share <= LARGEST:
            kind = drafter_kind(read := read_header(found.path))
            if kind != DRAFT or is_draft_size(size, target.size_bytes):
                fits, reason = judge_draft(target, read, share)
                header = read if fits else None
    except (LocalSpecError, OSError) as error:
        reason = error.message.rstrip(".") if isinstance(error, LocalSpecError) else f"not readable: {reason_of(error)}"
    name = str(found.path) if found.store == FOLDER else found.name
    return Suggestion(name, found.path, size, share, reason, kind, header)


def _check_context(resolved: Resolved) -> None:
    length = resolved.header.raw_context_length
    if length is not None and not 0 < length < 2**32:
        raise ModelFileError(
            f"{resolved.path} is damaged: its header gives a context of {length} tokens.",
            "Download it again, or choose another file.",
        )


def _check_id(wanted: str, catalogue: Catalogue) -> None:
    """Raise UsageError for an id that cannot be one, or is taken."""
    if not PAIR_ID.fullmatch(wanted):
        raise UsageError(
            f"{wanted!r} cannot be an id.",
            "Give --id lower-case letters, digits, '.', '-' and '_', beginning with one.",
        )
    if any(pair.id == wanted for pair in catalogue.pairs):
        raise UsageError(f"There is a pair {wanted!r} already.", "Choose another with --id.")


def name_of(target: Resolved) -> str:
    """The name of a target that its pair is called by: of its file, or of its folder or repository."""
    folder = target.path.parent if target.model.repo is None else Path(target.model.repo)
    return called(folder / target.header.source, None)


def free_id(file: str, taken: Container[str] | None = None) -> str:
    """An id for a pair of the target ``file`` that is not taken: its name, or that with a number behind.

    ``taken`` are the ids in use; None means those of the catalogue.
    """
    taken = {pair.id for pair in load_catalogue().pairs} if taken is None else taken
    slug = _slug(file)
    numbered = (f"{slug}-{n}" for n in count(2))
    return next(each for each in chain((slug,), numbered) if each not in taken)


def _refuse_known(pair: Pair, catalogue: Catalogue) -> None:
    labels = [model.label for model in pair.models]
    for known in catalogue.pairs:
        if [model.label for model in known.models] == labels:
            raise UsageError(f"These files are the pair {known.id!r} already.", f"Use --pair {known.id}.")


def _slug(file: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", stem(file).lower()).strip("-._") or "pair"


def _title(models: list[Resolved]) -> str:
    """The models' names from their headers; if these are not distinct, from their files, or from folders and files."""
    files = [stem(each.header.source) for each in models]
    folders = [f"{each.path.parent.name}/{stem}" for each, stem in zip(models, files, strict=True)]
    for names in ([(each.header.name or "").strip() for each in models], files, folders):
        if min(map(len, names)) >= _MIN_NAME_CHARS and len(set(names)) == len(names):
            return " + ".join(names)
    return " + ".join(files)
