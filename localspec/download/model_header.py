"""The header of whatever a person names: a file, an entry of a cache, or a file on the Hub."""

from __future__ import annotations

import re

from localspec.download.choice import choose_file
from localspec.download.remote_header import read_remote_header
from localspec.download.surroundings import Surroundings
from localspec.errors import NotFoundError
from localspec.gguf import GgufHeader
from localspec.pairs.references import resolve_file

_OF_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+):(?P<file>.+)")


def header_of(text: str, around: Surroundings) -> GgufHeader:
    """The header of a path, ``owner/name:file``, ``owner/name:QUANTISATION`` or a name that ``pairs scan`` lists.

    What is on this machine is read there; else only the header is fetched. Raises NotFoundError, UsageError,
    ModelFileError, DownloadError.
    """
    try:
        return resolve_file(text).header
    except NotFoundError:
        reference = _OF_HUB.fullmatch(text)
        if reference is None:
            raise
    repository = around.patiently(lambda: around.hub.repository(reference["repo"]))
    file = choose_file(repository, reference["file"])
    remote = around.patiently(lambda: around.hub.file(repository, file))
    return read_remote_header(remote, around)
