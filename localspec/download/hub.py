"""The Hub: which files there are and where their bytes can be had.

``huggingface_hub`` asks, with its tokens, endpoint and redirects; its answers and refusals are put into
our words here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import HfApi, constants, get_hf_file_metadata, get_token, hf_hub_url
from huggingface_hub.errors import HFValidationError

from localspec.download.checksum import is_checksum
from localspec.download.layout import check_name
from localspec.download.refusals import explain, missing_file, unsendable, unusable
from localspec.download.remote_file import RemoteFile, Repository
from localspec.errors import DownloadError, NotFoundError

_METADATA_TIMEOUT_S = 20.0
_CONNECT_TIMEOUT_S = 15.0
_READ_TIMEOUT_S = 30.0
_TRUE = {"1", "ON", "YES", "TRUE"}
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Hub:
    """The Hub at ``HF_ENDPOINT``. Callable from several threads; close it at the end."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.endpoint = (environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
        self.offline = constants.is_offline_mode() or environ.get("HF_HUB_OFFLINE", "").upper() in _TRUE
        self.token: str | None = _cleaned(environ.get("HF_TOKEN")) or get_token()

    @cached_property
    def client(self) -> httpx2.Client:
        """Made when it is first needed. Raises DownloadError for a proxy or certificates that cannot be used."""
        try:
            # Not the Hub's own client: that one has no timeouts, and is closed under its users when a connection fails.
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
        """What is in a repository. Raises NotFoundError or DownloadError."""
        self._prepare(name)
        try:
            info = HfApi(endpoint=self.endpoint, token=self.token or False).model_info(
                name, revision=revision, files_metadata=True, timeout=_METADATA_TIMEOUT_S
            )
        except HFValidationError as error:
            raise NotFoundError(f"{name!r} is no name of a repository.", "It should be owner/name.") from error
        except (httpx2.HTTPError, OSError) as error:
            raise explain(error, name, self) from error
        except (ValueError, TypeError, KeyError) as error:
            raise self._no_hub() from error
        return Repository(
            name=name,
            current_name=info.id or name,
            revision=revision or "main",
            commit=info.sha or revision or "main",
            sizes={sibling.rfilename: sibling.size for sibling in info.siblings or ()},
        )

    def file(self, repository: Repository, file: str) -> RemoteFile:
        """A file of a repository. Raises NotFoundError or DownloadError."""
        check_name(file)
        if file not in repository.sizes:
            raise missing_file(file, repository)
        return self.locate(repository.name, file, repository.revision, repository.commit)

    def locate(self, repo: str, file: str, revision: str, commit: str) -> RemoteFile:
        """A file at a commit, with a fresh address. Raises NotFoundError or DownloadError."""
        self._prepare(f"{repo}/{file}")
        url = hf_hub_url(repo, file, revision=commit, endpoint=self.endpoint)
        try:
            found = get_hf_file_metadata(
                url, token=self.token or False, timeout=_METADATA_TIMEOUT_S, endpoint=self.endpoint
            )
        except (httpx2.HTTPError, OSError) as error:
            raise explain(error, f"{repo}/{file}", self) from error
        etag = found.etag or ""
        if not is_checksum(etag) or found.size is None:
            raise DownloadError(
                f"{self.endpoint} does not say what {repo}/{file} should hash to.",
                "Unset HF_ENDPOINT, or set it to the Hub or a full mirror of it.",
            )
        found_commit = found.commit_hash or commit
        if not _COMMIT.fullmatch(found_commit):  # it becomes the name of a folder
            raise self._no_hub()
        return RemoteFile(
            repo=repo,
            file=file,
            revision=revision,
            commit=found_commit,
            etag=etag,
            size_bytes=found.size,
            url=found.location,
        )

    def headers_for(self, url: str) -> dict[str, str]:
        """The token, for the Hub alone: storage servers have their signature in the address."""
        ours = _origin(url) == _origin(self.endpoint)
        return {"Authorization": f"Bearer {self.token}"} if self.token and ours else {}

    def _no_hub(self) -> DownloadError:
        return DownloadError(
            f"{self.endpoint} does not answer like the Hub.",
            "The network may want you to sign in first; open the address in a browser. Else check HF_ENDPOINT.",
        )

    def _prepare(self, what: str) -> None:
        """Raise DownloadError where nothing can be asked."""
        if self.offline:
            raise DownloadError(
                f"{what} is not on this machine, and HF_HUB_OFFLINE is set.", "Unset HF_HUB_OFFLINE to download."
            )
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise unsendable(self.endpoint)
        _ = self.client  # made of the same settings as the Hub's own, and says what is wrong with them


def _cleaned(token: str | None) -> str | None:
    """As ``huggingface_hub`` cleans tokens: copied ones bring line breaks and blanks along."""
    return (token or "").replace("\r", "").replace("\n", "").strip() or None


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def free_bytes(folder: Path) -> int:
    """Free space where ``folder`` is or will be."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue  # not there yet, or not for us to look at; its disk is that of the folder it is in
    return 0
