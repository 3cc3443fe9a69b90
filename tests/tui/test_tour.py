"""The tour: begins when asked for, goes on with what is done or on its key, and can be left."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.keymap import Keymap
from localspec.chat.tour import END, QUESTION, STEPS, Step, Tour
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.widgets.tour_line import TourLine
from tests.tui.support import FakeEngine, chat, make_app, notice_text, send, wait_until


def at(step: str | Step) -> Tour:
    tour = Tour()
    while tour.step is None or step not in (tour.step, tour.step.command.id):
        assert tour.go_on() == ""
    return tour


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.command.id)
def test_each_step_ends_with_its_action_alone(step: Step) -> None:
    """Another action changes nothing, and one that should lead to a screen and does not is no step."""
    tour = at(step)
    for action in CHAT.commands:
        if action.id != step.command.id:
            assert tour.did(action, opened=True) == ""
    assert tour.step is step
    if step.opens:
        tour.did(step.command, opened=False)
        assert tour.step is step
    tour.did(step.command, opened=step.opens)
    assert tour.step is not step


def test_it_leads_through_all_steps_to_its_end() -> None:
    """And is then over."""
    tour = Tour()
    tour.go_on()
    said = [tour.did(step.command, opened=step.opens) for step in STEPS]
    assert said == [""] * (len(STEPS) - 1) + [END]
    assert tour.step is None


def test_before_and_after_it_nothing_is_said() -> None:
    """Whatever the reader does."""
    tour = Tour()
    assert [tour.did(action, opened=True) for action in CHAT.commands] == [""] * len(CHAT.commands)
    assert tour.hint(Keymap({})) == ("", "")
    assert not tour.leave()


def test_hints_name_the_keys_in_force_and_fit_a_small_terminal() -> None:
    """The command, where an action has no key; in 60 columns beside the key of the tour."""
    tour = at("race")
    assert tour.hint(Keymap({"race": "f21"}))[0] == "F21"
    assert tour.hint(Keymap({"race": ""}))[0] == "/race"
    assert all(len(f"1/6  Ctrl+L {step.hint}") <= 75 - len("  F10 next") for step in STEPS)


def line(pilot: object) -> str:
    widget = chat(pilot).query_one(TourLine)  # type: ignore[arg-type]
    return " ".join(str(child.render()) for child in widget.children) if widget.display else ""


async def test_a_newcomer_walks_through_it() -> None:
    """By command, by keys, and back from a screen."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        assert line(pilot) == "", "never by itself"
        await send(pilot, "/tour")
        assert "1/8" in line(pilot)
        assert chat(pilot).query_one(Prompt).area.text == QUESTION
        assert "Esc leaves the tour" in notice_text(pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.prompts)
        assert "2/8  Ctrl+T" in line(pilot)
        engine.reply("One two three four.")
        await wait_until(pilot, lambda: not app.session.busy)
        await pilot.press("ctrl+t", "f4", "f2")
        assert "5/8  F5" in line(pilot)
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, InspectorScreen))
        await pilot.press("escape")
        await pilot.pause()
        assert "6/8  F12" in line(pilot)
        await pilot.press("f10")
        assert "7/8  Enter asks for a count" in line(pilot)
        assert chat(pilot).query_one(Prompt).area.text == STEPS[6].question
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert [tool.name for tool in engine.prompts[-1].options.tools] == ["count_words"]
        engine.reply("It has 4.")
        await wait_until(pilot, lambda: app.session.free)
        await send(pilot, "/pairs")
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is chat(pilot))
        assert line(pilot) == ""
        assert END in notice_text(pilot)
        await send(pilot, "How many?")
        await wait_until(pilot, lambda: len(engine.prompts) == 3)
        assert engine.prompts[-1].options.tools == (), "the tool was lent for the tour"


async def test_a_question_goes_with_its_step() -> None:
    """Unsent, it gives way to what the next step has, and a text of the user's own to nothing."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        area = chat(pilot).query_one(Prompt).area
        await pilot.press("f10")
        assert area.text == QUESTION
        await pilot.press("f10")
        assert area.text == ""
        await pilot.press("f10", "f10", "f10", "f10", "f10")
        assert area.text == STEPS[6].question
        await pilot.press("!", "f10")
        assert area.text == STEPS[6].question + "!"


async def test_it_is_left_at_any_time() -> None:
    """With the key that stops, where nothing is to be stopped; what is written stays."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: not app.session.busy)
        await pilot.press("f10")
        assert line(pilot)
        await pilot.press("escape")
        assert line(pilot) == ""
        assert chat(pilot).query_one(Prompt).area.text == QUESTION


async def test_an_action_that_leads_nowhere_is_no_step() -> None:
    """There is nothing to look into before the first reply."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: not app.session.busy)
        await pilot.press("f10", "f10", "f10", "f10", "f10", "f5")
        assert "5/8" in line(pilot)


async def test_the_first_page_names_it() -> None:
    """Where somebody who is new looks first."""
    async with make_app(FakeEngine()).run_test(size=(80, 24)) as pilot:
        said = [str(line.render()) for line in chat(pilot).query("Welcome .heading").results(Static)]
        assert any("/tour" in line for line in said)


async def test_in_a_narrow_window_a_step_is_in_rows() -> None:
    """Nothing of it is cut."""
    async with make_app(FakeEngine()).run_test(size=(46, 24)) as pilot:
        await send(pilot, "/tour")
        hint = pilot.app.screen.query_one("#tour-hint", Static)
        await wait_until(pilot, lambda: hint.size.height > 1)
        rows = [strip.text for strip in hint.render_lines(hint.size.region)]
        assert " ".join(" ".join(rows).split()).endswith(STEPS[0].hint)
