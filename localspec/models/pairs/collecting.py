"""The addition of files on this machine as pairs: all models in a folder, or files that were opened by their names."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from localspec.base.errors import NotFoundError
from localspec.base.paths import expanded
from localspec.base.shared_file import resolved
from localspec.base.visible import is_text
from localspec.gguf.draft_heads import DRAFT
from localspec.models.pairs.addition import drafter_of, free_id
from localspec.models.pairs.catalogue import load_catalogue
from localspec.models.pairs.disk import is_file, is_folder
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.references import resolve_file
from localspec.models.pairs.scan import FOLDER, ScannedModel, each_once, scan
from localspec.models.pairs.split_files import called
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


def collect(paths: Sequence[Path]) -> list[Collected]:
    """Add the models in files and folders as pairs; those that are known, and heads, are left out.

    Raises NotFoundError where there is nothing, and ConfigError.
    """
    named = chain.from_iterable(_found(expanded(path).absolute()) for path in paths)
    found = list(each_once(named))
    if not found:
        raise NotFoundError("There are no GGUF files.", "Name a file that ends in .gguf, or a folder with such files.")
    scanned = scan(found, deadline_s=_DEADLINE_S)
    catalogue = load_catalogue().pairs
    known = {resolved(pair.target.path): pair.id for pair in catalogue if pair.target.path is not None}
    writable = [pair for pair in reversed(scanned.pairs) if is_text(str(pair.draft.path))]
    drafts = {pair.target.path: [pair.draft.path] for pair in writable}
    ids = {pair.id for pair in catalogue}
    collected = []
    for model in scanned.models:
        reason = _refusal(model, known.get(resolved(model.path)))
        pair = None if reason else _pair([model.path, *drafts.get(model.path, ())], ids)
        ids |= {pair.id} if pair else set()
        collected.append(Collected(model.path, pair, reason))
    if added := [each.pair for each in collected if each.pair is not None]:
        append_pairs(*added)
    return collected


def remember_opened(target: Path, draft: Path | None) -> Pair | None:
    """Add the pair of files that were opened by their names; None if it is known. Raises ModelFileError, ConfigError.

    The pair can be forgotten as any other of the user's own.
    """
    paths = [path.absolute() for path in (target, draft) if path is not None]
    catalogue = load_catalogue().pairs
    if any(_is_of(pair, paths) for pair in catalogue):
        return None
    pair = _pair(paths, {pair.id for pair in catalogue}, OPENED)
    append_pairs(pair)
    return pair


def _is_of(pair: Pair, paths: Sequence[Path]) -> bool:
    """True if a pair's target and draft are these files."""
    models = [model for model in (pair.target, pair.draft) if model is not None]
    if [Path(model.file).name for model in models] != [path.name for path in paths]:
        return False
    try:
        return [resolved(model.locate()) for model in models] == list(map(resolved, paths))
    except NotFoundError:
        return False


def _found(path: Path) -> Iterator[Found]:
    if is_folder(path):
        return in_folder(path, FOLDER)
    if is_file(path):
        return iter((Found(path, FOLDER, path.name),))
    raise NotFoundError(f"There is no file or folder {path}.", "Check the path.")


def _refusal(model: ScannedModel, known: str | None) -> str:
    if model.problem:
        return model.problem
    if not is_text(str(model.path)):
        return "Its name is not UTF-8, and cannot be written to pairs.toml. Rename it."
    if known is not None:
        return f"It is the pair {known} already."
    return "" if model.drafter == DRAFT else "It is a head, which drafts for the model that it was made for."


def _pair(paths: Sequence[Path], ids: Container[str], note: str = "") -> Pair:
    """The pair of a target and perhaps a draft, by an id that is not among ``ids``."""
    target, *rest = files = [resolve_file(str(path)) for path in paths]
    draft = rest[0] if rest else None
    names = [called(each.path, each.header.name) for each in files]
    return Pair(
        id=free_id(names[0], ids),
        title=" + ".join(names),
        target=target.model,
        draft=draft.model if draft else None,
        drafter=drafter_of(target, draft),
        note=note,
    )
