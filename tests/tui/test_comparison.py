"""Several pairs answer the same message, one after the other; one of the replies can be kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from localspec.base.errors import UsageError
from localspec.chat.comparison import named_pairs
from localspec.runtime.chat_config import Outlets
from localspec.runtime.messages import Message, Role
from localspec.runtime.worker.messages import Cancel, Failed, Loaded
from localspec.tui.app import ChatApp
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.race import LaneView, RaceScreen
from localspec.tui.theme import DARK, LIGHT
from localspec.tui.tokens.token_view import TokenView
from localspec.tui.widgets.welcome import Welcome
from tests.tui.fakes import with_settings
from tests.tui.looks import LARGE, MEDIUM, hold_still
from tests.tui.pairs_support import BEST, SMALL, TOO_BIG, FakeWorld, described, shelf_of
from tests.tui.support import (
    INFO,
    LAUNCH,
    Clock,
    FakeEngine,
    answer,
    asked,
    chat,
    notice_text,
    prompt_of,
    ready,
    rounds_of,
    send,
    session,
    turns_shown,
    wait_until,
)
from tests.tui.test_pairs import loads
from tests.tui.test_race import drawn, texts

HERE = replace(BEST, available=True, state="here", reason="")
WORLD = (SMALL, HERE, described("huge", "Huge", state="here", fit=TOO_BIG), described("away", "Away"))


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def app(engine: FakeEngine) -> ChatApp:
    chat_config = with_settings(replace(LAUNCH, pair_id=SMALL.id))
    return ChatApp(chat_config, engine, engine.inbox, shelf_of(FakeWorld(WORLD)), Clock())


async def compared(pilot: Pilot[Any], engine: FakeEngine, *replies: str | None) -> RaceScreen:
    """The screen, after these replies by the pair in use and by the other; None for a pair that cannot be loaded."""
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, RaceScreen))
    screen = pilot.app.screen
    assert isinstance(screen, RaceScreen)
    for number, reply in enumerate(replies):
        if number:
            await wait_until(pilot, lambda: len(loads(engine)) == 1)
            loaded = Loaded(INFO) if reply is not None else Failed(None, 4, "There is no file.", "Check it.")
            engine.inbox.put(loaded)
        if reply is not None:
            lane = screen._lanes[number].lane
            await wait_until(pilot, lambda lane=lane: lane.request_id is not None)  # type: ignore[misc]
            engine.start()
            engine.write(rounds_of(reply))
            engine.finish()
            await wait_until(pilot, lambda lane=lane: lane.finished is not None)  # type: ignore[misc]
    await wait_until(pilot, lambda: str(screen.query_one("#race-verdict").render()))
    return screen


async def test_one_after_the_other_and_one_is_kept(engine: FakeEngine, app: ChatApp) -> None:
    """Each pair is loaded for its run; the reply that is kept stands beside the first, and the pair comes back."""
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Why?")
        await answer(pilot, engine, 0, "First.")
        await send(pilot, f"/compare {HERE.id}")
        screen = await compared(pilot, engine, "one two", "three four")
        assert texts(screen) == ["one two", "three four"]
        assert [view.lane.name for view in screen.query(LaneView)] == [SMALL.id, HERE.id]
        assert all(request.prompt == engine.prompts[0].prompt for request in engine.prompts)
        assert "was the fastest, with" in str(screen.query_one("#race-verdict").render())
        await pilot.press("right", "enter")
        await wait_until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert loads(engine) == [HERE.id, "target"], "the pair of the conversation is loaded again"
        engine.inbox.put(Loaded(INFO))
        await wait_until(pilot, lambda: not session(pilot).busy)
        thread = session(pilot).thread
        assert [turn.text for turn in thread.turns] == ["three four"]
        assert thread.versions(thread.turns[0])[1] == (2, 2)
        assert thread.stored.last_made_with.pair_id == HERE.id
        assert session(pilot).chat_config.pair_id == SMALL.id
        kept = screen._lanes[1].lane
        assert thread.turns[0].reply.tokens == [token for round_ in kept.rounds for token in round_.tokens]


async def test_the_latest_message_of_a_conversation_that_was_opened(engine: FakeEngine, app: ChatApp) -> None:
    """Its last one: compared, raced and inspected as if it had just been said."""
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Why?")
        await answer(pilot, engine, 0, "First.")
        conversation = session(pilot).stored.id
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: session(pilot).stored.id != conversation)
        await chat(pilot)._go_to(conversation)
        assert session(pilot).last is None
        await send(pilot, f"/compare {HERE.id}")
        await compared(pilot, engine, "one two", None)
        await pilot.press("enter")
        await wait_until(pilot, lambda: pilot.app.screen is chat(pilot))
        engine.inbox.put(Loaded(INFO))
        await wait_until(pilot, lambda: not session(pilot).busy)
        thread = session(pilot).thread
        assert [(turn.prompt, turn.text) for turn in thread.turns] == [("Why?", "one two")]
        assert thread.versions(thread.turns[0])[1] == (2, 2)
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: session(pilot).stored.id != conversation)
        await chat(pilot)._go_to(conversation)
        await send(pilot, "/race")
        await wait_until(pilot, lambda: len(engine.prompts) == 3)
        assert [request.prompt for request in engine.prompts] == 3 * [engine.prompts[0].prompt]
        await pilot.press("escape", "f5")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))


async def test_replies_begin_on_one_row(engine: FakeEngine, app: ChatApp) -> None:
    """However long the figures above them are."""
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/compare {HERE.id} Why?")
        screen = await compared(pilot, engine, "one two", "three four" * 40)
        await pilot.pause()
        tops = {view.query_one(TokenView).region.y for view in screen.query(LaneView)}
        assert len(tops) == 1


async def test_the_chosen_reply_is_scrolled_by_keys(engine: FakeEngine, app: ChatApp) -> None:
    """The other stays where it is."""
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/compare {HERE.id} Why?")
        screen = await compared(pilot, engine, "one two " * 200, "three four " * 200)
        scrolls = list(screen.query(VerticalScroll))
        await wait_until(pilot, lambda: all(each.max_scroll_y and each.is_vertical_scroll_end for each in scrolls))
        await wait_until(pilot, lambda: "Page Up scroll" in str(screen.query_one("#race-hints").render()))
        await pilot.press("right", "pageup")
        await wait_until(pilot, lambda: not scrolls[1].is_vertical_scroll_end)
        assert scrolls[0].is_vertical_scroll_end


async def test_a_new_message_and_a_pair_that_cannot_be_loaded(engine: FakeEngine, app: ChatApp) -> None:
    """The message goes into the conversation with the reply that is kept; the other column says why it is empty."""
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/compare {SMALL.id} {HERE.id} Count to two")
        screen = await compared(pilot, engine, "one two", None)
        assert engine.prompts[0].prompt[-1] == Message(Role.USER, "Count to two")
        assert "no reply" in drawn(screen, 1)
        assert f"{HERE.id} has no reply: There is no file." in str(screen.query_one("#race-verdict").render())
        await pilot.press("right", "enter")
        assert pilot.app.screen is screen, "there is no reply to keep"
        await pilot.press("left", "enter")
        await wait_until(pilot, lambda: pilot.app.screen is chat(pilot))
        turns = session(pilot).thread.turns
        assert [(turn.prompt, turn.text) for turn in turns] == [("Count to two", "one two")]
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Count to two", "one two")])
        assert not chat(pilot).query(Welcome), "the first page is gone, as with any message"


async def test_a_file_that_the_message_mentions_goes_with_it(
    engine: FakeEngine, app: ChatApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with any message, though it stands behind a command, and its last word was just typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("Water the tomatoes.")
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/compare {HERE.id} Summarise @notes.txt")
        await wait_until(pilot, lambda: engine.prompts)
        message = asked(engine)[-1]
        assert "Water the tomatoes." in message
        assert message.endswith("Summarise @notes.txt")
        await compared(pilot, engine, "one", None)
        await pilot.press("enter")
        await wait_until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert session(pilot).thread.turns[0].prompt == message
        engine.inbox.put(Loaded(INFO))
        await wait_until(pilot, lambda: not session(pilot).busy)
        await send(pilot, "/race In brief: @notes.txt")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert "Water the tomatoes." in asked(engine)[-1]


async def test_leaving_stops_a_load_and_brings_the_pair_back(engine: FakeEngine, app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/compare {HERE.id} {SMALL.id} Why?")
        await wait_until(pilot, lambda: loads(engine) == [HERE.id])
        await pilot.press("escape")
        await wait_until(pilot, lambda: loads(engine) == [HERE.id, "target"])
        assert any(isinstance(request, Cancel) for request in engine.sent)
        engine.inbox.put(Loaded(INFO))
        engine.inbox.put(Loaded(INFO))
        await wait_until(pilot, lambda: not session(pilot).busy)
        assert not session(pilot).thread.turns
        assert session(pilot)._engine_queries.race.running is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "2 to 4 different pairs"),
        ("nosuch", "2 to 4 different pairs"),
        (f"{SMALL.id} Why?", "2 to 4 different pairs"),
        ("away Why?", "Away cannot be compared"),
        ("huge Why?", "larger than the whole memory"),
        (HERE.id, "no message to compare with"),
    ],
)
async def test_a_comparison_that_cannot_be(engine: FakeEngine, app: ChatApp, text: str, why: str) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/compare {text}")
        await wait_until(pilot, lambda: why in notice_text(pilot))
        assert not loads(engine)
        assert prompt_of(pilot).text == f"/compare {text}".strip() * bool(text), "what was written is not lost"


@pytest.mark.parametrize("command", ["/race", f"/compare {HERE.id}"])
async def test_nothing_runs_beside_a_reply_or_past_its_check(engine: FakeEngine, app: ChatApp, command: str) -> None:
    """A check of replies sees neither races nor comparisons. What was written stays in the prompt."""
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Why?")
        await wait_until(pilot, lambda: engine.prompts)
        await send(pilot, f"{command} And why not?")
        await wait_until(pilot, lambda: "The engine is busy." in notice_text(pilot))
        assert prompt_of(pilot).text == f"{command} And why not?"
        await answer(pilot, engine, 0, "First.")
        slot = session(pilot)._slot
        slot.chat_config = replace(slot.chat_config, outlets=Outlets(reply_check="./check.sh"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "text that reply_check has not seen" in notice_text(pilot))
        assert prompt_of(pilot).text == f"{command} And why not?"
        assert len(engine.prompts) == 1
        assert not loads(engine)


def test_named_pairs_come_before_the_message() -> None:
    known = {"a", "b", "c"}
    assert named_pairs("a b c is a letter", known, None) == (["a", "b", "c"], "is a letter")
    assert named_pairs("b  two  spaces", known, "a") == (["a", "b"], "two  spaces")
    assert named_pairs("a a b", known, "c") == (["a", "b"], "")
    for text in ("", "a", "why a b", "a a"):
        with pytest.raises(UsageError, match="2 to 4 different pairs"):
            named_pairs(text, known, None)
    many = {f"pair-{n}" for n in range(40)} | {"smollm2"}
    with pytest.raises(UsageError) as refused:
        named_pairs("smolm2 Why?", many, None)
    assert refused.value.hint == "There is no pair smolm2; did you mean smollm2?"
    with pytest.raises(UsageError) as refused:
        named_pairs("a nosuch Why?", known, "a")
    assert refused.value.hint == "There is no pair nosuch; /pair lists the pairs."
    with pytest.raises(UsageError) as refused:
        named_pairs("", many, None)
    assert len(str(refused.value)) < 120, "it does not list them all"


@pytest.mark.parametrize(("size", "theme"), [(MEDIUM, DARK.name), (LARGE, LIGHT.name)])
def test_looks(snap_compare: Any, engine: FakeEngine, app: ChatApp, size: tuple[int, int], theme: str) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        app.theme = theme
        await ready(pilot, engine)
        await send(pilot, f"/compare {HERE.id} Why is the sky blue?")
        await compared(pilot, engine, "Sunlight is scattered by air", "Because of Rayleigh scattering")
        await pilot.press("right")
        await hold_still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=play)
