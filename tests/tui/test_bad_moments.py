"""Bad moments: an engine that dies with messages waiting, pages that come and go while they are drawn."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Key
from textual.widgets import Input, Static

from localspec.runtime.worker.messages import Load
from localspec.store import Store
from localspec.tui.app import ChatApp
from localspec.tui.controllers.replies import ReplyController
from localspec.tui.conversation.page import Page
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.prompt.prompt import Prompt
from tests.tui.support import FakeEngine, chat, make_app, rounds_of, send, session, shown, views, wait_until

MANY_WORDS = "word " * 400


def fill(store: Store, title: str, turns_n: int) -> str:
    """A conversation of long questions; its id."""
    thread = store.begin()
    for n in range(turns_n):
        thread.ask(f"{title} {n}\n{MANY_WORDS}")
    return thread.id


async def test_a_message_that_waits_when_the_engine_dies_is_answered_after() -> None:
    """It is the next message, so the engine is started again for it."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.load()
        await send(pilot, "First")
        await wait_until(pilot, lambda: len(engine.prompts) == 1)
        engine.start()
        engine.write(rounds_of("Some words")[:-1])
        await send(pilot, "Second")
        engine.die()
        await wait_until(pilot, lambda: sum(isinstance(request, Load) for request in engine.sent) == 1)
        engine.load()
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        engine.reply("Here I am.")
        await wait_until(pilot, lambda: session(pilot).free)
        assert [turn.text for turn in session(pilot).thread.turns] == ["Some words", "Here I am."]


async def test_replies_that_end_while_turns_are_drawn_get_their_last_look() -> None:
    """Each once, by whoever comes first."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.load()
        for n, question in enumerate(("First", "Second"), 1):
            await send(pilot, question)
            await wait_until(pilot, lambda n=n: len(engine.prompts) == n)  # type: ignore[misc]
            engine.reply("A *word*.")
            await wait_until(pilot, lambda: session(pilot).free)
        transcript = chat(pilot).query_one(Transcript)
        async with transcript.pages.near.lock:
            for view in views(pilot):
                transcript.finish(view)
            await pilot.pause()
        await wait_until(pilot, lambda: not pilot.app.workers._workers)


async def test_a_command_is_done_before_the_screen_has_begun_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a key asks for one that was pressed while the app started."""
    start = ReplyController.start

    def start_late(replies: ReplyController) -> None:
        replies.wake()
        start(replies)

    monkeypatch.setattr(ReplyController, "start", start_late)
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.load()
        await send(pilot, "First")
        await wait_until(pilot, lambda: len(engine.prompts) == 1)


@pytest.mark.parametrize("state", [("_exit", True), ("_running", False)])
async def test_turns_may_come_while_the_app_ends(monkeypatch: pytest.MonkeyPatch, state: tuple[str, bool]) -> None:
    """Textual mounts nothing any more, so nothing is drawn, and the app ends as it would have."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.load()
        await send(pilot, "First")
        await wait_until(pilot, lambda: len(engine.prompts) == 1)
        engine.reply("A *word*.")
        await wait_until(pilot, lambda: session(pilot).free)
        transcript = chat(pilot).query_one(Transcript)
        turn = transcript.pages.turns[0]
        with monkeypatch.context() as ending:
            ending.setattr(pilot.app, *state)
            await transcript.pages.remake(turn)
            await transcript.pages.add(turn)
            await transcript.sync([])
            await transcript.sync([turn])


async def test_a_conversation_that_is_being_opened_while_the_app_ends_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the one that the app begins with, by a worker, which Textual gives the blame."""
    app = make_app(FakeEngine())
    async with app.run_test() as pilot:
        with monkeypatch.context() as ending:
            ending.setattr(app, "_exit", True)
            worker = app.run_worker(mounted_too_late())
            await wait_until(pilot, lambda: worker.is_finished)
        assert worker.error is not None
        assert app.failure is None


async def mounted_too_late() -> None:
    await Static().mount(Static())


