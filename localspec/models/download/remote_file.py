"""A file on the Hub and its repository, as they were when they were requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository at one commit."""

    name: str
    """The requested name, owner/name."""
    current_name: str
    """The Hub's current name, which differs after a renaming."""
    revision: str
    """The requested branch, tag or commit."""
    commit: str
    sizes: Mapping[str, int | None] = field(repr=False)
    """Bytes of every file, by name; None where the Hub does not report them."""

    @property
    def renamed(self) -> bool:
        return self.name.lower() != self.current_name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file at one commit, with the address of its bytes."""

    repo: str
    file: str
    revision: str
    commit: str
    etag: str
    """The SHA-256 of its content, for a small file its git object id; also the name of its blob in the cache."""
    size_bytes: int
    url: str = field(repr=False)
    """The address of its bytes; often signed, and valid for about an hour."""

    @property
    def label(self) -> str:
        return f"{self.repo}/{self.file}"
