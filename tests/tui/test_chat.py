"""What the chat screen does, driven as a reader would."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Markdown, Static

from localspec.chat.pair_slot import Phase
from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import FinishReason, Origin, Round
from localspec.runtime.worker.messages import Cancel, Load
from localspec.tui.conversation.page import Page
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.prompt.completion import CompletionList
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.help import HelpScreen
from localspec.tui.tokens.token_view import TokenView
from localspec.tui.widgets.notice import Notice
from localspec.tui.widgets.welcome import TOUR_EXAMPLES, Welcome
from tests.tui.cells import text
from tests.tui.support import (
    LAUNCH,
    Clock,
    FakeEngine,
    chat,
    drawn_n,
    live_text,
    make_app,
    make_round,
    notice_text,
    prompt_of,
    ready,
    rounds_of,
    say,
    send,
    session,
    shown,
    views,
    wait_until,
)

LONG = "One line of the story.\n" * 60


async def begin(pilot: Pilot[Any], engine: FakeEngine, prompt: str = "Tell me a story") -> None:
    """A pair that is loaded, and a message that is being answered."""
    engine.load()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
    await send(pilot, prompt)
    await wait_until(pilot, lambda: engine.prompts)
    engine.start()


async def written(pilot: Pilot[Any], n: int) -> None:
    await wait_until(pilot, lambda: session(pilot).current and len(session(pilot).current.reply.tokens) >= n)


async def answered(pilot: Pilot[Any], n: int = 1) -> None:
    """The reply of the n-th turn has its final look."""
    await wait_until(pilot, lambda: session(pilot).last is not None and session(pilot).current is None)
    transcript = chat(pilot).query_one(Transcript)

    def settled() -> bool:
        view = transcript.pages.view(transcript.pages.turns[n - 1])
        return (view is not None and bool(view.query(Markdown))) or not transcript.following

    await wait_until(pilot, settled)


def rounds_at_random(seed: int) -> list[Round]:
    """Rounds with every origin, and characters that need several tokens."""
    rng = random.Random(seed)
    rounds = []
    for index in range(rng.randint(1, 40)):
        texts = rng.choices([" word", "", "\n", "漢", "", "é ", "👩", "\u200d🔬"], k=rng.randint(1, 4))
        rejected = ["x"] * rng.randint(0, 2)
        origin = Origin.PLAIN if len(texts) == 1 and not rejected else None
        rounds.append(make_round(texts, origin, index=index, rejected=rejected))
    return rounds


@pytest.mark.parametrize("seed", range(12))
async def test_the_counts_on_the_line_are_the_tokens_marked(seed: int) -> None:
    """Whatever the rounds: what the live line counts is what is marked, and is what the engine sent."""
    engine, rounds = FakeEngine(), rounds_at_random(seed)
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await begin(pilot, engine)
        engine.write(rounds)
        engine.finish()
        await answered(pilot)
        marked = session(pilot).last.reply.counts(MarkMode.ORIGIN)
        sent = Counter(token.origin for round_ in rounds for token in round_.tokens)
        assert marked == {origin: sent[origin] for origin in Origin}
        assert drawn_n(pilot) == sent.total()
        words = live_text(pilot).split()
        for origin in Origin:
            assert words[words.index(origin, words.index("accepted", 8)) - 1] == str(sent[origin])


async def test_a_message_written_while_the_pair_loads_is_answered_after() -> None:
    """Typing works at once; the message waits for the pair, visibly."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.loading("loading the target", 0.4)
        await wait_until(pilot, lambda: "40%" in live_text(pilot))
        await pilot.press(*"Hello", "enter")
        await pilot.pause()
        assert "queued" in str(views(pilot)[0].query(".prompt").first().render())
        assert engine.prompts == []
        engine.load()
        await wait_until(pilot, lambda: engine.prompts)
        assert engine.prompts[0].prompt[0].content == "Hello"  # type: ignore[union-attr]
        assert "queued" not in str(views(pilot)[0].query(".prompt").first().render())


