"""From sampling options as given to ``Sampling``: an option, else the preset, else the pair's own, else llama.cpp's."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from localspec.base.errors import UsageError
from localspec.cli.prompt import require_text
from localspec.cli.sampling_options import ChosenSampling
from localspec.config.presets import PRESETS
from localspec.engine.settings import MIROSTAT_IGNORES, Sampling
from localspec.models.pairs import RecommendedSampling


def resolve_sampling(chosen: ChosenSampling, recommended: RecommendedSampling) -> Sampling:
    """Raises UsageError for what contradicts itself or does nothing, and for a grammar that cannot be read."""
    asked = _said(chosen)
    if grammar := _grammar(chosen):
        asked["grammar"] = grammar
    layers = _said(recommended) | (_said(PRESETS[chosen.preset]) if chosen.preset else {})
    if asked.get("mirostat"):
        if chosen.preset:
            raise UsageError("--mirostat would ignore most of --preset.", "Leave one of them out.")
        layers = {name: value for name, value in layers.items() if name not in MIROSTAT_IGNORES}
    sampling = Sampling(**(layers | asked))
    sampling.check(asked)
    if sampling.grammar is not None:
        from localspec.engine.backends.llama.gbnf import check_grammar

        check_grammar(sampling.grammar)
    return sampling


def _said(wishes: object) -> dict[str, Any]:
    """Those of its values that ``Sampling`` knows and that are not None."""
    values = {field.name: getattr(wishes, field.name, None) for field in fields(Sampling)}
    return {name: value for name, value in values.items() if value is not None}


def _grammar(chosen: ChosenSampling) -> str | None:
    texts = (
        chosen.grammar,
        chosen.json_schema,
        *(chosen.grammar_triggers or ()),
        *(chosen.dry_sequence_breakers or ()),
    )
    require_text("".join(text or "" for text in texts), "The text of a sampling option")
    if chosen.json_schema is None:
        return chosen.grammar
    if chosen.grammar is not None:
        raise UsageError("--grammar and --json-schema both say what the reply must be.", "Leave one of them out.")
    from localspec.engine.backends.llama.json_schema import grammar_of_schema

    return grammar_of_schema(chosen.json_schema)
