"""The page of a repository on the Hub: its models by quantisation, with their fit to this machine and the best one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from localspec.base.errors import DownloadError, NotFoundError
from localspec.models.discovery.search import HubModel, described
from localspec.models.download.choice import is_model, quantisation_of
from localspec.models.download.context import DownloadContext
from localspec.models.download.layout import check_name
from localspec.models.download.refusals import missing_file
from localspec.models.download.remote_file import Repository
from localspec.models.fit import Room
from localspec.models.pairs.description import Expect, PairDescription, describe, unknown_speed
from localspec.models.pairs.expectation import READABLE_PER_SECOND
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.recommendation import MOST_FROM_RAM_BYTES, reads_quickly
from localspec.models.pairs.split_files import is_later_part, names_of
from localspec.models.pairs.suitability import AMBER, GREEN

RULE = "the largest that fits, up to Q6_K, whose text can hardly be told from the original's"
_FROM_RAM = f"{RULE}, and of at most {MOST_FROM_RAM_BYTES / 1e9:.0f} GB where it is read from a PC's RAM"
_LARGER = ("Q8", "F16", "BF16", "F32")
"""The quantisations above Q6_K, by the beginnings of their names."""


@dataclass(frozen=True, slots=True)
class Quantisation:
    """A model of a repository in one quantisation."""

    label: str
    """As in the name of the file: Q4_K_M."""
    file: str
    """The name of its file in the repository; of a split model the first."""
    files_n: int
    target: ModelFile
    described: PairDescription
    """The model as a pair without a draft: its size, whether it is here, its memory, its fit and its speed."""


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A repository and its models."""

    model: HubModel
    quantisations: tuple[Quantisation, ...]
    """The smallest first."""
    best: Quantisation | None
    """The one to take on this machine; None if none fits."""
    because: str
    """The rule that chose it, or the reason why none is chosen."""
    others: tuple[str, ...] = ()
    """Other GGUF files: projectors, importance matrices, draft heads."""


def read_page(name: str, context: DownloadContext, room: Room, expect: Expect = unknown_speed) -> ModelPage:
    """Request the page of a repository. Raises NotFoundError if it has no model, DownloadError."""
    repository, info = context.with_retries(lambda: context.hub.repository_with_info(name))
    model = described(info)
    if model is None:
        raise NotFoundError(f"{name!r} is not the name of a repository.", "It should be owner/name.")
    files = sorted(filter(_is_valid, repository.sizes))
    models = [file for file in files if is_model(file)]
    if not models:
        raise missing_file(None, repository)
    found = [_quantisation(repository, file, model, room, expect) for file in models]
    found.sort(key=lambda each: each.described.size_bytes or 0)
    best, because = _best(found, room)
    others = tuple(
        file for file in files if file.lower().endswith(".gguf") and not is_model(file) and not is_later_part(file)
    )
    return ModelPage(model, tuple(found), best, because, others)


def _is_valid(file: str) -> bool:
    with suppress(DownloadError):
        check_name(file)
        return True
    return False


def _quantisation(repository: Repository, file: str, model: HubModel, room: Room, expect: Expect) -> Quantisation:
    parts = names_of(file)
    sizes = [repository.sizes.get(part) for part in parts]
    whole = None if None in sizes else sum(size or 0 for size in sizes)
    target = ModelFile(
        file=file,
        path=None,
        repo=repository.name,
        revision=repository.commit,
        size_bytes=whole if len(parts) == 1 else None,
        about_bytes=None if len(parts) == 1 else whole,
        architecture=model.architecture,
        context_length=model.context_length or None,
        licence=model.licence,
        verified=True,
    )
    label = quantisation_of(file)
    pair = Pair(id=f"{repository.name}:{file}", title=f"{model.name} {label}", target=target)
    return Quantisation(label, file, len(parts), target, describe(pair, room, expect))


def _by_speed(timed: Sequence[tuple[Quantisation, float]]) -> tuple[Quantisation, str]:
    """The largest of a readable pace, else the fastest, with the rule; ``timed`` have their tokens a second."""
    readable = [each for each, per_second in timed if per_second >= READABLE_PER_SECOND]
    if readable:
        return readable[-1], f"{RULE}, and is fast enough here to read along"
    return max(timed, key=lambda each: each[1])[0], "the fastest here: none is fast enough to read along"


def _best(found: Sequence[Quantisation], room: Room) -> tuple[Quantisation | None, str]:
    """The quantisation to take with the rule; None with the reason. ``found`` begins with the smallest."""
    for colour in (GREEN, AMBER):
        fitting = [each for each in found if each.described.fit and each.described.fit.colour == colour]
        moderate = [each for each in fitting if not each.label.removeprefix("UD-").startswith(_LARGER)] or fitting[:1]
        if not moderate:
            continue
        timed = [(each, each.described.speed.per_second) for each in moderate if each.described.speed]
        if timed:
            return _by_speed(timed)
        if reads_quickly(room):
            return moderate[-1], RULE
        small = [each for each in moderate if (each.described.size_bytes or 0) <= MOST_FROM_RAM_BYTES]
        return (small or moderate[:1])[-1], _FROM_RAM
    return None, "none of them fits this machine as it is now"
