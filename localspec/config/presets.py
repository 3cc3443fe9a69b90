"""Presets: values of sampling for a purpose, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Preset:
    """The settings that differ most by purpose, in the words of ``Sampling``."""

    about: str
    temperature: float
    top_k: int
    top_p: float
    min_p: float


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # Nearly greedy, yet without its loops.
        "precise": Preset("facts, code and figures", temperature=0.2, top_k=20, top_p=0.9, min_p=0.1),
        # Where most makers of instruct models put theirs.
        "balanced": Preset("everyday talk", temperature=0.7, top_k=40, top_p=0.95, min_p=0.05),
        # Min-p alone cuts the tail: it holds at high temperatures, where top-p does not (arXiv 2407.01082).
        "creative": Preset("stories and ideas", temperature=1.2, top_k=100, top_p=1.0, min_p=0.05),
    }
)
