"""The list of conversations, and the search in all of them."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, Markdown

from localspec.chat.history import age
from localspec.runtime.worker.messages import Cancel
from localspec.store import Store
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.search import NOTHING_FOUND, HitList, SearchScreen
from localspec.tui.widgets import sidebar
from localspec.tui.widgets.sidebar import ConversationList, Sidebar
from localspec.tui.widgets.welcome import Welcome
from tests.store.support import START, converse, open_store
from tests.tui.support import (
    LAUNCH,
    FakeEngine,
    answer,
    asked,
    chat,
    drawn_n,
    hints,
    make_app,
    notice_text,
    prompt_of,
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


async def test_a_conversation_deleted_in_the_list_comes_back_by_undo_in_the_chat_too(store: Store) -> None:
    """In the list that is open beside it as well; what was deleted before comes next."""
    engine = FakeEngine()
    store.begin().ask("Apples?")
    async with make_app(engine, store=store).run_test(size=(140, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Pears?", "One.")
        await pilot.press("alt+up", "d", "d")
        await wait_until(pilot, lambda: not turns_shown(pilot))
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        await pilot.press(*"Apples", "f8")
        await wait_until(pilot, lambda: len(store.conversations()) == 1)
        prompt_of(pilot).area.focus()
        await send(pilot, "/undo")
        await wait_until(pilot, lambda: "Apples? is back" in notice_text(pilot))
        assert len(store.conversations()) == 2
        assert chat(pilot).query_one(ConversationList).option_count == 1
        await send(pilot, "/undo")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Pears?", "One.")])


async def test_another_conversation_is_opened_from_the_list(store: Store) -> None:
    """With its replies and their tokens; what is said then belongs to it."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 40)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Red **ones**.")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: chat(pilot).query(Welcome))
        await say(pilot, engine, "Pears?", "Green.")
        prompt_of(pilot).set_text("unsent")
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
        await pilot.press(*"appl", "enter")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Apples?", "Red **ones**.")])
        assert not chat(pilot).query(Sidebar)
        assert prompt_of(pilot).text == ""
        await wait_until(pilot, lambda: views(pilot)[0].query(Markdown))
        tokens_n = sum(len(round_.tokens) for round_ in rounds_of("Red **ones**."))
        assert drawn_n(pilot) == tokens_n
        await say(pilot, engine, "More", "No.")
        assert asked(engine) == ["Apples?", "Red **ones**.", "More"]
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: chat(pilot).query(Welcome))
        assert prompt_of(pilot).text == ""
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
        await pilot.press(*"pear", "enter")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Pears?", "Green.")])
        assert prompt_of(pilot).text == "unsent"


async def test_conversations_are_renamed_pinned_and_deleted_in_the_list(store: Store) -> None:
    engine = FakeEngine()
    for title in ("Apples", "Pears", "Plums"):
        store.begin().ask(title)
    async with make_app(engine, store=store).run_test(size=(120, 40)) as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        rows = chat(pilot).query_one(ConversationList)
        await pilot.press("down", "down", "f4")
        assert "Apples" in str(rows.get_option_at_index(0).prompt)
        await pilot.press("f2")
        assert chat(pilot).query_one(Sidebar).query_one(Input).value == "Apples"
        await pilot.press("exclamation_mark", "enter")
        assert "Apples!" in str(rows.get_option_at_index(0).prompt)
        await pilot.press("f8")
        assert rows.option_count == 2
        await pilot.press("ctrl+z")
        assert rows.option_count == 3
        await pilot.press(*"zzz")
        assert rows.option_count == 0
        assert "No title has these letters" in str(chat(pilot).query_one("#sidebar-empty").render())
        await pilot.press("escape")
        await wait_until(pilot, lambda: not chat(pilot).query(Sidebar) and prompt_of(pilot).area.has_focus)
    assert store.conversations()[0].heading.title == "Apples!"


