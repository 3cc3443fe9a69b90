"""Ways back: to versions that were left, to turns that were deleted, and to the conversation that is open already."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from localspec.chat.pair_slot import Phase
from localspec.chat.thread import Thread
from localspec.chat.turn import Turn
from localspec.runtime.messages import Role
from localspec.runtime.worker.messages import Cancel
from localspec.store import Store
from localspec.tui.conversation.summary_view import SummaryView
from localspec.tui.widgets.sidebar import Sidebar
from localspec.tui.widgets.welcome import Welcome
from tests.chat.test_thread import say as answered
from tests.tui.support import (
    FakeEngine,
    answer,
    chat,
    make_app,
    notice_text,
    ready,
    rounds_of,
    say,
    send,
    session,
    transcript_of,
    turns_shown,
    views,
    wait_until,
)

BOTH = [("First", "One."), ("Second", "Two.")]
DEEDS = ("say", "again", "answer", "resend", "rewrite", "delete", "before", "after")
STEPS = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 5)), max_size=10)


def two_turns(store: Store) -> Thread:
    thread = Thread(store.begin())
    for question, reply in BOTH:
        answered(thread, Turn(question), reply)
    return thread


async def streaming(pilot: Pilot[Any], engine: FakeEngine, prompt: str, text: str) -> None:
    """A reply of which all but the end has come."""
    asked_n = len(engine.prompts)
    await send(pilot, prompt)
    await wait_until(pilot, lambda: len(engine.prompts) > asked_n)
    engine.start()
    engine.write(rounds_of(text)[:-1])
    await wait_until(pilot, lambda: session(pilot).current and session(pilot).current.text == text)


def stopped(engine: FakeEngine) -> bool:
    return any(isinstance(request, Cancel) for request in engine.sent)


# Versions


def do(thread: Thread, action: str, number: int) -> None:
    """To one of the turns that are shown, if it can be done to it."""
    if action == "say":
        answered(thread, Turn("?"), "Yes.")
        return
    if not thread.turns:
        return
    turn = thread.turns[number % len(thread.turns)]
    match action:
        case "again" if turn.question is not None:
            thread.again(turn)
        case "answer" if turn.answer is None:
            answered(thread, turn, "No.")
        case "resend" if turn.question is not None:
            thread.resend(turn, "!")
        case "rewrite" if turn.answer is not None:
            thread.rewrite(turn, "Perhaps.")
        case "delete":
            thread.delete(turn)
        case "before" | "after":
            thread.turn_to(turn, 1 if action == "after" else -1)


def reachable(thread: Thread) -> set[str]:
    """All messages that some steps from version to version lead to."""
    found: set[str] = set()
    tree, seen = thread.stored.tree, {thread.stored.tree.leaf}
    waiting = list(seen)
    while waiting:
        leaf = waiting.pop()
        found |= {node.id for node in tree.path(leaf)}
        for question, step in product([node.id for node in tree.path(leaf) if node.role is Role.USER], (-1, 1)):
            tree.go_to(leaf)
            thread.refresh()
            turn = thread.holding(question)
            assert turn is not None
            thread.turn_to(turn, step)
            if tree.leaf not in seen:
                seen.add(tree.leaf)
                waiting.append(tree.leaf)
    return found


@settings(max_examples=100, deadline=None)
@given(STEPS)
@example([("say", 0), ("resend", 0), ("delete", 0)])
def test_every_version_is_some_steps_away(steps: list[tuple[str, int]]) -> None:
    """Whatever is answered anew, left unanswered, edited and deleted."""
    store = Store.in_memory()
    thread = Thread(store.begin())
    for action, number in steps:
        do(thread, action, number)
    there = {node.id for node in thread.stored.tree.nodes if node.deleted is None and node.role is not Role.SYSTEM}
    assert reachable(thread) >= there
    store.close()


def test_a_step_goes_to_the_next_reply_and_past_the_last_to_the_next_question(store: Store) -> None:
    """And what it gives is the turn that stands there then."""
    thread = two_turns(store)
    answered(thread, thread.again(thread.turns[1]), "Deux.")
    answered(thread, thread.resend(thread.turns[1], "Third"), "Three.")
    seen: list[tuple[str, str] | None] = []
    for step in (-1, -1, -1, 1, 1, 1):
        there = thread.turn_to(thread.turns[1], step)
        assert there is None or there is thread.turns[1]
        seen.append((there.prompt, there.text) if there else None)
    first, again, third = ("Second", "Two."), ("Second", "Deux."), ("Third", "Three.")
    assert seen == [again, first, None, again, third, None]


@pytest.mark.parametrize("phase", [Phase.LOADING, Phase.BROKEN])
async def test_a_reply_that_was_to_be_made_anew_is_one_key_away(store: Store, phase: Phase) -> None:
    """With all that followed it, where there was no pair to make another."""
    thread = two_turns(store)
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        if phase is Phase.BROKEN:
            engine.refuse_load()
        await wait_until(pilot, lambda: session(pilot).phase is phase)
        await chat(pilot)._go_to(thread.stored.id)
        await pilot.press("alt+up", "alt+up", "alt+r")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "")])
        await pilot.press("escape")
        await wait_until(pilot, lambda: session(pilot).free)
        assert "1 other reply" in str(views(pilot)[0].query_one(".note").render())
        await pilot.press("alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH)
        assert transcript_of(pilot).selected is views(pilot)[0]


async def test_a_reply_beside_a_deleted_one_is_one_key_away(store: Store) -> None:
    """And so is what followed the one that was deleted."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        for question, reply in BOTH:
            await say(pilot, engine, question, reply)
        await pilot.press("alt+up", "alt+up", "alt+r")
        await answer(pilot, engine, 2, "Uno.")
        await pilot.press("alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH)
        await pilot.press("d", "d")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", ""), ("Second", "Two.")])
        await pilot.press("alt+up", "alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "Uno.")])
        await pilot.press("right")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", ""), ("Second", "Two.")])


async def test_a_version_that_was_summarised_is_gone_to(store: Store) -> None:
    """Its summary stands there, and is chosen."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        for question, reply in BOTH:
            await say(pilot, engine, question, reply)
        await pilot.press("alt+r")
        await answer(pilot, engine, 2, "Deux.")
        other = session(pilot).thread.turns[1].answer
        await pilot.press("alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH)
        await send(pilot, "/compact 0")
        await answer(pilot, engine, 3, "They counted.")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("", "They counted.")])
        await chat(pilot)._go_to(session(pilot).thread.stored.id, other)
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "One."), ("Second", "Deux.")])
        await pilot.press("left")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("", "They counted.")])
        assert isinstance(transcript_of(pilot).selected, SummaryView)


# What was deleted


async def test_a_deleted_turn_comes_back_in_a_conversation_that_was_left(store: Store) -> None:
    """The notice of it ends with the next change."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        for question, reply in BOTH:
            await say(pilot, engine, question, reply)
        left = session(pilot).thread.stored.id
        await send(pilot, "/delete ")
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH[:1])
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: chat(pilot).query(Welcome))
        await chat(pilot)._go_to(left)
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH[:1])
        await send(pilot, "/undo ")
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH)
        assert "The turn is back." in notice_text(pilot)
        await pilot.press("alt+r")
        await wait_until(pilot, lambda: "The turn is back." not in notice_text(pilot))


