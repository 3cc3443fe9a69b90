"""The type of values is chosen by what the CPU takes for them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from localspec.engine.backends.llama.fused_attention import BF16, F16, measured, quicker
from localspec.engine.backends.llama.native import native


@pytest.mark.parametrize(
    ("spent_s", "chosen"),
    [
        ({F16: 1.0, BF16: 0.5}, BF16),
        ({F16: 1.0, BF16: 0.95}, F16),
        ({F16: 1.0, BF16: 1.4}, F16),
        ({}, F16),
    ],
)
def test_the_coarser_type_has_to_be_clearly_quicker(spent_s: dict[str, float], chosen: str) -> None:
    assert quicker(spent_s) == chosen


def test_both_are_measured_with_the_real_library() -> None:
    spent_s = measured(native().c._lib)
    assert spent_s.keys() == {F16, BF16}
    assert min(spent_s.values()) > 0


def test_a_library_without_the_functions_measures_nothing() -> None:
    assert measured(SimpleNamespace(ggml_init=SimpleNamespace())) == {}
