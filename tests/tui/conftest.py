"""Style sheets, parsed once for all apps of a process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@pytest.fixture(scope="package", autouse=True)
def parsed_once() -> Iterator[None]:
    """Textual keeps rules by their text within one app, until variables change; here, with the variables, for all."""
    parse = Stylesheet._parse_rules

    @cache
    def sheet(variables: tuple[tuple[str, str], ...]) -> Stylesheet:
        return Stylesheet(variables=dict(variables))

    @cache
    def parsed(variables: tuple[tuple[str, str], ...], css: str, **where: Any) -> list[RuleSet]:
        return parse(sheet(variables), css, **where)

    def shared(self: Stylesheet, css: str, **where: Any) -> list[RuleSet]:
        return parsed(tuple(self._variables.items()), css, **where)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", shared)
        yield
