"""The places that have keys: the chat, and the commands of every other screen and list."""

from __future__ import annotations

from collections.abc import Mapping

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command, Place

IN_INSPECTOR = Place("In the inspector")
INSPECTOR_LEFT = IN_INSPECTOR.add("inspector-left", "left,h", "token before", "Look at the token before.")
INSPECTOR_RIGHT = IN_INSPECTOR.add("inspector-right", "right,l", "token after", "Look at the token after.")
INSPECTOR_UP = IN_INSPECTOR.add("inspector-up", "up,k", "line above", "Look at the token above.")
INSPECTOR_DOWN = IN_INSPECTOR.add("inspector-down", "down,j", "line below", "Look at the token below.")
INSPECTOR_ROUND_BEFORE = IN_INSPECTOR.add(
    "inspector-round-before",
    "left_square_bracket,ctrl+left",
    "round before",
    "Go to the beginning of the round, or of the one before.",
)
INSPECTOR_ROUND_AFTER = IN_INSPECTOR.add(
    "inspector-round-after", "right_square_bracket,ctrl+right", "round after", "Go to the beginning of the next round."
)
INSPECTOR_REJECTION = IN_INSPECTOR.add(
    "inspector-rejection", "n", "rejection", "Go to the next token that replaced a rejected one."
)
INSPECTOR_FIRST = IN_INSPECTOR.add("inspector-first", "home", "first token", "Go to the first token.")
INSPECTOR_LAST = IN_INSPECTOR.add("inspector-last", "end", "last token", "Go to the last token.")
INSPECTOR_PANEL_UP = IN_INSPECTOR.add("inspector-panel-up", "pageup", "scroll up", "Scroll the panel up.")
INSPECTOR_PANEL_DOWN = IN_INSPECTOR.add("inspector-panel-down", "pagedown", "scroll down", "Scroll the panel down.")
INSPECTOR_MARKS = IN_INSPECTOR.add("inspector-marks", "m,f2", "marks", "Change how tokens are marked.")
INSPECTOR_CLOSE = IN_INSPECTOR.add("inspector-close", "escape,q,f5", "back", "Return to the conversation.")

IN_RACE = Place("During a race or a comparison")
RACE_AGAIN = IN_RACE.add("race-again", "r", "side by side", "Replay both side by side, each at the speed it had.")
RACE_END = IN_RACE.add("race-end", "space,end", "to the end", "Skip to the end of the replay.")
RACE_LEFT = IN_RACE.add("race-left", "left,h", "before", "Go to the column before, in a comparison of pairs.")
RACE_RIGHT = IN_RACE.add("race-right", "right,l", "next", "Go to the next column, in a comparison of pairs.")
RACE_PAGE_UP = IN_RACE.add(
    "race-page-up", "pageup", "scroll up", "Scroll the replies up; of a comparison the chosen one."
)
RACE_PAGE_DOWN = IN_RACE.add("race-page-down", "pagedown", "scroll down", "Scroll them down.")
RACE_KEEP = IN_RACE.add(
    "race-keep", "enter,k", "keep this reply", "Keep the column's reply in the conversation, and return to it."
)
RACE_CLOSE = IN_RACE.add("race-close", "escape,q", "back", "Return to the conversation; a race that is running ends.")

IN_APPROVAL = Place("Where a call of a tool is approved")
APPROVAL_UP = IN_APPROVAL.add("approval-up", "up", "up", "Go to the answer above.")
APPROVAL_DOWN = IN_APPROVAL.add("approval-down", "down", "down", "Go to the answer below.")
APPROVAL_PAGE_UP = IN_APPROVAL.add("approval-page-up", "pageup", "scroll up", "Scroll the arguments up.")
APPROVAL_PAGE_DOWN = IN_APPROVAL.add("approval-page-down", "pagedown", "all arguments", "Scroll the arguments down.")
APPROVAL_CHOOSE = IN_APPROVAL.add("approval-choose", "enter", "choose", "Give the marked answer.")
APPROVAL_STOP = IN_APPROVAL.add(
    "approval-stop", "escape", "stop", "Make none of the calls, and return to the conversation."
)