async def test_while_a_title_or_a_folder_is_written_no_key_changes_another_conversation(store: Store) -> None:
    """Nor the one it is written for; it is given to that one alone."""
    for title in ("Apples", "Pears", "Plums"):
        store.begin().ask(title)
    async with make_app(FakeEngine(), store=store).run_test(size=(120, 40)) as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        rows = chat(pilot).query_one(ConversationList)
        await pilot.press("f3", *"fruit", "down", "enter")
        await pilot.press("f2", "f4", "f5", "f6", "f8", "down", "escape")
        assert rows.option_count == 3
        await pilot.press("f2", "exclamation_mark")
        rows.post_message(ConversationList.OptionHighlighted(rows, rows.get_option_at_index(1), 1))
        await pilot.press("enter")
    headings = {each.heading.title: each.heading for each in store.conversations()}
    folders = {title: heading.folder for title, heading in headings.items()}
    assert folders == {"Plums": "fruit", "Pears!": "", "Apples": ""}
    assert not any(heading.pinned or heading.archived for heading in headings.values())


async def test_a_list_that_comes_to_lie_over_the_prompt_is_closed(store: Store) -> None:
    """When the window is narrowed; the prompt is written in. A list that is used stays."""
    for used in (False, True):
        async with make_app(FakeEngine(), store=store).run_test(size=(130, 30)) as pilot:
            await pilot.press("f7")
            await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
            if not used:
                prompt_of(pilot).area.focus()
            await pilot.pause()
            await pilot.resize_terminal(90, 30)
            await wait_until(pilot, lambda: chat(pilot).has_class("-narrow"))
            await wait_until(pilot, lambda: bool(chat(pilot).query(Sidebar)) is used)  # noqa: B023
            assert prompt_of(pilot).area.has_focus is not used


@pytest.mark.parametrize("key", ["slash", "ctrl+r"])
async def test_what_the_prompt_offers_is_not_drawn_over_the_list(store: Store, key: str) -> None:
    """It is there again as soon as the prompt is."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(130, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some.")
        await pilot.press(key)
        offers = chat(pilot).query_one(CompletionList)
        await wait_until(pilot, lambda: offers.display)
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(Sidebar) and not offers.display)
        await pilot.press("escape")
        await wait_until(pilot, lambda: prompt_of(pilot).area.has_focus and offers.display)


async def test_a_filter_that_kept_nothing_leaves_titles_their_room(store: Store) -> None:
    store.begin().ask("Apples and pears from the garden")
    async with make_app(FakeEngine(), store=store).run_test(size=(80, 24)) as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        rows = chat(pilot).query_one(ConversationList)
        await pilot.press(*"zzz")
        await wait_until(pilot, lambda: not rows.display)
        await pilot.press("backspace", "backspace", "backspace")
        assert "Apples and pears from" in str(rows.get_option_at_index(0).prompt)
        await pilot.press(*"tag:x")
        assert "Nothing is filed there" in str(chat(pilot).query_one("#sidebar-empty").render())


async def test_deleting_the_open_conversation_is_said_in_the_list(store: Store) -> None:
    """The chat that begins in its place does not take the sentence away."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(80, 24)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Apples")
        await answer(pilot, engine, 0, "Pears.")
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        await pilot.press("f8")
        await wait_until(pilot, lambda: not session(pilot).thread.turns)
        await pilot.pause()
        assert "Deleted" in str(chat(pilot).query_one("#sidebar-said").render())


async def test_a_title_by_the_model_is_said_and_shown_in_the_open_list(store: Store) -> None:
    """The row above the prompt says that one is written and how to stop that; the stop key does."""
    engine = FakeEngine()
    async with make_app(engine, replace(LAUNCH, tour=False), store=store).run_test(size=(120, 30)) as pilot:
        await ready(pilot, engine)
        session(pilot).writes_titles = True
        await say(pilot, engine, "Name a fruit", "Apples")
        await wait_until(pilot, lambda: "the model writes a title; Esc stops it" in notice_text(pilot))
        await pilot.press("escape")
        await wait_until(pilot, lambda: "title" not in notice_text(pilot))
        assert isinstance(engine.sent[-1], Cancel)
        await say(pilot, engine, "Another", "Pears")
        await wait_until(pilot, lambda: session(pilot).writing_title)
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        engine.reply("Fruits of the garden")
        rows = chat(pilot).query_one(ConversationList)
        await wait_until(pilot, lambda: "Fruits of the garden" in str(rows.get_option_at_index(0).prompt))


