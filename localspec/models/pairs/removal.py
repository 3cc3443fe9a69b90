"""The removal of a pair: its table in ``pairs.toml``, and its files in the Hub's cache that no other pair uses.

Nothing outside that cache is deleted. The plan is shown before anything is removed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from localspec.base.errors import ConfigError, NotFoundError, UsageError, explaining
from localspec.base.shared_file import resolved
from localspec.models.pairs.catalogue import load_catalogue
from localspec.models.pairs.disk import file_size, is_file, is_folder, is_link, links_below, matching
from localspec.models.pairs.hub_cache import read_ref, repo_folder
from localspec.models.pairs.leftovers import UNFINISHED, find_leftovers
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.split_files import parts_of
from localspec.models.pairs.state import HERE, state_of
from localspec.models.pairs.user_pairs import check_removable, own_pairs, remove_pair


@dataclass(frozen=True, slots=True)
class Removal:
    """The plan for removing a pair."""

    pair: Pair
    table: bool
    """True if its table is removed from ``pairs.toml``."""
    names: tuple[Path, ...] = field(repr=False)
    """Entries of snapshots to delete."""
    blobs: tuple[Path, ...]
    """Blobs to delete: those that only these entries link to."""
    freed_bytes: int
    kept: tuple[str, ...]
    """Sentences about the files that stay, with the reason."""


def plan_removal(pair_id: str) -> Removal:
    """Plan a removal. Raises NotFoundError if there is no such pair, or nothing to remove; UsageError for the tour."""
    pair = load_catalogue().find(pair_id)
    if pair.tour:
        raise UsageError(
            "The built-in pair is part of LocalSpec and stays.", "`localspec pairs list` shows the other pairs."
        )
    table = any(own.id == pair.id for own in own_pairs())
    names, blobs, kept = list[Path](), list[Path](), list[str]()
    for model in pair.all_models:
        if user := _other_user(model, pair):
            kept.append(f"{model.file} stays: the pair {user!r} uses it.")
        elif model.repo is None:
            kept.append(f"{model.file} stays: it is not in the Hub's cache.")
        else:
            entries = _entries(model)
            names += entries
            blobs += _blobs(model, entries)
    kept += _unfinished(pair)
    if not table and not names:
        reason = " ".join(kept) or "None of its files are on this machine."
        raise NotFoundError(
            f"There is nothing of {pair.id!r} to remove. {reason}", "`localspec pairs list` shows what is here."
        )
    return Removal(pair, table, tuple(names), tuple(blobs), _freed(names, blobs), tuple(kept))


def carry_out(removal: Removal) -> None:
    """Carry out a plan. Raises ConfigError for a file or a table that cannot be removed.

    The table goes last: on a full disk it cannot be written before there is room. Where it could not be removed
    anyway, nothing is.
    """
    if removal.table:
        check_removable(removal.pair.id)
    delete((*removal.names, *removal.blobs))
    for name in removal.names:
        _remove_empty(name.parent)
    for folder in {_repo_folder(model) for model in removal.pair.all_models if model.repo is not None}:
        if any(name.is_relative_to(folder) for name in removal.names):
            _tidy(folder)
    if removal.table:
        remove_pair(removal.pair.id)


def delete(paths: Iterable[Path]) -> None:
    """Delete files, which may already be gone. Raises ConfigError."""
    for path in paths:
        with explaining(ConfigError, f"{path} cannot be removed", "remove it by hand"):
            path.unlink(missing_ok=True)


def _other_user(model: ModelFile, pair: Pair) -> str | None:
    """The id of another pair that uses the file: one of the user's own, or one whose files are all here."""
    own = {each.id for each in own_pairs()}
    files = {resolved(path) for path in _entries(model)} if model.repo is not None else set()
    for other in load_catalogue().pairs:
        if other.id == pair.id or not any(_same(model, each) or _is_among(files, each) for each in other.all_models):
            continue
        if other.id in own or state_of(other).state == HERE:
            return other.id
    return None


def _unfinished(pair: Pair) -> list[str]:
    """Sentences about unfinished downloads from its repositories, whose file is not known."""
    repos = {model.repo for model in pair.all_models}
    found = dict.fromkeys(each.repo for each in find_leftovers() if each.kind == UNFINISHED and each.repo in repos)
    return [f"An unfinished download from {repo} stays; `localspec pairs prune` removes it." for repo in found]


def _same(one: ModelFile, other: ModelFile) -> bool:
    return one.repo is not None and (one.repo, one.file) == (other.repo, other.file)


def _is_among(files: Container[Path], model: ModelFile) -> bool:
    """True for a local file that is one of these, which may be in the Hub's cache."""
    return model.path is not None and any(resolved(part) in files for part in parts_of(model.path))


def _entries(model: ModelFile) -> list[Path]:
    """The entries of all files of a model in all snapshots, broken links included."""
    snapshots = _repo_folder(model) / "snapshots"
    found = [part for each in matching(snapshots, "*") for part in parts_of(each / model.file)]
    return [path for path in found if is_file(path) or is_link(path)]


def _blobs(model: ModelFile, entries: Sequence[Path]) -> list[Path]:
    """The blobs that ``entries``, and no other names, link to."""
    folder = _repo_folder(model)
    gone = set(entries)
    try:
        others = {resolved(path) for path in links_below(folder / "snapshots") if path not in gone}
    except OSError:
        return []  # other links may be unknown
    blobs = resolved(folder / "blobs")
    targets = dict.fromkeys(resolved(path) for path in entries if path.is_symlink())
    # A link may lead anywhere; only the blobs of this repository belong to the cache.
    return [path for path in targets if path.parent == blobs and is_file(path) and path not in others]


def _repo_folder(model: ModelFile) -> Path:
    assert model.repo is not None
    return repo_folder(model.repo)


def _freed(names: Sequence[Path], blobs: Sequence[Path]) -> int:
    files = [*(path for path in names if not path.is_symlink()), *blobs]
    return sum(file_size(path) or 0 for path in files)


def _remove_empty(folder: Path) -> None:
    """Remove empty folders upwards, up to ``snapshots``."""
    while folder.name != "snapshots" and _removed(folder):
        folder = folder.parent


def _tidy(folder: Path) -> None:
    """Remove refs to deleted snapshots, and the folders of a repository without files.

    Other programs call a cache with such refs corrupted.
    """
    for ref in matching(folder / "refs", "**/*"):
        commit = read_ref(ref)
        if commit is not None and not is_folder(folder / "snapshots" / commit):
            with suppress(OSError):
                ref.unlink()
    if not any(map(is_folder, matching(folder / "snapshots", "*"))):
        for place in (*reversed(matching(folder, "**/*/")), folder):
            _removed(place)


def _removed(folder: Path) -> bool:
    """Remove a folder if it is empty; True if it was."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
