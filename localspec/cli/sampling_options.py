"""The options that say how the target chooses its tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from localspec.cli.sections import SectionOption
from localspec.cli.values import LogitBias, Number, TextOrFile
from localspec.engine.settings import Sampling
from localspec.presets import PRESETS

SECTION = "Sampling"

_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\\": "\\"}
_DEFAULTS = Sampling()


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


def _pairs_own(name: str) -> str:
    return f"default: the pair's own, else {getattr(_DEFAULTS, name):g}"


def _off(name: str) -> str:
    return f"default: {getattr(_DEFAULTS, name):g}, off"


def _default(name: str) -> str:
    return f"default: {getattr(_DEFAULTS, name):g}"


def _option(*names: str, **attributes: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=SectionOption, section=SECTION, **attributes)


def _said(context: click.Context, parameter: click.Parameter, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return given or None


def _breakers(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...] | None:
    """``none`` is none; what a shell makes hard to write may be escaped."""
    if given == ("none",):
        return ()
    return tuple(_ESCAPES.get(text, text) for text in given) or None


_ANY = Number(click.FloatRange())
_FROM_0 = Number(click.FloatRange(min=0))
_ABOVE_0 = Number(click.FloatRange(min=0, min_open=True))
_SHARE = Number(click.FloatRange(min=0, max=1))
_SHARE_ABOVE_0 = Number(click.FloatRange(min=0, max=1, min_open=True))
_COUNT_FROM_0 = Number(click.IntRange(min=0))
_COUNT_FROM_1 = Number(click.IntRange(min=1))

SAMPLING_OPTIONS = (
    _option(
        "--preset",
        type=click.Choice(tuple(PRESETS)),
        help="Take temperature, top-k, top-p and min-p for a purpose: "
        + ", ".join(f"{name} for {preset.about}" for name, preset in PRESETS.items())
        + " (default: none).",
    ),
    _option(
        "--temperature",
        type=_FROM_0,
        help="Choose more freely the higher this is, and always the most likely token at 0 "
        f"({_pairs_own('temperature')}).",
    ),
    _option(
        "--top-k",
        type=_COUNT_FROM_0,
        help=f"Choose among the N most likely tokens, all at 0 ({_pairs_own('top_k')}).",
    ),
    _option(
        "--top-p",
        type=_SHARE_ABOVE_0,
        help="Choose among the most likely tokens that together have this probability, all at 1 "
        f"({_pairs_own('top_p')}).",
    ),
    _option(
        "--min-p",
        type=_SHARE,
        help=f"Drop tokens less likely than this share of the most likely one, none at 0 ({_pairs_own('min_p')}).",
    ),
    _option(
        "--typical-p",
        "--typical",
        "typical_p",
        type=_SHARE_ABOVE_0,
        help="Choose among the tokens of most typical surprise that together have this probability "
        f"({_off('typical_p')}).",
    ),
    _option(
        "--top-n-sigma",
        type=Number(click.FloatRange(min=-1)),
        help=f"Choose among scores within this many standard deviations of the best ({_off('top_n_sigma')}).",
    ),
    _option(
        "--xtc-probability",
        type=_SHARE,
        help="Drop all but the least likely of the tokens above --xtc-threshold this often "
        f"({_off('xtc_probability')}).",
    ),
    _option(
        "--xtc-threshold",
        type=Number(click.FloatRange(min=0, max=0.5)),
        help=f"Take tokens of at least this probability for XTC ({_default('xtc_threshold')}).",
    ),
    _option(
        "--dynatemp-range",
        type=_FROM_0,
        help=f"Let the temperature follow the entropy this far up and down ({_off('dynatemp_range')}).",
    ),
    _option(
        "--dynatemp-exponent",
        "--dynatemp-exp",
        "dynatemp_exponent",
        type=_FROM_0,
        help=f"Map entropy to temperature with this exponent ({_default('dynatemp_exponent')}).",
    ),
    _option(
        "--repeat-penalty",
        type=_ABOVE_0,
        help=f"Divide the scores of recent tokens by this ({_off('repeat_penalty')}).",
    ),
    _option(
        "--frequency-penalty",
        type=_ANY,
        help=f"Lower a token's score by this for each time it was used recently ({_off('frequency_penalty')}).",
    ),
    _option(
        "--presence-penalty",
        type=_ANY,
        help=f"Lower a token's score by this if it was used recently ({_off('presence_penalty')}).",
    ),
    _option(
        "--repeat-last-n",
        type=_COUNT_FROM_1,
        help=f"Count this many tokens as recent for the three penalties ({_default('repeat_last_n')}).",
    ),
    _option(
        "--dry-multiplier",
        type=_FROM_0,
        help="Penalise going on with a repeated sequence this much, growing with its length "
        f"({_off('dry_multiplier')}).",
    ),
    _option(
        "--dry-base",
        type=Number(click.FloatRange(min=1)),
        help=f"Grow the penalty of DRY by this factor a token ({_default('dry_base')}).",
    ),
    _option(
        "--dry-allowed-length",
        type=_COUNT_FROM_0,
        help=f"Leave repeated sequences up to this long alone ({_default('dry_allowed_length')}).",
    ),
    _option(
        "--dry-penalty-last-n",
        type=_COUNT_FROM_1,
        help=f"Look for repetitions in this many tokens ({_default('dry_penalty_last_n')}).",
    ),
    _option(
        "--dry-sequence-breaker",
        "dry_sequence_breakers",
        multiple=True,
        callback=_breakers,
        metavar="TEXT|none",
        help="End sequences at this text, where \\n is a line break; may be given several times "
        "(default: a line break, a colon, a double quote and an asterisk).",
    ),
    _option(
        "--mirostat",
        type=Number(click.IntRange(0, 2)),
        help="Keep the surprise constant with mirostat 1 or 2, instead of all samplers but the temperature "
        f"({_off('mirostat')}).",
    ),
    _option(
        "--mirostat-tau",
        "--mirostat-ent",
        "mirostat_tau",
        type=_FROM_0,
        help=f"Aim at a surprise of this many bits ({_default('mirostat_tau')}).",
    ),
    _option(
        "--mirostat-eta",
        "--mirostat-lr",
        "mirostat_eta",
        type=_FROM_0,
        help=f"Correct mirostat at this rate ({_default('mirostat_eta')}).",
    ),
    _option(
        "--logit-bias",
        type=LogitBias(),
        multiple=True,
        callback=_said,
        help="Add this to the score of a token, or rule it out with ban; may be given several times.",
    ),
    _option("--grammar", type=TextOrFile(), help="Hold the reply to this GBNF grammar (default: none)."),
    _option("--json-schema", type=TextOrFile(), help="Hold the reply to this JSON Schema (default: none)."),
    _option(
        "--grammar-trigger",
        "grammar_triggers",
        multiple=True,
        callback=_said,
        metavar="PATTERN",
        help="Begin the grammar only where the reply matches this regular expression, or its first group; "
        "may be given several times.",
    ),
)
