"""The settings of the target's samplers, named as in llama.cpp."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from math import inf, isfinite, isnan

from localspec.base.errors import UsageError

BANNED = -inf
"""The bias of a token that must not be chosen."""
DEFAULT_SEQUENCE_BREAKERS = ("\n", ":", '"', "*")
LONGEST_SEQUENCE_BREAKER_BYTES = 40
"""llama.cpp cuts longer ones."""
MOST_SEQUENCE_BREAKERS = 128
"""llama.cpp looks through the whole vocabulary for each."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """The samplers' settings; names, defaults and order of application are llama.cpp's.

    That order is: logit bias, repetition penalties, DRY, top-n-sigma, top-k, typical-p, top-p, min-p, XTC,
    temperature. Mirostat takes the place of all of them but bias and temperature.
    """

    temperature: float = 0.8
    """0 is greedy: always the most likely token."""
    top_k: int = 40
    """Keep the k most likely tokens; 0 keeps all."""
    top_p: float = 0.95
    """Keep the smallest set of tokens with at least this much probability; 1 keeps all."""
    min_p: float = 0.05
    """Drop tokens less likely than this share of the most likely one; 0 drops none."""
    typical_p: float = 1.0
    """Keep the tokens nearest to the expected surprise, up to this much probability; 1 keeps all."""
    top_n_sigma: float = -1.0
    """Keep the scores within n standard deviations of the best; 0 and less keep all."""
    xtc_probability: float = 0.0
    """The chance that all but the least likely of the tokens above ``xtc_threshold`` are dropped."""
    xtc_threshold: float = 0.1
    dynatemp_range: float = 0.0
    """The range in which the temperature follows the entropy, up and down; 0 is a fixed temperature."""
    dynatemp_exponent: float = 1.0
    repeat_last_n: int = 64
    """The number of latest tokens, the prompt's included, that the three penalties count."""
    repeat_penalty: float = 1.0
    """Divides the scores of tokens already seen; 1 is off."""
    frequency_penalty: float = 0.0
    """Taken from a token's score for each time it was seen."""
    presence_penalty: float = 0.0
    """Taken once from the score of a token already seen."""
    dry_multiplier: float = 0.0
    """Penalty for going on with a repeated sequence; 0 is off."""
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = DEFAULT_SEQUENCE_BREAKERS
    mirostat: int = 0
    """1 or 2 for mirostat or its second version; 0 is off."""
    mirostat_tau: float = 5.0
    """The surprise aimed at, in bits."""
    mirostat_eta: float = 0.1
    logit_bias: tuple[tuple[int, float], ...] = ()
    """(token id, what is added to its score); ``BANNED`` rules a token out."""
    grammar: str | None = None
    """GBNF, of whose ``root`` the reply is a sentence; Lark after a line with ``%llguidance``; or llguidance's JSON."""
    grammar_triggers: tuple[str, ...] = ()
    """Regular expressions. With any, the grammar applies only from the first match on: from where
    the match's first group that is not empty begins, or else the match."""

    @property
    def greedy(self) -> bool:
        """True if nothing but XTC is left to chance."""
        return self.temperature <= 0 and self.dynatemp_range <= 0

    @property
    def penalises(self) -> bool:
        """True if any of the three repetition penalties does something."""
        return (self.repeat_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)

    @property
    def dry(self) -> bool:
        """True if DRY does something."""
        return self.dry_multiplier > 0

    @property
    def xtc(self) -> bool:
        """True if XTC does something."""
        return self.xtc_probability > 0

    def without_idle(self) -> Sampling:
        """The settings with the defaults of those that do nothing by themselves."""
        idle = (name for name, switches in _NEEDS.items() if not any(self._on(switch) for switch in switches))
        return replace(self, **{name: getattr(_DEFAULTS, name) for name in idle})

    def check(self, asked: Collection[str] = ()) -> None:
        """Raise UsageError for a value that would break llama.cpp, contradicts another or has no effect.

        The ranges of numbers are not checked: they are declared with the settings. ``asked`` names fields that were
        asked for although their value is the default.
        """
        self._check_numbers()
        _check_biases(self.logit_bias)
        _check_breakers(self.dry_sequence_breakers)
        _check_triggers(self.grammar_triggers)
        asked = {field.name for field in fields(self) if getattr(self, field.name) != field.default} | set(asked)
        self._check_mirostat(asked)
        for name, switches in _NEEDS.items():
            if name in asked and not any(self._on(switch) for switch in switches):
                wanted = " or ".join(map(option, switches))
                raise UsageError(f"{option(name)} does nothing by itself.", f"Add {wanted}, or leave it out.")

    def _check_numbers(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not isfinite(value):
                raise UsageError(f"{option(field.name)} {value} is not possible.", "Choose a finite number.")

    def _check_mirostat(self, asked: Collection[str]) -> None:
        if not self.mirostat:
            return
        if self.greedy:
            raise UsageError("--mirostat needs something to choose from.", "Set --temperature above 0.")
        if self.grammar is not None:
            raise UsageError("--mirostat cannot be used with a grammar.", "Leave one of them out.")
        for name in MIROSTAT_IGNORES:
            if name in asked:
                raise UsageError(f"--mirostat would ignore {option(name)}.", "Leave one of them out.")

    def _on(self, switch: str) -> bool:
        """True if a field has another value than its default, which turns it off."""
        return bool(getattr(self, switch) != getattr(_DEFAULTS, switch))


_NEEDS = {
    "xtc_threshold": ("xtc_probability",),
    "dynatemp_exponent": ("dynatemp_range",),
    "repeat_last_n": ("repeat_penalty", "frequency_penalty", "presence_penalty"),
    "dry_base": ("dry_multiplier",),
    "dry_allowed_length": ("dry_multiplier",),
    "dry_penalty_last_n": ("dry_multiplier",),
    "dry_sequence_breakers": ("dry_multiplier",),
    "mirostat_tau": ("mirostat",),
    "mirostat_eta": ("mirostat",),
    "grammar_triggers": ("grammar",),
}
"""Fields that do nothing unless one of these is on."""

MIROSTAT_IGNORES = (
    *("top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "xtc_probability", "dynatemp_range"),
    *("repeat_penalty", "frequency_penalty", "presence_penalty", "dry_multiplier"),
)
"""Samplers that llama.cpp leaves out of a chain with mirostat."""


def option(name: str) -> str:
    """The command line's spelling of a field."""
    repeatable = name.removesuffix("s") if name in ("dry_sequence_breakers", "grammar_triggers") else name
    return f"--{repeatable.replace('_', '-')}"


_LARGEST_BIAS = 3e38
"""llama.cpp adds biases to scores of 32 bits."""


def _check_biases(biases: tuple[tuple[int, float], ...]) -> None:
    seen: set[int] = set()
    for token, bias in biases:
        if token < 0:
            raise UsageError(f"--logit-bias {token} is no token.", "Choose a token id, from 0 on.")
        if isnan(bias) or (bias != -inf and abs(bias) > _LARGEST_BIAS):
            raise UsageError(
                f"--logit-bias {token}={bias} is not possible.",
                f"Choose a bias of at most {_LARGEST_BIAS:g}, or -inf.",
            )
        if token in seen:
            raise UsageError(f"--logit-bias names token {token} twice.", "Name it once.")
        seen.add(token)


def _check_breakers(breakers: tuple[str, ...]) -> None:
    if len(breakers) > MOST_SEQUENCE_BREAKERS:
        raise UsageError(
            f"{option('dry_sequence_breakers')} is given {len(breakers)} times.",
            f"Choose at most {MOST_SEQUENCE_BREAKERS} texts.",
        )
    for breaker in breakers:
        if not 0 < len(breaker.encode(errors="replace")) <= LONGEST_SEQUENCE_BREAKER_BYTES or "\0" in breaker:
            raise UsageError(
                f"--dry-sequence-breaker {breaker!r} is not possible.",
                f"Choose a text of 1 to {LONGEST_SEQUENCE_BREAKER_BYTES} bytes.",
            )


def _check_triggers(patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern.encode())
        except (re.error, UnicodeEncodeError) as error:
            raise UsageError(f"--grammar-trigger {pattern!r} is no regular expression: {error}.", "Mend it.") from None
        if not pattern:
            raise UsageError("An empty --grammar-trigger matches at once.", "Leave it out.")


_DEFAULTS = Sampling()
