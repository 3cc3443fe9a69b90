"""Commands about whole conversations."""

from __future__ import annotations

from localspec.chat.commands import common
from localspec.chat.commands.command import LineForm, Place

HISTORY = Place("Conversations")

CONVERSATIONS = HISTORY.add(
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
SEARCH = HISTORY.add(
    "search",
    "ctrl+s",
    "search",
    "Search all conversations.",
    slash="search",
    argument="WORDS",
    also=("find",),
    line=LineForm("search", "Search all conversations.", "WORDS"),
)
RENAME = HISTORY.add(
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
FILE = HISTORY.add(
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
ARCHIVE = HISTORY.add(
    "archive",
    "alt+shift+a",
    "archive",
    "Put this conversation into the archive, at the end of the list, or back.",
    slash="archive",
    also=("hide", "unarchive"),
    line=LineForm("archive", "Put the conversation into the archive, or back."),
    handler=common.archive_conversation,
)
EXPORT = HISTORY.add(
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
IMPORT = HISTORY.add(
    "import",
    "alt+i",
    "import",
    "Import conversations: /import and the file that LocalSpec (JSON), ChatGPT or LM Studio wrote; "
    "/import stop ends it.",
    slash="import",
    argument="FILE",
    line=LineForm("import", "Import what LocalSpec (JSON), ChatGPT or LM Studio wrote.", "FILE"),
)
NEW = HISTORY.add(
    "new",
    "ctrl+n",
    "new",
    "Begin a new conversation.",
    slash="new",
    also=("clear", "reset"),
    line=LineForm("new", "Begin a new conversation.", also=("clear",)),
)
