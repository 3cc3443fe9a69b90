"""The truth view as a reader uses it: modes, ghosts, heat, and the inspector."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.selection import SELECT_ALL

from localspec.chat.pair_slot import Phase
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.tokens.live import counted
from localspec.chat.tokens.marking import UNKNOWN, GhostMode, MarkMode, heat_kind, kinds_of
from localspec.engine.events import Origin, Round, Token
from localspec.engine.inspection import Candidate, Inspection, Opinion
from localspec.runtime.worker.messages import Dropped, Inspect, Inspected, Weigh, Weighed
from localspec.tui.app import ChatApp
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.tokens.token_view import TokenView
from tests.tui.fakes import NoPairs, with_settings
from tests.tui.support import (
    INFO,
    LAUNCH,
    Clock,
    FakeEngine,
    chat,
    live_text,
    make_app,
    make_round,
    notice_text,
    rounds_of,
    send,
    session,
    views,
    wait_until,
)
from tests.tui.test_chat import answered, begin, rounds_at_random, written

TEXT = "Once upon a time a fox lived at the edge of a quiet wood."


class LookingEngine(FakeEngine):
    """Tells what the models think as soon as it is asked: token ids are their indices, their chances fall with them."""

    answers_looks: bool = True

    def send(self, request: Any) -> None:
        super().send(request)
        if self.answers_looks:
            self.answer(request)

    def answer(self, request: Any) -> None:
        match request:
            case Inspect():
                token = request.reply[request.position]
                opinion = Opinion(prob_of(token), 1, 0.5, (Candidate(token, f"t{token}", prob_of(token)),))
                self.inbox.put(Inspected(request.request_id, Inspection(token, opinion, opinion)))
            case Weigh():
                probs = tuple(prob_of(token) for token in request.reply[request.start : request.stop])
                self.inbox.put(Weighed(request.request_id, probs))


def prob_of(token: int) -> float:
    return 1 / (1 + token)


def numbered(rounds: list[Round]) -> list[Round]:
    """The same rounds, every token's id its index in the reply."""
    ids = count()
    return [replace(r, tokens=tuple(replace(token, id=next(ids)) for token in r.tokens)) for r in rounds]


async def reply(pilot: Pilot[Any], engine: FakeEngine, rounds: list[Round]) -> list[Token]:
    """A finished reply; its tokens."""
    await begin(pilot, engine)
    engine.write(rounds)
    engine.finish()
    await answered(pilot)
    return [token for round_ in rounds for token in round_.tokens]


async def mark(pilot: Pilot[Any], mode: MarkMode) -> None:
    """Show tokens, and press the key until they are marked in this mode."""
    transcript = chat(pilot).query_one(Transcript)
    if transcript.reply_format.markdown:
        await pilot.press("ctrl+t")
    for _ in MarkMode:
        if transcript.reply_format.mode is mode:
            break
        await pilot.press("f2")
    assert transcript.reply_format.marks is mode
    await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.mode is mode and not session(pilot).busy)


def expected_kinds(mode: MarkMode, rounds: list[Round]) -> Counter[str]:
    """The kinds of a reply's tokens, from the events alone."""
    kinds: Counter[str] = Counter()
    index = 0
    for number, round_ in enumerate(rounds):
        for token in round_.tokens:
            own = token.origin is not Origin.ACCEPTED
            match mode:
                case MarkMode.DRAFTER:
                    kinds["target" if own else token.drafter or round_.drafter or "other"] += 1
                case MarkMode.HEAT:
                    kinds[heat_kind(prob_of(token.id))] += 1
                case MarkMode.ROUNDS:
                    kinds[("odd", "even")[number % 2] + (", own" if own else "")] += 1
                case _:
                    kinds[token.origin] += 1
            index += 1
    return kinds


@pytest.mark.parametrize("seed", range(4))
async def test_in_every_mode_the_line_counts_what_is_marked(seed: int) -> None:
    """The counts on the live line, the kinds of the tokens marked, and those of the events are the same."""
    engine, rounds = LookingEngine(), numbered(rounds_at_random(seed))
    async with make_app(engine).run_test(size=(110, 30)) as pilot:
        await reply(pilot, engine, rounds)
        for mode in MarkMode:
            await mark(pilot, mode)
            expected = expected_kinds(mode, rounds)
            line = live_text(pilot).splitlines()[1]
            for kind in counted({kind: expected[kind] for kind in kinds_of(mode)}, mode, INFO.drafters):
                number, _, rest = line.partition(kind)
                assert int(number) == expected[kind], (mode, kind)
                line = rest
            tokens = views(pilot)[0].reply.tokens
            trace, owners = session(pilot).last.reply, set()
            for y, drawn in enumerate(tokens._layout.lines):
                tokens.render_line(y)
                for run in drawn.runs:
                    owners.add(run.token)
                    style = tokens._palette().mark(mode, trace.kind(mode, run.token))
                    assert tokens._look(run) == style, mode
            assert Counter(trace.kind(mode, i) for i in range(len(trace.tokens))) == expected, mode
            assert owners <= set(range(len(trace.tokens))), mode