async def test_a_conversation_that_is_open_and_pinned_shows_both(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 40)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some.")
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        await pilot.press("f4")
        row = str(chat(pilot).query_one(ConversationList).get_option_at_index(0).prompt)
        assert row.startswith("▸ Apples?")
        assert "★" in row
        assert len(row) == len(row.rstrip()), "its age ends the row, as in the others"


async def test_words_are_found_in_all_conversations(store: Store) -> None:
    """As one types, and Enter goes to where they were said, in the version where they were said."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some are scarlet.")
        await pilot.press("alt+r")
        await answer(pilot, engine, 1, "None.")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: chat(pilot).query(Welcome))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        await pilot.press(*"scarl")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count == 1)
        assert "scarlet" in str(pilot.app.screen.query_one(HitList).get_option_at_index(0).prompt)
        await pilot.press("x")
        await wait_until(pilot, lambda: NOTHING_FOUND in str(pilot.app.screen.query_one("#search-said").render()))
        await pilot.press("backspace")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count == 1)
        await pilot.press("enter")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Apples?", "Some are scarlet.")])
        assert transcript_of(pilot).selected is views(pilot)[0]
        assert "ee edit" in hints(pilot), "the keys of a turn count there, pressed twice"
        await wait_until(pilot, lambda: transcript_of(pilot).following)
        assert "↓ new" not in notice_text(pilot), "all of it is in view"


async def test_a_hit_names_its_conversation_in_one_row(store: Store) -> None:
    """A long title is cut short, so that who said it and when stand behind it."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(50, 20)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Which apples are scarlet, and which are of the colour of 漢字?", "None.")
        await pilot.press("ctrl+s", *"scarlet")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(HitList).option_count)
        found = pilot.app.screen.query_one(HitList)
        where, said, *_ = str(found.get_option_at_index(0).prompt).split("\n")
        assert "…  you, 20" in where
        assert cell_len(where) <= found.size.width - 2
        assert said.startswith("  Which apples")


async def search_scarlet(pilot: Pilot[Any], engine: FakeEngine) -> HitList:
    """Search for a word that one reply has; returns the list with it."""
    await ready(pilot, engine)
    await say(pilot, engine, "Apples?", "Some are scarlet.")
    await send(pilot, "/search scarlet")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
    found = pilot.app.screen.query_one(HitList)
    await wait_until(pilot, lambda: found.option_count == 1)
    return found


async def test_the_marked_hit_is_bold(store: Store) -> None:
    """As the marked row of every list: without colours there is no other sign."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        found = await search_scarlet(pilot, engine)
        assert all(segment.style.bold for segment in found.render_line(0) if segment.style and segment.text.strip())


async def test_words_behind_the_command_are_looked_for_at_once(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await search_scarlet(pilot, engine)
        await pilot.press("s")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(Input).value == "scarlets")


async def test_words_typed_in_one_burst_leave_no_search_that_never_began(store: Store) -> None:
    """Python warns of each, on the terminal, once the app has ended."""
    engine = FakeEngine()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
            await search_scarlet(pilot, engine)
            for letter in "scarlet":
                pilot.app.post_message(Key(letter, letter))
            await wait_until(pilot, lambda: pilot.app.screen.query_one(Input).value == "scarletscarlet")
        gc.collect()
    assert not [each for each in warned if issubclass(each.category, RuntimeWarning)]


@pytest.mark.parametrize("width", [100, 60, 20])
async def test_every_row_of_what_was_found_is_as_far_in(store: Store, width: int) -> None:
    """Below where it was said; whatever is told of it can be read."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(width, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", f"Some are scarlet {'and red as the evening sun ' * 9}.")
        await send(pilot, "/search scarlet")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        found = pilot.app.screen.query_one(HitList)
        await wait_until(pilot, lambda: found.option_count == 1)
        if width > 90:
            await pilot.resize_terminal(50, 30)
        await wait_until(pilot, lambda: len(str(found.get_option_at_index(0).prompt).split("\n")) > 3)
        rows = str(found.get_option_at_index(0).prompt).split("\n")[1:]
        assert all(row.startswith("  ") and row[2:3].strip() for row in rows)
        assert max(map(len, rows)) <= found.scrollable_content_region.width - 2