IN_TOOLS = Place("In the list of tools")
TOOL_UP = IN_TOOLS.add("tool-up", "up,k", "up", "Go to the tool above.")
TOOL_DOWN = IN_TOOLS.add("tool-down", "down,j", "down", "Go to the tool below.")
TOOL_PAGE_UP = IN_TOOLS.add("tool-page-up", "pageup", "page up", "Go up by a page.")
TOOL_PAGE_DOWN = IN_TOOLS.add("tool-page-down", "pagedown", "page down", "Go down by a page.")
TOOL_SWITCH = IN_TOOLS.add(
    "tool-switch", "enter,space", "on or off", "Switch the tool, or all tools of the server, on or off."
)
TOOL_ASK = IN_TOOLS.add(
    "tool-ask", "a", "ask again", "Forget what was allowed or forbidden always: ask before the next call."
)
TOOL_CLOSE = IN_TOOLS.add("tool-close", "escape,q", "back", "Return to the conversation.")

IN_LINKS = Place("Among the links of a reply")
LINK_COPY = IN_LINKS.add("link-copy", "enter,c,y", "copy", "Copy the address.")
LINK_OPEN = IN_LINKS.add("link-open", "o", "open in the browser", "Open the address in the browser of this machine.")
LINK_UP = IN_LINKS.add("link-up", "up,k", "up", "Go to the link above.")
LINK_DOWN = IN_LINKS.add("link-down", "down,j", "down", "Go to the link below.")
LINK_BACK = IN_LINKS.add("link-back", "escape,q", "back", "Return to the conversation.")

IN_FORM = Place("In a form", types=True)
FORM_KEEP = IN_FORM.add(
    "form-keep", "enter", "go on", "Go to the next empty field; after the last, take what is written.", hinted=True
)
FORM_NEXT = IN_FORM.add("form-next", "tab", "next", "Go to the next field.", hinted=True)
FORM_PREVIOUS = IN_FORM.add("form-previous", "shift+tab", "before", "Go to the field before.")
FORM_NEWLINE = IN_FORM.add(
    "form-newline", "ctrl+j,shift+enter", "newline", "Start a new line in the field.", hinted=True
)
FORM_EDITOR = IN_FORM.add(
    "form-editor", "ctrl+o", "editor", "Write the field in your own editor ($VISUAL or $EDITOR).", hinted=True
)
FORM_LEAVE = IN_FORM.add("form-leave", "escape", "leave", "Return without what is written.", hinted=True)

IN_HISTORY = Place("In the list of conversations", types=True)
HISTORY_OPEN = IN_HISTORY.add("history-open", "enter", "open", "Open the conversation.", hinted=True)
HISTORY_RENAME = IN_HISTORY.add("history-rename", "f2", "rename", "Give it another title.", hinted=True)
HISTORY_FILE = IN_HISTORY.add(
    "history-file", "f3", "file", "Write the folder and #tags of it, or of all selected.", hinted=True
)
HISTORY_PIN = IN_HISTORY.add("history-pin", "f4", "pin", "Pin it to the top, or unpin it.", hinted=True)
HISTORY_SELECT = IN_HISTORY.add(
    "history-select", "f5", "select", "Select it for the next change, or unselect it.", hinted=True
)
HISTORY_SELECT_ALL = IN_HISTORY.add("history-select-all", "alt+a", "select all", "Select all that are shown, or none.")
HISTORY_ARCHIVE = IN_HISTORY.add(
    "history-archive", "f6", "archive", "Put it into the archive at the end of the list, or back.", hinted=True
)
HISTORY_DELETE = IN_HISTORY.add("history-delete", "f8", "delete", "Delete it; undo brings it back.", hinted=True)
HISTORY_UNDO = IN_HISTORY.add("history-undo", "ctrl+z", "undo", "Bring back the one deleted last.")
HISTORY_UP = IN_HISTORY.add("history-up", "up", "up", "Go to the one above.")
HISTORY_DOWN = IN_HISTORY.add("history-down", "down", "down", "Go to the one below.")
HISTORY_PAGE_UP = IN_HISTORY.add("history-page-up", "pageup", "page up", "Go up by a page.")
HISTORY_PAGE_DOWN = IN_HISTORY.add("history-page-down", "pagedown", "page down", "Go down by a page.")
HISTORY_CLOSE = IN_HISTORY.add("history-close", "escape,f7", "close", "Return to the conversation.", hinted=True)