async def test_one_key_goes_through_the_modes() -> None:
    """First it brings out what clean Markdown hides; all the while Markdown it is; each step is named."""
    engine = LookingEngine()
    async with make_app(engine).run_test() as pilot:
        await reply(pilot, engine, rounds_of(TEXT))
        transcript = chat(pilot).query_one(Transcript)
        seen = []
        for _ in range(6):
            await pilot.press("f2")
            await pilot.pause()
            seen.append(transcript.reply_format.marks)
            assert transcript.reply_format.markdown
            assert not views(pilot)[0].reply.tokens.display
            assert transcript.reply_format.mode in notice_text(pilot) or "Markdown" in notice_text(pilot)
        order = [MarkMode.ORIGIN, MarkMode.DRAFTER, MarkMode.HEAT, MarkMode.ROUNDS, MarkMode.OFF, MarkMode.SUBTLE]
        assert seen == order


async def test_a_chosen_turn_is_marked_alone() -> None:
    """Alt+Up chooses; the key then switches that turn; Esc lets go, and what is switched next is all."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 40)) as pilot:
        await reply(pilot, engine, rounds_of("One."))
        await send(pilot, "Again")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        engine.reply("Two.")
        await answered(pilot, 2)
        await pilot.press("alt+up", "alt+up")
        assert chat(pilot).query_one(Transcript).selected is views(pilot)[0]
        await pilot.press("ctrl+t", "f2")
        await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.mode is MarkMode.DRAFTER)
        assert "This reply" in notice_text(pilot)
        await wait_until(pilot, lambda: views(pilot)[0].reply.tokens.display)
        assert not views(pilot)[1].reply.tokens.display
        await pilot.press("escape", "ctrl+t")
        await wait_until(pilot, lambda: views(pilot)[1].reply.tokens.display)
        assert [view.reply.tokens.mode for view in views(pilot)] == [MarkMode.ORIGIN, MarkMode.ORIGIN]


async def test_kept_ghosts_stand_where_they_were_made() -> None:
    """Before the token that replaced them; never in the text, the counts, the selection."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        rounds = [make_round(["Once", " upon"], rejected=[" there", " was"]), make_round([" a", " time."])]
        await reply(pilot, engine, rounds)
        await pilot.press("f4", "ctrl+t")
        assert chat(pilot).query_one(Transcript).ghosts is GhostMode.KEEP
        view = views(pilot)[0].reply.tokens
        await wait_until(pilot, lambda: "there" in view.render_line(0).text)
        assert view.render_line(0).text.rstrip() == "Once there was upon a time."
        assert view.get_selection(SELECT_ALL) == ("Once upon a time.", "\n")
        assert view._layout.tokens_n == 4
        await pilot.press("f4")
        await wait_until(pilot, lambda: "there" not in view.render_line(0).text)


async def test_what_is_said_of_marks_and_ghosts_is_what_is_seen() -> None:
    """Markdown shows no ghosts, and what was brought from elsewhere has no tokens to mark."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await reply(pilot, engine, rounds_of(TEXT))
        await pilot.press("f4")
        await wait_until(pilot, lambda: "Markdown has no place for them; Ctrl+T shows tokens." in notice_text(pilot))
        await pilot.press("ctrl+t", "f4", "f4", "f4")
        await wait_until(pilot, lambda: "stay where they were made; they are never copied." in notice_text(pilot))
        assert "Markdown has no place" not in notice_text(pilot)
        session(pilot).last.reply = InspectableReply()
        await pilot.press("f2")
        await wait_until(pilot, lambda: "Nothing here has tokens to mark" in notice_text(pilot))


async def test_marks_asked_for_before_the_first_reply_are_those_of_the_tokens_to_come() -> None:
    """While the pair is being loaded the message waits, and then the engine reads it."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        await send(pilot, "Once")
        await pilot.press("f2")
        await wait_until(pilot, lambda: "Replies are marked by" in notice_text(pilot))
        engine.load()
        await wait_until(pilot, lambda: engine.prompts)
        said = notice_text(pilot)
        await pilot.press("f2")
        await wait_until(pilot, lambda: "Replies are marked by" in notice_text(pilot) != said)


