"""Conversations in the app, driven as a reader would: what is stored, and what can be done to what was said."""

from __future__ import annotations

import asyncio
import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Markdown, Static

from localspec.base.paths import user_paths
from localspec.chat.compose.attachment import Attachment, with_files
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.unsent import UNSENT, UnsentMessages
from localspec.chat.pair_slot import Phase
from localspec.engine.events import FinishReason
from localspec.engine.settings import Sampling
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.worker.messages import Cancel, Generate, HasRead, Loaded
from localspec.store import ModelFileRecord, Store
from localspec.store.file_blocks import TextFile
from localspec.tui.conversation.page import Page
from localspec.tui.conversation.reasoning_view import ReasoningView
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.widgets.sidebar import ConversationList
from localspec.tui.widgets.welcome import Welcome
from tests.tui.support import (
    INFO,
    LAUNCH,
    FakeEngine,
    answer,
    asked,
    chat,
    drawn_n,
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


async def test_what_is_said_is_stored(store: Store) -> None:
    """Question, reply and tokens are there for another program to read, as they were shown."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test() as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Why is the sky blue?", "Because of **light**.")
        tokens = session(pilot).last.reply.tokens
    (summary,) = store.conversations()
    assert summary.heading.title == "Why is the sky blue?"
    thread = store.open_conversation(summary.heading.id)
    reply = thread.reply(thread.path[1].id)
    assert reply is not None
    assert (reply.text, reply.tokens) == ("Because of **light**.", tuple(tokens))


async def test_a_reply_keeps_what_it_was_made_with(store: Store) -> None:
    """Both models, with the hashes of their files, the sampler, and the figures that stood below it."""
    engine, chat_config = FakeEngine(), replace(LAUNCH, reply=ReplyOptions(Sampling(temperature=0.3, top_k=7), seed=5))
    info = replace(INFO, target_sha256="ab" * 32, draft_sha256="cd" * 32, target_sample="ef" * 8)
    async with make_app(engine, chat_config, store=store).run_test() as pilot:
        engine.inbox.put(Loaded(info))
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await say(pilot, engine, "Hello", "Hi there.")
        timings = session(pilot).last.reply.timings
    thread = store.open_conversation(store.conversations()[0].heading.id)
    reply = thread.reply(thread.path[1].id)
    assert reply is not None
    (part,) = reply.parts
    assert part.about.target == ModelFileRecord("target.gguf", "ab" * 32, info.target_size_bytes, "ef" * 8)
    assert part.about.draft == ModelFileRecord("draft.gguf", "cd" * 32, info.draft_size_bytes)
    assert part.about.options == chat_config.reply
    assert part.finished is not None
    assert part.finished.timings == timings


async def test_a_disk_that_refuses_costs_one_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reply goes on, and all of it is stored once that is possible."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
        await ready(pilot, engine)
        store._database.query("PRAGMA query_only = ON")
        await say(pilot, engine, "First", "One.")
        await wait_until(pilot, lambda: session(pilot).thread.stored.trouble is not None)
        chat(pilot)._wake()
        assert session(pilot).thread.stored.trouble.message in notice_text(pilot)
        store._database.query("PRAGMA query_only = OFF")
        await say(pilot, engine, "Second", "Two.")
        assert session(pilot).thread.stored.trouble is None
    (summary,) = store.conversations()
    assert [node.content for node in store.open_conversation(summary.heading.id).path] == [
        "First",
        "One.",
        "Second",
        "Two.",
    ]


async def test_the_last_reply_is_answered_anew_by_one_key(store: Store) -> None:
    """The same question is asked, the new reply stands in place of the first, which is one key away."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First", "One.")
        await pilot.press("alt+r")
        await answer(pilot, engine, 1, "Uno.")
        assert asked(engine) == ["First"]
        assert turns_shown(pilot) == [("First", "Uno.")]
        assert "reply 2/2" in str(views(pilot)[0].query_one(".note").render())
        await pilot.press("alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "One.")])
        assert "reply 1/2" in str(views(pilot)[0].query_one(".note").render())
        await pilot.press("right")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "Uno.")])


