"""The resolution of a model file's name, as a person gives it: a path, or an entry of a program's cache."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from localspec.base.errors import NotFoundError, UsageError
from localspec.base.paths import expanded
from localspec.gguf import GgufHeader
from localspec.models.pairs.disk import is_link, may_exist
from localspec.models.pairs.hub_cache import commit_of
from localspec.models.pairs.pair import ModelFile
from localspec.models.pairs.scan import find_names
from localspec.models.pairs.split_files import read_parts
from localspec.models.pairs.stores import Found, hub, ollama

OF_HUB = re.compile(r"(?P<repo>[\w.-]+/(?![^:]*(?i:\.gguf)$)[\w.-]+)(?::(?P<file>.+))?")
"""A repository of the Hub, with or without a file; ``folder/x.gguf`` counts as a mistyped path."""
_LINK = re.compile(
    r"(?:https?://)?(?:huggingface\.co|hf\.co)/(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:/(?:blob|resolve)/main/(?P<file>[^?#]+)|/tree/main|:(?P<wanted>[^/?#]+))?/?(?:[?#].*)?"
)
_QUANTISATION = re.compile(r"[A-Za-z0-9_]+")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Resolved:
    """A model file on this machine or on the Hub, with its header."""

    model: ModelFile
    path: Path
    header: GgufHeader
    size_bytes: int
    later_parts: tuple[GgufHeader, ...] = ()
    """The headers of the other files of a split model on this machine."""

    @property
    def here(self) -> Path | None:
        """The path of a file on this machine; None for one on the Hub, whose ``path`` is its name there."""
        return self.path if self.path.is_absolute() else None


def without_link(text: str) -> str:
    """The name on the Hub in a link to its page or file, as copied from a browser or from Ollama; other text as it is.

    >>> without_link("https://huggingface.co/owner/name/blob/main/x.gguf"), without_link("hf.co/owner/name:Q4_K_M")
    ('owner/name:x.gguf', 'owner/name:Q4_K_M')
    """
    link = _LINK.fullmatch(text)
    if link is None:
        return text
    wanted = link["wanted"] or unquote(link["file"] or "")
    return f"{link['repo']}:{wanted}" if wanted else link["repo"]


def resolve_file(text: str) -> Resolved:
    """Find a path, ``owner/name:file``, ``owner/name:QUANTISATION``, ``owner/name`` or a name that ``pairs scan``
    lists.

    Raises NotFoundError, UsageError if several files match, ModelFileError.
    """
    path = expanded(text)
    if may_exist(path) or is_link(path):
        return _resolved(path.absolute())
    entries = list(find_names())
    named = [found for found in entries if found.name == text]
    if not named and (reference := OF_HUB.fullmatch(text)):
        named = _of_repository(entries, reference["repo"], reference["file"])
    if len(named) > 1 and len({found.name for found in named}) > 1:
        listed = ", ".join(found.name for found in named[:_SHOWN])
        raise UsageError(f"{text} can be any of {listed}.", "Give the whole name.")
    if not named:
        raise NotFoundError(f"There is no file {text}, and no model of that name here.", _hint(text))
    return _resolved(named[0].path, named[0])


def _of_repository(entries: list[Found], repo: str, wanted: str | None) -> list[Found]:
    """The files of a repository whose name ends with a quantisation (``Q4_K_M``); with None, all files."""
    of_repo = [
        found for found in entries if found.store == hub.NAME and found.name.lower().startswith(f"{repo}:".lower())
    ]
    if wanted is None:
        return of_repo
    if not _QUANTISATION.fullmatch(wanted):
        return []
    ending = re.compile(rf"(?:^|[-._/]){re.escape(wanted)}(?:-\d{{5}}-of-\d{{5}})?\.gguf$", re.IGNORECASE)
    return [found for found in of_repo if ending.search(found.name)]


def _hint(text: str) -> str:
    if OF_HUB.fullmatch(text):
        return "Download it first; `localspec pairs scan` lists the models on this machine."
    return "Check the path; `localspec pairs scan` lists the models on this machine."


def _resolved(path: Path, found: Found | None = None) -> Resolved:
    header, *rest = read_parts(path)
    if found is not None and found.store == ollama.NAME:
        header = replace(header, source=found.name)  # its file is named by a checksum
    of_hub = found if found is not None and found.store == hub.NAME else None
    size = header.size_bytes + sum(part.size_bytes for part in rest)
    repo, _, file = of_hub.name.partition(":") if of_hub else ("", "", "")
    model = ModelFile(
        file=file or str(path),
        path=None if of_hub else path,
        repo=repo or None,
        revision=commit_of(path, file) if of_hub else None,
        # The entry of a split model names its first file and has the size of that one.
        size_bytes=header.size_bytes,
        architecture=header.architecture,
        fingerprint=header.fingerprint,
        context_length=header.context_length,
        licence=header.licence,
        verified=True,
    )
    return Resolved(model, path, header, size, tuple(rest))
