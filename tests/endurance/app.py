"""The chat as it is, over the paced engine.

python -m tests.endurance.app [OPTIONS OF localspec chat]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from localspec.base.paths import user_paths
from localspec.cli import main
from localspec.cli.services import Services
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer
from localspec.tui.app import ChatApp, Client, run_app
from tests.endurance.paced_engine import OPENER

KEPT_BY = "LOCALSPEC_KEPT_BY"
"""A variable of the environment; see ``_quit_if_free``."""


def open_screen(chat_config: ChatConfig) -> None:
    """The real screen and the real engine process; only what is in it writes by itself."""

    def make_client(deliver: Callable[[Answer], None]) -> Client:
        return EngineClient(deliver, user_paths().engine_log, opener=OPENER)

    with patch.object(ChatApp, "action_quit", _quit_if_free):
        run_app(chat_config, make_client)


async def _quit_if_free(app: ChatApp) -> None:
    """Where a file is named that keeps it, the app stays until the file is gone: a click by chance may be at "quit"."""
    kept_by = os.environ.get(KEPT_BY)
    if kept_by is None or not Path(kept_by).exists():
        app.exit()


if __name__ == "__main__":
    main(["chat", *sys.argv[1:]], services=Services(open_screen=open_screen, has_terminal=lambda: True))
