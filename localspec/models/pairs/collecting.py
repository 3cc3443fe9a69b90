"""The addition of all models in files and folders on this machine, each as a pair with the best draft among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from localspec.base.errors import NotFoundError
from localspec.gguf.draft_heads import DRAFT
from localspec.models.pairs.addition import free_id, stem
from localspec.models.pairs.catalogue import load_catalogue
from localspec.models.pairs.disk import is_file, is_folder, real
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.scan import FOLDER, ScannedModel, scan
from localspec.models.pairs.stores.found import Found, in_folder
from localspec.models.pairs.user_pairs import append_pairs

_DEADLINE_S = 600.0
OPENED = "Opened before by its file."
"""The note of a pair that was remembered because its files were opened."""


@dataclass(frozen=True, slots=True)
class Collected:
    """A file that was found, with the pair that it became."""

    path: Path
    pair: Pair | None
    reason: str = ""
    """The reason why it became none."""


def collect(paths: Sequence[Path], note: str = "") -> list[Collected]:
    """Add the models in files and folders as pairs, with ``note``; those that are known, and heads, are left out.

    Raises NotFoundError where there is nothing, and ConfigError.
    """
    found = list(chain.from_iterable(_found(path.expanduser().absolute()) for path in paths))
    if not found:
        raise NotFoundError("There are no GGUF files.", "Name a file that ends in .gguf, or a folder with such files.")
    scanned = scan(found, deadline_s=_DEADLINE_S)
    catalogue = load_catalogue().pairs
    known = {real(pair.target.path): pair.id for pair in catalogue if pair.target.path is not None}
    drafts = {pair.target.path: pair.draft for pair in reversed(scanned.pairs)}
    ids = {pair.id for pair in catalogue}
    collected = []
    for model in scanned.models:
        reason = _refusal(model, known.get(real(model.path)))
        pair = None if reason else _pair(model, drafts.get(model.path), ids, note)
        ids |= {pair.id} if pair else set()
        collected.append(Collected(model.path, pair, reason))
    if added := [each.pair for each in collected if each.pair is not None]:
        append_pairs(added)
    return collected


def _found(path: Path) -> Iterator[Found]:
    if is_folder(path):
        return in_folder(path, FOLDER)
    if is_file(path):
        return iter((Found(path, FOLDER, path.name),))
    raise NotFoundError(f"There is no file or folder {path}.", "Check the path.")


def _refusal(model: ScannedModel, known: str | None) -> str:
    if model.problem:
        return model.problem
    if known is not None:
        return f"It is the pair {known} already."
    return "" if model.drafter == DRAFT else "It is a head, which drafts for the model that it was made for."


def _pair(target: ScannedModel, draft: ScannedModel | None, ids: set[str], note: str) -> Pair:
    models = [target] if draft is None else [target, draft]
    return Pair(
        id=free_id(str(target.path), ids),
        title=" + ".join(stem(str(model.path)) for model in models),
        target=_file(target),
        draft=None if draft is None else _file(draft),
        drafter=DRAFT if draft is None else draft.drafter,
        note=note,
    )


def _file(model: ScannedModel) -> ModelFile:
    return ModelFile(
        file=str(model.path),
        path=model.path,
        architecture=model.architecture,
        fingerprint=model.fingerprint,
        licence=model.licence,
        verified=True,
    )
