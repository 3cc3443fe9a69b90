"""A download as the tests see it: no waiting, a small disk on request, and all that was reported."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from localspec.models.download.context import DownloadContext
from localspec.models.download.downloader import download
from localspec.models.download.events import DownloadEvent, Fetched
from localspec.models.download.hub import Hub
from localspec.models.download.layout import CacheLayout
from localspec.models.download.remote_file import RemoteFile
from localspec.models.download.retry import Retry
from localspec.models.pairs.hub_cache import hub_cache
from tests.hub import HubServer

BIG = "Owner/Big-GGUF"
SMALL = "Owner/Small-GGUF"


def noise(size_bytes: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size_bytes)


@dataclass
class World:
    """A server and a client of it."""

    server: HubServer
    hub: Hub
    waits: list[float] = field(default_factory=list)
    events: list[DownloadEvent] = field(default_factory=list)
    free_bytes: Callable[[Path], int | None] = lambda _: 10**12

    @property
    def cache(self) -> Path:
        return hub_cache()

    def context(self) -> DownloadContext:
        return DownloadContext(
            hub=self.hub,
            cache=self.cache,
            stop=Event(),
            retry=Retry(rng=lambda: 0.5),
            wait=self.waits.append,
            free_bytes=self.free_bytes,
        )

    def remote(self, repo: str = BIG, file: str = "big.gguf", revision: str | None = None) -> RemoteFile:
        return self.hub.file(self.hub.repository(repo, revision), file)

    def fetch(self, files: Sequence[RemoteFile] | None = None) -> list[Path]:
        """Download; where the files are. What is reported is in ``events``, even if it fails."""
        for event in download(files or [self.remote()], self.context()):
            self.events.append(event)
        return [event.path for event in self.events if isinstance(event, Fetched)]

    def layout(self, remote: RemoteFile | None = None) -> CacheLayout:
        return CacheLayout(self.cache, remote or self.remote())
