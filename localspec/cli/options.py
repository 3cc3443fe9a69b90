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
from localspec.cli.values import NumberParam, OutFileParam
from localspec.config import setting
from localspec.runtime.options import CACHE_TYPES, FLASH_ATTN

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
class GivenOptions(ChosenSampling):
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
    persona: str | None = None
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
    keep_caches: bool = False
    metrics: int | Path | None = None
    otel: bool = False
    audit_log: Path | None = None


_FILE = click.Path(path_type=Path)
_FROM_1 = NumberParam(click.IntRange(min=1))
THREADS = NumberParam(click.IntRange(1, 512))
_AUTO_OR_FROM_0 = NumberParam(click.IntRange(min=0), auto=True)

_OPTIONS = (
    click.option("--pair", metavar="ID", help=setting("pair").help),
    click.option("--target", type=_FILE, metavar="FILE", help="Use this GGUF file as the target, instead of a pair."),
    click.option(
        "--draft", type=_FILE, metavar="FILE", help="Use this GGUF file as the draft of --target (default: none)."
    ),
    click.option("--spec", type=Drafters(), help=setting("spec").help),
    click.option("--depth", type=_AUTO_OR_FROM_0, help=setting("depth").help),
    *SAMPLING_OPTIONS,
    click.option("--seed", type=NumberParam(click.IntRange(0, _LARGEST_SEED)), help=setting("seed").help),
    click.option("--max-tokens", type=_FROM_1, help=setting("max_tokens").help),
    click.option("--stop", multiple=True, metavar="TEXT", help=setting("stop").help),
    click.option("--system", metavar="TEXT", help=setting("system").help),
    click.option("--persona", metavar="NAME|none", help=setting("persona").help),
    click.option("--ctx", type=_FROM_1, help=setting("ctx").help),
    click.option("--threads", type=THREADS, help=setting("threads").help),
    click.option("--draft-threads", type=THREADS, help=setting("draft_threads").help),
    click.option("--gpu-layers", type=_AUTO_OR_FROM_0, help=setting("gpu_layers").help),
    click.option("--draft-gpu-layers", type=_AUTO_OR_FROM_0, help=setting("draft_gpu_layers").help),
    click.option("--device", metavar="none|NAME[,NAME]", help=setting("device").help),
    click.option("--draft-device", metavar="none|NAME[,NAME]", help=setting("draft_device").help),
    click.option("--require-gpu/--no-require-gpu", default=False, help=setting("require_gpu").help),
    click.option("--cache-type-k", type=click.Choice(CACHE_TYPES), default="f16", help=setting("cache_type_k").help),
    click.option("--cache-type-v", type=click.Choice(CACHE_TYPES), default="f16", help=setting("cache_type_v").help),
    click.option("--flash-attn", type=click.Choice(FLASH_ATTN), default="auto", help=setting("flash_attn").help),
    click.option("--mmap/--no-mmap", default=None, help=setting("mmap").help),
    click.option("--remember-replies/--no-remember-replies", default=False, help=setting("remember_replies").help),
    click.option("--keep-caches/--no-keep-caches", default=False, help=setting("keep_caches").help),
    click.option("--mlock/--no-mlock", default=False, help=setting("mlock").help),
    click.option("--metrics", type=OutFileParam(or_port=True), help=setting("metrics").help),
    click.option("--otel/--no-otel", default=False, help=setting("otel").help),
    click.option("--audit-log", type=OutFileParam(), help=setting("audit_log").help),
)


def reply_options(command: Decorated) -> Decorated:
    """Give a command the options that ``GivenOptions`` collects, in the order of ``_OPTIONS``."""
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
        from localspec.chat.marks import Marks

        way = super().convert(value, param, ctx)
        return None if way == "auto" else Marks(way)
