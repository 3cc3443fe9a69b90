"""Model files by any name a person gives: a path, an entry of a cache, or a file on the Hub, read by its header."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from localspec.base.errors import NotFoundError
from localspec.gguf import GgufHeader
from localspec.models.download.checksum import is_sha256
from localspec.models.download.choice import choose_file
from localspec.models.download.context import DownloadContext
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.remote_header import read_remote_header
from localspec.models.pairs.pair import ModelFile
from localspec.models.pairs.references import OF_HUB, Resolved, resolve_file, without_link
from localspec.models.pairs.split_files import names_of


def resolve(text: str, context: DownloadContext) -> Resolved:
    """Find a path, ``owner/name:file``, ``owner/name:QUANTISATION``, ``owner/name`` or a name that ``pairs scan``
    lists. A link to a page or a file of the Hub names it, too.

    A file on this machine is read there. Of a remote one only the header is fetched, and ``path`` is its name within
    the repository. Raises NotFoundError, UsageError, ModelFileError, DownloadError.
    """
    text = without_link(text)
    try:
        return resolve_file(text)
    except NotFoundError:
        reference = OF_HUB.fullmatch(text)
        if reference is None:
            raise
    repository = context.with_retries(lambda: context.hub.repository(reference["repo"]))
    if not repository.renamed:  # the Hub takes a name in small letters, too, and the cache would keep both
        repository = replace(repository, name=repository.current_name)
    file = choose_file(repository, reference["file"])
    remotes = [context.with_retries(partial(context.hub.file, repository, part)) for part in names_of(file)]
    header = read_remote_header(remotes[0], context)
    size = sum(remote.size_bytes for remote in remotes)
    return Resolved(_model(remotes[0], header, size, alone=len(remotes) == 1), Path(file), header, size)


def _model(remote: RemoteFile, header: GgufHeader, whole_bytes: int, *, alone: bool) -> ModelFile:
    return ModelFile(
        file=remote.file,
        path=None,
        repo=remote.repo,
        revision=remote.commit,
        size_bytes=remote.size_bytes,
        about_bytes=None if alone else whole_bytes,
        sha256=remote.etag if alone and is_sha256(remote.etag) else None,
        architecture=header.architecture,
        fingerprint=header.fingerprint,
        context_length=header.context_length,
        licence=header.licence,
    )
