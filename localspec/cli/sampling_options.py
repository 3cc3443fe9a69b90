"""The options that say how the target chooses its tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from localspec.cli.sections import SectionOption
from localspec.cli.values import LogitBias, NumberParam, TextOrFileParam
from localspec.config import setting
from localspec.config.presets import PRESETS
from localspec.engine.settings import LONGEST_WINDOW

SECTION = "Sampling"

_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\\": "\\"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSampling:
    """The options as given; None where nothing was said. Named as in ``Sampling``, but for three."""

    preset: str | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    top_n_sigma: float | None = None
    xtc_probability: float | None = None
    xtc_threshold: float | None = None
    dynatemp_range: float | None = None
    dynatemp_exponent: float | None = None
    repeat_last_n: int | None = None
    repeat_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    dry_penalty_last_n: int | None = None
    dry_sequence_breakers: tuple[str, ...] | None = None
    mirostat: int | None = None
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None
    logit_bias: tuple[tuple[int, float], ...] | None = None
    grammar: str | None = None
    json_schema: str | None = None
    grammar_triggers: tuple[str, ...] | None = None


def _option(*names: str, **attributes: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=SectionOption, section=SECTION, **attributes)


def _said(context: click.Context, parameter: click.Parameter, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return given or None


def _breakers(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...] | None:
    """``none`` is none; what a shell makes hard to write may be escaped."""
    if given == ("none",):
        return ()
    return tuple(_ESCAPES.get(text, text) for text in given) or None


_ANY = NumberParam(click.FloatRange())
_FROM_0 = NumberParam(click.FloatRange(min=0))
_ABOVE_0 = NumberParam(click.FloatRange(min=0, min_open=True))
_SHARE = NumberParam(click.FloatRange(min=0, max=1))
_SHARE_ABOVE_0 = NumberParam(click.FloatRange(min=0, max=1, min_open=True))
_COUNT_FROM_0 = NumberParam(click.IntRange(min=0))
_LAST_N = NumberParam(click.IntRange(1, LONGEST_WINDOW))

SAMPLING_OPTIONS = (
    _option("--preset", type=click.Choice(tuple(PRESETS)), help=setting("preset").help),
    _option("--temperature", type=_FROM_0, help=setting("temperature").help),
    _option("--top-k", type=_COUNT_FROM_0, help=setting("top_k").help),
    _option("--top-p", type=_SHARE_ABOVE_0, help=setting("top_p").help),
    _option("--min-p", type=_SHARE, help=setting("min_p").help),
    _option("--typical-p", "--typical", "typical_p", type=_SHARE_ABOVE_0, help=setting("typical_p").help),
    _option("--top-n-sigma", type=NumberParam(click.FloatRange(min=-1)), help=setting("top_n_sigma").help),
    _option("--xtc-probability", type=_SHARE, help=setting("xtc_probability").help),
    _option("--xtc-threshold", type=NumberParam(click.FloatRange(min=0, max=0.5)), help=setting("xtc_threshold").help),
    _option("--dynatemp-range", type=_FROM_0, help=setting("dynatemp_range").help),
    _option(
        "--dynatemp-exponent",
        "--dynatemp-exp",
        "dynatemp_exponent",
        type=_FROM_0,
        help=setting("dynatemp_exponent").help,
    ),
    _option("--repeat-penalty", type=_ABOVE_0, help=setting("repeat_penalty").help),
    _option("--frequency-penalty", type=_ANY, help=setting("frequency_penalty").help),
    _option("--presence-penalty", type=_ANY, help=setting("presence_penalty").help),
    _option("--repeat-last-n", type=_LAST_N, help=setting("repeat_last_n").help),
    _option("--dry-multiplier", type=_FROM_0, help=setting("dry_multiplier").help),
    _option("--dry-base", type=NumberParam(click.FloatRange(min=1)), help=setting("dry_base").help),
    _option("--dry-allowed-length", type=_COUNT_FROM_0, help=setting("dry_allowed_length").help),
    _option("--dry-penalty-last-n", type=_LAST_N, help=setting("dry_penalty_last_n").help),
    _option(
        "--dry-sequence-breaker",
        "dry_sequence_breakers",
        multiple=True,
        callback=_breakers,
        metavar="TEXT|none",
        help=setting("dry_sequence_breakers").help,
    ),
    _option("--mirostat", type=NumberParam(click.IntRange(0, 2)), help=setting("mirostat").help),
    _option("--mirostat-tau", "--mirostat-ent", "mirostat_tau", type=_FROM_0, help=setting("mirostat_tau").help),
    _option("--mirostat-eta", "--mirostat-lr", "mirostat_eta", type=_FROM_0, help=setting("mirostat_eta").help),
    _option("--logit-bias", type=LogitBias(), multiple=True, callback=_said, help=setting("logit_bias").help),
    _option("--grammar", type=TextOrFileParam(), help=setting("grammar").help),
    _option("--json-schema", type=TextOrFileParam(), help=setting("json_schema").help),
    _option(
        "--grammar-trigger",
        "grammar_triggers",
        multiple=True,
        callback=_said,
        metavar="PATTERN",
        help=setting("grammar_triggers").help,
    ),
)
