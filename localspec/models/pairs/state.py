"""Where a pair stands: which of its files are on this machine, and why the others are not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localspec.base.errors import NotFoundError
from localspec.models.pairs.disk import is_file, is_folder
from localspec.models.pairs.pair import DRAFTERS, ModelFile, Pair
from localspec.models.pairs.split_files import parts_of

HERE, PARTLY, NOT_HERE = "here", "partly", "not here"
MISSING = "file missing"
"""A file of the user's own is not where it was, maybe only for now: the pair is not forgotten."""
WAITS = "waits"
"""For a drafter that LocalSpec cannot run yet."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of a pair, looked for."""

    model: ModelFile
    path: Path | None
    """Where it lies; None if it does not."""
    problem: NotFoundError | None

    @property
    def size_bytes(self) -> int | None:
        """On disk, all its parts together."""
        if self.path is None:
            return None
        return sum(part.stat().st_size for part in parts_of(self.path) if is_file(part))


@dataclass(frozen=True, slots=True)
class PairState:
    """A pair, looked for."""

    state: str
    files: tuple[FileState, ...]
    """Target first."""
    reason: str
    """Why it cannot be chatted with as it is meant; empty if it can."""
    hint: str


def state_of(pair: Pair) -> PairState:
    """The pair as it is now."""
    files = tuple(_look(pair, model) for model in pair.models)
    needed = files[:1] if pair.waits else files
    problems = [file.problem for file in needed if file.problem]
    reasons = [problem.message for problem in problems]
    hints = list(dict.fromkeys(problem.hint for problem in problems))
    if pair.waits:
        what = DRAFTERS[pair.drafter]
        reasons.insert(0, f"It waits for its drafter: LocalSpec cannot run {what} yet.")
        hints.insert(0, "Its target can be used without.")
    return PairState(_state(pair, files), files, " ".join(reasons), " ".join(hints))


def _state(pair: Pair, files: tuple[FileState, ...]) -> str:
    if pair.waits:
        return WAITS
    if any(file.problem and file.model.path is not None for file in files):
        return MISSING
    found = sum(file.path is not None for file in files)
    if found == len(files):
        return HERE
    return PARTLY if found else NOT_HERE


def _look(pair: Pair, model: ModelFile) -> FileState:
    try:
        path = pair.locate(model)
    except NotFoundError as error:
        return FileState(model, None, _with_volume(model, error))
    gone = next((part for part in parts_of(path) if not is_file(part)), None)
    if gone is not None:
        hint = f"Run `localspec pairs pull {pair.id}`." if model.repo else "Copy it beside the others."
        return FileState(model, None, NotFoundError(f"{gone.name}, a part of {path.name}, is not here.", hint))
    return FileState(model, path, None)


def _with_volume(model: ModelFile, error: NotFoundError) -> NotFoundError:
    """Tells a volume that is not mounted from a file that was deleted."""
    if model.path is None or model.shipped or is_folder(model.path.parent):
        return error
    return NotFoundError(
        f"The folder of {model.path} is not there, or may not be read.",
        "If it is on a volume, mount that; else mend its path in pairs.toml.",
    )
