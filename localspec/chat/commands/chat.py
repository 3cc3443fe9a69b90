"""The commands of the chat, in the order in which help and documentation list them."""

from __future__ import annotations

from localspec.chat.commands import common
from localspec.chat.commands.command import Command, LineForm, Place

CHAT = Place("Keys")

SEND = CHAT.add(Command("send", "enter", "send", "Send the message.", hinted=True, in_prompt=True, in_palette=False))
NEWLINE = CHAT.add(
    Command(
        "newline",
        "ctrl+j,shift+enter",
        "newline",
        "Start a new line in the message.",
        hinted=True,
        in_prompt=True,
        in_palette=False,
    )
)
EARLIER = CHAT.add(
    Command(
        "earlier",
        "up",
        "earlier message",
        "In the first line: the message sent before. In an empty prompt: first a message that waits, to change it.",
        in_prompt=True,
        in_palette=False,
    )
)
LATER = CHAT.add(
    Command(
        "later",
        "down",
        "later message",
        "In the last line: the next message sent, and after the newest what was being written.",
        in_prompt=True,
        in_palette=False,
    )
)
COMPLETE = CHAT.add(
    Command(
        "complete",
        "tab",
        "complete",
        "Take the highlighted row of the list; on the mark of a long paste, unfold it.",
        in_prompt=True,
        in_palette=False,
    )
)
ATTACH = CHAT.add(
    Command(
        "attach",
        "at",
        "attach",
        "Attach a file or a folder: @ and a part of its name, or /attach and its path.",
        slash="attach",
        argument="PATH",
        also=("file", "upload", "document", "pdf", "image"),
        line=LineForm("attach", "Attach a file or a folder to the next message.", "[FILE]"),
    )
)
RECALL = CHAT.add(Command("recall", "ctrl+r", "sent messages", "Search the messages sent before.", slash="recall"))
EDITOR = CHAT.add(
    Command("editor", "ctrl+o", "editor", "Write the message in your own editor ($VISUAL or $EDITOR).", slash="editor")
)
STOP = CHAT.add(
    Command(
        "stop",
        "escape",
        "stop",
        "Stop the reply; its text stays.",
        also=("cancel", "interrupt"),
        hinted=True,
        line=LineForm("stop", "Explain how to stop a reply: with Ctrl-C."),
    )
)
VIEW = CHAT.add(
    Command(
        "view",
        "ctrl+t",
        "tokens",
        "Switch all replies between Markdown and tokens.",
        slash="tokens",
        also=("markdown", "raw"),
        hinted=True,
    )
)
MARKS = CHAT.add(
    Command(
        "marks",
        "f2",
        "marks",
        "Change how tokens are marked: subtly, by origin, drafter, heat or rounds, or not at all.",
        slash="marks",
        also=("colours", "colors", "highlight"),
        line=LineForm("marks", "Mark tokens by origin in brackets, or not at all.", "[never|ascii|ansi]"),
    )
)
GHOSTS = CHAT.add(
    Command(
        "ghosts",
        "f4",
        "ghosts",
        "Show rejected guesses for a moment, keep them among the tokens, or hide them.",
        slash="ghosts",
        also=("rejected",),
    )
)
INSPECT = CHAT.add(
    Command(
        "inspect",
        "f5",
        "inspect",
        "Inspect the tokens of the chosen reply or the latest: the target's and the draft's probabilities of each.",
        slash="inspect",
        also=("probabilities", "logprobs"),
    )
)
RACE = CHAT.add(
    Command(
        "race",
        "f12",
        "race",
        "Answer the latest message, or the one after /race, twice: with guesses and without, and compare them.",
        slash="race",
        argument="PROMPT",
    )
)
COMPARE = CHAT.add(
    Command(
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
)
PREVIOUS = CHAT.add(
    Command(
        "previous",
        "alt+up",
        "previous turn",
        "Choose a turn, which keys and commands then act on; the stop key goes back to the prompt.",
    )
)
NEXT = CHAT.add(Command("next", "alt+down", "next turn", "Choose the next turn; past the last, none."))
AGAIN = CHAT.add(
    Command(
        "again",
        "alt+r",
        "answer again",
        "Answer the chosen question again, or the last; the first reply stays as another version.",
        slash="again",
        also=("regenerate", "retry", "redo", "repeat"),
        line=LineForm("regenerate", "Answer the last question anew; the first reply stays.", also=("again", "retry")),
    )
)
EDIT = CHAT.add(
    Command(
        "edit",
        "e",
        "edit",
        "Change the chosen question and ask it again; the first one stays as another version.",
        slash="edit",
        hinted=True,
        in_turn=True,
        line=LineForm("edit", "Ask the last question in other words; earlier versions stay.", "[TEXT]"),
    )
)
REWRITE = CHAT.add(
    Command(
        "rewrite",
        "E",
        "edit reply",
        "Change the chosen reply by hand, as another version.",
        slash="rewrite",
        in_turn=True,
    )
)
CONTINUE = CHAT.add(
    Command(
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
)
VERSION_BEFORE = CHAT.add(
    Command(
        "version-before", "left", "version", "Show the previous version of the chosen turn.", hinted=True, in_turn=True
    )
)
VERSION_AFTER = CHAT.add(
    Command("version-after", "right", "next version", "Show the next version of the chosen turn.", in_turn=True)
)
COPY = CHAT.add(
    Command(
        "copy",
        "y",
        "copy",
        "Copy the chosen reply, or the last.",
        slash="copy",
        also=("clipboard",),
        hinted=True,
        in_turn=True,
    )
)
CODE = CHAT.add(
    Command(
        "code",
        "o",
        "copy code",
        "Copy the last block of code in the reply; again, the one before.",
        slash="code",
        in_turn=True,
    )
)
BLOCK_BEFORE = CHAT.add(
    Command(
        "block-before",
        "alt+pageup",
        "previous code block",
        "Go to the previous block of code, in any turn; the keys of a turn then act on that one.",
    )
)
BLOCK_AFTER = CHAT.add(Command("block-after", "alt+pagedown", "next code block", "Go to the next block of code."))
LINKS = CHAT.add(
    Command(
        "links",
        "alt+l",
        "links",
        "List the links of the chosen reply, or the last, to copy one or open it in the browser.",
        slash="links",
    )
)
THOUGHTS = CHAT.add(
    Command(
        "thoughts",
        "z",
        "thoughts",
        "Show the thoughts before the answer, or the text of a summary, or fold them away.",
        slash="thoughts",
        also=("reasoning", "thinking"),
        in_turn=True,
    )
)
PASSAGES = CHAT.add(
    Command(
        "passages",
        "p",
        "files and passages",
        "Show the files and passages that the model read with the chosen question, or fold them away.",
        slash="passages",
        also=("sources", "attachments"),
        in_turn=True,
    )
)
DELETE = CHAT.add(
    Command(
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
)
UNDO = CHAT.add(
    Command(
        "undo",
        "u",
        "undo",
        "Bring back what was deleted or summarised last: turns, or a conversation.",
        slash="undo",
        in_turn=True,
        line=LineForm("undo", "Bring back what was deleted or summarised last."),
    )
)
COMPACT = CHAT.add(
    Command(
        "compact",
        "alt+c",
        "compact",
        "Summarise all but the last 2 turns, or as many as you name, to make room; /undo brings them back.",
        slash="compact",
        argument="TURNS",
        also=("summarise", "summarize"),
        line=LineForm(
            "compact", "Summarise all but the last 2 turns, or as many as you name, to make room.", "[TURNS]"
        ),
    )
)
FAST = CHAT.add(
    Command(
        "fast",
        "ctrl+g",
        "full speed",
        "Show the text as fast as the engine makes it, or at a reading pace.",
        slash="fast",
        also=("pace",),
    )
)
CONVERSATIONS = CHAT.add(
    Command(
        "conversations",
        "f7",
        "conversations",
        "Show all conversations: open, rename, pin, file, archive or delete some.",
        slash="conversations",
        also=("history", "list", "open", "chats"),
        line=LineForm(
            "list",
            "List conversations, or those whose titles have these letters.",
            "[LETTERS]",
            also=("conversations", "history"),
        ),
    )
)
SEARCH = CHAT.add(
    Command(
        "search",
        "ctrl+s",
        "search",
        "Search all conversations.",
        slash="search",
        argument="WORDS",
        also=("find",),
        line=LineForm("search", "Search all conversations.", "WORDS"),
    )
)
RENAME = CHAT.add(
    Command(
        "rename",
        "alt+t",
        "rename",
        "Give this conversation a title.",
        slash="rename",
        argument="TITLE",
        also=("title",),
        line=LineForm(
            "rename", "Give the conversation a title; without one it is made from the first question.", "[TITLE]"
        ),
    )
)
FILE = CHAT.add(
    Command(
        "folder",
        "alt+shift+f",
        "folder, tags",
        "File this conversation: /folder and the name of a folder, #tags, or both; /folder none takes it out.",
        slash="folder",
        argument="NAME #TAG",
        also=("tag", "tags", "label", "move", "organise", "organize"),
        line=LineForm(
            "folder",
            "File the conversation in a folder, with #tags; none takes it out of all.",
            "[NAME #TAG|none]",
            also=("tag", "tags"),
        ),
        handler=common.file_conversation,
    )
)
ARCHIVE = CHAT.add(
    Command(
        "archive",
        "alt+shift+a",
        "archive",
        "Put this conversation into the archive, at the end of the list, or back.",
        slash="archive",
        also=("hide", "unarchive"),
        line=LineForm("archive", "Put the conversation into the archive, or back."),
        handler=common.archive_conversation,
    )
)
EXPORT = CHAT.add(
    Command(
        "export",
        "alt+e",
        "export",
        "Write this conversation to a Markdown file; /export html has the token colours, json every version, ndjson "
        "every token, and /export FILE goes by its ending.",
        slash="export",
        argument="FILE",
        also=("save", "share", "html"),
        line=LineForm("export", "Write the conversation to .md, .html, .json or .ndjson.", "FILE", also=("save",)),
    )
)
IMPORT = CHAT.add(
    Command(
        "import",
        "alt+i",
        "import",
        "Import conversations: /import and the file that LocalSpec (JSON), ChatGPT or LM Studio wrote; "
        "/import stop ends it.",
        slash="import",
        argument="FILE",
        line=LineForm("import", "Import what LocalSpec (JSON), ChatGPT or LM Studio wrote.", "FILE"),
    )
)
NEW = CHAT.add(
    Command(
        "new",
        "ctrl+n",
        "new",
        "Begin a new conversation.",
        slash="new",
        also=("clear", "reset"),
        line=LineForm("new", "Begin a new conversation.", also=("clear",)),
    )
)
PAIRS = CHAT.add(
    Command(
        "pairs",
        "ctrl+l",
        "pairs",
        "Show all pairs: what fits here, to download or to use; /pair ID changes to one.",
        slash="pairs",
        argument="ID",
        also=("pair", "model", "models", "load", "download", "switch", "install", "llm"),
        line=LineForm(
            "pair",
            "Change to another pair, or list those that are here.",
            "[ID]",
            also=("pairs", "model", "models", "load", "download"),
        ),
    )
)
STATS = CHAT.add(
    Command(
        "stats",
        "alt+s",
        "stats",
        "Show the figures of all replies: acceptance, times and speed by pair, drafter or day, and what became worse.",
        slash="stats",
        also=("figures", "statistics"),
        line=LineForm("stats", "Show the figures of all replies: acceptance, times and speed."),
    )
)
ACCEPT = CHAT.add(Command("accept", "f3", "accept", "Accept the offer: a download, or another pair.", slash="accept"))
THEME = CHAT.add(
    Command(
        "theme",
        "alt+shift+t",
        "theme",
        "Choose the colours of the app: /theme and a name, as dark, nord or your own; without a name, list them.",
        slash="theme",
        argument="NAME",
        also=("dark", "light"),
    )
)
SETTINGS = CHAT.add(
    Command(
        "settings",
        "f9",
        "settings",
        "Show and change all settings; /settings and a word shows those about it.",
        slash="settings",
        argument="WORD",
        also=("config", "options", "preferences", "configure"),
    )
)
PERSONA = CHAT.add(
    Command(
        "persona",
        "f8",
        "persona",
        "Speak as a persona in this conversation: /persona and its name; without a name, list them; /persona edit "
        "and a name writes or changes one.",
        slash="persona",
        argument="NAME",
        also=("character", "role"),
        line=LineForm(
            "persona", "Have a persona speak in this conversation, list them, or write one.", "[NAME|none|edit NAME]"
        ),
        handler=common.set_persona,
    )
)
PROMPT = CHAT.add(
    Command(
        "prompt",
        "alt+shift+p",
        "prompt",
        "Take a prompt of your own: /prompt and its name has its fields filled in; without a name, list them; "
        "/prompt edit and a name writes or changes one.",
        slash="prompt",
        argument="NAME",
        also=("template", "templates", "snippet", "prompts"),
        line=LineForm("prompt", "Send a prompt of your own, list them, or write one.", "[NAME|edit NAME]"),
        handler=common.use_prompt,
    )
)
SET = CHAT.add(
    Command(
        "set",
        "alt+d",
        "set",
        "Set something for this conversation alone: /set temperature 0.2, or /set pair depth 6 for the "
        "pair; without a name, show what it sets.",
        slash="set",
        argument="NAME VALUE",
        line=LineForm(
            "set",
            "Set something for this conversation, or for the pair; without a name, list what the conversation sets.",
            "[[pair] NAME VALUE]",
        ),
        handler=common.set_value,
    )
)
UNSET = CHAT.add(
    Command(
        "unset",
        "alt+shift+d",
        "unset",
        "Remove a setting of this conversation, so that the settings file decides: /unset and its name, "
        "or all; /unset pair and its name for one of the pair.",
        slash="unset",
        argument="NAME",
        line=LineForm(
            "unset",
            "Remove a setting of this conversation, or one of the pair from the file of settings.",
            "NAME|all|pair NAME",
        ),
        handler=common.unset_value,
    )
)
SCHEMA = CHAT.add(
    Command(
        "schema",
        "alt+m",
        "JSON Schema",
        "Hold the replies of this conversation to the JSON Schema in a file; /schema off ends that.",
        slash="schema",
        argument="FILE",
        line=LineForm("schema", "Hold the replies of this conversation to a JSON Schema.", "FILE|off"),
        handler=common.set_schema,
    )
)
TOOLS = CHAT.add(
    Command(
        "tools",
        "alt+shift+o",
        "tools",
        "List the tools that the model may call, and switch them on and off; /tools and a name switches that one.",
        slash="tools",
        argument="NAME",
        also=("mcp", "functions", "servers", "agent"),
        line=LineForm("tools", "List the tools that the model may call, or switch one on or off.", "[NAME]"),
    )
)
CALLS = CHAT.add(
    Command(
        "calls",
        "alt+shift+c",
        "calls",
        "Say whether a tool may be called, if a call waits for that; else show what the calls of the reply returned.",
        slash="calls",
        also=("approve", "results"),
    )
)
READ = CHAT.add(
    Command(
        "read",
        "f6",
        "read",
        "Leave the prompt, so that single keys move through the conversation where the key map has any.",
    )
)
WRITE = CHAT.add(Command("write", "insert", "write", "Go back to the prompt."))
OLDER = CHAT.add(Command("older", "pageup", "scroll up", "Scroll back; the view stays there."))
NEWER = CHAT.add(Command("newer", "pagedown", "scroll down", "Scroll forward."))
LATEST = CHAT.add(Command("latest", "ctrl+end", "latest", "Go to the newest text and follow it."))
PALETTE = CHAT.add(Command("palette", "ctrl+p", "palette", "Search all commands.", in_palette=False))
TOUR = CHAT.add(
    Command(
        "tour",
        "f10",
        "tour",
        "Begin the tour, a minute of things to try, or go on to its next step; the stop key ends it.",
        slash="tour",
        also=("tutorial",),
    )
)
HELP = CHAT.add(
    Command(
        "help",
        "f1",
        "help",
        "Show keys, commands and what the colours mean.",
        slash="help",
        also=("keys", "shortcuts", "keyboard", "bindings", "commands", "legend"),
        hinted=True,
        line=LineForm("help", "List the commands, or explain one.", "[COMMAND]", also=("keys",)),
    )
)
QUIT = CHAT.add(
    Command(
        "quit",
        "ctrl+q",
        "quit",
        "Quit and return to the shell.",
        slash="quit",
        also=("bye", "exit"),
        hinted=True,
        line=LineForm("quit", "Quit; so does the end of the input.", also=("exit", "bye")),
    )
)