IN_PAIRS = Place("In the list of pairs", types=True)
PAIR_TAKE = IN_PAIRS.add(
    "pair-take", "enter", "use or download", "Use the pair; pressed twice, download its missing files."
)
PAIR_STOP = IN_PAIRS.add("pair-stop", "ctrl+s", "pause", "Pause its download; what has arrived is kept.")
PAIR_OUT = IN_PAIRS.add("pair-out", "f8", "take out", "Take its download out of the queue; what has arrived is kept.")
PAIR_SOONER = IN_PAIRS.add("pair-sooner", "alt+up", "sooner", "Download it before the one above.")
PAIR_LATER = IN_PAIRS.add("pair-later", "alt+down", "later", "Download it after the one below.")
PAIR_HUB = IN_PAIRS.add(
    "pair-hub", "ctrl+f", "search the Hub", "Search the Hub for these words, as they are typed; and end that."
)
PAIR_HIDDEN = IN_PAIRS.add(
    "pair-hidden", "f4", "hidden", "List models of the Hub that cannot run here, too; and hide them again."
)
PAIR_DRAFT = IN_PAIRS.add(
    "pair-draft", "ctrl+g", "find a draft", "Find drafts for its target, here and on the Hub, by expected gain."
)
PAIR_FILES = IN_PAIRS.add(
    "pair-files", "ctrl+o", "files", "Choose a model or a folder on this disk, to add it to the list."
)
PAIR_DETAILS = IN_PAIRS.add(
    "pair-details", "tab", "details", "Go to the details, to scroll them, and back; complete a typed path."
)
PAIR_UP = IN_PAIRS.add("pair-up", "up", "up", "Go to the pair above.")
PAIR_DOWN = IN_PAIRS.add("pair-down", "down", "down", "Go to the pair below.")
PAIR_PAGE_UP = IN_PAIRS.add("pair-page-up", "pageup", "page up", "Go up by a page.")
PAIR_PAGE_DOWN = IN_PAIRS.add("pair-page-down", "pagedown", "page down", "Go down by a page.")
PAIR_BACK = IN_PAIRS.add("pair-back", "escape,ctrl+l", "back", "Return to the conversation; downloads go on.")

IN_FILES = Place("Among the files of this disk")
FILE_ADD = IN_FILES.add("file-add", "enter", "open or add", "Open or close the folder; add the file.")
FILE_FOLDER = IN_FILES.add("file-folder", "a", "add all", "Add every model of the folder.")
FILE_OPEN = IN_FILES.add("file-open", "right,l", "open", "Open the folder, or go to its first row.")
FILE_CLOSE = IN_FILES.add("file-close", "left,h,backspace", "folder above", "Close the folder, or go to the one above.")
FILE_UP = IN_FILES.add("file-up", "up,k", "up", "Go up by a row.")
FILE_DOWN = IN_FILES.add("file-down", "down,j", "down", "Go down by a row.")
FILE_PAGE_UP = IN_FILES.add("file-page-up", "pageup", "page up", "Go up by a page.")
FILE_PAGE_DOWN = IN_FILES.add("file-page-down", "pagedown", "page down", "Go down by a page.")
FILE_BACK = IN_FILES.add("file-back", "escape,q", "back", "Return to the list of pairs.")

IN_SEARCH = Place("In the search of words", types=True)
SEARCH_OPEN = IN_SEARCH.add("search-open", "enter", "go there", "Go to this place in the conversation.")
SEARCH_UP = IN_SEARCH.add("search-up", "up", "up", "Go to the hit above.")
SEARCH_DOWN = IN_SEARCH.add("search-down", "down", "down", "Go to the hit below.")
SEARCH_PAGE_UP = IN_SEARCH.add("search-page-up", "pageup", "page up", "Go up by a few.")
SEARCH_PAGE_DOWN = IN_SEARCH.add("search-page-down", "pagedown", "page down", "Go down by a few.")
SEARCH_BACK = IN_SEARCH.add("search-back", "escape,ctrl+s", "back", "Return to the conversation.")

