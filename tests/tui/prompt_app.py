"""The prompt without the rest of the chat screen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Static

from localspec.base.errors import LocalSpecError
from localspec.chat.compose.completing import argument_values
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.papers.meaning import Meaning
from localspec.chat.tools.toolbox import Toolbox
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.theme import OWN_THEMES


class PromptApp(App[None]):
    """A prompt at the foot of an empty screen, and what it says."""

    CSS = "Screen { align-vertical: bottom; background: $background; }"

    def __init__(self, folder: Path, *, free: bool = False, meaning: Meaning | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.sent: list[WrittenMessage] = []
        self.said: list[str] = []
        self.weight = ""
        self.waiting: list[WrittenMessage] = []
        self.free = free
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self.theme = OWN_THEMES[0].name
        self.meaning = meaning
        self.pairs: dict[str, str] | None = {"one": "The first", "one-more": "", "two": ""}
        """The pairs that are here; None where that cannot be found out."""
        self.prompt = Prompt(
            "Ask",
            ask=self.ask,
            withdraw=self.withdraw,
            paused=self.paused,
            values=self.values,
            meaning=meaning,
            data_folder=folder,
        )

    def values(self, command: str) -> Mapping[str, str]:
        if command not in ("pairs", "compare"):
            return argument_values(command, Toolbox())
        if self.pairs is None:
            raise LocalSpecError("The list of pairs cannot be read.", "Mend it.")
        return self.pairs

    def ask(self, text: str) -> bool:
        if self.free:
            self.asked.append(text)
        return self.free

    def paused(self, written: WrittenMessage) -> None:
        if self.meaning is not None:
            self.meaning.want(*written.search)

    def withdraw(self) -> WrittenMessage | None:
        return self.waiting.pop() if self.waiting else None

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"quiet": "#888888"}

    def compose(self) -> ComposeResult:
        yield self.prompt

    def on_mount(self) -> None:
        self.prompt.area.focus()

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self.sent.append(event.written)

    def on_prompt_noted(self, event: Prompt.Noted) -> None:
        self.said.append(event.text)

    @property
    def trouble(self) -> str:
        """What went wrong, as it is shown."""
        shown = self.query_one("#trouble", Static)
        return str(shown.render()) if shown.display else ""

    def on_prompt_counted(self, event: Prompt.Counted) -> None:
        self.weight = event.text


def app_among_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> PromptApp:
    """The app in a folder with a few files, which is in ``folder``."""
    files = folder / "files"
    for name, text in (("README.md", "Read me."), ("src/app.py", "print(1)"), ("src/my notes.txt", "A note.")):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(text)
    (files / "picture.png").write_bytes(b"\x89PNG\0\0")
    monkeypatch.chdir(files)
    return PromptApp(folder / "data")


async def paste(pilot: Pilot[None], text: str) -> None:
    pilot.app.post_message(Paste(text))
    await pilot.pause()
    await pilot.pause()


def listed(app: PromptApp) -> list[str]:
    """The labels of the open list."""
    offer = app.query_one(CompletionList).offer
    return [choice.label for choice in offer.choices] if offer else []
