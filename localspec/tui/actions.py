"""Everything a person can do on the chat screen: one table for keys, palette, commands and help.

Pure data. The screen turns it into bindings, the help screen into a page, the prompt into commands;
whatever is documented elsewhere can be checked against it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, and every way to do it."""

    id: str
    """Names the binding, so that keys can be changed without touching code."""
    keys: str
    """Textual's names, comma-separated; the first is the one shown."""
    title: str
    """One or two words, for the row of hints and the palette."""
    help: str
    """A sentence."""
    handler: str
    """Textual's name of the method that does it."""
    command: str | None = None
    """The slash command, without the slash."""
    hinted: bool = False
    """Whether the row of hints shows it."""
    in_palette: bool = True


ACTIONS: tuple[Action, ...] = (
    Action("send", "enter", "send", "Send the message.", "prompt.send", hinted=True, in_palette=False),
    Action(
        "newline",
        "ctrl+j,shift+enter",
        "newline",
        "Start a new line in the message.",
        "prompt.newline",
        hinted=True,
        in_palette=False,
    ),
    Action("stop", "escape", "stop", "Stop the reply; its text stays.", "screen.stop", hinted=True),
    Action(
        "view",
        "ctrl+t",
        "tokens",
        "Switch all replies between Markdown and tokens marked by origin.",
        "screen.toggle_view",
        "tokens",
        hinted=True,
    ),
    Action(
        "fast",
        "ctrl+g",
        "full speed",
        "Show the text as fast as the engine makes it, or at a reading pace.",
        "screen.toggle_pace",
        "fast",
    ),
    Action("new", "ctrl+n", "new", "Begin a new conversation.", "screen.new_conversation", "new"),
    Action("older", "pageup", "scroll up", "Scroll back; the view stays there.", "screen.page(-1)"),
    Action("newer", "pagedown", "scroll down", "Scroll forward.", "screen.page(1)"),
    Action("latest", "ctrl+end", "latest", "Go to the newest text and follow it.", "screen.latest"),
    Action(
        "palette",
        "ctrl+p",
        "palette",
        "Search all commands.",
        "app.command_palette",
        in_palette=False,
    ),
    Action("help", "f1", "help", "Show keys, commands and what the colours mean.", "screen.help", "help", hinted=True),
    Action("quit", "ctrl+q", "quit", "Quit and return to the shell.", "app.quit", "quit", hinted=True),
)

_KEY_WORDS = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "end": "End",
}


def key_label(keys: str) -> str:
    """The first of an action's keys as people write it: ``ctrl+t`` is "Ctrl+T"."""
    parts = keys.split(",")[0].split("+")
    return "+".join(_KEY_WORDS.get(part, part.capitalize()) for part in parts)


def find_command(text: str) -> Action | None:
    """The action behind ``/word``; None if there is no such command."""
    word = text.removeprefix("/").strip().lower()
    return next((action for action in ACTIONS if action.command == word), None)


def is_command(text: str) -> bool:
    """Whether a message is meant as a command: one word after a slash, so that a path or code is not."""
    stripped = text.strip()
    return stripped.startswith("/") and stripped[1:].isalpha()


def matching_commands(text: str) -> list[Action]:
    """The commands that ``/wor`` may become."""
    if not text.startswith("/") or (not text[1:].isalpha() and text != "/"):
        return []
    return [action for action in ACTIONS if action.command and action.command.startswith(text[1:].lower())]