async def test_a_turn_is_edited_and_asked_again(store: Store) -> None:
    """What followed stays as the first version; what stood in the prompt is there again afterwards."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First", "One.")
        await say(pilot, engine, "Second", "Two.")
        prompt_of(pilot).set_text("unsent")
        await pilot.press("alt+up", "alt+up", "e", "e")
        assert prompt_of(pilot).text == "First"
        await wait_until(pilot, lambda: prompt_of(pilot).area.has_focus)
        await pilot.press("exclamation_mark", "enter")
        await answer(pilot, engine, 2, "Three.")
        assert asked(engine) == ["First!"]
        assert turns_shown(pilot) == [("First!", "Three.")]
        assert "2/2" in str(views(pilot)[0].query_one(".prompt").render())
        assert prompt_of(pilot).text == "unsent"
        await pilot.press("alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "One."), ("Second", "Two.")])


async def test_a_draft_is_kept_while_a_turn_is_edited(store: Store) -> None:
    """Whatever ends the app meanwhile; the question stays where it was said."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First", "One.")
        prompt_of(pilot).set_text("unsent")
        await pilot.press("alt+up", "e", "e", "exclamation_mark")
        assert prompt_of(pilot).text == "First!"
    kept = [path.read_text("utf-8") for path in (user_paths().data / UNSENT).iterdir()]
    assert [json.loads(text)["text"] for text in kept] == ["unsent"]


@pytest.mark.parametrize("goes_on", [False, True])
async def test_what_is_typed_while_the_app_starts_is_added_to_what_was_unsent(store: Store, *, goes_on: bool) -> None:
    """In a new conversation, and in the one that the app begins with: its first keys come before any widget."""
    conversation = store.begin(None)
    conversation.ask("First")
    key = conversation.id if goes_on else ""
    UnsentMessages(user_paths().data / UNSENT).save(key, WrittenMessage("unsent"))
    app = make_app(FakeEngine(), replace(LAUNCH, conversation=key or None), store=store)
    for letter in " early":
        app.post_message(Key("space" if letter == " " else letter, letter))
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: prompt_of(pilot).area.has_focus)
        await wait_until(pilot, lambda: len(session(pilot).thread.turns) == goes_on)
        await wait_until(pilot, lambda: prompt_of(pilot).text == "unsent early")


async def test_a_question_is_edited_without_its_files(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go with it as they were, once; the title and the turn are about the question."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("Old.", "utf-8")
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "What is @notes.txt about", "A file.")
        assert session(pilot).thread.stored.title == "What is @notes.txt about"
        (tmp_path / "notes.txt").write_text("New.", "utf-8")
        await pilot.press("alt+up", "e", "e")
        assert prompt_of(pilot).text == "What is @notes.txt about"
        await pilot.press("question_mark", "enter")
        await answer(pilot, engine, 1, "Still a file.")
        assert asked(engine) == ["File: notes.txt\n```txt\nOld.\n```\n\nWhat is @notes.txt about?"]
        question = str(views(pilot)[0].query_one(".prompt").render())
        assert "[notes.txt  0.1 kB]" in question
        assert "What is @notes.txt about?   2/2" in question
        assert "Old." not in question
        prompt_of(pilot).set_text("And @notes.txt now?")
        await wait_until(pilot, lambda: prompt_of(pilot).written.attachments)
        assert "New." in prompt_of(pilot).written.content


async def test_files_that_no_word_mentions_stay_with_an_edited_question(store: Store) -> None:
    """As the line mode attaches them."""
    thread = store.begin()
    thread.ask(with_files([Attachment("a.py", (TextFile("a.py", "print(1)\n\n"),))], "And this?"))
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await chat(pilot)._go_to(thread.id)
        assert thread.title == "And this?"
        await pilot.press("alt+up", "e", "e")
        assert prompt_of(pilot).text == "And this?"
        await pilot.press("exclamation_mark", "enter")
        await answer(pilot, engine, 0, "That.")
        assert asked(engine) == ["File: a.py\n```py\nprint(1)\n\n```\n\nAnd this?!"]


async def test_a_reply_changed_by_hand_has_no_files_put_into_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name after an @ is only a name there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("A note.", "utf-8")
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Where?", "Here.")
        await pilot.press("alt+up", "E", "E")
        prompt_of(pilot).set_text("In @notes.txt itself.")
        await wait_until(pilot, lambda: prompt_of(pilot).written.attachments)
        await pilot.press("enter")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Where?", "In @notes.txt itself.")])


