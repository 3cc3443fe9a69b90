"""Failures of the Hub, the network and the proxy as errors: a sentence and the next step for each."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Protocol

import httpx2
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from localspec.base.errors import DownloadError, LocalSpecError, NotFoundError
from localspec.models.download.remote_file import Repository
from localspec.models.download.retry import TEMPORARY, asked_wait_s
from localspec.models.pairs.hub_cache import CERTIFICATE
from localspec.models.pairs.split_files import is_later_part

_CONNECTION = "Check the connection; behind a proxy, check that HTTPS_PROXY names it."

_WHY = {
    errno.ECONNREFUSED: "nothing answers there",
    errno.ECONNRESET: "",
    errno.EPIPE: "",
    errno.ENETUNREACH: "there is no way to it, as when there is no network",
    errno.EHOSTUNREACH: "there is no way to it, as when there is no network",
}
"""The commonest errors of the system in words."""

_PROXY = (
    "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; a name and a password go before the host: http://NAME:PASSWORD@HOST."
)


class HubRequester(Protocol):
    """The endpoint and the token of a request."""

    @property
    def endpoint(self) -> str: ...

    @property
    def token(self) -> str | None: ...


class TransientError(DownloadError):
    """A failure that may pass; ``asked_s`` is the wait that the server asked for (``Retry-After``)."""

    def __init__(self, message: str, hint: str, asked_s: float | None = None) -> None:
        super().__init__(message, hint)
        self.asked_s = asked_s


def explain(error: Exception, name: str, requester: HubRequester) -> LocalSpecError:
    """The error for a failed request about ``name``, a repository or a file in one."""
    if isinstance(error, HfHubHTTPError):
        return _refused(error, name, requester)
    if isinstance(error, OfflineModeIsEnabled):
        return offline(name)
    return unreachable(error, requester.endpoint)


def _refused(error: HfHubHTTPError, name: str, requester: HubRequester) -> LocalSpecError:
    repo = "/".join(name.split("/")[:2])
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return _gated(repo, requester)
    if isinstance(error, RepositoryNotFoundError):
        private = "a token that may see it" if requester.token else "HF_TOKEN, or run `hf auth login`"
        return NotFoundError(
            f"There is no repository {repo} on {requester.endpoint}, or it is private.",
            f"Check the name; for a private one set {private}.",
        )
    if isinstance(error, RevisionNotFoundError):
        return NotFoundError(f"{repo} has no such revision.", "Leave the revision out, or take one of its commits.")
    if isinstance(error, RemoteEntryNotFoundError):
        return NotFoundError(f"There is no file {name}.", f"{requester.endpoint}/{repo}/tree/main lists its files.")
    if isinstance(error, DisabledRepoError):
        return DownloadError(f"The Hub has disabled {repo}.", "Choose another repository with the same model.")
    if status == 401 and requester.token:
        return DownloadError("The Hub does not accept the token.", "Set HF_TOKEN anew, or run `hf auth login`.")
    if status in (401, 403) and requester.token:
        return _refused_token(name, requester.endpoint, status)
    return refused_status(status, error.response.headers.get("retry-after"), name, requester.endpoint)


def _refused_token(name: str, host: str, status: int) -> DownloadError:
    return DownloadError(
        f"{host} refuses {name} to this token (status {status}).",
        "Check that the account of HF_TOKEN may read the repository.",
    )


def _gated(repo: str, requester: HubRequester) -> DownloadError:
    terms = f"Accept its terms at {requester.endpoint}/{repo}"
    if requester.token:
        return DownloadError(
            f"{repo} is gated, and your account has no access to it.", f"{terms}, and run the command again."
        )
    return DownloadError(
        f"{repo} is gated.", f"{terms}, then set HF_TOKEN to a token of yours, or run `hf auth login`."
    )


def refused_status(status: int, retry_after: str | None, name: str, host: str) -> DownloadError:
    """The error for an HTTP status without a more specific one."""
    if status == 429:
        asked_s = asked_wait_s(retry_after)
        when = "in a few minutes" if asked_s is None else f"in {asked_s:.0f} seconds"
        return TransientError(
            f"{host} has had too many requests from here.",
            f"Try again {when}; with a token (HF_TOKEN) the limit is higher.",
            asked_s,
        )
    if status == 407:
        return DownloadError(f"The proxy requires a name and a password (status {status}).", _PROXY)
    if status in TEMPORARY:
        return TransientError(
            f"{host} cannot answer now (status {status}).",
            "Try again later.",
            asked_wait_s(retry_after),
        )
    if status == 511:
        return sign_in_page(host, name)
    return DownloadError(
        f"{host} refuses {name} (status {status}).",
        "A proxy or a firewall may refuse it: try another network, or set HF_ENDPOINT to a mirror of the Hub.",
    )


def refused_bytes(response: httpx2.Response, file: str, host: str) -> DownloadError:
    """The error for an HTTP status in place of a file's bytes; it names the token only where one was sent."""
    status = response.status_code
    if status in (401, 403) and "authorization" in response.request.headers:
        return _refused_token(file, host, status)
    return refused_status(status, response.headers.get("retry-after"), file, host)


