"""All tables of actions, each for one screen or list: what keys, help and documentation are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from localspec.chat.commands.command import Action


@dataclass(frozen=True, slots=True)
class Table:
    """Actions that are there at the same time, so that no two may share a key."""

    title: str
    """The place, as help names it."""
    actions: tuple[Action, ...]
    types: bool = False
    """Whether somebody types there, whatever the action."""


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
        "Bring back what was deleted or summarised last: turns, or a conversation.",
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

INSPECTOR_ACTIONS: tuple[Action, ...] = (
    Action("inspector-left", "left,h", "token before", "Look at the token before.", "step(-1)"),
    Action("inspector-right", "right,l", "token after", "Look at the token after.", "step(1)"),
    Action("inspector-up", "up,k", "line above", "Look at the token above.", "line(-1)"),
    Action("inspector-down", "down,j", "line below", "Look at the token below.", "line(1)"),
    Action(
        "inspector-round-before",
        "left_square_bracket,ctrl+left",
        "round before",
        "Go to the beginning of the round, or of the one before.",
        "round(-1)",
    ),
    Action(
        "inspector-round-after",
        "right_square_bracket,ctrl+right",
        "round after",
        "Go to the beginning of the next round.",
        "round(1)",
    ),
    Action("inspector-rejection", "n", "rejection", "Go to the next token that replaced a rejected one.", "rejection"),
    Action("inspector-first", "home", "first token", "Go to the first token.", "go(0)"),
    Action("inspector-last", "end", "last token", "Go to the last token.", "go(-1)"),
    Action("inspector-panel-up", "pageup", "scroll up", "Scroll what is known up.", "panel(-1)"),
    Action("inspector-panel-down", "pagedown", "scroll down", "Scroll what is known down.", "panel(1)"),
    Action("inspector-marks", "m,f2", "marks", "Mark tokens in another way.", "next_mode"),
    Action("inspector-close", "escape,q,f3", "back", "Return to the conversation.", "dismiss"),
)

RACE_ACTIONS: tuple[Action, ...] = (
    Action("race-again", "r", "side by side", "Show both again on one clock, each at the speed it had.", "again"),
    Action("race-end", "space,end", "to the end", "Show at once how that ends.", "finish"),
    Action("race-close", "escape,q", "back", "Return to the conversation; a race under way ends.", "leave"),
)

LINK_ACTIONS: tuple[Action, ...] = (
    Action("link-copy", "enter,c,y", "copy", "Copy the address.", "copy"),
    Action("link-open", "o", "open in the browser", "Open the address in the browser of this machine.", "open"),
    Action("link-up", "up,k", "up", "Go to the link above.", "move(-1)"),
    Action("link-down", "down,j", "down", "Go to the link below.", "move(1)"),
    Action("link-back", "escape,q", "back", "Return to the conversation.", "back"),
)

HISTORY_ACTIONS: tuple[Action, ...] = (
    Action("history-open", "enter", "open", "Open the conversation.", "open", hinted=True),
    Action("history-rename", "f2", "rename", "Give it another title.", "rename", hinted=True),
    Action("history-pin", "f4", "pin", "Keep it at the top, or no more.", "pin", hinted=True),
    Action("history-delete", "f8", "delete", "Delete it; undo brings it back.", "delete", hinted=True),
    Action("history-undo", "ctrl+z", "undo", "Bring back the one that was deleted.", "undo"),
    Action("history-up", "up", "up", "Go to the one above.", "move(-1)"),
    Action("history-down", "down", "down", "Go to the one below.", "move(1)"),
    Action("history-page-up", "pageup", "page up", "Go up by a page.", "page(-1)"),
    Action("history-page-down", "pagedown", "page down", "Go down by a page.", "page(1)"),
    Action("history-close", "escape,f7", "close", "Return to the conversation.", "close", hinted=True),
)

PAIR_ACTIONS: tuple[Action, ...] = (
    Action("pair-take", "enter", "use or download", "Use the pair; twice, download what is missing of it.", "take"),
    Action("pair-stop", "ctrl+s", "stop", "Stop its download; what has arrived is kept.", "stop"),
    Action("pair-details", "tab", "details", "Go to the details, to scroll them; and back.", "read"),
    Action("pair-up", "up", "up", "Go to the pair above.", "move(-1)"),
    Action("pair-down", "down", "down", "Go to the pair below.", "move(1)"),
    Action("pair-page-up", "pageup", "page up", "Go up by a page.", "page(-1)"),
    Action("pair-page-down", "pagedown", "page down", "Go down by a page.", "page(1)"),
    Action("pair-back", "escape,ctrl+l", "back", "Return to the conversation; downloads go on.", "back"),
)

SEARCH_ACTIONS: tuple[Action, ...] = (
    Action("search-open", "enter", "go there", "Go to where it was said.", "open"),
    Action("search-up", "up", "up", "Go to the hit above.", "move(-1)"),
    Action("search-down", "down", "down", "Go to the hit below.", "move(1)"),
    Action("search-page-up", "pageup", "page up", "Go up by a few.", "move(-5)"),
    Action("search-page-down", "pagedown", "page down", "Go down by a few.", "move(5)"),
    Action("search-back", "escape", "back", "Return to the conversation.", "dismiss(None)"),
)

PALETTE_ACTIONS: tuple[Action, ...] = (
    Action("palette-up", "up", "up", "Go to the command above.", "command_list('cursor_up')"),
    Action("palette-down", "down", "down", "Go to the command below.", "cursor_down"),
    Action("palette-page-up", "pageup", "page up", "Go up by a page.", "command_list('page_up')"),
    Action("palette-page-down", "pagedown", "page down", "Go down by a page.", "command_list('page_down')"),
    Action("palette-first", "ctrl+home", "first", "Go to the first command.", "command_list('first')"),
    Action("palette-last", "ctrl+end", "last", "Go to the last command.", "command_list('last')"),
    Action("palette-close", "escape", "close", "Return without a command.", "escape"),
)

STATS_ACTIONS: tuple[Action, ...] = (
    Action("stats-next", "tab,right", "by", "Tell replies apart by the next trait; last comes the watch.", "turn(1)"),
    Action("stats-previous", "shift+tab,left", "by", "Tell replies apart by the trait before.", "turn(-1)"),
    Action("stats-up", "up", "up", "Go to the group above.", "move(-1)"),
    Action("stats-down", "down", "down", "Go to the group below.", "move(1)"),
    Action("stats-page-up", "pageup", "scroll up", "Scroll the figures up.", "page(-1)"),
    Action("stats-page-down", "pagedown,space", "scroll", "Scroll the figures down.", "page(1)"),
    Action("stats-reread", "f5", "read again", "Count the replies that have come since.", "reread"),
    Action("stats-back", "escape,q", "back", "Return to the conversation.", "back"),
)

SETTING_ACTIONS: tuple[Action, ...] = (
    Action("setting-change", "enter", "change", "Change the setting: the next of a few values, or a field.", "change"),
    Action("setting-back-step", "shift+tab", "value before", "Take the value before, of a few.", "step(-1)"),
    Action("setting-step", "tab", "next value", "Take the next of a few values.", "step(1)"),
    Action("setting-reset", "ctrl+r", "reset", "Take the setting out of the file, or of the conversation.", "reset"),
    Action(
        "setting-scope",
        "ctrl+t",
        "scope",
        "Change settings for all, for this pair alone, or for this conversation.",
        "scope",
    ),
    Action("setting-load", "ctrl+l", "load again", "Load the pair again, with the settings that wait for it.", "load"),
    Action("setting-reread", "f5", "read file", "Read the file again, if it has changed on disk.", "reread"),
    Action("setting-up", "up", "up", "Go to the setting above.", "move(-1)"),
    Action("setting-down", "down", "down", "Go to the setting below.", "move(1)"),
    Action("setting-page-up", "pageup", "page up", "Go up by a page.", "page(-1)"),
    Action("setting-page-down", "pagedown", "page down", "Go down by a page.", "page(1)"),
    Action("setting-leave", "escape", "back", "Leave a change, or return to the conversation.", "leave"),
)

CLOSE = Action("help-close", "escape,f1,q,enter", "close", "Close this page.", "dismiss")
HELP_ACTIONS: tuple[Action, ...] = (CLOSE,)

CHAT = Table("Keys", ACTIONS)
TABLES: tuple[Table, ...] = (
    CHAT,
    Table("In the inspector", INSPECTOR_ACTIONS),
    Table("During a race", RACE_ACTIONS),
    Table("Among the links of a reply", LINK_ACTIONS),
    Table("In the list of conversations", HISTORY_ACTIONS, types=True),
    Table("In the list of pairs", PAIR_ACTIONS, types=True),
    Table("In the search of words", SEARCH_ACTIONS, types=True),
    Table("In the search of commands", PALETTE_ACTIONS, types=True),
    Table("Among the figures", STATS_ACTIONS),
    Table("Among the settings", SETTING_ACTIONS, types=True),
    Table("On the help page", HELP_ACTIONS),
)
KNOWN: Mapping[str, Action] = {action.id: action for table in TABLES for action in table.actions}
"""By id, which no two share."""


def types_at(action: Action) -> bool:
    """Whether a key of this action would be missing where somebody types."""
    typing = any(table.types and action in table.actions for table in TABLES)
    return typing or action.handler.startswith("prompt.")