async def test_escape_leaves_editing_and_choosing(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First", "One.")
        prompt_of(pilot).set_text("unsent")
        await pilot.press("alt+up", "e", "e", "escape")
        assert prompt_of(pilot).text == "unsent"
        assert len(engine.prompts) == 1
        await pilot.press("escape")
        await pilot.press("alt+up")
        assert transcript_of(pilot).selected is views(pilot)[0]
        await pilot.press("escape")
        assert transcript_of(pilot).selected is None
        assert prompt_of(pilot).area.has_focus


async def test_a_stopped_reply_is_gone_on_with(store: Store) -> None:
    """The engine is given the text so far; marked tokens, counts and stored tokens are those of both runs."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Count")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.write(rounds_of("One, two,")[:-1])
        engine.finish(FinishReason.CANCELLED)
        await wait_until(pilot, lambda: session(pilot).last is not None)
        assert "/continue goes on" in str(views(pilot)[0].query_one(".note").render())
        await send(pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert (asked(engine), engine.prompts[1].prefix) == (["Count"], "One, two,")
        await answer(pilot, engine, 1, " three.")
        turn = session(pilot).last
        assert turns_shown(pilot) == [("Count", "One, two, three.")]
        marked = drawn_n(pilot)
        assert marked == len(turn.reply.tokens) == turn.reply.timings.predicted_n
        await wait_until(pilot, lambda: views(pilot)[0].query(Markdown))
        await send(pilot, "/continue")
        assert "complete" in notice_text(pilot)
    thread = store.open_conversation(store.conversations()[0].heading.id)
    reply = thread.reply(thread.path[1].id)
    assert reply is not None
    assert (reply.text, len(reply.tokens)) == ("One, two, three.", marked)


async def test_a_reply_stopped_before_its_first_token_is_gone_on_with(store: Store) -> None:
    """It is not called complete."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Count")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.finish(FinishReason.CANCELLED)
        await wait_until(pilot, lambda: session(pilot).last is not None)
        assert "/continue goes on" in str(views(pilot)[0].query_one(".note").render())
        assert not views(pilot)[0].reply.display, "an empty reply takes no rows"
        await send(pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert views(pilot)[0].reply.display
        await answer(pilot, engine, 1, "One.")
        assert turns_shown(pilot) == [("Count", "One.")]


async def test_a_reply_that_was_changed_by_hand_is_gone_on_with(store: Store) -> None:
    """The reply is in the prompt, to be changed; the model goes on from there, and the first one is a key away."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Count", "One, two, three.")
        await pilot.press("alt+up", "E", "E")
        assert prompt_of(pilot).text == "One, two, three."
        prompt_of(pilot).set_text("One, zwei,")
        await pilot.press("enter")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Count", "One, zwei,")])
        assert len(engine.prompts) == 1, "nothing is asked until the reader says so"
        assert "reply 2/2" in str(views(pilot)[0].query_one(".note").render())
        await pilot.press("alt+up", "c", "c")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert (asked(engine), engine.prompts[1].prefix) == (["Count"], "One, zwei,")
        await answer(pilot, engine, 1, " drei.")
        assert turns_shown(pilot) == [("Count", "One, zwei, drei.")]
        await pilot.press("alt+up", "left")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Count", "One, two, three.")])


async def test_a_deleted_turn_comes_back(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First", "One.")
        await say(pilot, engine, "Second", "Two.")
        await pilot.press("alt+up", "alt+up", "d", "d")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("Second", "Two.")])
        await send(pilot, "/undo")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "One."), ("Second", "Two.")])


async def test_nothing_is_changed_under_a_reply(store: Store) -> None:
    """While one is being written, what was said stays as it is, and a sentence says how to change that."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First", "One.")
        await send(pilot, "Second")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        for command in ("/again", "/edit", "/delete", "/undo", "/continue"):
            await send(pilot, command)
            assert "Esc stops it" in notice_text(pilot), command
        assert [turn.prompt for turn in session(pilot).thread.turns] == ["First", "Second"]


async def test_replies_and_code_are_copied(store: Store) -> None:
    engine = FakeEngine()
    app = make_app(engine, store=store)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "/copy")
        assert "Nothing has been said yet." in notice_text(pilot)
        await say(pilot, engine, "Code", "A:\n\n```sh\nls\n```\n\nB:\n\n```py\nx = 1\n```\n")
        await pilot.press("alt+up", "o", "o")
        assert app.clipboard == "x = 1\n"
        await pilot.press("o", "o")
        assert app.clipboard == "ls\n"
        await pilot.press("y", "y")
        assert app.clipboard.startswith("A:\n")


