"""The choice of a file in a repository, by name or by quantisation."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from localspec.base.errors import NotFoundError, UsageError
from localspec.models.download.refusals import missing_file
from localspec.models.download.remote_file import Repository
from localspec.models.pairs.split_files import is_later_part, stem

_QUANTISATION = re.compile(r"(?i)(?:^|[-._])((?:UD[-_])?(?:I?Q\d[0-9A-Z_]*|T?Q\d_\d|MXFP4\w*|BF16|F16|F32))$")
# Files beside models: projectors, importance matrices, draft heads of other kinds.
_COMPANION = re.compile(r"(?i)^(mmproj|imatrix|mtp-|eagle3-|dflash-|dspark-)|[-._](imatrix|mmproj)[-._]")


def choose_file(repository: Repository, wanted: str | None) -> str:
    """The name of the wanted file, of a split model the first; None means the only model of the repository.

    Raises NotFoundError, with the names in the repository, and UsageError if several files match.
    """
    if wanted is None:
        return _only_model(repository)
    if wanted in repository.sizes:
        return wanted
    if wanted.lower().endswith(".gguf"):
        raise missing_file(wanted, repository)
    models = [name for name in repository.sizes if is_model(name)]
    ending = re.compile(rf"(?i)(?:^|[-._]){re.escape(wanted)}$")
    fitting = [name for name in models if ending.search(stem(name))]
    # "Q4_K_M" does not mean "UD-Q4_K_M" where there are both.
    plain = [name for name in fitting if not re.search(rf"(?i)UD[-_]{re.escape(wanted)}$", stem(name))]
    chosen = plain or fitting
    if not chosen:
        raise _no_such_quantisation(repository, wanted, models)
    if len(chosen) > 1:
        matches = ", ".join(chosen[:8])
        raise UsageError(f"{wanted} can be any of {matches}.", f"Give the whole name: {repository.name}:FILE.")
    return chosen[0]


def _only_model(repository: Repository) -> str:
    models = [name for name in repository.sizes if is_model(name)]
    if not models:
        raise missing_file(None, repository)
    if len(models) > 1:
        known = _quantisations(models)
        known = known if len(known) > 1 else models[:8]
        raise UsageError(
            f"{repository.name} has several models.",
            f"Name one: {repository.name}:{known[0]}, or {', '.join(known[1:])}.",
        )
    return models[0]


def _quantisations(models: list[str]) -> list[str]:
    return sorted({found[1] for name in models if (found := _QUANTISATION.search(stem(name)))})


def quantisation_of(name: str) -> str:
    """The quantisation in the name of a file ("UD-Q4_K_M"); without one the name, without folders and endings."""
    found = _QUANTISATION.search(stem(name))
    return found[1].upper().replace("UD_", "UD-") if found else stem(name)


def is_model(name: str) -> bool:
    """True for the first file of a model; False for what lies beside models."""
    path = PurePosixPath(name)
    return path.suffix.lower() == ".gguf" and not is_later_part(name) and not _COMPANION.search(path.name)


def _no_such_quantisation(repository: Repository, wanted: str, models: list[str]) -> NotFoundError:
    if not models:
        return missing_file(wanted, repository)
    known = _quantisations(models)
    hint = f"It has {', '.join(known)}." if known else f"It has {', '.join(models[:8])}."
    return NotFoundError(f"{repository.name} has no file with the quantisation {wanted}.", hint)
