"""The download context of commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.models.download import DownloadContext


@contextmanager
def download_context() -> Iterator[DownloadContext]:
    """A download context from the environment, for the length of a ``with``."""
    from threading import Event

    from localspec.models.download import DownloadContext, Hub
    from localspec.models.pairs.hub_cache import hub_cache

    with Hub() as hub:
        yield DownloadContext(hub=hub, cache=hub_cache(), stop=Event())