async def test_thoughts_are_folded_and_counted(store: Store) -> None:
    """A finished reply shows its answer; what was thought before is a row that unfolds."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Think", "<think>\nHm hm.\n</think>\n\nYes.")
        await wait_until(pilot, lambda: views(pilot)[0].query(Markdown))
        thought = views(pilot)[0].query_one(ReasoningView)
        await wait_until(pilot, lambda: thought.display)
        assert "thought, " in str(thought.render())
        assert "Hm" not in str(thought.render())
        await pilot.press("alt+up", "z", "z")
        assert "Hm hm." in str(thought.render())


async def test_the_files_of_a_question_are_folded(store: Store) -> None:
    """A row names them; a key shows what the model read, as far as a screen holds it, and folds it away again."""
    text = "A bee \u202edances.\n" + "and hums.\n" * 300
    passage = TextFile("notes/bees.md", text, "lines 81-90, found for the question")
    thread = store.begin()
    thread.ask(with_files([Attachment("notes/", (passage,))], "Do they? @notes/"))
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await chat(pilot)._go_to(thread.id)
        question = views(pilot)[0].prompt_row
        assert "[notes/  1 passage of 1 file, 3.0 kB]" in str(question.render())
        await pilot.press("alt+up", "p", "p")
        files = views(pilot)[0].query_one(".files", Static)
        shown = str(files.render())
        assert "notes/bees.md  lines 81-90, found for the question\nA bee \ufffddances." in shown
        assert "… and more; an export has all." in shown
        await pilot.pause()
        assert files.region.bottom < question.region.y
        await pilot.press("p", "p")
        assert not files.display
        await pilot.press("escape")
        await say(pilot, engine, "And now?", "No.")
        await send(pilot, "/passages")
        assert "No file went with this question." in notice_text(pilot)


async def test_turns_of_the_conversation_before_can_still_be_drawn(store: Store) -> None:
    """They are on screen for a moment after another conversation was turned to, and no version of anything in it."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test() as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "First?", "One.")
        (before,) = views(pilot)
        session(pilot).turn_to(store.begin(None))
        await transcript_of(pilot).pages.remake(before.turn)
        assert turns_shown(pilot) == [("First?", "One.")]


async def test_how_full_the_context_is_goes_by_what_is_shown(store: Store) -> None:
    """Another version, or a turn less, uses another part of it; with nothing left there is nothing to say."""

    def meter() -> str:
        return str(chat(pilot).query_one("#notice-meter").render()).strip()

    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Apples?", "Some.")
        first = meter()
        await say(pilot, engine, "Pears?", "A great many, all of them as yellow as the sun in the evening.")
        both = meter()
        assert first != both
        await pilot.press("alt+up", "d", "d")
        await wait_until(pilot, lambda: meter() == first)
        await send(pilot, "/undo")
        await wait_until(pilot, lambda: meter() == both)
        for _ in range(2):
            await pilot.press("alt+up", "d", "d")
        await wait_until(pilot, lambda: not turns_shown(pilot) and not meter())