async def test_nothing_is_written_below_the_list_of_conversations(store: Store) -> None:
    """Where the list lies over the prompt it closes as soon as something is written there; beside it, it stays.

    Nor does what is said, in more rows than one, lie over the list.
    """
    engine = FakeEngine()
    for width, stays in ((80, False), (130, True)):
        async with make_app(engine, store=store).run_test(size=(width, 30)) as pilot:
            await ready(pilot, engine)
            chat(pilot).say("A sentence with more to say than one row has room for. " * 4)
            said = chat(pilot).query_one("#notice-long")
            await wait_until(pilot, lambda: said.display and said.visible)  # noqa: B023
            await pilot.press("f7")
            await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
            await wait_until(pilot, lambda: said.visible is stays)  # noqa: B023
            listed = chat(pilot).query_one(Sidebar).region
            assert (listed.width == width) is not stays, "where the list lies over the conversation it has every row"
            await pilot.press("ctrl+r")
            await wait_until(pilot, lambda: prompt_of(pilot).area.has_focus)
            await wait_until(pilot, lambda: bool(chat(pilot).query(Sidebar)) is stays)  # noqa: B023
            await wait_until(pilot, lambda: said.visible)  # noqa: B023


async def test_the_list_may_be_closed_while_the_conversation_that_is_open_is_deleted(store: Store) -> None:
    """A quick key after the one that deletes: another conversation is begun all the same."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some are scarlet.")
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(Sidebar))
        deleted = session(pilot).thread.stored.id
        await chat(pilot).query(Sidebar).remove()
        chat(pilot).post_message(Sidebar.Deleted(deleted))
        await wait_until(pilot, lambda: session(pilot).thread.stored.id != deleted)
        await pilot.press("h", "i")
        assert chat(pilot).query_one(Prompt).text == "hi"


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place where the day begins half a day before that of the time of the world."""
    monkeypatch.setenv("TZ", "XXX-14")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def test_days_are_those_of_the_place(far_east: None, tmp_path: Path) -> None:
    """In the list of conversations and among what was found."""
    assert age(START, START + timedelta(days=30)) == "Nov 22"
    store = open_store(tmp_path / "history.db")
    converse(store, ("Apples?", "Some are scarlet."))
    async with make_app(FakeEngine(), store=store).run_test(size=(100, 30)) as pilot:
        await send(pilot, "/search scarlet")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        found = pilot.app.screen.query_one(HitList)
        await wait_until(pilot, lambda: found.option_count == 1)
        assert "model, 2026-11-22" in str(found.get_option_at_index(0).prompt)
    store.close()


async def test_a_step_in_the_list_makes_no_row_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands take a while. A row that changes is made, and so are their ages."""
    moments = [START]
    monkeypatch.setattr(sidebar, "utc_now", lambda: moments[-1])
    for title in ("Apples", "Pears"):
        converse(store, (title, "Yes."))
    async with make_app(FakeEngine(), store=store).run_test(size=(100, 30)) as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        listed = chat(pilot).query_one(ConversationList)
        await pilot.pause()
        made = list(listed.options)
        await pilot.press("down")
        assert (listed.highlighted, listed.options) == (1, made)
        moments.append(START + timedelta(minutes=1))
        await pilot.press("up")
        assert (listed.highlighted, len(listed.options)) == (0, 2)
        assert not set(made) & set(listed.options)
        made = list(listed.options)
        await pilot.press("f5")
        assert "✓" in str(listed.get_option_at_index(0).prompt)
        assert not set(made) & set(listed.options)
