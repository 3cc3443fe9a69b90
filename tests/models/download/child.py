"""A process that fetches one file and exits: ``python -m tests.models.download.child REPO FILE``."""

from __future__ import annotations

import sys
from threading import Event

from localspec.base.errors import LocalSpecError
from localspec.models.download.context import DownloadContext
from localspec.models.download.downloader import download
from localspec.models.download.hub import Hub
from localspec.models.download.retry import Retry
from localspec.models.pairs.hub_cache import hub_cache


def main() -> None:
    repo, file = sys.argv[1:]
    with Hub() as hub:
        stop = Event()
        context = DownloadContext(hub=hub, cache=hub_cache(), stop=stop, retry=Retry(), wait=lambda _: None)
        try:
            remote = context.with_retries(lambda: hub.file(hub.repository(repo), file))
            for event in download([remote], context):
                print(type(event).__name__, flush=True)
        except LocalSpecError as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