async def test_a_conversation_left_in_mid_reply_keeps_its_text(store: Store) -> None:
    """And the messages that waited there: they are in its prompt, before what was being written, and in no other."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "First")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.write(rounds_of("Some words")[:-1])
        await wait_until(pilot, lambda: session(pilot).current and session(pilot).current.reply.tokens)
        await send(pilot, "Waits")
        await send(pilot, "Waits, too")
        await pilot.press(*"unsent", "ctrl+n")
        await wait_until(pilot, lambda: chat(pilot).query(Welcome))
        assert prompt_of(pilot).text == ""
        assert "are in the prompt of their conversation" in notice_text(pilot)
        await pilot.press("f7")
        await wait_until(pilot, lambda: chat(pilot).query(ConversationList))
        await pilot.press("enter")
        await wait_until(pilot, lambda: turns_shown(pilot) == [("First", "Some words")])
        assert prompt_of(pilot).text == "Waits\nWaits, too\nunsent"
    assert [node.content for node in store.open_conversation(store.conversations()[0].heading.id).path] == [
        "First",
        "Some words",
    ]


async def test_a_long_conversation_opens_with_its_newest_turns_alone(store: Store) -> None:
    """Older ones come as the reader scrolls to them, and those far away are let go again."""
    thread = store.begin()
    for n in range(300):
        thread.ask(f"Question {n}")
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(80, 24)) as pilot:
        await chat(pilot)._go_to(thread.id)
        transcript = transcript_of(pilot)
        await wait_until(pilot, lambda: transcript.max_scroll_y > 400)
        assert len(transcript.pages.turns) == 300
        assert 0 < len(views(pilot)) < 40
        assert views(pilot)[-1].turn.prompt == "Question 299"
        transcript.scroll_home(animate=False)
        await wait_until(pilot, lambda: views(pilot)[0].turn.prompt == "Question 0")
        await wait_until(pilot, lambda: len(views(pilot)) < 60)
        assert transcript.scroll_y == 0
        for _ in range(12):
            before = transcript.scroll_y
            await pilot.press("pagedown")
            await wait_until(pilot, lambda before=before: transcript.scroll_y > before)  # type: ignore[misc]
            await wait_until(pilot, lambda: transcript.pages.near.wanted is None)
        assert len(views(pilot)) < 80
        assert any(len(page.views) < len(page.turns) for page in chat(pilot).query(Page))


async def test_a_turn_that_goes_while_it_is_opened_is_not_gone_to(store: Store) -> None:
    """As where a summary takes its place: what removes it comes first, and nothing is chosen."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(60, 15)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "One?", "One.")
        transcript = chat(pilot).query_one(Transcript)
        async with transcript.pages.near.lock:
            removing = asyncio.create_task(transcript.sync([]))
            opening = asyncio.create_task(transcript.reveal(transcript.pages.turns[0]))
            await asyncio.sleep(0)
        await asyncio.gather(removing, opening)
        assert transcript.selected is None


async def test_a_conversation_is_titled_and_exported(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(120, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "/export")
        assert "nothing has been said" in notice_text(pilot)
        await say(pilot, engine, "Apples?", "Red.")
        await send(pilot, "/rename Fruit salad")
        for command, file in (("/export", "fruit-salad.md"), ("/export ndjson", "fruit-salad.ndjson")):
            await send(pilot, command)
            assert file in notice_text(pilot)
        await send(pilot, "/export fruit.pdf")
        await wait_until(pilot, lambda: "cannot be written as .pdf" in notice_text(pilot))
        assert prompt_of(pilot).area.text == "/export fruit.pdf"
        assert not (tmp_path / "fruit.pdf").exists()
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("fruit-salad.*")} == {0o600}
    assert "Red." in (tmp_path / "fruit-salad.md").read_text(encoding="utf-8")
    records = [json.loads(line) for line in (tmp_path / "fruit-salad.ndjson").read_text("utf-8").splitlines()]
    rounds = [record for record in records if record.get("event") == "round"]
    assert "".join(token["text"] for record in rounds for token in record["tokens"]) == "Red."


async def test_an_attached_file_is_read_while_its_question_is_typed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Piece by piece, behind what was said before; given up as soon as the question is sent."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("Some words here.\n" * 60, "utf-8")
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Hello", "Hi.")
        prompt_of(pilot).set_text("See @notes.txt now")
        await wait_until(pilot, lambda: engine.ahead)
        read = engine.ahead[0].messages
        assert [message.content for message in read[:2]] == ["Hello", "Hi."]
        assert read[2].content.endswith("Some words here.\n```\n\nSee @notes.txt now")
        engine.inbox.put(HasRead(10))
        await wait_until(pilot, lambda: len(engine.ahead) == 2)
        await pilot.press("!")
        assert Cancel() not in engine.sent, "a letter more disturbs nothing"
        await pilot.press("left")
        assert Cancel() in engine.sent, "another key has the machine to itself"
        engine.inbox.put(HasRead(0))
        await wait_until(pilot, lambda: len(engine.ahead) == 3)
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert [type(request) for request in engine.sent[-2:]] == [Cancel, Generate]


async def test_of_several_replies_one_is_deleted() -> None:
    """And that is said; the question stays with the other, and goes with the last."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Why?", "First.")
        await pilot.press("alt+r")
        await answer(pilot, engine, 1, "Second.")
        await pilot.press("alt+up", "d", "d")
        await wait_until(pilot, lambda: "This version of the reply is deleted" in notice_text(pilot))
        assert turns_shown(pilot) == [("Why?", "First.")]
        await pilot.press("alt+up", "d", "d")
        await wait_until(pilot, lambda: "The turn is deleted" in notice_text(pilot))
        assert turns_shown(pilot) == []
