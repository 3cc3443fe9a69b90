"""The table of settings, each declared once.

From a declaration come the option of the command line, the key in the file, its place in the tables of pairs and in
conversations, the row of the settings screen, ``/set`` and the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from localspec.config.kinds import (
    AUTO,
    NONE,
    Addresses,
    Choice,
    Flag,
    Folder,
    LogitBiases,
    Names,
    Number,
    OutFile,
    Patterns,
    PortOrFile,
    SequenceBreakers,
    Text,
    TextOrFile,
    Texts,
    ValueKind,
)
from localspec.config.presets import PRESETS
from localspec.config.setting import Applies, Setting

SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "model": "The models, and the devices that compute them.",
        "speculation": "The drafters, and how deep they draft.",
        "sampling": "How the target chooses its tokens.",
        "reply": "The beginning and the end of a reply.",
        "screen": "The look, the pace and the keys of the chat.",
        "stats": "The figures of replies that are kept and reported, and the goals for them.",
        "tools": "The tools that a model may call; the servers that offer more stand in tables such as [mcp.time].",
        "audit": "The log of proposals and decisions.",
    }
)
"""The tables of the file, in the order they are listed, with their subjects."""

SOUGHT = (
    "screen.theme",
    "reply.system",
    "reply.persona",
    "sampling.preset",
    "sampling.temperature",
    "reply.max_tokens",
    "model.ctx",
    "screen.truth",
    "screen.keymap",
)
"""The settings that most people look for, which the settings screen lists first."""

KEYS_SECTION = "keys"
"""The table of the file that gives actions other keys: ``id = "ctrl+x"``."""

MAX_DEPTH = 16
"""The deepest draft of a depth that is fixed."""
AUTO_MAX_DEPTH = 31
"""The deepest draft of the automatic depth, with which a batch is two groups of sixteen rows."""
DEFAULT_N_CTX = 8192
"""The longest context taken without being asked for: its cache costs memory for every token."""
LONGEST_WINDOW = 2**20
"""Tokens that penalties may look back over; llama.cpp sets memory aside for all of them."""

_CACHE_TYPE = Choice(("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"))
THEMES = "themes"
"""The folder of the configuration with themes of the user's own."""
_TEXTUAL_THEMES = (
    *("atom-one-dark", "atom-one-light", "catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato"),
    *("catppuccin-mocha", "dracula", "flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn"),
    *("rose-pine-moon", "solarized-dark", "solarized-light", "textual-dark", "textual-light", "tokyo-night"),
)
"""The themes that come with Textual, but for those of the terminal's own colours."""

_TOKENS_FROM_1 = Number(1, whole=True, unit="tokens")
_THREADS = Number(1, 512, whole=True, unit="threads")
"""llama.cpp takes no more (GGML_MAX_N_THREADS), and ends its process over more."""
_LAYERS = Number(0, whole=True, words=(AUTO,), unit="layers")
_DEVICES = Text('"none", or names with commas between them', r"[^,\s]+(\s*,\s*[^,\s]+)*", "none|NAME[,NAME]")
_PERSONA = Text("the name of a persona, or none", r"[^\s/\\.][^/\\]*", "NAME|none")
_FROM_0 = Number(0)
_ANY = Number()
_SHARE = Number(0, 1)
_SHARE_ABOVE_0 = Number(0, 1, above=True)
_TOKENS_FROM_0 = Number(0, whole=True, unit="tokens")
_LAST_N = Number(1, LONGEST_WINDOW, whole=True, unit="tokens")
_TEXT_OR_FILE = TextOrFile()


def _model(key: str, kind: ValueKind, about: str, default: str, *also: str) -> Setting:
    return Setting("model", key, kind, about, default, Applies.RELOAD, also=also)


def _screen(key: str, kind: ValueKind, about: str, default: str, *also: str) -> Setting:
    return Setting("screen", key, kind, about, default, Applies.NOW, option=False, also=also)


