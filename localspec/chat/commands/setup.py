"""Commands about pairs, settings, prompts and tools."""

from __future__ import annotations

from localspec.chat.commands import common
from localspec.chat.commands.command import LineForm, Place

SETUP = Place("Pairs and settings")

PAIRS = SETUP.add(
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
STATS = SETUP.add(
    "stats",
    "alt+s",
    "stats",
    "Show the figures of all replies: acceptance, times and speed by pair, drafter or day, and what became worse.",
    slash="stats",
    also=("figures", "statistics"),
    line=LineForm("stats", "Show the figures of all replies: acceptance, times and speed."),
)
ACCEPT = SETUP.add("accept", "f3", "accept", "Accept the offer: a download, or another pair.", slash="accept")
THEME = SETUP.add(
    "theme",
    "alt+shift+t",
    "theme",
    "Choose the colours of the app: /theme and a name, as dark, nord or your own; without a name, list them.",
    slash="theme",
    argument="NAME",
    also=("dark", "light"),
)
SETTINGS = SETUP.add(
    "settings",
    "f9",
    "settings",
    "Show and change all settings; /settings and a word shows those about it.",
    slash="settings",
    argument="WORD",
    also=("config", "options", "preferences", "configure"),
)
PERSONA = SETUP.add(
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
PROMPT = SETUP.add(
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
SET = SETUP.add(
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
UNSET = SETUP.add(
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
SCHEMA = SETUP.add(
    "schema",
    "alt+m",
    "JSON Schema",
    "Hold the replies of this conversation to the JSON Schema in a file; /schema off ends that.",
    slash="schema",
    argument="FILE",
    line=LineForm("schema", "Hold the replies of this conversation to a JSON Schema.", "FILE|off"),
    handler=common.set_schema,
)
TOOLS = SETUP.add(
    "tools",
    "alt+shift+o",
    "tools",
    "List the tools that the model may call, and switch them on and off; /tools and a name switches that one.",
    slash="tools",
    argument="NAME",
    also=("mcp", "functions", "servers", "agent"),
    line=LineForm("tools", "List the tools that the model may call, or switch one on or off.", "[NAME]"),
)
CALLS = SETUP.add(
    "calls",
    "alt+shift+c",
    "calls",
    "Say whether a tool may be called, if a call waits for that; else show what the calls of the reply returned.",
    slash="calls",
    also=("approve", "results"),
)
