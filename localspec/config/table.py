"""Everything that can be set: the one table behind validation, documentation and the settings screen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from localspec.config.kinds import AUTO, Choice, Flag, Names, Number, Text, Texts, ValueKind
from localspec.config.record_table import AUDIT_SETTINGS, STATS_SETTINGS
from localspec.config.sampling_table import SAMPLING_SETTINGS
from localspec.config.setting import Applies, Setting

SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "model": "What is loaded, and where it is computed.",
        "speculation": "How drafts are made.",
        "sampling": "How the target chooses its tokens.",
        "reply": "What a reply begins from and where it ends.",
        "screen": "How the chat looks and moves.",
        "stats": "Which figures of replies are kept and told, and what is wanted of them.",
        "audit": "The log of what was proposed and decided.",
    }
)
"""The tables of the file, in the order they are listed, with what they are about."""

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
"""What most people look for, before all that few need to know."""

KEYS_SECTION = "keys"
"""The table of the file that gives actions other keys: ``id = "ctrl+x"``."""

_CACHE_TYPE = Choice(("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"))
_COUNT_FROM_1 = Number(1, whole=True)
_THREADS = Number(1, 512, whole=True)
"""llama.cpp takes no more (GGML_MAX_N_THREADS), and ends its process over them."""
_LAYERS = Number(0, whole=True, words=(AUTO,))
_DEVICES = Text('"none", or names with commas between them', r"[^,\s]+(\s*,\s*[^,\s]+)*")
_NAME = r"[^\s/\\.][^/\\]*"


def _model(key: str, kind: ValueKind, about: str, default: str) -> Setting:
    return Setting("model", key, kind, about, default, Applies.RELOAD)


def _screen(key: str, kind: ValueKind, about: str, default: str) -> Setting:
    return Setting("screen", key, kind, about, default, Applies.NOW, option=False)


SETTINGS: tuple[Setting, ...] = (
    _model("pair", Text("the id of a pair", r"\S+"), "Use this pair", "builtin"),
    _model("ctx", _COUNT_FROM_1, "Hold this many tokens of context", "what the model was trained for, at most 8192"),
    _model("threads", _THREADS, "Compute with this many CPU threads", "measured, up to one for each physical core"),
    _model("draft_threads", _THREADS, "Compute the draft with this many CPU threads", "as --threads"),
    _model("gpu_layers", _LAYERS, "Put this many layers on the GPU", "auto, all of them where there is a GPU"),
    _model(
        "draft_gpu_layers",
        _LAYERS,
        "Put this many layers of the draft on the GPU",
        "auto, all of them where there is a GPU",
    ),
    _model("device", _DEVICES, "Put layers on these devices, by name, or on none", "every GPU there is"),
    _model("draft_device", _DEVICES, "Put layers of the draft on these devices, or on none", "as --device"),
    _model("require_gpu", Flag(), "Fail if the target would be computed without a GPU", "no"),
    _model("cache_type_k", _CACHE_TYPE, "Keep the keys of the context as this type", "f16"),
    _model(
        "cache_type_v",
        _CACHE_TYPE,
        "Keep the values of the context as this type; quantised ones need flash attention",
        "f16",
    ),
    _model(
        "flash_attn",
        Choice((AUTO, "on", "off")),
        "Compute attention in one fused step",
        "auto: on a GPU, and on the CPU for a quantised cache",
    ),
    _model(
        "mmap",
        Flag(),
        "Map the model files into memory, or read them into it",
        "map, unless a device is better without",
    ),
    _model("mlock", Flag(), "Keep the models in memory: the system may not swap them out", "no"),
    Setting("speculation", "spec", Names(("draft", "suffix")), "Use these drafters, or none with off", "auto"),
    Setting(
        "speculation",
        "depth",
        Number(0, 16, whole=True, words=(AUTO,)),
        "Propose this many tokens in a round, 0 to 16",
        "auto, as many as pay; 3 in the guided tour",
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
        "Keep long conversations on this machine as the models read them, to return without reading",
        "no",
        Applies.RELOAD,
    ),
    *SAMPLING_SETTINGS,
    Setting("reply", "system", Text(), "Put this system prompt before the conversation", "none"),
    Setting(
        "reply",
        "persona",
        Text("the name of a persona, or none", _NAME),
        "Speak as this persona, a system prompt of your own in a text file in the personas folder of the configuration",
        "none",
    ),
    Setting(
        "reply",
        "max_tokens",
        _COUNT_FROM_1,
        "End the reply after this many tokens",
        "when the model is done or the context is full",
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
        Choice((AUTO, "dark", "light", "high-contrast", "terminal")),
        "Use these colours; terminal takes the terminal's own sixteen, and so suits whatever it looks like",
        "auto, dark or light as far as the terminal tells",
    ),
    _screen(
        "truth",
        Choice(("off", "subtle", "origin", "drafter", "heat", "rounds")),
        "Mark tokens in this way: by underline and bold alone, by origin, drafter, probability, round, or not",
        "origin",
    ),
    _screen(
        "ghosts",
        Choice(("off", "brief", "keep")),
        "Show the proposals that were thrown away",
        "brief, for a moment",
    ),
    _screen(
        "pace",
        Number(1, 1000, words=(AUTO, "full")),
        "Show text no faster than this many tokens a second; full is as fast as the engine makes it",
        "auto, a reading pace in the guided tour and else full",
    ),
    _screen("reduced_motion", Flag(), "Move and blink nothing on the screen, and show no ghosts", "no"),
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
    ),
    *STATS_SETTINGS,
    *AUDIT_SETTINGS,
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
