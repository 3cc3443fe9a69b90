"""The chat as it is, over the paced engine.

python -m tests.endurance.app [OPTIONS OF localspec chat]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from localspec.cli import main
from localspec.cli.services import Services
from localspec.launch import Launch
from localspec.paths import user_paths
from localspec.tui.app import Client, run_app
from localspec.worker.client import EngineClient
from localspec.worker.messages import Answer
from tests.endurance.paced_engine import OPENER


def open_screen(launch: Launch) -> None:
    """The real screen and the real engine process; only what is in it writes by itself."""

    def make_client(deliver: Callable[[Answer], None]) -> Client:
        return EngineClient(deliver, user_paths().engine_log, opener=OPENER)

    run_app(launch, make_client)


if __name__ == "__main__":
    main(["chat", *sys.argv[1:]], services=Services(open_screen=open_screen, has_terminal=lambda: True))
