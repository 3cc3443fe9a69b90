"""The client of the Hub: repositories, their files, and the addresses of their bytes.

Requests go through ``huggingface_hub``, with its tokens, endpoint and redirects; its results and errors become our
types here. It is imported only after the endpoint has been checked, because it parses the endpoint at import.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from localspec.base.errors import DownloadError, NotFoundError
from localspec.models.download.checksum import is_checksum
from localspec.models.download.layout import check_name
from localspec.models.download.refusals import explain, missing_file, no_address, offline, unsendable, unusable
from localspec.models.download.remote_file import RemoteFile, Repository
from localspec.models.pairs.hub_cache import hub_address, is_hub_barred

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

_METADATA_TIMEOUT_S = 20.0
_CONNECT_TIMEOUT_S = 15.0
_READ_TIMEOUT_S = 30.0
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, httpx2.InvalidURL)
"""The exceptions of the Hub's client over responses that are not the Hub's."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST_BYTES = 2**24
"""The longest page of results that is read; a hundred of the largest models take a tenth of it."""


class Hub:
    """The Hub at ``HF_ENDPOINT``. Safe for several threads; close it at the end."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self.endpoint = hub_address(environ)

    @cached_property
    def token(self) -> str | None:
        """The user's access token, if there is one."""
        from huggingface_hub import get_token

        return _cleaned(self._environ.get("HF_TOKEN")) or get_token()

    @cached_property
    def client(self) -> httpx2.Client:
        """The HTTP client, made on first use. Raises DownloadError for an unusable proxy or certificate."""
        try:
            # Not the Hub's own client: it has no timeouts, and is closed for all users when a connection fails.
            return httpx2.Client(
                timeout=httpx2.Timeout(_READ_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S, pool=None),
                follow_redirects=True,
                headers={"User-Agent": "localspec", "Accept-Encoding": "identity"},
            )
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
            raise unusable(error) from error

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()

    def repository(self, name: str, revision: str | None = None) -> Repository:
        """List the files of a repository. Raises NotFoundError or DownloadError."""
        return self.repository_with_info(name, revision)[0]

    def repository_with_info(self, name: str, revision: str | None = None) -> tuple[Repository, ModelInfo]:
        """List the files of a repository, with the Hub's whole answer. Raises NotFoundError or DownloadError."""
        self._prepare(name)
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HFValidationError

        try:
            info = HfApi(endpoint=self.endpoint, token=self.token or False).model_info(
                name, revision=revision, files_metadata=True, timeout=_METADATA_TIMEOUT_S
            )
            return Repository(
                name=name,
                current_name=_text(info.id or name),
                revision=revision or "main",
                commit=_text(info.sha or revision or "main"),
                sizes={_text(sibling.rfilename): _size(sibling.size) for sibling in info.siblings or ()},
            ), info
        except HFValidationError as error:
            raise NotFoundError(f"{name!r} is not the name of a repository.", "It should be owner/name.") from error
        except (httpx2.HTTPError, OSError) as error:
            raise explain(error, name, self) from error
        except _UNREADABLE as error:
            raise self._no_hub() from error

    def models(self, parameters: Mapping[str, str | int | Sequence[str]]) -> Iterator[ModelInfo]:
        """List the repositories that the API finds for ``parameters``, page by page as they are asked for.

        ``HfApi.list_models`` has no timeout and repeats a refused request for as long as the Hub says, silently.
        Entries that are not models are left out. Raises DownloadError.
        """
        self._prepare(None)
        from huggingface_hub import ModelInfo

        url, query = f"{self.endpoint}/api/models", httpx2.QueryParams(dict(parameters))
        while url and _origin(url) == _origin(self.endpoint):
            try:
                entries, url = self._page(url, query)
            except (httpx2.HTTPError, OSError) as error:
                raise explain(error, "the search", self) from error
            except _UNREADABLE as error:
                raise self._no_hub() from error
            for entry in entries:
                try:
                    info = ModelInfo(**entry)  # type: ignore[no-untyped-call]
                except _UNREADABLE:
                    continue
                yield info
            query = httpx2.QueryParams()

    def _page(self, url: str, query: httpx2.QueryParams) -> tuple[list[Any], str]:
        """A page of results, and the address of the next one; empty if it is the last."""
        from huggingface_hub.utils._http import hf_raise_for_status  # not exported for type checkers

        parameters = query or None
        with self.client.stream("GET", url, params=parameters, headers=self.headers_for(url)) as response:
            body = bytearray()
            for data in response.iter_bytes():
                body += data
                if len(body) > _MOST_BYTES:
                    raise ValueError(url)
            hf_raise_for_status(response)
            entries = json.loads(body)
            if not isinstance(entries, list):
                raise TypeError(entries)
            return entries, response.links.get("next", {}).get("url", "")

    def file(self, repository: Repository, file: str) -> RemoteFile:
        """Look up a file of a repository. Raises NotFoundError or DownloadError."""
        check_name(file)
        if file not in repository.sizes:
            raise missing_file(file, repository)
        return self.locate(repository.name, file, repository.revision, repository.commit)

    def locate(self, repo: str, file: str, revision: str, commit: str) -> RemoteFile:
        """Look up a file at a commit, with a fresh address. Raises NotFoundError or DownloadError."""
        self._prepare(f"{repo}/{file}")
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        url = hf_hub_url(repo, file, revision=commit, endpoint=self.endpoint)
        try:
            found = get_hf_file_metadata(
                url, token=self.token or False, timeout=_METADATA_TIMEOUT_S, endpoint=self.endpoint
            )
            commit, size_bytes = _commit(found.commit_hash or commit), _size(found.size)
            address = _address(found.location)
        except (httpx2.HTTPError, OSError) as error:
            raise explain(error, f"{repo}/{file}", self) from error
        except _UNREADABLE as error:
            raise self._no_hub() from error
        if found.etag is None and found.commit_hash is None:
            raise self._no_hub()
        if size_bytes is None or not is_checksum(etag := found.etag or ""):
            raise DownloadError(
                f"{self.endpoint} gives no checksum for {repo}/{file}.",
                "Unset HF_ENDPOINT, or set it to the Hub or a full mirror of it.",
            )
        place = {"repo": repo, "file": file, "revision": revision, "commit": commit, "url": address}
        return RemoteFile(**place, etag=etag, size_bytes=size_bytes)

    def headers_for(self, url: str) -> dict[str, str]:
        """The headers with the token, for the Hub alone: a storage address contains its own signature."""
        is_hub = _origin(url) == _origin(self.endpoint)
        return {"Authorization": f"Bearer {self.token}"} if self.token and is_hub else {}

    def _no_hub(self) -> DownloadError:
        return DownloadError(
            f"{self.endpoint} does not answer like the Hub.",
            "The network may require a sign-in: open the address in a browser. Otherwise check HF_ENDPOINT.",
        )

    def _prepare(self, name: str | None) -> None:
        """Raise DownloadError if no request can be made for ``name``; None stands for a search."""
        if not _is_address(self.endpoint):
            raise no_address(self.endpoint)
        from huggingface_hub.constants import is_offline_mode

        if is_offline_mode() or is_hub_barred(self._environ):
            raise offline(name)
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise unsendable(self.endpoint)
        _ = self.client  # raises for the settings that would also break the Hub's own client


def _cleaned(token: str | None) -> str | None:
    """A token without line breaks and blanks, as ``huggingface_hub`` cleans copied ones."""
    return (token or "").replace("\r", "").replace("\n", "").strip() or None


def _origin(url: str) -> tuple[str, str]:
    """The scheme and the server of an address; both empty if it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _text(value: object) -> str:
    """The value as text. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _size(value: object) -> int | None:
    """The value as a size, None if it is missing. Raises TypeError for anything else."""
    if value is not None and (not isinstance(value, int) or value < 0):
        raise TypeError(value)
    return value


def _commit(value: str) -> str:
    """The value as a commit, which becomes the name of a folder. Raises ValueError for anything else."""
    if not _COMMIT.fullmatch(value):
        raise ValueError(value)
    return value


def _address(value: str) -> str:
    """The value as an address. Raises ValueError or InvalidURL for one that cannot be requested."""
    if not _is_address(value) or not httpx2.URL(value).host:
        raise ValueError(value)
    return value