async def test_a_turn_is_drawn_anew_once_while_pages_come() -> None:
    """And stands there once."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.load()
        await send(pilot, "First")
        await wait_until(pilot, lambda: len(engine.prompts) == 1)
        engine.reply("A word.")
        await wait_until(pilot, lambda: session(pilot).free)
        transcript = chat(pilot).query_one(Transcript)
        page, turn = transcript.pages.near.pages[-1], views(pilot)[0].turn
        async with transcript.pages.near.lock:
            opening = asyncio.gather(transcript.pages.near.open(page), transcript.pages.remake(turn))
            await pilot.pause()
        await opening
        assert [view.turn for view in views(pilot)] == [turn]
        assert transcript.pages.view(turn) is views(pilot)[0]


async def test_a_long_conversation_opens_at_its_end(store: Store) -> None:
    """Pages are opened where the reader is, whatever the screen looked like before it was laid out."""
    long = fill(store, "Question", 260)
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await chat(pilot)._go_to(long)
        transcript = chat(pilot).query_one(Transcript)
        await wait_until(pilot, lambda: transcript.max_scroll_y > 3000 and transcript.pages.near.wanted is None)
        assert views(pilot)[-1].turn.prompt.startswith("Question 259")
        assert views(pilot)[-1].region.height > 3
        assert all(int(view.turn.prompt.split()[1]) > 230 for view in views(pilot))


async def test_far_pages_are_no_part_of_the_layout(store: Store) -> None:
    """Neighbours that are folded take their room as one, and the room is that of all."""
    long = fill(store, "Question", 260)
    async with make_app(FakeEngine(), store=store).run_test(size=(100, 30)) as pilot:
        await chat(pilot)._go_to(long)
        transcript = chat(pilot).query_one(Transcript)
        await wait_until(pilot, lambda: transcript.max_scroll_y > 3000 and transcript.pages.near.wanted is None)
        pages = list(chat(pilot).query(Page))
        assert len(pages) > 50
        assert sum(page.display for page in pages) < 10
        assert transcript.virtual_size.height == sum(page.rows for page in pages)


async def test_a_turn_that_is_far_away_is_gone_to_and_stays_in_view(store: Store) -> None:
    """Also while pages around it turn out to be smaller than was estimated."""
    thread = store.begin()
    said = [thread.ask(f"Question {n}").id for n in range(400)]
    async with make_app(FakeEngine(), store=store).run_test(size=(100, 30)) as pilot:
        await chat(pilot)._go_to(thread.id)
        transcript = chat(pilot).query_one(Transcript)
        near = transcript.pages.near
        for n in (44, 300, 399, 200, 399, 80):
            await chat(pilot)._go_to(thread.id, said[n])
            await pilot.pause()
            await wait_until(pilot, lambda: near.wanted is None and not near._opening and in_view(transcript))
            assert transcript.selected is not None
            assert transcript.selected.turn.prompt == f"Question {n}"


def in_view(transcript: Transcript) -> bool:
    """The chosen turn, as a whole."""
    chosen = transcript.selected
    return chosen is not None and transcript.region.contains_region(chosen.region)


async def test_conversations_are_changed_while_pages_come(store: Store) -> None:
    """Quicker than they can be drawn; the last one chosen is the one that stands there."""
    ids = [fill(store, name, 60) for name in ("One", "Two")]
    async with make_app(FakeEngine(), store=store).run_test(size=(100, 30)) as pilot:
        transcript = chat(pilot).query_one(Transcript)
        for n in range(8):
            await chat(pilot)._go_to(ids[n % 2])
            transcript.scroll_to(y=300 * n, animate=False)
            await pilot.pause(0)
        await wait_until(pilot, lambda: transcript.pages.near.wanted is None)
        assert {view.turn.prompt.split()[0] for view in views(pilot)} == {"Two"}
        assert not shown(pilot, "#counts")


async def test_a_screen_of_five_rows_loses_nothing() -> None:
    """At 20x5 a message is sent, answered and read as on any other."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(20, 5)) as pilot:
        engine.load()
        await send(pilot, "First")
        await wait_until(pilot, lambda: len(engine.prompts) == 1)
        engine.reply("Some words.")
        await wait_until(pilot, lambda: session(pilot).free and session(pilot).thread.turns[0].reply.done)
        for key in ("f1", "escape", "f7", "escape", "f9", "escape", "pageup", "pagedown"):
            await pilot.press(key)
        await pilot.resize_terminal(100, 30)
        await wait_until(pilot, lambda: views(pilot)[0].region.height > 3)
        assert session(pilot).thread.turns[0].text == "Some words."


@pytest.mark.parametrize("key", ["f1", "f9", "ctrl+l", "ctrl+s"])
async def test_a_screen_that_is_left_twice_is_left_once(key: str) -> None:
    """The second of two quick keys may reach a screen that has gone already."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(key)
        top = app.screen
        if top is not chat(pilot):
            top.dismiss()
            top.dismiss()
        await pilot.pause()
        assert app.screen is chat(pilot)


@pytest.mark.parametrize("key", ["f7", "f9", "ctrl+l", "ctrl+s"])
async def test_letters_of_one_burst_with_a_key_go_where_the_key_leads(key: str) -> None:
    """As over a slow line: what is typed behind the key of a list is for its filter, and no message."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(100, 30)) as pilot:
        burst(app, key)
        await wait_until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "fox")
        assert chat(pilot).query_one(Prompt).text == ""


async def test_the_first_keys_while_the_app_starts_are_in_order() -> None:
    """A key of a list and the letters behind it, typed before there was anything to see."""
    app = make_app(FakeEngine())
    burst(app, "f9")
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "fox")
        assert chat(pilot).query_one(Prompt).text == ""


def burst(app: ChatApp, key: str) -> None:
    """A key and three letters, all at once."""
    for each in (key, *"fox"):
        app.post_message(Key(each, each if len(each) == 1 else None))