IN_PALETTE = Place("In the search of commands", types=True)
PALETTE_UP = IN_PALETTE.add("palette-up", "up", "up", "Go to the command above.")
PALETTE_DOWN = IN_PALETTE.add("palette-down", "down", "down", "Go to the command below.")
PALETTE_PAGE_UP = IN_PALETTE.add("palette-page-up", "pageup", "page up", "Go up by a page.")
PALETTE_PAGE_DOWN = IN_PALETTE.add("palette-page-down", "pagedown", "page down", "Go down by a page.")
PALETTE_FIRST = IN_PALETTE.add("palette-first", "ctrl+home", "first", "Go to the first command.")
PALETTE_LAST = IN_PALETTE.add("palette-last", "ctrl+end", "last", "Go to the last command.")
PALETTE_CLOSE = IN_PALETTE.add("palette-close", "escape", "close", "Return without a command.")

IN_STATS = Place("Among the figures")
STATS_NEXT = IN_STATS.add("stats-next", "tab,right", "by", "Show the next view; the last one is the watch.")
STATS_PREVIOUS = IN_STATS.add("stats-previous", "shift+tab,left", "by", "Show the view before.")
STATS_UP = IN_STATS.add("stats-up", "up", "up", "Go to the group above.")
STATS_DOWN = IN_STATS.add("stats-down", "down", "down", "Go to the group below.")
STATS_PAGE_UP = IN_STATS.add("stats-page-up", "pageup", "scroll up", "Scroll the figures up.")
STATS_PAGE_DOWN = IN_STATS.add("stats-page-down", "pagedown,space", "scroll", "Scroll the figures down.")
STATS_REREAD = IN_STATS.add("stats-reread", "f5", "read again", "Read again, with the replies that have come since.")
STATS_BACK = IN_STATS.add("stats-back", "escape,q,alt+s", "back", "Return to the conversation.")

IN_SETTINGS = Place("Among the settings", types=True)
SETTING_CHANGE = IN_SETTINGS.add(
    "setting-change", "enter", "change", "Change the setting: take the next of a few values, or open a field."
)
SETTING_BACK_STEP = IN_SETTINGS.add(
    "setting-back-step", "shift+tab", "value before", "Take the value before, of a few."
)
SETTING_STEP = IN_SETTINGS.add("setting-step", "tab", "next value", "Take the next of a few values.")
SETTING_RESET = IN_SETTINGS.add(
    "setting-reset", "ctrl+r", "reset", "Remove the setting from the file, or from the conversation."
)
SETTING_SCOPE = IN_SETTINGS.add(
    "setting-scope", "ctrl+t", "scope", "Change settings for all, for this pair alone, or for this conversation."
)
SETTING_LOAD = IN_SETTINGS.add(
    "setting-load", "ctrl+l", "load again", "Load the pair again, with the settings that wait for it."
)
SETTING_REREAD = IN_SETTINGS.add("setting-reread", "f5", "read file", "Read the file again, if it has changed on disk.")
SETTING_UP = IN_SETTINGS.add("setting-up", "up", "up", "Go to the setting above.")
SETTING_DOWN = IN_SETTINGS.add("setting-down", "down", "down", "Go to the setting below.")
SETTING_PAGE_UP = IN_SETTINGS.add("setting-page-up", "pageup", "page up", "Go up by a page.")
SETTING_PAGE_DOWN = IN_SETTINGS.add("setting-page-down", "pagedown", "page down", "Go down by a page.")
SETTING_LEAVE = IN_SETTINGS.add(
    "setting-leave", "escape,f9", "back", "Discard a change, clear the filter, or return to the conversation."
)

IN_HELP = Place("On the help page")
HELP_CLOSE = IN_HELP.add("help-close", "escape,f1,q,enter", "close", "Close this page.")

PLACES = (
    CHAT,
    IN_INSPECTOR,
    IN_RACE,
    IN_LINKS,
    IN_APPROVAL,
    IN_TOOLS,
    IN_FORM,
    IN_HISTORY,
    IN_PAIRS,
    IN_FILES,
    IN_SEARCH,
    IN_PALETTE,
    IN_STATS,
    IN_SETTINGS,
    IN_HELP,
)


def known() -> Mapping[str, Command]:
    """Every command by its id, which no two share."""
    return {command.id: command for place in PLACES for command in place.commands}


def types_at(command: Command) -> bool:
    """True if a key of this command could no longer be typed where the command counts."""
    return command.in_prompt or any(place.types and command in place.commands for place in PLACES)
