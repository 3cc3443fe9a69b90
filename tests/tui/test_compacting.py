"""Old turns told in short, as a reader has it done: what is shown, what the engine is asked, and the way back."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from localspec.chat.compaction import REQUEST, SUMMARY_TOKENS_N
from localspec.engine.events import FinishReason
from localspec.runtime.messages import Role
from localspec.runtime.worker.messages import Failed
from localspec.store import Store
from localspec.tui.conversation.summary_view import SummaryView
from localspec.tui.conversation.turn_notes import context_note
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.prompt.prompt import Prompt
from tests.tui.support import (
    FakeEngine,
    asked,
    chat,
    make_app,
    notice_text,
    ready,
    rounds_of,
    say,
    send,
    session,
    turns_shown,
    views,
    wait_until,
)

WORDS = ("One", "Two", "Three", "Four")
WHOLE = [(f"{word}?", f"{word} it is.") for word in WORDS]


async def four_turns(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await ready(pilot, engine)
    for question, reply in WHOLE:
        await say(pilot, engine, question, reply)


def metered(pilot: Pilot[Any]) -> str:
    """What the meter says is used, with its sign for about."""
    meter = chat(pilot).query_one("#notice-meter", Static)
    return str(meter.render()).partition("/")[0].strip()


async def begin(pilot: Pilot[Any], engine: FakeEngine, command: str = "/compact ") -> None:
    asked_n = len(engine.prompts)
    await send(pilot, command)
    await wait_until(pilot, lambda: len(engine.prompts) > asked_n)


async def summarise(pilot: Pilot[Any], engine: FakeEngine, text: str, command: str = "/compact ") -> SummaryView:
    await begin(pilot, engine, command)
    engine.reply(text)
    await wait_until(pilot, lambda: is_summarised(pilot))
    return summary_of(pilot)


def is_summarised(pilot: Pilot[Any]) -> bool:
    """Whether the summary stands where the turns did, and all that follows it is drawn."""
    drawn = views(pilot)
    return bool(drawn) and isinstance(drawn[0], SummaryView) and session(pilot).current is None


def summary_of(pilot: Pilot[Any]) -> SummaryView:
    view = views(pilot)[0]
    assert isinstance(view, SummaryView)
    return view


def row(view: TurnView) -> str:
    return str(view.prompt_row.render())


async def test_turns_are_summarised_in_one_row(store: Store) -> None:
    """The last two stay; the model is told the summary in place of the rest, and the store has all."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        view = await summarise(pilot, engine, "They counted.")
        assert asked(engine)[-1] == REQUEST
        assert asked(engine)[:-1] == [text for turn in WHOLE[:2] for text in turn]
        assert engine.prompts[-1].options.max_tokens == SUMMARY_TOKENS_N
        assert turns_shown(pilot) == [("", "They counted."), *WHOLE[2:]]
        assert "2 turns summarised" in row(view)
        assert not view.reply.display
        await wait_until(pilot, lambda: "/undo" in notice_text(pilot))
        await say(pilot, engine, "Five?", "Five it is.")
        first = engine.prompts[-1].prompt[0]
        assert not isinstance(first, str)
        assert (first.role, first.content) == (Role.SYSTEM, "Summary of the conversation so far:\nThey counted.")
        assert asked(engine)[1:] == ["Three?", "Three it is.", "Four?", "Four it is.", "Five?"]
    (summary,) = store.conversations()
    assert len(store.open_conversation(summary.heading.id).path) == 10


async def test_one_turn_is_summarised_in_the_singular(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "One?", "One it is.")
        view = await summarise(pilot, engine, "They counted.", "/compact 0")
        assert row(view).endswith("/undo brings it back")
        await wait_until(pilot, lambda: "1 turn is summarised; /undo brings it back." in notice_text(pilot))


