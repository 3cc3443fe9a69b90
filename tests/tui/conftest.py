"""Style sheets, parsed once for all apps of a process, and frames that nobody waits for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from textual._wait import SLEEP_GRANULARITY, SLEEP_IDLE
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.screen import UPDATE_PERIOD

from localspec.chat.frame_rate import FRAME_S


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


@pytest.fixture(scope="package", autouse=True)
def quick_frames() -> Iterator[None]:
    """Four times the frames a second, and a pilot that looks as often whether the app is at rest.

    Two thirds of a test's time went into waiting for the next frame.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.screen.UPDATE_PERIOD", UPDATE_PERIOD / 4)
        patch.setattr("localspec.tui.controllers.replies.FRAME_S", FRAME_S / 4)
        patch.setattr("textual._wait.SLEEP_GRANULARITY", SLEEP_GRANULARITY / 4)
        patch.setattr("textual._wait.SLEEP_IDLE", SLEEP_IDLE / 2)
        yield