def _sampling(
    key: str, kind: ValueKind, about: str, default: str = "", *spellings: str, also: tuple[str, ...] = ()
) -> Setting:
    return Setting("sampling", key, kind, about, default, spellings=spellings, also=also)


def _stats(key: str, kind: ValueKind, about: str, default: str) -> Setting:
    return Setting("stats", key, kind, about, default, option=False)


def _tools(key: str, kind: ValueKind, about: str, default: str, *also: str) -> Setting:
    return Setting("tools", key, kind, about, default, Applies.NOW, also=also)


def _audit(key: str, kind: ValueKind, about: str, default: str) -> Setting:
    return Setting("audit", key, kind, about, default, Applies.NOW, option=False)


SETTINGS: tuple[Setting, ...] = (
    _model("pair", Text("the id of a pair", r"\S+", "ID"), "Use this pair", "builtin", "default model"),
    _model(
        "connect",
        Text(f'the address of a server, or "{NONE}"', r"\S+", f"URL|{NONE}"),
        "Chat with a pair of this server, a LocalSpec elsewhere or another with OpenAI's API; --pair or #ID names it",
        "",
        *("server", "remote", "url", "api base"),
    ),
    _model(
        "ctx",
        _TOKENS_FROM_1,
        "Hold this many tokens of context",
        f"what the model was trained for, at most {DEFAULT_N_CTX}",
        *("context length", "window", "memory", "n_ctx"),
    ),
    _model(
        "threads", _THREADS, "Compute with this many CPU threads", "measured, up to one for each physical core", "cores"
    ),
    _model("draft_threads", _THREADS, "Compute the draft with this many CPU threads", "as --threads"),
    _model(
        "gpu_layers",
        _LAYERS,
        "Put this many layers on the GPU",
        "auto, all of them where there is a GPU",
        "offload",
        "ngl",
    ),
    _model(
        "draft_gpu_layers",
        _LAYERS,
        "Put this many layers of the draft on the GPU",
        "auto, all of them where there is a GPU",
    ),
    _model("device", _DEVICES, "Put layers on these devices, by name, or on none", "every GPU there is"),
    _model(
        "draft_device",
        _DEVICES,
        "Put layers of the draft on these devices, or on none",
        "as --device, but a draft model not on other machines",
    ),
    _model(
        "rpc",
        Addresses(),
        "Use the devices of these RPC servers too; nothing protects the connection, so only in a private "
        "network or through a tunnel",
        "no other machines",
        *("network", "cluster", "distributed", "remote"),
    ),
    _model("require_gpu", Flag(), "Fail if the target would be computed without a GPU", "no"),
    _model("cache_type_k", _CACHE_TYPE, "Keep the keys of the context as this type", "f16", "kv cache", "memory"),
    _model(
        "cache_type_v",
        _CACHE_TYPE,
        "Keep the values of the context as this type; quantised ones need flash attention",
        "f16, or bf16 where the CPU's fused attention is quicker with it",
    ),
    _model(
        "flash_attn",
        Choice((AUTO, "on", "off")),
        "Compute attention in one fused step",
        "auto: on a GPU; on the CPU for a quantised cache, and in texts of up to 256 tokens unless that is slower",
    ),
    _model(
        "mmap",
        Flag(),
        "Map the model files into memory, or read them into it",
        "map, unless a device is better without",
    ),
    _model("mlock", Flag(), "Keep the models in memory: the system may not swap them out", "no"),
    Setting(
        "speculation",
        "spec",
        Names("localspec.engine.drafters"),
        "Use these drafters, or none with off",
        "auto",
        also=("speculative decoding", "draft model", "guesses"),
    ),
    Setting(
        "speculation",
        "depth",
        Number(0, MAX_DEPTH, whole=True, words=(AUTO,), unit="tokens"),
        f"Propose this many tokens in a round, 0 to {MAX_DEPTH}",
        "auto, as many as pay",
        also=("draft length", "guesses"),
    ),
    Setting(
        "speculation",
        "remember_replies",
        Flag(),
        "Keep replies on this machine, as tokens, for the suffix drafter to propose from later",
        "no",
        Applies.RELOAD,
    ),
    Setting(
        "speculation",
        "keep_caches",
        Flag(),
        "Keep long conversations on this machine as the models computed them, to return to one without reading it",
        "no",
        Applies.RELOAD,
    ),
    _sampling(
        "preset",
        Choice(tuple(PRESETS)),
        "Take temperature, top-k, top-p and min-p for a purpose: "
        + ", ".join(f"{name} for {preset.about}" for name, preset in PRESETS.items()),
        "none",
    ),
    _sampling(
        "temperature",
        _FROM_0,
        "Choose more freely the higher this is, and always the most likely token at 0",
        "the pair's own, else 0.8",
        also=("creativity", "randomness", "deterministic"),
    ),
    _sampling("top_k", _TOKENS_FROM_0, "Choose among the N most likely tokens, all at 0", "the pair's own, else 40"),
    _sampling(
        "top_p",
        _SHARE_ABOVE_0,
        "Choose among the most likely tokens that together have this probability, all at 1",
        "the pair's own, else 0.95",
    ),
    _sampling(
        "min_p",
        _SHARE,
        "Drop tokens less likely than this share of the most likely one, none at 0",
        "the pair's own, else 0.05",
    ),
    _sampling(
        "typical_p",
        _SHARE_ABOVE_0,
        "Choose among the tokens of most typical surprise that together have this probability",
        "1, off",
        "--typical-p",
        "--typical",
    ),
    _sampling(
        "top_n_sigma", Number(-1), "Choose among scores within this many standard deviations of the best", "-1, off"
    ),
    _sampling(
        "xtc_probability",
        _SHARE,
        "Drop all but the least likely of the tokens above --xtc-threshold this often",
        "0, off",
    ),
    _sampling("xtc_threshold", Number(0, 0.5), "Take tokens of at least this probability for XTC", "0.1"),
    _sampling("dynatemp_range", _FROM_0, "Let the temperature follow the entropy this far up and down", "0, off"),
    _sampling(
        "dynatemp_exponent",
        _FROM_0,
        "Map entropy to temperature with this exponent",
        "1",
        "--dynatemp-exponent",
        "--dynatemp-exp",
    ),
    _sampling("repeat_penalty", Number(0.01), "Divide the scores of recent tokens by this", "1, off"),
    _sampling("frequency_penalty", _ANY, "Lower a token's score by this for each time it was used recently", "0, off"),
    _sampling("presence_penalty", _ANY, "Lower a token's score by this if it was used recently", "0, off"),
    _sampling("repeat_last_n", _LAST_N, "Count this many tokens as recent for the three penalties", "64"),
    _sampling(
        "dry_multiplier",
        _FROM_0,
        "Penalise going on with a repeated sequence this much, growing with its length",
        "0, off",
    ),
    _sampling("dry_base", Number(1), "Grow the penalty of DRY by this factor a token", "1.75"),
    _sampling("dry_allowed_length", _TOKENS_FROM_0, "Leave repeated sequences up to this long alone", "2"),
    _sampling("dry_penalty_last_n", _LAST_N, "Look for repetitions in this many tokens", "64"),
    _sampling(
        "dry_sequence_breakers",
        SequenceBreakers(),
        "End sequences at this text, where \\n is a line break",
        "a line break, a colon, a double quote and an asterisk",
        "--dry-sequence-breaker",
    ),
    _sampling(
        "mirostat",
        Number(0, 2, whole=True),
        "Keep the surprise constant with mirostat 1 or 2, instead of all samplers but the temperature",
        "0, off",
    ),
    _sampling(
        "mirostat_tau",
        Number(0, unit="bits"),
        "Aim at a surprise of this many bits",
        "5",
        "--mirostat-tau",
        "--mirostat-ent",
    ),
    _sampling("mirostat_eta", _FROM_0, "Correct mirostat at this rate", "0.1", "--mirostat-eta", "--mirostat-lr"),
    _sampling(
        "logit_bias",
        LogitBiases(),
        "Add this to the score of a token, or rule it out with ban",
    ),
    _sampling(
        "grammar", _TEXT_OR_FILE, "Hold the reply to this grammar, in GBNF, or in Lark after %llguidance", "none"
    ),
    _sampling(
        "json_schema", _TEXT_OR_FILE, "Hold the reply to this JSON Schema", "none", also=("structured output", "format")
    ),
    _sampling(
        "grammar_triggers",
        Texts("regular expressions", noun="PATTERN"),
        "Begin the grammar only where the reply matches this regular expression, or its first group",
        "",
        "--grammar-trigger",
    ),
    Setting(
        "reply",
        "system",
        Text(),
        "Put this system prompt before the conversation",
        "none",
        also=("instructions", "role", "behaviour"),
    ),
    Setting(
        "reply",
        "persona",
        _PERSONA,
        "Speak as this persona, a system prompt of your own in a text file in the personas folder of the configuration",
        "none",
        also=("character", "assistant", "role"),
    ),
    Setting(
        "reply",
        "max_tokens",
        _TOKENS_FROM_1,
        "End the reply after this many tokens",
        "when the model is done or the context is full",
        also=("reply length", "limit"),
    ),
    Setting(
        "reply",
        "reasoning",
        Choice(("off", "on", "low", "medium", "high")),
        "Have the model reason before it answers, or not, or with this effort, if its template has a switch for it",
        "as the template has it",
        also=("thinking", "think", "effort", "nothink"),
    ),
    Setting("reply", "stop", Texts(), "End the reply before this text", ""),
    Setting(
        "reply",
        "seed",
        Number(0, 2**32 - 1, whole=True),
        "Make the random choices from this seed",
        "a fresh one each time",
    ),
    _screen(
        "theme",
        Choice((AUTO, "dark", "light", "high-contrast", "terminal", *_TEXTUAL_THEMES), folder=THEMES),
        "Use these colours; terminal takes the terminal's own sixteen, and so suits whatever it looks like",
        "auto, dark or light as far as the terminal tells",
        *("colours", "colors", "appearance", "dark mode"),
    ),
    _screen(
        "truth",
        Choice(("off", "subtle", "origin", "drafter", "heat", "rounds")),
        "Mark tokens in this way: by underline and bold alone, by origin, drafter, probability, round, or not",
        "origin",
        *("highlight", "token colours"),
    ),
    _screen(
        "ghosts",
        Choice(("off", "brief", "keep")),
        "Show rejected guesses",
        "brief, for a moment",
    ),
    _screen(
        "pace",
        Number(1, 1000, words=(AUTO, "full"), unit="tokens a second"),
        "Show text no faster than this many tokens a second; full is as fast as the engine makes it",
        "auto, a reading pace in the guided tour and else full",
        *("speed", "typing"),
    ),
    _screen(
        "read_ahead",
        Choice((AUTO, "on", "off")),
        "Have the engine read the conversation and attached files while you type, so that the reply begins sooner",
        "auto, but not on battery",
    ),
    _screen(
        "model_titles",
        Flag(),
        "Have the model write a title after the first reply of a conversation, while it would be idle; you never wait "
        "for it, it replaces no title of yours, and the built-in pair writes none",
        "no",
        *("title", "name", "rename", "conversations"),
    ),
    _screen("reduced_motion", Flag(), "Move and blink nothing on the screen, and show no rejected guesses", "no"),
    _screen(
        "terminal_title",
        Flag(),
        "Name the conversation in the title of the terminal's window; what stood there comes back at the end",
        "yes",
    ),
    _screen(
        "keymap",
        Choice(("default", "vim", "web")),
        "Begin from this set of keys, over which the section keys of the file puts your own",
        "default; web in a browser",
        *("keys", "shortcuts", "vim", "bindings"),
    ),
    _stats(
        "record_figures",
        Flag(),
        "Keep with each reply of the chat its tokens, rounds and times, on this machine alone; without them the text "
        "is kept, but neither statistics nor marks of earlier replies",
        "yes",
    ),
    Setting(
        "stats",
        "watch",
        Flag(),
        "Say in the chat when a pair has become worse than it was, or an objective of the day is missed",
        "yes",
        Applies.NOW,
        option=False,
    ),
    _stats(
        "ttft_p95_s",
        Number(0, above=True, unit="seconds"),
        "Want the first token within this many seconds in 95 of 100 replies; `localspec stats --watch` lists misses",
        "no objective",
    ),
    _stats(
        "min_speedup",
        Number(0, above=True),
        "Want at least this many times plain speed in half of the replies; `localspec stats --watch` lists misses",
        "no objective",
    ),
    Setting(
        "stats",
        "metrics",
        PortOrFile(),
        "Give figures of the replies made now to Prometheus: at this port of this machine alone (0 takes a free one), "
        "or in this file, rewritten after each reply",
        "none",
        Applies.NOW,
    ),
    Setting(
        "stats",
        "otel",
        Flag(),
        "Send a trace of each reply, figures alone, to the OpenTelemetry collector that OTEL_EXPORTER_OTLP_ENDPOINT "
        "names, else to port 4318 of this machine",
        "no",
        Applies.NOW,
    ),
    _tools(
        "tool",
        Texts("names of tools", r"[^\s/,]+", "NAME"),
        "Let the model call this tool: get_time, count_words, calculate, read_file or list_files, or all of an MCP "
        "server by its name, or one of them by both names with a dot between; where nobody can be asked, tools named "
        "on the command line are run and no others",
        "none",
        *("functions", "function calling", "agent"),
    ),
    _tools(
        "mcp",
        Texts("names of servers", r"[A-Za-z0-9_-]+", "SERVER"),
        "Let the model call every tool of this MCP server of the file",
        "none",
        "model context protocol",
    ),
    _tools("tool_folder", Folder(), "Let read_file and list_files read below this folder", "none"),
    _tools(
        "max_calls",
        Number(1, 1000, whole=True, unit="calls"),
        "Let the model make this many calls in a row, until you write again",
        "20",
    ),
    _tools(
        "call_timeout",
        Number(0, 3600, above=True, unit="seconds"),
        "Give up on a call, or on a server that does not start, after this many seconds",
        "60",
    ),
    Setting(
        "audit",
        "audit_log",
        OutFile(),
        "Add every proposal and decision of every reply to this file as NDJSON, readable by you alone",
        "none",
        Applies.NOW,
    ),
    Setting(
        "audit",
        "reply_check",
        Text("a command, or module:function", r"[^\x00]*\S[^\x00]*", "COMMAND"),
        "Have this command, or Python function (module:function), see each sentence of a reply before anybody else "
        "does: the command reads it and ends with 0 to let it pass or with 1 to stop the reply; rejected guesses are "
        "not shown then",
        "none",
        Applies.NOW,
        also=("moderation", "filter", "guard", "safety"),
    ),
    _audit("redact", Patterns(), "Leave out of the audit log whatever matches any of these", ""),
    _audit(
        "max_mb",
        Number(0, above=True, unit="megabytes"),
        "Begin a new file of the audit log at this many megabytes",
        "16",
    ),
    _audit("keep_files", Number(1, 1000, whole=True, unit="files"), "Keep this many full files of the audit log", "10"),
    _audit(
        "keep_days",
        Number(0, 36500, above=True, unit="days"),
        "Keep full files of the audit log for this many days",
        "90",
    ),
)

_BY_NAME = {setting.name: setting for setting in SETTINGS}
_BY_KEY = {setting.key: setting for setting in SETTINGS}


def setting(key: str) -> Setting:
    """The setting of that key, which there must be; no two sections share one."""
    return _BY_KEY[key]


def find_key(key: str) -> Setting | None:
    """The setting of that key, or None."""
    return _BY_KEY.get(key)


def find_setting(name: str) -> Setting | None:
    """The setting of that ``section.key``, or None."""
    return _BY_NAME.get(name)
