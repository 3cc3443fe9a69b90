"""Whatever a person names: a file, an entry of a cache, or a file on the Hub, of which only the header is fetched."""

from __future__ import annotations

from functools import partial
from pathlib import Path, PurePosixPath

from localspec.base.errors import NotFoundError
from localspec.gguf import GgufHeader
from localspec.models.download.checksum import is_sha256
from localspec.models.download.choice import choose_file
from localspec.models.download.context import DownloadContext
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.remote_header import read_remote_header
from localspec.models.pairs.pair import ModelFile
from localspec.models.pairs.references import OF_HUB, Resolved, resolve_file
from localspec.models.pairs.split_files import parts_of


def resolve(text: str, around: DownloadContext) -> Resolved:
    """A path, ``owner/name:file``, ``owner/name:QUANTISATION``, ``owner/name`` or a name that ``pairs scan`` lists.

    What is on this machine is read there; else only the header is fetched, and ``path`` is the name within the
    repository. Raises NotFoundError, UsageError, ModelFileError, DownloadError.
    """
    try:
        return resolve_file(text)
    except NotFoundError:
        reference = OF_HUB.fullmatch(text)
        if reference is None:
            raise
    repository = around.patiently(lambda: around.hub.repository(reference["repo"]))
    file = choose_file(repository, reference["file"])
    parts = [part.as_posix() for part in parts_of(Path(PurePosixPath(file)))]
    remotes = [around.patiently(partial(around.hub.file, repository, part)) for part in parts]
    header = read_remote_header(remotes[0], around)
    size = sum(remote.size_bytes for remote in remotes)
    return Resolved(_model(remotes[0], header, alone=len(parts) == 1), Path(file), header, size)


def header_of(text: str, around: DownloadContext) -> GgufHeader:
    """The header of what ``resolve`` finds."""
    return resolve(text, around).header


def _model(remote: RemoteFile, header: GgufHeader, *, alone: bool) -> ModelFile:
    return ModelFile(
        file=remote.file,
        path=None,
        repo=remote.repo,
        revision=remote.commit,
        size_bytes=remote.size_bytes,
        sha256=remote.etag if alone and is_sha256(remote.etag) else None,
        architecture=header.architecture,
        fingerprint=header.fingerprint,
        context_length=header.context_length,
        licence=header.licence,
    )
