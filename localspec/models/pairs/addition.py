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
from localspec.gguf.draft_heads import DRAFT, MTP, drafter_in_words, drafter_kind
from localspec.models.compatibility import check_match, check_target, judge_match
from localspec.models.heads import mtp_fault
from localspec.models.pairs.catalogue import Catalogue, load_catalogue
from localspec.models.pairs.draft_size import LARGEST, SMALLEST, draft_distance, is_draft_size
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.references import Resolved
from localspec.models.pairs.scan import FOLDER
from localspec.models.pairs.schema import PAIR_ID
from localspec.models.pairs.split_files import parts_of, stem
from localspec.models.pairs.stores import Found
from localspec.models.pairs.user_pairs import append_pair
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
    kind: str = DRAFT
    """The kind of drafter."""
    fits: bool = True

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
    for each in (target, draft):
        if each is not None:
            _check_context(each)
    check_target(target.header)
    if draft is not None:
        check_match(target.header, draft.header)
    if projector is not None:
        check_projector(target.header, projector.header)
    catalogue = load_catalogue()
    pair = Pair(
        id=_checked_id(pair_id or _slug(target.header.source), catalogue),
        title=title or _title([each for each in (target, draft) if each is not None]),
        target=target.model,
        draft=draft.model if draft else None,
        drafter=_drafter(target, draft),
        projector=projector.model if projector else None,
    )
    _refuse_known(pair, catalogue)
    return pair, append_pair(pair)


def _drafter(target: Resolved, draft: Resolved | None) -> str:
    if draft is not None:
        return drafter_kind(draft.header)
    return MTP if brings_mtp(target) else DRAFT


def brings_mtp(target: Resolved) -> bool:
    """True if the target drafts for itself: it has MTP layers that llama.cpp can run."""
    return not mtp_fault((target.header, *target.later_parts))


def suggest_drafts(target: Resolved, found: Iterable[Found]) -> list[Suggestion]:
    """Files that can draft for the target, heads first, then models of the size of a draft, the best first."""
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
    names = f"{target.header.name or ''} {target.path.name}".lower().replace(" ", "").replace("-", "")
    own = target.header.fingerprint
    return [
        pair
        for pair in load_catalogue().pairs
        if own in {model.fingerprint for model in pair.models}
        or (pair.family and pair.family.lower().replace(" ", "") in names)
    ]


def why_it_fits(target: GgufHeader, draft: GgufHeader, share: float, warnings: Iterable[str]) -> str:
    """The reason why a draft or a head of ``share`` of the target's size fits it, with warnings of ``judge_match``."""
    same = "the same vocabulary" if draft.fingerprint == target.fingerprint else "a vocabulary that fits"
    what = same if drafter_kind(draft) == DRAFT else f"{drafter_in_words(draft)} that fits"
    return "; ".join((f"{what}, {share:.0%} of the target's size", *warnings))


def _judged(target: Resolved, found: Found) -> Suggestion:
    size, share, kind, fits = 0, 0.0, DRAFT, False
    try:
        size = sum(part.stat().st_size for part in parts_of(found.path))
        share = size / max(1, target.size_bytes)
        reason = f"{share:.0%} of the target's size; a draft has {SMALLEST:.0%} to {LARGEST:.0%} of it"
        # Sizes are cheap and rule out most files before their headers are read.
        if share <= LARGEST:
            kind = drafter_kind(header := read_header(found.path))
            if kind != DRAFT or is_draft_size(size, target.size_bytes):
                verdict = judge_match(target.header, header)
                fits = verdict.fits
                reason = verdict.reason or why_it_fits(target.header, header, share, verdict.warnings)
    except (LocalSpecError, OSError) as error:
        reason = error.message.rstrip(".") if isinstance(error, LocalSpecError) else f"not readable: {reason_of(error)}"
    name = str(found.path) if found.store == FOLDER else found.name
    return Suggestion(name, found.path, size, share, reason, kind, fits)


def _check_context(resolved: Resolved) -> None:
    length = resolved.header.raw_context_length
    if length is not None and not 0 < length < 2**32:
        raise ModelFileError(
            f"{resolved.path} is damaged: its header gives a context of {length} tokens.",
            "Download it again, or choose another file.",
        )


def _checked_id(wanted: str, catalogue: Catalogue) -> str:
    """The id that a person wants. Raises UsageError if it cannot be one, or is taken."""
    if not PAIR_ID.fullmatch(wanted):
        raise UsageError(
            f"{wanted!r} cannot be an id.",
            "Give --id lower-case letters, digits, '.', '-' and '_', beginning with one.",
        )
    if any(pair.id == wanted for pair in catalogue.pairs):
        raise UsageError(f"There is a pair {wanted!r} already.", "Choose another with --id.")
    return wanted


def free_id(file: str, taken: Container[str] | None = None) -> str:
    """An id for a pair of the target ``file`` that is not taken: its name, or that with a number behind.

    ``taken`` are the ids in use; None means those of the catalogue.
    """
    taken = {pair.id for pair in load_catalogue().pairs} if taken is None else taken
    slug = _slug(file)
    numbered = (f"{slug}-{n}" for n in count(2))
    return next(each for each in chain((slug,), numbered) if each not in taken)


def _refuse_known(pair: Pair, catalogue: Catalogue) -> None:
    for known in catalogue.pairs:
        if _places(known) == _places(pair):
            raise UsageError(f"These files are the pair {known.id!r} already.", f"Use --pair {known.id}.")


def _places(pair: Pair) -> list[tuple[str | None, str]]:
    return [(model.repo, model.file if model.repo else str(model.path)) for model in pair.models]


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
