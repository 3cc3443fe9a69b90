"""A process that downloads pairs as the app does, until it is killed: ``python -m tests.tui.queueing ID...``."""

from __future__ import annotations

import sys
import threading

from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.source import LocalPairs
from tests.tui.fakes import NoSettings
from tests.tui.support import LAUNCH


def main() -> None:
    library = PairLibrary(LocalPairs(NoSettings(LAUNCH)))
    for pair_id in sys.argv[1:]:
        library.fetch(pair_id)
    threading.Event().wait()


if __name__ == "__main__":
    main()
