"""The options that say what to load and how to reply, declared once for every command that replies.

Loads nothing beyond click: what the values mean is resolved in ``resolve.py``, when a command needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from localspec.cli.sampling_options import SAMPLING_OPTIONS, ChosenSampling
from localspec.cli.values import Number
from localspec.load import CACHE_TYPES, FLASH_ATTN
from localspec.pairs import BUILTIN_ID

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_LARGEST_SEED = 2**32 - 1


class Drafters(click.ParamType[tuple[str, ...] | None]):
    """``auto`` (None), ``off`` (no drafters) or names with commas between them."""

    name = "drafters"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...] | None:
        names = tuple(name.strip() for name in str(value).split(","))
        if names == ("auto",):
            return None
        if names == ("off",):
            return ()
        if not all(names):
            self.fail(f"{value!r} has an empty name in it.", param, ctx)
        for word in ("auto", "off"):
            if word in names:
                self.fail(f"{word!r} stands alone, not beside other names.", param, ctx)
        return names

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "auto|off|NAME[,NAME]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(ChosenSampling):
    """The options as given; None (or empty) where nothing was said."""

    pair: str | None = None
    target: Path | None = None
    draft: Path | None = None
    spec: tuple[str, ...] | None = None
    depth: int | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    system: str | None = None
    ctx: int | None = None
    threads: int | None = None
    draft_threads: int | None = None
    gpu_layers: int | None = None
    draft_gpu_layers: int | None = None
    device: str | None = None
    draft_device: str | None = None
    require_gpu: bool = False
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    flash_attn: str = "auto"
    mmap: bool | None = None
    mlock: bool = False
    remember_replies: bool = False


_FILE = click.Path(path_type=Path)
_FROM_1 = Number(click.IntRange(min=1))
_AUTO_OR_FROM_0 = Number(click.IntRange(min=0), auto=True)

_OPTIONS = (
    click.option("--pair", metavar="ID", help=f"Use this pair (default: {BUILTIN_ID})."),
    click.option("--target", type=_FILE, metavar="FILE", help="Use this GGUF file as the target, instead of a pair."),
    click.option(
        "--draft", type=_FILE, metavar="FILE", help="Use this GGUF file as the draft of --target (default: none)."
    ),
    click.option("--spec", type=Drafters(), help="Use these drafters, or none with off (default: auto)."),
    click.option(
        "--depth",
        type=_AUTO_OR_FROM_0,
        help="Propose this many tokens in a round, 0 to 16 (default: auto, as many as pay; 3 in the guided tour).",
    ),
    *SAMPLING_OPTIONS,
    click.option(
        "--seed",
        type=Number(click.IntRange(0, _LARGEST_SEED)),
        help="Make the random choices from this seed (default: a fresh one each time).",
    ),
    click.option(
        "--max-tokens",
        type=_FROM_1,
        help="End the reply after this many tokens (default: when the model is done or the context is full).",
    ),
    click.option(
        "--stop", multiple=True, metavar="TEXT", help="End the reply before this text; may be given several times."
    ),
    click.option(
        "--system",
        metavar="TEXT",
        help="Put this system prompt before the conversation (default: none).",
    ),
    click.option(
        "--ctx",
        type=_FROM_1,
        help="Hold this many tokens of context (default: what the model was trained for, at most 8192).",
    ),
    click.option(
        "--threads",
        type=_FROM_1,
        help="Compute with this many CPU threads (default: one for each physical core).",
    ),
    click.option(
        "--draft-threads",
        type=_FROM_1,
        help="Compute the draft with this many CPU threads (default: as --threads).",
    ),
    click.option(
        "--gpu-layers",
        type=_AUTO_OR_FROM_0,
        help="Put this many layers on the GPU (default: auto, all of them where there is a GPU).",
    ),
    click.option(
        "--draft-gpu-layers",
        type=_AUTO_OR_FROM_0,
        help="Put this many layers of the draft on the GPU (default: auto, all of them where there is a GPU).",
    ),
    click.option(
        "--device",
        metavar="none|NAME[,NAME]",
        help="Put layers on these devices, by name, or on none (default: every GPU there is).",
    ),
    click.option(
        "--draft-device",
        metavar="none|NAME[,NAME]",
        help="Put layers of the draft on these devices, or on none (default: as --device).",
    ),
    click.option("--require-gpu", is_flag=True, help="Fail if the target would be computed without a GPU."),
    click.option(
        "--cache-type-k",
        type=click.Choice(CACHE_TYPES),
        default="f16",
        help="Keep the keys of the context as this type (default: f16).",
    ),
    click.option(
        "--cache-type-v",
        type=click.Choice(CACHE_TYPES),
        default="f16",
        help="Keep the values of the context as this type; quantised ones need flash attention (default: f16).",
    ),
    click.option(
        "--flash-attn",
        type=click.Choice(FLASH_ATTN),
        default="auto",
        help="Compute attention in one fused step (default: auto, where the device can).",
    ),
    click.option(
        "--mmap/--no-mmap",
        default=None,
        help="Map the model files into memory, or read them into it (default: map, unless a device is better without).",
    ),
    click.option(
        "--remember-replies",
        is_flag=True,
        help="Keep replies on this machine, as tokens, for the suffix drafter to propose from later.",
    ),
    click.option("--mlock", is_flag=True, help="Keep the models in memory: the system may not swap them out."),
)


def reply_options(command: Decorated) -> Decorated:
    """Give a command the options that ``Chosen`` collects, in the order of ``_OPTIONS``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class MarksChoice(click.Choice[str]):
    """``auto`` (None), or one of the ways to show where a token came from."""

    WAYS = ("never", "ansi", "ascii")
    HELP = "Show the origin of every token by colour and style or in brackets (default: auto, ansi on a terminal)."
    HELP_IN_PLAIN = "In plain text, show the origin of every token by colour and style or in brackets (default: never)."

    def __init__(self) -> None:
        super().__init__(("auto", *self.WAYS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from localspec.marks import Marks

        way = super().convert(value, param, ctx)
        return None if way == "auto" else Marks(way)
