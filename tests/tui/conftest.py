"""Style sheets, parsed once for all apps of a process, and no waiting for frames or for widgets at rest."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from textual._queue import Queue
from textual._wait import SLEEP_GRANULARITY, SLEEP_IDLE
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import UPDATE_PERIOD

from localspec.chat.frame_rate import FRAME_S


@pytest.fixture(scope="package", autouse=True)
def parsed_once() -> Iterator[None]:
    """Textual keeps rules by their text within one app, until variables change; here, with the variables, for all."""
    parse, sheets = Stylesheet._parse_rules, WeakKeyDictionary[Stylesheet, tuple[dict[str, str], Stylesheet]]()

    @cache
    def sheet(variables: tuple[tuple[str, str], ...]) -> Stylesheet:
        return Stylesheet(variables=dict(variables))

    @cache
    def parsed(sheet: Stylesheet, css: str, **where: Any) -> list[RuleSet]:
        return parse(sheet, css, **where)

    def shared(self: Stylesheet, css: str, **where: Any) -> list[RuleSet]:
        if self not in sheets or sheets[self][0] is not self._variables:
            sheets[self] = self._variables, sheet(tuple(self._variables.items()))
        return parsed(sheets[self][1], css, **where)

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


def at_rest(pump: MessagePump) -> bool:
    """True if it has handled every message and waits for the next."""
    queue: Queue[Message | None] = pump._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)


@pytest.fixture(scope="package", autouse=True)
def settled_at_once() -> Iterator[None]:
    """A pilot waits for the widgets that have messages; of the others, too, each would be sent one and become idle.

    That was half of all messages.
    """

    async def settled(self: Pilot[Any], timeout: float = 30.0) -> bool:
        if not self.app.screen_stack:
            return False
        busy = [widget for widget in self.app.screen.walk_children() if not at_rest(widget)]
        waits = []
        for pump in (self.app, self.app.screen, *busy):
            handled = asyncio.Event()
            if pump.call_later(handled.set):
                waits.append(handled.wait())
        all_handled: asyncio.Future[Any] = asyncio.gather(*waits)
        failed: asyncio.Future[Any] = asyncio.ensure_future(self.app._exception_event.wait())
        await asyncio.wait([all_handled, failed], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        done = all_handled.done()
        assert done or failed.done(), f"widgets have messages left after {timeout} s"
        all_handled.cancel()
        failed.cancel()
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_wait_for_screen", settled)
        yield
