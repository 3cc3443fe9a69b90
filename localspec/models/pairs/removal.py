"""Taking a pair away: its table in ``pairs.toml``, and files in the Hub's cache that no other pair needs.

Nothing outside that cache is ever deleted; what goes and what stays is told before anything happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from localspec.base.errors import ConfigError, NotFoundError, UsageError, refused
from localspec.models.pairs.catalogue import load_catalogue
from localspec.models.pairs.disk import is_file, is_folder, is_link, links_below, matching, real
from localspec.models.pairs.hub_cache import hub_cache, read_ref
from localspec.models.pairs.leftovers import UNFINISHED, find_leftovers
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.split_files import parts_of
from localspec.models.pairs.state import HERE, state_of
from localspec.models.pairs.user_pairs import own_pairs, remove_pair


@dataclass(frozen=True, slots=True)
class Removal:
    """What taking a pair away would do."""

    pair: Pair
    table: bool
    """Whether its table goes out of ``pairs.toml``."""
    names: tuple[Path, ...] = field(repr=False)
    """Entries of snapshots that go."""
    blobs: tuple[Path, ...]
    """What they point to, where nothing else does."""
    freed_bytes: int
    kept: tuple[str, ...]
    """Files that stay, each in a sentence that says why."""


def plan_removal(pair_id: str) -> Removal:
    """What would go. Raises NotFoundError if there is no such pair, or nothing of it here; UsageError for the tour."""
    pair = load_catalogue().find(pair_id)
    if pair.tour:
        raise UsageError("The tour comes with LocalSpec and stays.", "`localspec pairs list` shows what can go.")
    table = any(own.id == pair.id for own in own_pairs())
    names, blobs, kept = list[Path](), list[Path](), list[str]()
    for model in pair.models:
        if user := _other_user(model, pair):
            kept.append(f"{model.file} stays: the pair {user!r} uses it.")
        elif model.repo is None:
            kept.append(f"{model.file} stays: it does not lie in the Hub's cache.")
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
    """Remove what was planned. Raises ConfigError for what cannot be removed."""
    if removal.table:
        remove_pair(removal.pair.id)
    delete((*removal.names, *removal.blobs))
    for name in removal.names:
        _remove_empty(name.parent)
    for folder in {_repo_folder(model) for model in removal.pair.models if model.repo is not None}:
        if any(name.is_relative_to(folder) for name in removal.names):
            _tidy(folder)


def delete(paths: Iterable[Path]) -> None:
    """Files that may be gone already. Raises ConfigError."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(*refused(f"{path} cannot be removed", error, "remove it by hand")) from error


def _other_user(model: ModelFile, pair: Pair) -> str | None:
    """Another pair that has this file: one of the user's own, or one whose files are all here."""
    own = {each.id for each in own_pairs()}
    for other in load_catalogue().pairs:
        if other.id == pair.id or not any(_same(model, each) for each in other.models):
            continue
        if other.id in own or state_of(other).state == HERE:
            return other.id
    return None


def _unfinished(pair: Pair) -> list[str]:
    """Parts of downloads in its repositories, which do not tell of which file they are."""
    repos = {model.repo for model in pair.models}
    found = dict.fromkeys(each.repo for each in find_leftovers() if each.kind == UNFINISHED and each.repo in repos)
    return [f"An unfinished download from {repo} stays; `localspec pairs prune` removes it." for repo in found]


def _same(one: ModelFile, other: ModelFile) -> bool:
    return one.repo is not None and (one.repo, one.file) == (other.repo, other.file)


def _entries(model: ModelFile) -> list[Path]:
    """Of every part of the file in every snapshot, links to nothing too."""
    snapshots = _repo_folder(model) / "snapshots"
    found = [part for each in matching(snapshots, "*") for part in parts_of(each / model.file)]
    return [path for path in found if is_file(path) or is_link(path)]


def _blobs(model: ModelFile, entries: Sequence[Path]) -> list[Path]:
    """Blobs that ``entries`` point to and no other name does."""
    folder = _repo_folder(model)
    gone = set(entries)
    try:
        others = {real(path) for path in links_below(folder / "snapshots") if path not in gone}
    except OSError:
        return []  # nobody can tell who else uses them
    blobs = real(folder / "blobs")
    targets = dict.fromkeys(real(path) for path in entries if path.is_symlink())
    # A link may lead anywhere; only what lies among this repository's blobs is the cache's.
    return [path for path in targets if path.parent == blobs and is_file(path) and path not in others]


def _repo_folder(model: ModelFile) -> Path:
    assert model.repo is not None
    return hub_cache() / f"models--{model.repo.replace('/', '--')}"


def _freed(names: Sequence[Path], blobs: Sequence[Path]) -> int:
    files = [*(path for path in names if not path.is_symlink()), *blobs]
    return sum(path.stat().st_size for path in files if is_file(path))


def _remove_empty(folder: Path) -> None:
    """Folders without anything in them, up to the snapshots' own."""
    while folder.name != "snapshots" and _removed(folder):
        folder = folder.parent


def _tidy(folder: Path) -> None:
    """Take away the names of snapshots that are gone, and the folders of a repository in which no file is left.

    Other programs call a cache with such names corrupted.
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
    """True if it could be removed, which only what is empty can."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