@pytest.mark.parametrize(("new_here", "said_n"), [(True, 1), (False, 0)])
async def test_somebody_new_is_told_once_where_the_colours_go(new_here: bool, said_n: int) -> None:
    """When the first reply they were seen in becomes Markdown."""
    engine = FakeEngine()
    app = ChatApp(with_settings(LAUNCH), engine, engine.inbox, PairLibrary(NoPairs()), Clock(), new_here=new_here)
    async with app.run_test() as pilot:
        await reply(pilot, engine, rounds_of(TEXT))
        assert ("F2 colours its tokens again." in notice_text(pilot)) == bool(said_n)
        await send(pilot, "Again")
        engine.reply(TEXT)
        await wait_until(pilot, lambda: len(views(pilot)) == 2 and not session(pilot).busy)
        assert "F2 shows them" not in notice_text(pilot)


async def test_heat_comes_when_the_reply_is_done_and_waits_for_messages() -> None:
    """While a reply is written nothing is asked; a message goes before what is asked, which is asked again."""
    engine = LookingEngine()
    engine.answers_looks = False
    async with make_app(engine).run_test() as pilot:
        await begin(pilot, engine)
        await heat_while_writing(pilot)
        assert not [r for r in engine.sent if isinstance(r, Weigh)]
        engine.write(numbered(rounds_of(TEXT)))
        engine.finish()
        await wait_until(pilot, lambda: any(isinstance(r, Weigh) for r in engine.sent))
        await send(pilot, "Next")
        weigh = next(r for r in engine.sent if isinstance(r, Weigh))
        engine.inbox.put(Dropped(weigh.request_id))
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        kinds = [type(r).__name__ for r in engine.sent if type(r).__name__ in ("Generate", "Weigh", "Cancel")]
        assert kinds == ["Generate", "Weigh", "Cancel", "Generate"]
        engine.answers_looks = True
        engine.reply("Yes.")
        await wait_until(pilot, lambda: session(pilot).current is None and not session(pilot).busy)
        first = views(pilot)[0].reply.tokens._reply
        await wait_until(pilot, lambda: first.counts(MarkMode.HEAT)[UNKNOWN] == 0)


async def heat_while_writing(pilot: Pilot[Any]) -> None:
    await pilot.press("f2", "f2")
    assert chat(pilot).query_one(Transcript).reply_format.mode is MarkMode.HEAT


async def open_inspector(pilot: Pilot[Any]) -> InspectorScreen:
    await pilot.press("f5")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
    screen = pilot.app.screen
    assert isinstance(screen, InspectorScreen)
    await wait_until(pilot, lambda: screen.index in screen.subject.reply.inspections)
    return screen


def panel_text(pilot: Pilot[Any]) -> str:
    return str(pilot.app.screen.query("TokenPanel Static").first().render())


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)])
async def test_the_inspector_walks_along_the_tokens(size: tuple[int, int]) -> None:
    """By token, line, round and rejection; what is looked at is described, at any size; Esc leads back."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=size) as pilot:
        tokens = await reply(pilot, engine, numbered(rounds_of(TEXT)))
        screen = await open_inspector(pilot)
        trace = screen.subject.reply
        assert screen.index == 0
        wrong = trace.next_rejection(0)
        assert wrong is not None
        steps = [("right", 1), ("right", 2), ("left", 1), ("end", len(tokens) - 1), ("home", 0), ("n", wrong)]
        steps.append(("right_square_bracket", trace.first_of_round(wrong, 1)))
        for key, index in steps:
            await pilot.press(key)
            assert screen.index == index, key
            await wait_until(pilot, lambda: screen.index in trace.inspections)
            await wait_until(pilot, lambda: f"id {tokens[screen.index].id}, " in panel_text(pilot))
            assert f"t{tokens[screen.index].id}" in panel_text(pilot)
        await pilot.press("left_square_bracket", "home", "left")
        assert screen.index == 0, "there is nothing before the first"
        await pilot.press("down", "up")
        assert screen.query_one(TokenView)._layout.lines_of(screen.index).start == 0
        await pilot.press("escape")
        assert not isinstance(pilot.app.screen, InspectorScreen)


async def test_a_click_on_a_token_opens_the_inspector_there() -> None:
    """In the token view; and inside the inspector it goes to that token."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        await reply(pilot, engine, numbered(rounds_of(TEXT)))
        await mark(pilot, MarkMode.ORIGIN)
        view = views(pilot)[0].reply.tokens
        await wait_until(pilot, lambda: view.display)
        await pilot.click(view, offset=(TEXT.index("time") + 1, 0))
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await wait_until(pilot, lambda: screen.subject.reply.tokens[screen.index].text == " time")
        await pilot.click(screen.query_one(TokenView), offset=(0, 0))
        await wait_until(pilot, lambda: screen.index == 0)


