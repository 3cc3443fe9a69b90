"""The settings of section ``[sampling]``: how the target chooses its tokens."""

from __future__ import annotations

from localspec.config.kinds import Choice, Number, TextOrFile, Texts, ValueKind
from localspec.config.setting import Setting

_FROM_0 = Number(0)
_ANY = Number()
_SHARE = Number(0, 1)
_SHARE_ABOVE_0 = Number(0, 1, above=True)
_COUNT_FROM_0 = Number(0, whole=True)
_LAST_N = Number(1, 2**20, whole=True)
_TEXT_OR_FILE = TextOrFile()


def _sampling(key: str, kind: ValueKind, about: str, default: str = "") -> Setting:
    return Setting("sampling", key, kind, about, default)


SAMPLING_SETTINGS = (
    _sampling(
        "preset",
        Choice(("precise", "balanced", "creative")),
        "Take temperature, top-k, top-p and min-p for a purpose: precise for facts, code and figures, balanced for "
        "everyday talk, creative for stories and ideas",
        "none",
    ),
    _sampling(
        "temperature",
        _FROM_0,
        "Choose more freely the higher this is, and always the most likely token at 0",
        "the pair's own, else 0.8",
    ),
    _sampling("top_k", _COUNT_FROM_0, "Choose among the N most likely tokens, all at 0", "the pair's own, else 40"),
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
    _sampling("dynatemp_exponent", _FROM_0, "Map entropy to temperature with this exponent", "1"),
    _sampling("repeat_penalty", Number(0, above=True), "Divide the scores of recent tokens by this", "1, off"),
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
    _sampling("dry_allowed_length", _COUNT_FROM_0, "Leave repeated sequences up to this long alone", "2"),
    _sampling("dry_penalty_last_n", _LAST_N, "Look for repetitions in this many tokens", "64"),
    _sampling(
        "dry_sequence_breakers",
        Texts(),
        "End sequences at this text, where \\n is a line break",
        "a line break, a colon, a double quote and an asterisk",
    ),
    _sampling(
        "mirostat",
        Number(0, 2, whole=True),
        "Keep the surprise constant with mirostat 1 or 2, instead of all samplers but the temperature",
        "0, off",
    ),
    _sampling("mirostat_tau", _FROM_0, "Aim at a surprise of this many bits", "5"),
    _sampling("mirostat_eta", _FROM_0, "Correct mirostat at this rate", "0.1"),
    _sampling(
        "logit_bias",
        Texts("texts of the form ID=BIAS", r"\d{1,9}(=.+|[+-].+)"),
        "Add this to the score of a token, or rule it out with ban",
    ),
    _sampling("grammar", _TEXT_OR_FILE, "Hold the reply to this GBNF grammar", "none"),
    _sampling("json_schema", _TEXT_OR_FILE, "Hold the reply to this JSON Schema", "none"),
    _sampling(
        "grammar_triggers",
        Texts("regular expressions"),
        "Begin the grammar only where the reply matches this regular expression, or its first group",
    ),
)
