"""What counts as JSON that fits the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localspec.insight.losslessness.structured import is_valid

GOOD: dict[str, Any] = {"name": "Ada", "age": 36, "colour": "red", "friends": ["Bo"]}


def test_what_fits_is_valid() -> None:
    """White space is free."""
    assert is_valid(json.dumps(GOOD))
    assert is_valid(json.dumps(GOOD, indent=4) + "\n")


@pytest.mark.parametrize(
    "change",
    [
        {"age": 36.5},
        {"age": True},
        {"colour": "black"},
        {"friends": "Bo"},
        {"friends": ["a", "b", "c", "d"]},
        {"friends": [1]},
        {"name": "a name that is too long"},
        {"extra": 1},
    ],
)
def test_what_does_not_fit_is_not(change: dict[str, Any]) -> None:
    """One thing wrong is enough."""
    assert not is_valid(json.dumps(GOOD | change))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "Ada"}', json.dumps(GOOD) + "}"])
def test_half_of_it_is_not_valid(text: str) -> None:
    """Cut short, or not the whole."""
    assert not is_valid(text)
