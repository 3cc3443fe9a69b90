"""The recording in the README: the real app, the built-in pair, half a minute of a chat at the speed it has.

python -m tests.recording      writes assets/recording.svg
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from textual.binding import Binding
from textual.pilot import Pilot

from localspec.base.paths import shipped
from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.commands.command import key_label
from localspec.chat.pair_slot import Phase
from localspec.chat.pairs.library import PairLibrary
from localspec.engine.settings import Sampling
from localspec.models.pairs import BUILTIN_ID, load_catalogue
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Load
from localspec.store import Store
from localspec.tui.app import ChatApp
from localspec.tui.keys.bindings import prompt_bindings
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.theme import DARK
from tests.film import Film, Frame, line_of, thinned
from tests.tui.fakes import NoPairs, with_settings

RECORDING = Path(__file__).parent.parent / "assets" / "recording.svg"
COLUMNS, LINES = 100, 30
FRAMES_PER_S = 8
_KEY_S = 0.03
_LIMIT_S = 60.0
"""A scene that has not come to its end by then never will."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One thing the reader does, until it is done, and how long it is looked at."""

    says: str
    does: str = ""
    """The id of a binding, whose key is pressed."""
    types: str = ""
    """What is written before that."""
    times: int = 1
    gap_s: float = 0.4
    """Between one press of the key and the next."""
    until: Callable[[ChatApp], bool] = lambda app: True
    hold_s: float = 1.2
    still: bool = False
    """Whether this is what a reader sees that shows no motion."""


def _ready(app: ChatApp) -> bool:
    return app.session.phase is Phase.IDLE and not app.session.busy


def _answered(app: ChatApp) -> bool:
    return _ready(app) and bool(app.session.thread.turns) and app.session.thread.turns[-1].reply.done


def _raced(app: ChatApp) -> bool:
    screen = app.screen
    return isinstance(screen, RaceScreen) and "with guesses:" in str(screen.query_one("#race-verdict").render())


SCENES = (
    Scene("a chat with a local model, at once and offline", until=_ready, hold_s=1.4),
    Scene(
        "a small draft guesses ahead, the target checks", "send", types="Tell me a story about a fox", until=_answered
    ),
    Scene("underlined guesses were accepted, orange ones corrected", "view", hold_s=2.4, still=True),
    Scene("keep the rejected guesses in sight", "ghosts", hold_s=2.0),
    Scene("mark by drafter, by probability, by rounds", "marks", times=3, gap_s=1.5, hold_s=1.5),
    Scene("look into a token: what did both models think of it?", "inspect", hold_s=1.8),
    Scene("go to where the target disagreed", "inspector-rejection", times=3, gap_s=1.2, hold_s=1.8),
    Scene("back to the conversation", "inspector-close", hold_s=0.6),
    Scene(
        "the same with guesses and without: what they gain",
        "race",
        until=_raced,
        hold_s=2.0,
    ),
    Scene("both again, side by side on one clock", "race-again", until=_raced, hold_s=2.6),
    Scene("back to the conversation", "race-close", hold_s=1.0),
)


def keys() -> Mapping[str, str]:
    """The keys of all screens that appear, by the id of their bindings."""
    bindings = [*ChatScreen.BINDINGS, *InspectorScreen.BINDINGS, *RaceScreen.BINDINGS, *prompt_bindings()]
    return {each.id: each.key for each in bindings if isinstance(each, Binding) and each.id}


class Camera:
    """Looks at the app some times a second, for as long as it runs."""

    def __init__(self, app: ChatApp) -> None:
        self._app = app
        self._started_at = time.monotonic()
        self.frames: list[Frame] = []
        self.caption = ""
        self.still_s = 0.0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_at

    async def run(self) -> None:
        while True:
            self.take()
            await asyncio.sleep(1 / FRAMES_PER_S)

    def take(self) -> None:
        """What the screen shows now."""
        colour, background = (str(self._app.theme_variables[name]) for name in ("foreground", "background"))
        strips = self._app.screen._compositor.render_strips()
        lines = tuple(line_of(strip, colour, background) for strip in strips)
        if len(lines) == LINES:  # a screen that just opened may not be laid out yet
            self.frames.append(Frame(self.elapsed_s, lines, self.caption))


async def record(chat_config: ChatConfig, log_file: Path, scenes: tuple[Scene, ...] = SCENES) -> Film:
    """Play the scenes to the real app."""
    inbox = AnswerQueue()
    store = Store.open_or_memory()
    with EngineClient(inbox.put, log_file) as client:
        client.send(Load(chat_config.load))
        app = ChatApp(with_settings(chat_config), client, inbox, PairLibrary(NoPairs()), store=store)
        app.theme = DARK.name
        async with app.run_test(size=(COLUMNS, LINES)) as pilot:
            await _until(pilot, lambda: _ready(app))
            for area in app.screen.query("PromptArea"):
                area.cursor_blink = False  # type: ignore[attr-defined]
            camera = Camera(app)
            filming = asyncio.create_task(camera.run())
            for scene in scenes:
                await _play(scene, pilot, app, camera)
            filming.cancel()
            with suppress(asyncio.CancelledError):
                await filming
    store.close()
    return Film(
        thinned(camera.frames),
        COLUMNS,
        length_s=camera.elapsed_s,
        still_s=camera.still_s,
        title="LocalSpec",
        background=DARK.background or "#000000",
    )


async def _play(scene: Scene, pilot: Pilot[None], app: ChatApp, camera: Camera) -> None:
    key = keys()[scene.does] if scene.does else ""
    camera.caption = f"  {scene.says}"
    for character in scene.types:
        await pilot.press(character if character.isalnum() else _sign(character))
        await asyncio.sleep(_KEY_S)
    camera.caption = f"{key_label(key)}  {scene.says}" if key else f"  {scene.says}"
    for n in range(scene.times if key else 0):
        if n:
            await asyncio.sleep(scene.gap_s)
        await pilot.press(key.split(",")[0])
    await _until(pilot, lambda: scene.until(app))
    if scene.still:
        camera.still_s = camera.elapsed_s + scene.hold_s / 2
    await asyncio.sleep(scene.hold_s)


def _sign(character: str) -> str:
    return {" ": "space", "?": "question_mark"}.get(character, character)


async def _until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the app never got there")
        await pilot.pause(0.05)


def main() -> None:
    """Record it."""
    load = LoadOptions(shipped("assets/builtin-target.gguf"), shipped("assets/builtin-draft.gguf"))
    pair = load_catalogue().find(BUILTIN_ID)
    reply = ReplyOptions(Sampling(temperature=0))
    chat_config = ChatConfig(
        load,
        reply,
        pair_id=pair.id,
        title=pair.title,
        tour=True,
        pace_tokens_per_second=pair.pace_tokens_per_second,
    )
    with tempfile.TemporaryDirectory() as folder:
        # Nobody's conversations and settings, and all colours.
        os.environ.update(LOCALSPEC_HOME=folder, COLORTERM="truecolor", TERM="xterm-256color")
        film = asyncio.run(record(chat_config, Path(folder) / "engine.log"))
    RECORDING.write_text(film.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
