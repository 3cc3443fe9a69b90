"""Commands about the message being written."""

from __future__ import annotations

from localspec.chat.commands.command import LineForm, Place

WRITING = Place("Writing a message")

SEND = WRITING.add("send", "enter", "send", "Send the message.", hinted=True, in_prompt=True, in_palette=False)
NEWLINE = WRITING.add(
    "newline",
    "ctrl+j,shift+enter",
    "newline",
    "Start a new line in the message.",
    hinted=True,
    in_prompt=True,
    in_palette=False,
)
EARLIER = WRITING.add(
    "earlier",
    "up",
    "earlier message",
    "In the first line: the message sent before. In an empty prompt: first a message that waits, to change it.",
    in_prompt=True,
    in_palette=False,
)
LATER = WRITING.add(
    "later",
    "down",
    "later message",
    "In the last line: the next message sent, then what was being written, then the examples of the first page.",
    in_prompt=True,
    in_palette=False,
)
COMPLETE = WRITING.add(
    "complete",
    "tab",
    "complete",
    "Take the highlighted row of the list; on the mark of a long paste, unfold it.",
    in_prompt=True,
    in_palette=False,
)
ATTACH = WRITING.add(
    "attach",
    "at",
    "attach",
    "Attach a file or a folder: @ and a part of its name, or /attach and its path.",
    slash="attach",
    argument="PATH",
    also=("file", "upload", "document", "pdf", "image"),
    line=LineForm("attach", "Attach a file or a folder to the next message.", "[FILE]"),
)
RECALL = WRITING.add("recall", "ctrl+r", "sent messages", "Search the messages sent before.", slash="recall")
EDITOR = WRITING.add(
    "editor", "ctrl+o", "editor", "Write the message in your own editor ($VISUAL or $EDITOR).", slash="editor"
)