# The conversation that is open already


async def test_the_open_conversation_is_chosen_while_it_is_answered(store: Store) -> None:
    """The list closes; the reply goes on, and the next message waits for it."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, *BOTH[0])
        await streaming(pilot, engine, "Second", "Two it is")
        await send(pilot, "Third")
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
        await pilot.press("enter")
        await wait_until(pilot, lambda: not chat(pilot).query(Sidebar))
        assert chat(pilot).query_one("PromptArea").has_focus
        assert [turn.prompt for turn in session(pilot).waiting] == ["Third"]
        engine.finish()
        await wait_until(pilot, lambda: len(engine.prompts) == 3)
        assert turns_shown(pilot)[1] == ("Second", "Two it is")
        assert not stopped(engine)


async def test_what_is_found_in_the_open_conversation_is_shown_while_it_is_answered(store: Store) -> None:
    """On another branch it is once the reply is done; until then a sentence says so."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, *BOTH[0])
        await pilot.press("alt+r")
        await answer(pilot, engine, 1, "Uno.")
        thread = session(pilot).thread.stored
        other, on_path = (node.id for node in thread.tree.nodes if node.role is Role.ASSISTANT)
        await streaming(pilot, engine, "Second", "Two it is")
        await chat(pilot)._go_to(thread.id, on_path)
        assert transcript_of(pilot).selected is views(pilot)[0]
        await chat(pilot)._go_to(thread.id, other)
        assert "Esc stops it" in notice_text(pilot)
        assert turns_shown(pilot) == [("First", "Uno."), ("Second", "Two it is")]
        engine.finish()
        await wait_until(pilot, lambda: session(pilot).free)
        assert not stopped(engine)
        await chat(pilot)._go_to(thread.id, other)
        await wait_until(pilot, lambda: turns_shown(pilot) == BOTH[:1])
        assert transcript_of(pilot).selected is views(pilot)[0]


async def test_what_another_program_said_in_the_open_conversation_is_told(store: Store, tmp_path: Path) -> None:
    """It can be found there, and is not in what is shown."""
    thread = two_turns(store).stored
    elsewhere = Store.open(tmp_path / "history.db")
    said = elsewhere.open_conversation(thread.id).ask("Third").id
    async with make_app(FakeEngine(), store=store).run_test(size=(120, 30)) as pilot:
        await chat(pilot)._go_to(thread.id)
        await chat(pilot)._go_to(thread.id, said)
        assert "Another program said that" in notice_text(pilot)
        assert turns_shown(pilot) == BOTH
    elsewhere.close()
