"""The state of a pair: the files that are on this machine, and the reasons why others are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError, ModelFileError, NotFoundError
from localspec.base.shared_file import resolved
from localspec.gguf import read_header
from localspec.gguf.draft_heads import MTP
from localspec.models.pairs.disk import file_size, is_file, is_folder
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.split_files import parts_of, read_parts

if TYPE_CHECKING:
    from localspec.models.compatibility import Compatibility

HERE, PARTLY, NOT_HERE = "here", "partly", "not here"
MISSING = "file missing"
"""The state of a pair whose local file is not at its path, perhaps for the moment only."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of one file of a pair."""

    model: ModelFile
    path: Path | None
    """Its path; None if it is not here."""
    problem: NotFoundError | None

    @property
    def size_bytes(self) -> int | None:
        """Bytes on disk, all files of a split model together."""
        if self.path is None:
            return None
        return sum(file_size(part) or 0 for part in parts_of(self.path))


@dataclass(frozen=True, slots=True)
class PairState:
    """The state of a pair and of its files."""

    state: str
    files: tuple[FileState, ...]
    """Target first."""
    reason: str
    """The reason why it cannot be used; empty if it can."""
    hint: str


def state_of(pair: Pair) -> PairState:
    """The current state of a pair."""
    files = tuple(_look(pair, model) for model in pair.models)
    problems = [file.problem for file in files if file.problem]
    reasons = [problem.message for problem in problems]
    hints = list(dict.fromkeys(problem.hint for problem in problems))
    return PairState(_state(files), files, " ".join(reasons), " ".join(hints))


def _state(files: tuple[FileState, ...]) -> str:
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
    """The error with a hint about an unmounted volume if even the folder is missing."""
    if model.path is None or model.shipped or is_folder(model.path.parent):
        return error
    return NotFoundError(
        f"The folder of {model.path} is not there, or may not be read.",
        "If it is on a volume, mount that; else correct its path in pairs.toml.",
    )


def disk_bytes(pairs: Iterable[Pair]) -> int:
    """Bytes on disk of all files of some pairs; a file that several pairs share counts once."""
    files = (file.path for pair in pairs for file in state_of(pair).files if file.path is not None)
    parts = {resolved(part) for path in files for part in parts_of(path)}
    return sum(file_size(part) or 0 for part in parts)


def pair_verdict(pair: Pair) -> Compatibility | None:
    """The compatibility of the target and what drafts for it; a damaged file fits nothing.

    None without a drafter, or unless all files are here.
    """
    from localspec.models.compatibility import Compatibility, judge_match  # the list of pairs does without it
    from localspec.models.heads import mtp_fault

    try:
        all_files = [pair.files(), *(pair.files([name]) for name in pair.heads)]
        path = all_files[0].target
        target, *_ = parts = read_parts(path)
        drafts = [read_header(files.draft) for files in all_files if files.draft is not None]
        verdicts = [judge_match(target, draft, path) for draft in drafts]
        if pair.drafter == MTP and pair.draft is None:
            verdicts.append(Compatibility(mtp_fault(parts)))
    except ModelFileError as error:
        return Compatibility(error.message.rstrip("."))
    except LocalSpecError:
        return None
    return next((verdict for verdict in verdicts if not verdict.fits), verdicts[0] if verdicts else None)