async def test_enter_sends_letters_typed_just_before() -> None:
    """Keys that arrive in one burst keep their order."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        for key, character in (("a", "a"), ("b", "b"), ("enter", "\r")):
            pilot.app.post_message(Key(key, character))
        await wait_until(pilot, lambda: views(pilot))
        assert chat(pilot).query_one(Prompt).text == ""
        assert session(pilot).waiting[0].prompt == "ab"


@pytest.mark.parametrize(
    ("keys", "text"),
    [("a b ctrl+u c", "c"), ("a b left c", "acb"), ("a b home c end d", "cabd"), ("a b backspace c", "ac")],
)
async def test_keys_that_edit_keep_their_place_among_letters(keys: str, text: str) -> None:
    """What moves the cursor or deletes, sent in one burst with letters, acts before those typed behind it."""
    async with make_app(FakeEngine()).run_test() as pilot:
        for key in keys.split():
            pilot.app.post_message(Key(key, key if len(key) == 1 else None))
        await wait_until(pilot, lambda: chat(pilot).query_one(Prompt).text == text)


async def test_newlines_grow_the_prompt_up_to_ten_lines() -> None:
    """Ctrl+J begins a new line, and an empty message is never sent."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(80, 30)) as pilot:
        prompt = chat(pilot).query_one(Prompt)
        await pilot.press("enter", "space", "enter")
        assert session(pilot).waiting.maxlen is None
        assert not views(pilot)
        await pilot.press("a", "ctrl+j", "b")
        await pilot.pause()
        assert prompt.text.strip() == "a\nb"
        assert prompt.size.height == 2
        await pilot.press(*["ctrl+j"] * 15)
        await wait_until(pilot, lambda: prompt.size.height == 10)


async def test_a_message_sent_during_a_reply_waits_its_turn() -> None:
    """It is shown as queued, and asked with the whole conversation once the reply is done; so long a notice says so."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine, "First")
        engine.write(rounds_of("Some words."))
        await written(pilot, 3)
        await send(pilot, "Second")
        assert [view.has_class("-queued") for view in views(pilot)] == [False, True]
        assert "Waits for the reply" in notice_text(pilot)
        engine.finish()
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        await wait_until(pilot, lambda: "Waits for the reply" not in notice_text(pilot))
        assert [m.content for m in engine.prompts[1].prompt] == ["First", "Some words.", "Second"]  # type: ignore[union-attr]
        assert not views(pilot)[1].has_class("-queued")


async def test_escape_stops_the_reply_and_keeps_its_text() -> None:
    """The engine is told, the text stays, and the reply says that it was stopped."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("Once upon a time")[:-1])
        await written(pilot, 3)
        await pilot.press("escape")
        assert engine.sent[-1] == Cancel()
        engine.finish(FinishReason.CANCELLED)
        await answered(pilot)
        assert views(pilot)[0].reply.query_one(TokenView)._reply.text == "Once upon a time"
        assert "stopped" in str(views(pilot)[0].query_one(".note").render())


async def test_escape_gives_queued_messages_back() -> None:
    """Stopping sends nothing on; what waited is in the prompt again, before what was being written."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        await send(pilot, "Second")
        await pilot.press(*"Third", "escape")
        await pilot.pause()
        assert chat(pilot).query_one(Prompt).text == "Second\nThird"
        engine.finish(FinishReason.CANCELLED)
        await wait_until(pilot, lambda: session(pilot).last is not None)
        assert len(engine.prompts) == 1
        assert len(views(pilot)) == 1


async def test_a_paced_reply_stops_where_the_reader_saw_it() -> None:
    """The engine may be done long since: what was not shown yet never becomes part of the reply."""
    engine, clock = FakeEngine(), Clock()
    chat_config = replace(LAUNCH, pace_tokens_per_second=60.0)
    async with make_app(engine, chat_config, clock).run_test() as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of(LONG))
        engine.finish()
        await wait_until(pilot, lambda: "shown at 60 tokens/s; the engine made " in notice_text(pilot))
        clock.now += 0.1
        await written(pilot, 6)
        await pilot.press("escape")
        await answered(pilot)
        reply = session(pilot).thread.turns[0].reply
        assert reply.finished is FinishReason.CANCELLED
        assert 6 <= len(reply.tokens) < 30
        assert drawn_n(pilot) == len(reply.tokens) == reply.timings.predicted_n


async def test_full_speed_shows_everything_at_once() -> None:
    """Ctrl+G lifts the pace; the figures are the engine's own either way."""
    engine, chat_config = FakeEngine(), replace(LAUNCH, pace_tokens_per_second=60.0)
    async with make_app(engine, chat_config).run_test(size=(100, 30)) as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of(LONG))
        engine.finish()
        await wait_until(pilot, lambda: "shown at" in notice_text(pilot))
        await pilot.press("ctrl+g")
        await answered(pilot)
        assert session(pilot).last.reply.text == LONG
        assert f"{engine.tally.timings().predicted_per_second:.1f} tokens/s" in live_text(pilot)