def sign_in_page(host: str, file: str) -> DownloadError:
    """The error for a sign-in page that the network sends in place of every answer."""
    return DownloadError(
        f"{host} sends a web page in place of {file}.",
        "The network may require a sign-in: open any page in a browser, then run the command again.",
    )


def offline(name: str | None) -> DownloadError:
    """The error for a file that is not here, or for a search (None), while the Hub may not be contacted."""
    if name is None:
        return DownloadError(
            "The Hub is not searched, because HF_HUB_OFFLINE is set.", "Unset HF_HUB_OFFLINE to search it."
        )
    return DownloadError(
        f"{name} is not on this machine, and HF_HUB_OFFLINE is set.", "Unset HF_HUB_OFFLINE to download."
    )


def no_address(text: str) -> DownloadError:
    """The error for an endpoint that is not an address."""
    return DownloadError(f"{text} is not an address.", "Set HF_ENDPOINT to one that begins with https://.")


def unreachable(error: Exception, host: str) -> DownloadError:
    """The error for a failed connection."""
    if isinstance(error, httpx2.LocalProtocolError):
        return unsendable(host)  # the exception's text repeats the header, and with it the token
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return DownloadError(
                f"{host} shows a certificate that is not trusted here: {cause.verify_message}.",
                CERTIFICATE,
            )
    if isinstance(error, httpx2.ProxyError):
        return DownloadError(f"The proxy refuses: {error}.", _PROXY)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return no_address(host)
    if isinstance(error, httpx2.TooManyRedirects):
        return DownloadError(f"{host} redirects without end.", "Check HF_ENDPOINT.")
    if isinstance(error, httpx2.TimeoutException):
        return TransientError(f"{host} does not answer.", _CONNECTION)
    why = next(filter(None, map(_why, causes)), "")
    failure = "cannot be reached" if isinstance(error, httpx2.ConnectError) else "closed the connection"
    return TransientError(f"{host} {failure}{f': {why}' if why else ''}.", _CONNECTION)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its chain of causes."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _why(error: BaseException) -> str:
    """The reason for a failed connection in words; empty if none is known."""
    if isinstance(error, socket.gaierror):
        return "its name is not known here, as when there is no network"
    if isinstance(error, ssl.SSLError):
        return f"its SSL is broken ({(error.reason or 'no reason given').replace('_', ' ').lower()})"
    if isinstance(error, OSError) and error.errno is not None:
        return _WHY.get(error.errno, os.strerror(error.errno).lower())
    return ""


def unsendable(host: str) -> DownloadError:
    """The error for a request header that cannot be sent; its only part set by a person is the token."""
    return DownloadError(
        f"{host} cannot be asked: a header of the request has a character that may not be sent.",
        "Check the token, in HF_TOKEN or from `hf auth login`: it is one word of plain letters and digits.",
    )


def unusable(error: Exception) -> DownloadError:
    """The error for network settings from which no client can be made."""
    if isinstance(error, ImportError):
        return DownloadError(
            "A SOCKS proxy needs the package socksio, which is not installed.",
            "Install it (pip install socksio), or set HTTPS_PROXY to an http:// proxy.",
        )
    if isinstance(error, OSError):
        why = error.strerror or str(error)
        return DownloadError(
            f"The certificates that SSL_CERT_FILE or SSL_CERT_DIR name cannot be used: {why}.",
            "Check the two variables, or unset them to use those of the system.",
        )
    return DownloadError(f"The proxy that is set cannot be used: {error}.", _PROXY)


def missing_file(file: str | None, repository: Repository) -> NotFoundError:
    """The error for a file (None: any model) that is not in a repository, with similar names."""
    ggufs = [name for name in repository.sizes if name.lower().endswith(".gguf") and not is_later_part(name)]
    close = get_close_matches(file or "", ggufs, n=3, cutoff=0.5)
    if close:
        hint = f"Did you mean {' or '.join(close)}?"
    elif ggufs:
        hint = f"It has {', '.join(ggufs[:8])}{', ...' if len(ggufs) > 8 else ''}."
    else:
        hint = "It has no GGUF files at all; look for one whose name ends in -GGUF."
    return NotFoundError(f"{repository.name} has no file {file}." if file else f"{repository.name} has no model.", hint)
