"""Commands to move about: in the conversation, to the palette, to help, and out."""

from __future__ import annotations

from localspec.chat.commands.command import LineForm, Place

MOVING = Place("Moving about")

READ = MOVING.add(
    "read",
    "f6",
    "read",
    "Leave the prompt, so that single keys move through the conversation where the key map has any.",
)
WRITE = MOVING.add("write", "insert", "write", "Go back to the prompt.")
OLDER = MOVING.add("older", "pageup", "scroll up", "Scroll back; the view stays there.")
NEWER = MOVING.add("newer", "pagedown", "scroll down", "Scroll forward.")
LATEST = MOVING.add("latest", "ctrl+end", "latest", "Go to the newest text and follow it.")
PALETTE = MOVING.add("palette", "ctrl+p", "palette", "Search all commands.", in_palette=False)
TOUR = MOVING.add(
    "tour",
    "f10",
    "tour",
    "Begin the tour, a minute of things to try, or go on to its next step; the stop key ends it.",
    slash="tour",
    also=("tutorial",),
)
HELP = MOVING.add(
    "help",
    "f1",
    "help",
    "Show keys, commands and what the colours mean.",
    slash="help",
    also=("keys", "shortcuts", "keyboard", "bindings", "commands", "legend"),
    hinted=True,
    line=LineForm("help", "List the commands, or explain one.", "[COMMAND]", also=("keys",)),
)
QUIT = MOVING.add(
    "quit",
    "ctrl+q",
    "quit",
    "Quit and return to the shell.",
    slash="quit",
    also=("bye", "exit"),
    hinted=True,
    line=LineForm("quit", "Quit; so does the end of the input.", also=("exit", "bye")),
)