async def test_scrolling_back_stays_while_the_reply_goes_on() -> None:
    """The view moves only for the reader; a cue says that there is more, and leads back."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        transcript = chat(pilot).query_one(Transcript)
        await begin(pilot, engine)
        rounds = rounds_of(LONG)
        engine.write(rounds[:60])
        await written(pilot, sum(len(r.tokens) for r in rounds[:60]))
        assert transcript.scroll_y == transcript.max_scroll_y > 0
        await pilot.press("pageup")
        await wait_until(pilot, lambda: not transcript.following)
        place = transcript.scroll_y
        engine.write(rounds[60:])
        engine.finish()
        await wait_until(pilot, lambda: session(pilot).current is None)
        assert transcript.scroll_y == place
        assert "↓ new" in notice_text(pilot)
        assert not views(pilot)[0].query(Markdown), "Markdown would move what the reader looks at"
        await pilot.press("ctrl+end")
        await wait_until(pilot, lambda: transcript.following and views(pilot)[0].query(Markdown))
        assert transcript.scroll_y == transcript.max_scroll_y
        assert "↓ new" not in notice_text(pilot)


async def test_short_conversations_begin_at_the_top() -> None:
    """Text that fits on the screen does not move while it grows."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("One.\nTwo.\n")[:-1])
        await written(pilot, 4)
        assert views(pilot)[0].region.y == 1


async def test_a_finished_reply_is_markdown_and_can_be_seen_as_tokens() -> None:
    """Ctrl+T switches all replies, and back."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("Some **bold** words."))
        engine.finish()
        await answered(pilot)
        reply = views(pilot)[0].reply
        await wait_until(pilot, lambda: reply.query_one(Markdown).display)
        assert not reply.tokens.display
        await pilot.press("ctrl+t")
        await wait_until(pilot, lambda: reply.tokens.display and not reply.query_one(Markdown).display)
        await pilot.press("ctrl+t")
        await wait_until(pilot, lambda: reply.query_one(Markdown).display and not reply.tokens.display)


async def test_ghosts_are_brief_and_no_part_of_the_text() -> None:
    """Rejected proposals show at the end of the stream, and are gone a moment later."""
    engine, clock = FakeEngine(), Clock()
    async with make_app(engine, clock=clock).run_test() as pilot:
        await begin(pilot, engine)
        engine.write([make_round(["Once", " upon"], rejected=[" there", " was"])])
        await written(pilot, 2)
        view = views(pilot)[0].reply.tokens
        assert [ghost.text for ghost in view.ghosts] == [" there", " was"]
        assert "Once upon there was" in view.render_line(0).text
        assert view.get_selection(_everything()) == ("Once upon", "\n")
        clock.now += 0.31
        await wait_until(pilot, lambda: not view.ghosts)
        assert view.render_line(0).text.rstrip() == "Once upon"


async def test_without_animations_there_are_no_ghosts() -> None:
    """TEXTUAL_ANIMATIONS=none asks for a quiet screen."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        app.animation_level = "none"
        await begin(pilot, engine)
        engine.write([make_round(["Once"], rejected=[" there"])])
        await written(pilot, 1)
        assert views(pilot)[0].reply.tokens.ghosts == ()


async def test_an_engine_that_dies_costs_a_sentence() -> None:
    """The text stays, the sentence stands below it with the next step, and the next message starts again."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("Some words")[:-1])
        await written(pilot, 2)
        engine.die()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.BROKEN)
        error = str(views(pilot)[0].query_one(".error").render())
        assert error == "The engine process stopped unexpectedly. Send your message again to start it anew."
        assert session(pilot).thread.turns[0].reply.text == "Some words"
        await send(pilot, "Again")
        assert isinstance(engine.sent[-1], Load)
        engine.load()
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        engine.reply("Here I am.")
        await answered(pilot, 2)
        assert session(pilot).last.reply.text == "Here I am."


async def test_an_engine_that_dies_after_its_reply_leaves_the_reply_whole() -> None:
    """A paced reply that the engine had finished is shown to its end; the sentence stands below it."""
    engine, chat_config = FakeEngine(), replace(LAUNCH, pace_tokens_per_second=60.0)
    async with make_app(engine, chat_config).run_test() as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("Some words that take a while to be shown."))
        engine.finish()
        await wait_until(pilot, lambda: "shown at" in notice_text(pilot))
        engine.die()
        await wait_until(pilot, lambda: chat(pilot).query(".load-error"))
        reply = session(pilot).last.reply
        assert (reply.text, reply.error) == ("Some words that take a while to be shown.", None)
        assert session(pilot).phase is Phase.BROKEN


async def test_a_pair_that_does_not_load_leaves_the_app_usable() -> None:
    """The sentence and the hint are on screen, help opens, and a message tries again."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.refuse_load()
        await wait_until(pilot, lambda: chat(pilot).query(".load-error"))
        told = "There is no file target.gguf. Check the path given with --target. Ctrl+L lists all pairs."
        assert shown(pilot, ".load-error") == told
        await pilot.press("f1")
        assert isinstance(pilot.app.screen, HelpScreen)
        await pilot.press("escape")
        await send(pilot, "Hello")
        assert isinstance(engine.sent[-1], Load)
        engine.load()
        await wait_until(pilot, lambda: engine.prompts and not chat(pilot).query(".load-error"))