async def test_a_click_on_a_reply_that_has_just_left_the_screen_opens_nothing() -> None:
    """And not the inspector on another reply, which may be shorter."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        tokens = await reply(pilot, engine, numbered(rounds_of(TEXT)))
        await mark(pilot, MarkMode.ORIGIN)
        view = views(pilot)[0].reply.tokens
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: not views(pilot))
        await send(pilot, "And then?")
        engine.write(numbered(rounds_of("A fox.")))
        engine.finish()
        await wait_until(pilot, lambda: bool(views(pilot)) and not session(pilot).busy)
        chat(pilot).post_message(TokenView.Picked(view, len(tokens) - 1))
        await wait_until(pilot, lambda: "left the screen" in notice_text(pilot))
        assert pilot.app.screen is chat(pilot)


async def test_a_reply_that_is_far_away_meanwhile_can_still_be_looked_into() -> None:
    """Pages of the conversation below come and go; once nobody looks any more, it is let go."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        tokens = await reply(pilot, engine, numbered(rounds_of(TEXT)))
        turn = session(pilot).thread.turns[0]
        await send(pilot, "And then?")
        engine.write(numbered(rounds_of("Another.")))
        engine.finish()
        await wait_until(pilot, lambda: session(pilot).last is not turn and not session(pilot).busy)
        transcript = chat(pilot).query_one(Transcript)
        transcript.choose(views(pilot)[0])
        screen = await open_inspector(pilot)
        assert screen.subject == turn
        chat(pilot)._turns._let_go(turn)
        await pilot.resize_terminal(100, 30)
        await pilot.press("end")
        await wait_until(pilot, lambda: screen.index == len(tokens) - 1)
        await wait_until(pilot, lambda: screen.index in screen.subject.reply.inspections)
        await pilot.press("escape")
        await wait_until(pilot, lambda: not turn.looked_into)
        chat(pilot)._turns._let_go(turn)
        await wait_until(pilot, lambda: not turn.reply.tokens)


async def test_a_reply_being_written_can_be_looked_into() -> None:
    """What came about is told at once; the models are asked when the reply is done; new tokens appear."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(80, 24)) as pilot:
        await begin(pilot, engine)
        rounds = numbered(rounds_of(TEXT))
        engine.write(rounds[:2])
        await written(pilot, 4)
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await wait_until(pilot, lambda: "when the reply is done" in panel_text(pilot))
        assert not [r for r in engine.sent if isinstance(r, Inspect)]
        engine.write(rounds[2:])
        engine.finish()
        await wait_until(pilot, lambda: 0 in screen.subject.reply.inspections)
        await wait_until(pilot, lambda: screen.query_one(TokenView)._reply.text == TEXT)
        await wait_until(pilot, lambda: "target" in panel_text(pilot))


async def test_without_tokens_there_is_nothing_to_look_into() -> None:
    """A sentence instead of an empty screen."""
    engine = FakeEngine()
    async with make_app(engine).run_test() as pilot:
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await pilot.press("f5")
        assert not isinstance(pilot.app.screen, InspectorScreen)
        assert "no tokens" in notice_text(pilot)


async def test_the_cursor_marks_one_token() -> None:
    """And only lines that it leaves or comes to are drawn again."""
    engine = LookingEngine()
    async with make_app(engine).run_test(size=(60, 24)) as pilot:
        await reply(pilot, engine, numbered(rounds_of(TEXT * 4)))
        screen = await open_inspector(pilot)
        view = screen.query_one(TokenView)
        await pilot.pause()
        far = view.render_line(4)
        await pilot.press("right")
        await pilot.pause()
        pointed_at = "".join(s.text for s in view.render_line(0) if s.style and s.style.reverse)
        assert pointed_at == screen.subject.reply.tokens[1].text
        assert view.render_line(4) is far
