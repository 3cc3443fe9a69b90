"""Commands to watch replies: to stop one, to mark its tokens, to race and compare pairs."""

from __future__ import annotations

from localspec.chat.commands.command import LineForm, Place

WATCHING = Place("Watching replies")

STOP = WATCHING.add(
    "stop",
    "escape",
    "stop",
    "Stop the reply; its text stays.",
    also=("cancel", "interrupt"),
    hinted=True,
    line=LineForm("stop", "Explain how to stop a reply: with Ctrl-C."),
)
VIEW = WATCHING.add(
    "view",
    "ctrl+t",
    "tokens",
    "Switch all replies between Markdown and tokens.",
    slash="tokens",
    also=("markdown", "raw"),
    hinted=True,
)
MARKS = WATCHING.add(
    "marks",
    "f2",
    "marks",
    "Change how tokens are marked: subtly, by origin, drafter, heat or rounds, or not at all.",
    slash="marks",
    also=("colours", "colors", "highlight"),
    line=LineForm("marks", "Mark tokens by origin in brackets, or not at all.", "[never|ascii|ansi]"),
)
GHOSTS = WATCHING.add(
    "ghosts",
    "f4",
    "ghosts",
    "Show rejected guesses for a moment, keep them among the tokens, or hide them.",
    slash="ghosts",
    also=("rejected",),
)
INSPECT = WATCHING.add(
    "inspect",
    "f5",
    "inspect",
    "Inspect the tokens of the chosen reply or the latest: the target's and the draft's probabilities of each.",
    slash="inspect",
    also=("probabilities", "logprobs"),
)
RACE = WATCHING.add(
    "race",
    "f12",
    "race",
    "Answer the latest message, or the one after /race, twice: with guesses and without, and compare them.",
    slash="race",
    argument="PROMPT",
)
COMPARE = WATCHING.add(
    "compare",
    "alt+shift+v",
    "compare pairs",
    "Answer the latest message, or the one behind the pairs, with each of these pairs; one reply can be kept.",
    slash="compare",
    argument="PAIRS",
    also=("side-by-side", "versus"),
    line=LineForm(
        "compare",
        "Answer the latest message, or the one behind the pairs, with up to 4 pairs, one after the other.",
        "PAIR [PAIR ...] [MESSAGE]",
    ),
)