async def test_the_summary_can_be_read_and_copied(store: Store) -> None:
    """By its key or a click, and folded again by the same."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        view = await summarise(pilot, engine, "They counted.")
        for _ in range(3):
            await pilot.press("alt+up")
        assert session(pilot).thread.turns[0] is chat(pilot)._turns.chosen
        await pilot.press("z", "z")
        assert view.reply.display
        await pilot.press("y", "y")
        assert pilot.app.clipboard == "They counted."
        await pilot.click(view.prompt_row)
        assert not view.reply.display


async def test_undo_brings_the_full_turns_back(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await summarise(pilot, engine, "They counted.")
        await send(pilot, "/undo ")
        await wait_until(pilot, lambda: turns_shown(pilot) == WHOLE)
        assert "The full turns are back." in notice_text(pilot)
        await say(pilot, engine, "Five?", "Five it is.")
        assert asked(engine) == [*(text for turn in WHOLE for text in turn), "Five?"]
        await send(pilot, "/undo ")
        await wait_until(pilot, lambda: "nothing to bring back" in notice_text(pilot))


async def test_the_undoing_of_the_second_of_two_summaries_says_the_same(store: Store) -> None:
    """The first still stands there."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await summarise(pilot, engine, "They counted.")
        await summarise(pilot, engine, "They counted on.", "/compact 1")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("", "They counted on."), WHOLE[3]])
        await send(pilot, "/undo ")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("", "They counted."), *WHOLE[2:]])
        assert "The full turns are back." in notice_text(pilot)


@pytest.mark.parametrize("end", ["stopped", "failed", "died", "empty"])
async def test_a_summary_that_fails_leaves_everything_as_it_was(store: Store, end: str) -> None:
    """And says so; the next question is asked as if nothing had been."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await begin(pilot, engine)
        await wait_until(pilot, lambda: len(views(pilot)) == 5)
        assert "summarising 2 turns" in row(views(pilot)[-1])
        engine.start()
        engine.write(rounds_of("They" if end != "empty" else " ")[:1])
        match end:
            case "stopped":
                await pilot.press("escape")
                engine.finish(FinishReason.CANCELLED)
            case "died":
                engine.die()
            case "failed":
                request_id = engine.prompts[-1].request_id
                engine.inbox.put(Failed(request_id, 8, "The prompt is too long.", "Shorten it.", died=False))
            case "empty":
                engine.finish()
        await wait_until(pilot, lambda: turns_shown(pilot) == WHOLE and session(pilot).current is None)
        assert "everything is as it was" in notice_text(pilot) or end == "died"
        assert session(pilot).thread.stored.recap is None
        if end == "died":
            return
        await say(pilot, engine, "Five?", "Five it is.")
        assert asked(engine) == [*(text for turn in WHOLE for text in turn), "Five?"]


async def test_what_is_written_meanwhile_waits_for_it(store: Store) -> None:
    """And is then asked with the summary before it."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await begin(pilot, engine, "/compact 1")
        await send(pilot, "Five?")
        engine.reply("They counted.")
        await wait_until(pilot, lambda: asked(engine)[-1] == "Five?")
        engine.reply("Five it is.")
        await wait_until(pilot, lambda: session(pilot).current is None)
        assert asked(engine)[1:] == ["Four?", "Four it is.", "Five?"]
        await wait_until(
            pilot, lambda: turns_shown(pilot) == [("", "They counted."), WHOLE[3], ("Five?", "Five it is.")]
        )


async def test_the_row_is_there_when_the_conversation_is_opened_again(store: Store) -> None:
    """And /undo still leads back."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await summarise(pilot, engine, "They counted.")
    (summary,) = store.conversations()
    again = FakeEngine()
    async with make_app(again, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, again)
        await chat(pilot)._go_to(summary.heading.id)
        await wait_until(pilot, lambda: len(views(pilot)) == 3)
        assert "2 turns summarised" in row(summary_of(pilot))
        await send(pilot, "/undo ")
        await wait_until(pilot, lambda: turns_shown(pilot) == WHOLE)


async def test_a_summary_is_not_answered_anew_edited_or_deleted(store: Store) -> None:
    """What is said is how the turns come back."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await summarise(pilot, engine, "They counted.", "/compact 0")
        asked_n = len(engine.prompts)
        for command in ("/again", "/edit", "/rewrite", "/continue", "/delete"):
            await send(pilot, f"{command} ")
            await wait_until(pilot, lambda: "stands for turns" in notice_text(pilot))
            await pilot.press("x", "backspace")
        await pilot.press("alt+up", "left")
        assert turns_shown(pilot) == [("", "They counted.")]
        assert len(engine.prompts) == asked_n