async def test_a_long_prompt_shows_how_far_it_has_been_read() -> None:
    """Reading has a progress of its own."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        engine.read(512, 2048)
        await wait_until(pilot, lambda: "reading the prompt" in live_text(pilot))
        assert "25%" in live_text(pilot)
        assert "512 of 2048 tokens" in live_text(pilot)


async def test_a_new_conversation_forgets_the_old_one() -> None:
    """Also in the middle of a reply: what the engine still says about it is passed over."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("Some words")[:-1])
        await written(pilot, 2)
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: chat(pilot).query(Welcome))
        engine.write(rounds_of("too late"))
        engine.finish(FinishReason.CANCELLED)
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert [m.content for m in engine.prompts[1].prompt] == ["Hello"]  # type: ignore[union-attr]
        assert len(views(pilot)) == 1


async def test_commands_act_and_unknown_ones_are_named() -> None:
    """A slash command does what its key does; a typo gets a sentence."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await send(pilot, "/hlep")
        assert "There is no command /hlep" in notice_text(pilot)
        await send(pilot, "/help")
        assert isinstance(pilot.app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.press("/", "f")
        assert "/fast" in shown(pilot, "CompletionList")
        assert engine.sent == []


async def test_examples_can_be_clicked() -> None:
    """An example lands in the prompt, to be sent or changed."""
    async with make_app(FakeEngine()).run_test() as pilot:
        await wait_until(pilot, lambda: "plain" in str(chat(pilot).query_one("#legend").render()))
        await pilot.click(chat(pilot).query(".example").first())
        await pilot.pause()
        assert chat(pilot).query_one(Prompt).text == TOUR_EXAMPLES[0]


async def test_examples_are_reached_by_the_key_that_the_page_names() -> None:
    """From an empty prompt, until the first message is sent; then the page and its examples are gone."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await ready(pilot, engine)
        prompt = chat(pilot).query_one(Prompt)
        assert "Try one of these (Down)" in shown(pilot, "Welcome .heading")
        seen = []
        for key in ("down", "down", "down", "down", "up"):
            await pilot.press(key)
            seen.append(prompt.text)
        assert seen == [*TOUR_EXAMPLES, TOUR_EXAMPLES[-1], TOUR_EXAMPLES[-2]]
        await pilot.press("enter")
        await wait_until(pilot, lambda: bool(engine.prompts))
        await pilot.press("down")
        assert prompt.text == ""
        await pilot.press("up")
        assert prompt.text == TOUR_EXAMPLES[-2]


async def test_the_cursor_is_still_while_the_model_computes() -> None:
    """No blinking beside a reply; it comes back afterwards, and the timer sleeps."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        area = chat(pilot).query_one(Prompt).area
        await begin(pilot, engine)
        engine.write(rounds_of("Some words"))
        await written(pilot, 2)
        assert not area.cursor_blink
        engine.finish()
        await wait_until(pilot, lambda: area.cursor_blink)
        assert not engine.inbox.take()


async def test_a_line_more_lays_the_screen_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that adds text lays out nothing unless the reply got higher, and then once."""
    engine = FakeEngine()
    layouts: list[Any] = []
    lay_out = Screen._refresh_layout

    def counted(self: Screen[Any], *args: Any, **kwargs: Any) -> None:
        layouts.append(args)
        lay_out(self, *args, **kwargs)

    monkeypatch.setattr(Screen, "_refresh_layout", counted)
    # What is said in the row above the prompt shares it anew, now and then, which is not at issue here.
    monkeypatch.setattr(Notice, "say", lambda self, text: None)
    monkeypatch.setattr(Notice, "measure", lambda self, text: None)
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of(LONG))
        await written(pilot, 300)
        view = views(pilot)[0].reply.tokens
        for text, expected in (("word", 0), (" word", 0), ("\n", 1), ("word", 0)):
            await pilot.pause()
            layouts.clear()
            tokens = len(session(pilot).current.reply.tokens)
            engine.write([make_round([text])])
            await written(pilot, tokens + 1)
            await wait_until(pilot, lambda: view.size.height == len(view._layout.lines))
            await pilot.pause()
            assert len(layouts) == expected, text


