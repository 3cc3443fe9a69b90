"""The chat screen as it is, with the final figures of each reply written to a file for a benchmark to read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from localspec.base.paths import user_paths
from localspec.cli import main
from localspec.cli.services import Services
from localspec.engine.events import Finished
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer, Emitted
from localspec.tui.app import Client, run_app


def open_watched_screen(figures: Path, chat_config: ChatConfig) -> None:
    """Open the real screen over the real engine, and look at the answers as they pass."""

    def make_client(deliver: Callable[[Answer], None]) -> Client:
        def watch(answer: Answer) -> None:
            deliver(answer)
            if isinstance(answer, Emitted) and isinstance(answer.event, Finished):
                part = figures.with_suffix(".part")
                part.write_text(json.dumps(asdict(answer.event.timings)))
                part.rename(figures)

        return EngineClient(watch, user_paths().engine_log)

    run_app(chat_config, make_client)


if __name__ == "__main__":
    watched = partial(open_watched_screen, Path(sys.argv[1]))
    main(["chat", *sys.argv[2:]], services=Services(open_screen=watched, has_terminal=lambda: True))
