"""``Sampling`` from the values of settings: a value set, else the preset's, else the pair's own, else llama.cpp's.

The range of a number is declared once, with its setting; the engine refuses only what would break it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from localspec.base.errors import UsageError
from localspec.config.kinds import Number, RefusedValue
from localspec.config.presets import PRESETS
from localspec.config.table import find_key
from localspec.config.texts import require_text
from localspec.engine.settings import MIROSTAT_IGNORES, Sampling, option
from localspec.models.pairs import RecommendedSampling


def build_sampling(values: Mapping[str, Any], recommended: RecommendedSampling) -> Sampling:
    """``values`` by the key of the setting, as its kind resolves them; None and missing ones are not set.

    Raises UsageError for values that contradict each other or do nothing, and for a grammar that cannot be read.
    """
    asked = taken_by(Sampling, values)
    if grammar := _grammar(values):
        asked["grammar"] = grammar
    preset = values.get("preset")
    below = _fields(recommended) | (_fields(PRESETS[preset]) if preset else {})
    if asked.get("mirostat"):
        if preset:
            raise UsageError("--mirostat would ignore most of --preset.", "Leave one of them out.")
        below = {name: value for name, value in below.items() if name not in MIROSTAT_IGNORES}
    sampling = Sampling(**(below | asked))
    check_ranges(sampling)
    sampling.check(asked)
    if sampling.grammar is not None:
        from localspec.engine.backends.llama.grammar import check_grammar

        check_grammar(sampling.grammar)
    return sampling


def check_ranges(sampling: Sampling) -> None:
    """Raise UsageError for a number outside the range that its setting declares."""
    for field in fields(sampling):
        setting = find_key(field.name)
        if setting is not None and isinstance(setting.kind, Number):
            value = getattr(sampling, field.name)
            try:
                setting.kind.check(value)
            except RefusedValue:
                raise UsageError(
                    f"{option(field.name)} {value} is not possible.", f"Choose {setting.kind.form}."
                ) from None


def _fields(source: object) -> dict[str, Any]:
    return taken_by(Sampling, {field.name: getattr(source, field.name, None) for field in fields(Sampling)})


def taken_by(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are set and have a field of their name in this dataclass."""
    return {field.name: values[field.name] for field in fields(kind) if values.get(field.name) is not None}


def _grammar(values: Mapping[str, Any]) -> str | None:
    grammar, schema = values.get("grammar"), values.get("json_schema")
    texts = (grammar, schema, *(values.get("grammar_triggers") or ()), *(values.get("dry_sequence_breakers") or ()))
    require_text("".join(text or "" for text in texts), "The text of a sampling option")
    if schema is None:
        return grammar
    if grammar is not None:
        raise UsageError("--grammar and --json-schema both say what the reply must be.", "Leave one of them out.")
    from localspec.engine.backends.llama.json_schema import grammar_of_schema

    return grammar_of_schema(schema)
