"""What a frame of a streaming reply takes, counted in calls, not seconds: it does not grow with the reply."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.chat.tokens.marking import MarkMode
from localspec.tui.tokens.token_view import TokenView
from tests.tui.support import FakeEngine, chat, make_app, make_round, session, views, wait_until
from tests.tui.test_chat import begin, written

LINE = ["x = ", "count", "(stones)", "\n"]


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, a step of a generator counted as one."""
    n = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n


async def frame_calls(pilot: Pilot[Any], engine: FakeEngine, tokens_n: int) -> int:
    """Write until there are so many tokens; what a round more then takes, with the lines that can be seen.

    The least of a few: now and then a frame has something else to do.
    """
    have_n = len(session(pilot).current.reply.tokens)
    engine.write([make_round(LINE, rejected=[" so"])] * ((tokens_n - have_n) // len(LINE)))
    chat(pilot)._wake()
    await written(pilot, tokens_n)
    await pilot.pause()
    chat(pilot)._replies._timer.pause()
    view: TokenView = views(pilot)[0].reply.tokens
    draw(view)  # whether the screen has come to it or not
    return min(round_calls(pilot, engine, view) for _ in range(5))


def round_calls(pilot: Pilot[Any], engine: FakeEngine, view: TokenView) -> int:
    engine.write([make_round(LINE, rejected=[" so"])])
    chat(pilot)._replies._frame_n = -1  # the figures are drawn too
    return calls_of(chat(pilot)._replies._frame) + calls_of(lambda: draw(view))


def draw(view: TokenView) -> None:
    """The lines at the end that a screen has room for."""
    lines_n = len(view._layout.lines)
    for y in range(lines_n - 30, lines_n):
        view.render_line(y)


@pytest.mark.parametrize("mode", [MarkMode.ORIGIN, MarkMode.ROUNDS])
async def test_a_frame_costs_the_same_however_long_the_reply_is(mode: MarkMode) -> None:
    """One block of code that is never closed, of 1,000 tokens and of 8,000."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 40)) as pilot:
        await begin(pilot, engine)
        engine.write([make_round(["```", "py", "\n"])])
        await written(pilot, 3)
        if mode is MarkMode.ROUNDS:
            await pilot.press("f2", "f2", "f2")
        await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.mode is mode)
        short = await frame_calls(pilot, engine, 1_003)
        long = await frame_calls(pilot, engine, 8_003)
        assert short > 100
        assert long < 1.1 * short
