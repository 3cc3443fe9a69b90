"""The options that say what to load and how to reply, declared once for every command that replies.

Loads nothing beyond click: what the values mean is resolved in ``resolve.py``, when a command needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from localspec.engine.settings import Sampling
from localspec.pairs import BUILTIN_ID

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_LARGEST_SEED = 2**32 - 1


class Number(click.ParamType[int | float | None]):
    """A finite number within a range, or ``auto`` (None) where that is allowed.

    click's own ranges let NaN and infinity through, and repeat in the help what the sentence there says.
    """

    name = "number"

    def __init__(self, within: click.IntRange | click.FloatRange, *, auto: bool = False) -> None:
        self._within = within
        self._auto = auto

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float | None:
        if self._auto and value == "auto":
            return None
        number = self._within.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        letter = "N" if isinstance(self._within, click.IntRange) else "F"
        return f"auto|{letter}" if self._auto else letter


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
class Chosen:
    """The options as given; None (or empty) where nothing was said."""

    pair: str | None = None
    target: Path | None = None
    draft: Path | None = None
    spec: tuple[str, ...] | None = None
    depth: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    system: str | None = None
    ctx: int | None = None
    threads: int | None = None
    gpu_layers: int | None = None


def _default(name: str) -> str:
    return f"default: the pair's own, else {getattr(Sampling(), name):g}"


_FILE = click.Path(path_type=Path)
_FROM_0 = Number(click.IntRange(min=0))
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
        help="Propose this many tokens in a round, 0 to 16 (default: auto, which is 3).",
    ),
    click.option(
        "--temperature",
        type=Number(click.FloatRange(min=0)),
        help="Choose more freely the higher this is, and always the most likely token at 0 "
        f"({_default('temperature')}).",
    ),
    click.option(
        "--top-k", type=_FROM_0, help=f"Choose among the N most likely tokens, all at 0 ({_default('top_k')})."
    ),
    click.option(
        "--top-p",
        type=Number(click.FloatRange(min=0, max=1, min_open=True)),
        help="Choose among the most likely tokens that together have this probability, all at 1 "
        f"({_default('top_p')}).",
    ),
    click.option(
        "--min-p",
        type=Number(click.FloatRange(min=0, max=1)),
        help=f"Drop tokens less likely than this share of the most likely one, none at 0 ({_default('min_p')}).",
    ),
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
        "--gpu-layers",
        type=_AUTO_OR_FROM_0,
        help="Put this many layers on the GPU (default: auto, all of them where there is a GPU).",
    ),
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