async def test_old_turns_fold_away_and_come_back() -> None:
    """A long conversation keeps only what is near in the layout; scrolling back brings the rest, at the same height."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        engine.load()
        transcript = chat(pilot).query_one(Transcript)
        for n in range(1, 14):
            await send(pilot, f"Question {n}")
            await wait_until(pilot, lambda n=n: len(engine.prompts) == n)  # type: ignore[misc]
            engine.reply("One line.\n\nAnother line.")
            await answered(pilot, n)
        pages = list(chat(pilot).query(Page))
        await wait_until(pilot, lambda: pages[0].folded)
        assert not pages[-1].folded
        height = transcript.virtual_size.height
        transcript.scroll_home(animate=False)
        await wait_until(pilot, lambda: not pages[0].folded and views(pilot)[0].region.height > 3)
        assert transcript.virtual_size.height == height
        assert len(views(pilot)) == 13


async def test_a_narrower_screen_wraps_again() -> None:
    """Resizing in mid-reply loses nothing."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(120, 40)) as pilot:
        await begin(pilot, engine)
        engine.write(rounds_of("word " * 60)[:-1])
        await written(pilot, 60)
        view = views(pilot)[0].reply.tokens
        wide = view.size.height
        await pilot.resize_terminal(60, 15)
        await wait_until(pilot, lambda: view.size.height > wide)
        assert "".join(line.text for line in view._layout.lines) == "word " * 60
        assert all(len(line.text.rstrip()) <= view.size.width for line in view._layout.lines)


async def test_what_floats_fits_a_screen_that_becomes_lower() -> None:
    """The list above the prompt and a long notice, at once and not only with the next key."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(60, 24)) as pilot:
        await ready(pilot, engine)
        prompt = prompt_of(pilot)
        await pilot.press("/")
        offers, notice = prompt.query_one(CompletionList), chat(pilot).query_one("#notice-long")
        await wait_until(pilot, lambda: offers.region.height == 9)
        chat(pilot).say("There is more to say. " * 20)
        await wait_until(pilot, lambda: notice.region.height > 6)
        await pilot.resize_terminal(60, 9)
        await wait_until(pilot, lambda: offers.region.height == prompt.region.y)
        await wait_until(pilot, lambda: notice.region.y == 0)
        assert offers.region.y == 0


async def test_the_rows_of_a_long_question_begin_below_each_other() -> None:
    """And its sign is not copied with it."""
    engine = FakeEngine()
    question = f"Why {'is that so ' * 10}?\nWhy?"
    app: Any = make_app(engine)
    async with app.run_test(size=(60, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, question, "So.")
        rows = [line for line in text(app).splitlines() if "hy" in line or "that" in line]
        assert len(rows) > 3
        assert {row[:4] for row in rows} == {"  › ", "    "}
        assert all(row[4] != " " for row in rows)
        copied = views(pilot)[0].prompt_row.get_selection(_everything())
        assert copied is not None
        assert copied[0] == question


def _everything() -> Any:
    from textual.selection import SELECT_ALL

    return SELECT_ALL


async def test_what_comes_after_the_end_is_no_mistake() -> None:
    """A message that was sent as the reader quit has no screen any more to be shown on."""
    engine = FakeEngine()
    app = make_app(engine)
    async with app.run_test() as pilot:
        transcript = chat(pilot).query_one(Transcript)
        app.exit()
        chat(pilot).call_later(transcript.add, Static("late"))
    assert app.failure is None


@pytest.mark.parametrize(
    ("what", "width", "beside"),
    [
        ("loading the target", 80, True),
        ("measuring this machine (threads)", 120, True),
        ("measuring this machine (batches of 16, 12 s left)", 80, False),
        ("measuring this machine (batches of 16, 12 s left)", 120, False),
    ],
)
async def test_what_is_measured_is_read_to_its_end(what: str, width: int, beside: bool) -> None:
    """What is being done stands in one row; what can be done meanwhile beside it, or below where there is no room."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(width, 24)) as pilot:
        engine.loading(what, 0.42)
        await wait_until(pilot, lambda: "42%" in live_text(pilot))
        first, second = live_text(pilot).split("\n")[:2]
        assert first.startswith(f"{'━' * 20}  42%  {what}")
        assert ("you can type already" in first, "you can type already" in second) == (beside, not beside)
