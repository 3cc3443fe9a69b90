"""Commands about turns: answered again, edited, copied, unfolded, deleted."""

from __future__ import annotations

from localspec.chat.commands.command import LineForm, Place

TURNS = Place("Turns")

PREVIOUS = TURNS.add(
    "previous",
    "alt+up",
    "previous turn",
    "Choose a turn, which keys and commands then act on; the stop key goes back to the prompt.",
)
NEXT = TURNS.add("next", "alt+down", "next turn", "Choose the next turn; past the last, none.")
AGAIN = TURNS.add(
    "again",
    "alt+r",
    "answer again",
    "Answer the chosen question again, or the last; the first reply stays as another version.",
    slash="again",
    also=("regenerate", "retry", "redo", "repeat"),
    line=LineForm("regenerate", "Answer the last question anew; the first reply stays.", also=("again", "retry")),
)
EDIT = TURNS.add(
    "edit",
    "e",
    "edit",
    "Change the chosen question and ask it again; the first one stays as another version.",
    slash="edit",
    hinted=True,
    in_turn=True,
    line=LineForm("edit", "Ask the last question in other words; earlier versions stay.", "[TEXT]"),
)
REWRITE = TURNS.add(
    "rewrite", "E", "edit reply", "Change the chosen reply by hand, as another version.", slash="rewrite", in_turn=True
)
CONTINUE = TURNS.add(
    "continue",
    "c",
    "continue",
    "Go on with a reply that was stopped, cut off or edited.",
    slash="continue",
    also=("resume",),
    hinted=True,
    in_turn=True,
    line=LineForm("continue", "Go on with a reply that was stopped."),
)
VERSION_BEFORE = TURNS.add(
    "version-before", "left", "version", "Show the previous version of the chosen turn.", hinted=True, in_turn=True
)
VERSION_AFTER = TURNS.add(
    "version-after", "right", "next version", "Show the next version of the chosen turn.", in_turn=True
)
COPY = TURNS.add(
    "copy",
    "y",
    "copy",
    "Copy the chosen reply, or the last.",
    slash="copy",
    also=("clipboard",),
    hinted=True,
    in_turn=True,
)
CODE = TURNS.add(
    "code",
    "o",
    "copy code",
    "Copy the last block of code in the reply; again, the one before.",
    slash="code",
    in_turn=True,
)
BLOCK_BEFORE = TURNS.add(
    "block-before",
    "alt+pageup",
    "previous code block",
    "Go to the previous block of code, in any turn; the keys of a turn then act on that one.",
)
BLOCK_AFTER = TURNS.add("block-after", "alt+pagedown", "next code block", "Go to the next block of code.")
LINKS = TURNS.add(
    "links",
    "alt+l",
    "links",
    "List the links of the chosen reply, or the last, to copy one or open it in the browser.",
    slash="links",
)
THOUGHTS = TURNS.add(
    "thoughts",
    "z",
    "thoughts",
    "Show the thoughts before the answer, or the text of a summary, or fold them away.",
    slash="thoughts",
    also=("reasoning", "thinking"),
    in_turn=True,
)
PASSAGES = TURNS.add(
    "passages",
    "p",
    "files and passages",
    "Show the files and passages that the model read with the chosen question, or fold them away.",
    slash="passages",
    also=("sources", "attachments"),
    in_turn=True,
)
DELETE = TURNS.add(
    "delete",
    "d",
    "delete",
    "Delete the chosen turn, by the key pressed twice; /undo brings it back.",
    slash="delete",
    also=("remove",),
    hinted=True,
    in_turn=True,
    twice=True,
    line=LineForm("delete", "Delete the last turn, or the whole conversation.", "[conversation]"),
)
UNDO = TURNS.add(
    "undo",
    "u",
    "undo",
    "Bring back what was deleted or summarised last: turns, or a conversation.",
    slash="undo",
    in_turn=True,
    line=LineForm("undo", "Bring back what was deleted or summarised last."),
)
COMPACT = TURNS.add(
    "compact",
    "alt+c",
    "compact",
    "Summarise all but the last 2 turns, or as many as you name, to make room; /undo brings them back.",
    slash="compact",
    argument="TURNS",
    also=("summarise", "summarize"),
    line=LineForm("compact", "Summarise all but the last 2 turns, or as many as you name, to make room.", "[TURNS]"),
)
FAST = TURNS.add(
    "fast",
    "ctrl+g",
    "full speed",
    "Show the text as fast as the engine makes it, or at a reading pace.",
    slash="fast",
    also=("pace",),
)