async def test_the_meter_follows(store: Store) -> None:
    """About as many tokens less as the turns had, until the next reply is counted."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        for question, reply in WHOLE:
            await say(pilot, engine, question, reply)
        session(pilot).last.reply.prompt = type(session(pilot).last.reply.prompt)(900, 0, 1)
        assert context_note(session(pilot)).startswith("   9")
        await begin(pilot, engine)
        engine.start(prompt_n=600)
        engine.write(rounds_of("They counted."))
        engine.finish()
        await wait_until(pilot, lambda: is_summarised(pilot))
        about = context_note(session(pilot)).strip()
        assert about.startswith("~")
        assert 300 < int(about.split()[0].strip("~")) < 450
        await say(pilot, engine, "Five?", "Five it is.")
        assert "~" not in context_note(session(pilot))


async def test_the_meter_tells_what_the_next_turn_will_use(store: Store) -> None:
    """With what is being written, about; sent or taken back, it is what the conversation holds."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        shown_n = partial(metered, pilot)
        assert shown_n() == ""
        await pilot.press(*"Ten?")
        await wait_until(pilot, lambda: shown_n().startswith("~"))
        first_n = int(shown_n().strip("~"))
        assert 0 < first_n < 5
        await pilot.press("ctrl+u")
        await wait_until(pilot, lambda: shown_n() == "")
        await say(pilot, engine, "One?", "One it is.")
        await wait_until(pilot, lambda: shown_n().isdecimal())
        held_n = int(shown_n())
        await pilot.press(*"Ten?")
        await wait_until(pilot, lambda: shown_n() == f"~{held_n + first_n}")
        await pilot.press("ctrl+u")
        await wait_until(pilot, lambda: shown_n() == f"{held_n}")


async def test_while_an_earlier_question_is_edited_the_meter_tells_what_leads_to_it(store: Store) -> None:
    """And the text; what came after it is not counted until editing is left."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        shown_n = partial(metered, pilot)
        for (question, reply), prompt_n in zip(WHOLE, (100, 200, 300, 400), strict=True):
            await say(pilot, engine, question, reply)
            session(pilot).last.reply.prompt = type(session(pilot).last.reply.prompt)(prompt_n, 0, 1)
        replied_n = session(pilot).last.reply.timings.predicted_n
        chat(pilot)._wake()
        await wait_until(pilot, lambda: shown_n() == f"{400 + replied_n}")
        await pilot.press("alt+up", "alt+up", "alt+up", "e", "e")
        await wait_until(pilot, lambda: shown_n().startswith("~1"))
        assert 100 < int(shown_n().strip("~")) < 120, "the turn before it, and the text"
        await pilot.press("escape")
        await wait_until(pilot, lambda: shown_n() == f"{400 + replied_n}")
        await pilot.press("alt+up", "E", "E")
        await wait_until(
            pilot, lambda: shown_n().startswith("~10") and "One it is." in chat(pilot).query_one(Prompt).text
        )


async def test_a_turn_that_is_deleted_is_no_longer_counted(store: Store) -> None:
    """About as many tokens less as it had, until it is back or the next reply is counted."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        for question, reply in WHOLE[:3]:
            await say(pilot, engine, question, reply)
        session(pilot).last.reply.prompt = type(session(pilot).last.reply.prompt)(300, 0, 1)
        before = context_note(session(pilot))
        await pilot.press("alt+up", "alt+up", "d", "d")
        await wait_until(pilot, lambda: context_note(session(pilot)).strip().startswith("~"))
        about = int(context_note(session(pilot)).split()[0].strip("~"))
        assert 100 < int(before.split()[0]) - about < 200
        await send(pilot, "/undo")
        await wait_until(pilot, lambda: context_note(session(pilot)) == before)
        await pilot.press("alt+up", "alt+up", "d", "d")
        await wait_until(pilot, lambda: len(views(pilot)) == 2)
        await say(pilot, engine, "Five?", "Five it is.")
        assert "~" not in context_note(session(pilot))


@pytest.mark.parametrize(
    ("turns_n", "command", "said"),
    [
        (0, "/compact ", "Nothing has been said yet"),
        (2, "/compact ", "the last 2 turns stay"),
        (1, "/compact 1", "the last turn stays"),
        (2, "/compact many", "how many of the last turns"),
        (2, f"/compact {'9' * 5000}", "999999999 turns stay"),
    ],
)
async def test_where_there_is_nothing_to_summarise_it_says_so(
    store: Store, turns_n: int, command: str, said: str
) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        for question, reply in WHOLE[:turns_n]:
            await say(pilot, engine, question, reply)
        await send(pilot, command)
        await wait_until(pilot, lambda: said in notice_text(pilot))
        assert len(engine.prompts) == turns_n


async def test_nothing_is_summarised_while_a_reply_is_written(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 40)) as pilot:
        await four_turns(pilot, engine)
        await send(pilot, "Five?")
        await wait_until(pilot, lambda: len(engine.prompts) == 5)
        await send(pilot, "/compact ")
        await wait_until(pilot, lambda: "A reply is under way" in notice_text(pilot))
        assert len(engine.prompts) == 5
