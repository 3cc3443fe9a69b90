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
    in_turn: bool = False
    """Whether the keys count only while a turn is chosen, and are hinted then."""
    twice: bool = False
    """Whether its key has to be pressed twice: it takes something away, and may be the first letter of a message."""
    takes: str = ""
    """What the command may be followed by, for example PATH."""
    also: tuple[str, ...] = ()
    """What people call it besides: the palette finds it so, and the prompt understands it as the command."""


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
    Action(
        "earlier",
        "up",
        "earlier message",
        "In the first line: the message sent before. In an empty prompt: first a message that waits, to change it.",
        "prompt.earlier",
        in_palette=False,
    ),
    Action(
        "later",
        "down",
        "later message",
        "In the last line: the next message sent, and after the newest what was being written.",
        "prompt.later",
        in_palette=False,
    ),
    Action(
        "complete",
        "tab",
        "complete",
        "Take what the list offers; on the mark of a long paste, put its text in its place.",
        "prompt.complete",
        in_palette=False,
    ),
    Action(
        "attach",
        "at",
        "attach",
        "Attach a file or a folder: @ and a part of its name, or /attach and its path.",
        "screen.attach",
        "attach",
        takes="PATH",
        also=("file", "upload"),
    ),
    Action(
        "recall",
        "ctrl+r",
        "sent messages",
        "Search the messages sent before.",
        "screen.prompt('search_sent')",
        "recall",
    ),
    Action(
        "editor",
        "ctrl+o",
        "editor",
        "Write the message in your own editor ($VISUAL or $EDITOR).",
        "screen.prompt('edit_outside')",
        "editor",
    ),
    Action(
        "stop",
        "escape",
        "stop",
        "Stop the reply; its text stays.",
        "screen.stop",
        hinted=True,
        also=("cancel", "interrupt"),
    ),
    Action(
        "view",
        "ctrl+t",
        "tokens",
        "Switch all replies between Markdown and tokens.",
        "screen.toggle_view",
        "tokens",
        hinted=True,
        also=("markdown", "raw"),
    ),
    Action(
        "marks",
        "f2",
        "marks",
        "Mark tokens in another way: subtle, by origin, drafter, heat, rounds, or not at all.",
        "screen.next_mode",
        "marks",
        also=("colours", "colors", "highlight"),
    ),
    Action(
        "ghosts",
        "f4",
        "ghosts",
        "Show rejected guesses for a moment, keep them among the tokens, or hide them.",
        "screen.next_ghosts",
        "ghosts",
        also=("rejected",),
    ),
    Action(
        "inspect",
        "f5",
        "inspect",
        "Look into the tokens of the chosen reply or the latest: what target and draft thought of each.",
        "screen.inspect",
        "inspect",
        also=("probabilities", "logprobs"),
    ),
    Action(
        "race",
        "f12",
        "race",
        "Answer the latest message, or the one after /race, twice: with guesses and without, and compare them.",
        "screen.race",
        "race",
        takes="PROMPT",
        also=("compare",),
    ),
    Action(
        "previous",
        "alt+up",
        "previous turn",
        "Choose a turn, which keys and commands then act on; the stop key goes back to the prompt.",
        "screen.select(-1)",
    ),
    Action("next", "alt+down", "next turn", "Choose the next turn; past the last, none.", "screen.select(1)"),
    Action(
        "again",
        "alt+r",
        "answer again",
        "Answer the chosen question again, or the last; the first reply stays as another version.",
        "screen.turn('again')",
        "again",
        also=("regenerate", "retry"),
    ),
    Action(
        "edit",
        "e",
        "edit",
        "Change the chosen question and ask it again; the first one stays as another version.",
        "screen.turn('edit')",
        "edit",
        in_turn=True,
        hinted=True,
    ),
    Action(
        "rewrite",
        "E",
        "edit reply",
        "Change the chosen reply by hand, as another version.",
        "screen.turn('rewrite')",
        "rewrite",
        in_turn=True,
    ),
    Action(
        "continue",
        "c",
        "continue",
        "Go on with a reply that was stopped, cut off or edited.",
        "screen.turn('carry_on')",
        "continue",
        in_turn=True,
        hinted=True,
        also=("resume",),
    ),
    Action(
        "version-before",
        "left",
        "version",
        "Show the previous version of the chosen turn.",
        "screen.turn('version', -1)",
        in_turn=True,
        hinted=True,
    ),
    Action(
        "version-after",
        "right",
        "next version",
        "Show the next version of the chosen turn.",
        "screen.turn('version', 1)",
        in_turn=True,
    ),
    Action(
        "copy",
        "y",
        "copy",
        "Copy the chosen reply, or the last.",
        "screen.copy('text')",
        "copy",
        in_turn=True,
        hinted=True,
        also=("clipboard",),
    ),
    Action(
        "code",
        "o",
        "copy code",
        "Copy the last block of code in the reply; again, the one before.",
        "screen.copy('code')",
        "code",
        in_turn=True,
    ),
    Action(
        "block-before",
        "alt+pageup",
        "previous code block",
        "Go to the previous block of code, in any turn; the keys of a turn then act on that one.",
        "screen.block(-1)",
    ),
    Action("block-after", "alt+pagedown", "next code block", "Go to the next block of code.", "screen.block(1)"),
    Action(
        "links",
        "alt+l",
        "links",
        "List the links of the chosen reply, or the last, to copy one or open it in the browser.",
        "screen.links",
        "links",
    ),
    Action(
        "thoughts",
        "z",
        "thoughts",
        "Show the thoughts before the answer, or the text of a summary, or fold them away.",
        "screen.unfold",
        "thoughts",
        in_turn=True,
        also=("reasoning", "thinking"),
    ),
    Action(
        "delete",
        "d",
        "delete",
        "Delete the chosen turn, by the key pressed twice; /undo brings it back.",
        "screen.turn('delete')",
        "delete",
        in_turn=True,
        twice=True,
        hinted=True,
        also=("remove",),
    ),
    Action(
        "undo",
        "u",
        "undo",
        "Bring back the turn that was deleted, or those that were summarised.",
        "screen.turn('undo')",
        "undo",
        in_turn=True,
    ),
    Action(
        "compact",
        "alt+c",
        "compact",
        "Replace all but the last 2 turns, or as many as you say, by a summary, to make room; /undo brings them back.",
        "screen.compact",
        "compact",
        takes="TURNS",
        also=("summarise", "summarize"),
    ),
    Action(
        "fast",
        "ctrl+g",
        "full speed",
        "Show the text as fast as the engine makes it, or at a reading pace.",
        "screen.toggle_pace",
        "fast",
        also=("pace",),
    ),
    Action(
        "conversations",
        "f7",
        "conversations",
        "Show all conversations: open, rename, pin or delete one.",
        "screen.conversations",
        "conversations",
        also=("history", "list", "open", "chats"),
    ),
    Action(
        "search",
        "ctrl+s",
        "search",
        "Search everything that was said.",
        "screen.search",
        "search",
        takes="WORDS",
        also=("find",),
    ),
    Action(
        "rename",
        "alt+t",
        "rename",
        "Give this conversation a title.",
        "screen.rename",
        "rename",
        takes="TITLE",
        also=("title",),
    ),
    Action(
        "export",
        "alt+e",
        "export",
        "Write this conversation to a Markdown file; /export json has every version, /export ndjson every token, "
        "and /export FILE goes by its ending.",
        "screen.export",
        "export",
        takes="FILE",
        also=("save",),
    ),
    Action(
        "import",
        "alt+i",
        "import",
        "Import conversations: /import and the file that LocalSpec (JSON), ChatGPT or LM Studio wrote; /import stop "
        "ends it.",
        "screen.bring_in",
        "import",
        takes="FILE",
    ),
    Action(
        "new", "ctrl+n", "new", "Begin a new conversation.", "screen.new_conversation", "new", also=("clear", "reset")
    ),
    Action(
        "pairs",
        "ctrl+l",
        "pairs",
        "Show all pairs: what fits here, to download or to use; /pair ID changes to one.",
        "app.pairs",
        "pairs",
        takes="ID",
        also=("pair", "model", "models", "load", "download"),
    ),
    Action(
        "stats",
        "alt+s",
        "stats",
        "Show the figures of all replies: acceptance, times and speed by pair, drafter or day, and what became worse.",
        "app.stats",
        "stats",
        also=("figures", "statistics"),
    ),
    Action("accept", "f3", "accept", "Accept what is offered: a download, or another pair.", "app.accept", "accept"),
    Action(
        "theme",
        "alt+shift+t",
        "theme",
        "Choose the colours of the app: /theme and dark, light, high-contrast or terminal; without a name, list them.",
        "app.theme",
        "theme",
        takes="NAME",
        also=("dark", "light"),
    ),
    Action(
        "settings",
        "f9",
        "settings",
        "Show and change all settings.",
        "app.settings",
        "settings",
        also=("config", "options", "preferences"),
    ),
    Action(
        "persona",
        "f8",
        "persona",
        "Speak as a persona in this conversation: /persona and its name; without a name, list them.",
        "app.persona",
        "persona",
        takes="NAME",
    ),
    Action(
        "set",
        "alt+d",
        "set",
        "Set something for this conversation alone: /set temperature 0.2, or /set pair depth 6 for the pair; "
        "without a name, show what it sets.",
        "app.set",
        "set",
        takes="NAME VALUE",
    ),
    Action(
        "unset",
        "alt+shift+d",
        "unset",
        "Remove a setting of this conversation, so that the settings file decides: /unset and its name, or all; "
        "/unset pair and its name for one of the pair.",
        "app.unset",
        "unset",
        takes="NAME",
    ),
    Action(
        "schema",
        "alt+m",
        "JSON Schema",
        "Hold the replies of this conversation to the JSON Schema in a file; /schema off ends that.",
        "app.schema",
        "schema",
        takes="FILE",
    ),
    Action(
        "read",
        "f6",
        "read",
        "Leave the prompt, so that single keys move through the conversation where the key map has any.",
        "screen.read",
    ),
    Action("write", "insert", "write", "Go back to the prompt.", "screen.write"),
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
    Action(
        "tour",
        "f10",
        "tour",
        "Begin the tour, a minute of things to try, or go on to its next step; the stop key ends it.",
        "screen.tour",
        "tour",
        also=("tutorial",),
    ),
    Action(
        "help",
        "f1",
        "help",
        "Show keys, commands and what the colours mean.",
        "app.help",
        "help",
        hinted=True,
        also=("keys", "shortcuts"),
    ),
    Action(
        "quit", "ctrl+q", "quit", "Quit and return to the shell.", "app.quit", "quit", hinted=True, also=("bye", "exit")
    ),
)

_KEY_WORDS = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "end": "End",
    "at": "@",
    "left": "←",
    "right": "→",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "colon": ":",
    "slash": "/",
}


def key_label(keys: str) -> str:
    """The first of an action's keys as people write it: ``ctrl+t`` is "Ctrl+T"."""
    parts = keys.split(",")[0].split("+")
    return "+".join(_KEY_WORDS.get(part, _capital(part, parts)) for part in parts)


def _capital(part: str, parts: list[str]) -> str:
    """A letter by itself is told from the same one with shift."""
    return part if len(part) == 1 and len(parts) == 1 else part.capitalize()
