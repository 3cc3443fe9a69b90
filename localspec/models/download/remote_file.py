"""A file on the Hub, and the repository it is in, as they were when they were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository at one commit."""

    name: str
    """As asked for: owner/name."""
    current_name: str
    """As the Hub calls it now; another one if it was renamed."""
    revision: str
    """As asked for: a branch, a tag or a commit."""
    commit: str
    sizes: Mapping[str, int | None] = field(repr=False)
    """Bytes of every file, by name; None where the Hub does not say."""

    @property
    def renamed(self) -> bool:
        return self.name.lower() != self.current_name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file at one commit, and where its bytes are."""

    repo: str
    file: str
    revision: str
    commit: str
    etag: str
    """The sha256 of its content, or for a small file its git object id; the name of its blob in the cache."""
    size_bytes: int
    url: str = field(repr=False)
    """Where its bytes are; often signed, and valid for an hour or so."""

    @property
    def label(self) -> str:
        return f"{self.repo}/{self.file}"
