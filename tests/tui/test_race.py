"""The race: the same text twice, seen as it is written, and again at the speed it had."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from localspec.chat.race import Race, lane_line
from localspec.engine.events import Event, Finished, FinishReason, Origin, Round, Started
from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.worker.messages import Cancel, Failed, Generate, Request
from localspec.tui.screens.race import LaneView, RaceScreen
from localspec.tui.widgets.key_row import KeyRow
from tests.tui.support import FakeEngine, make_app, make_round, notice_text, ready, send, session, wait_until
from tests.tui.test_chat import answered, begin

PROMPT = (Message(Role.USER, "hi"),)
DRAFTED = [make_round(["a", "b", "c"]), make_round(["d", "e", "f"])]
PLAIN = [replace(make_round([text], Origin.PLAIN), total_s=0.02) for text in "abcdef"]


@dataclass
class Track:
    """A race, and an engine that runs as told."""

    options: ReplyOptions = field(default_factory=ReplyOptions)
    sent: list[Request] = field(default_factory=list)
    race: Race = field(init=False)

    def __post_init__(self) -> None:
        ids = count(1)
        self.race = Race(self.sent.append, lambda: next(ids), PROMPT, self.options, seed=42)

    def run(self, rounds: list[Round], reason: FinishReason = FinishReason.STOP) -> None:
        request = self.sent[-1]
        assert isinstance(request, Generate)
        events: list[Event] = [Started(3, 0, 42), *rounds, Finished(reason, "", Tally().timings())]
        for event in events:
            assert self.race.receive(request.request_id, event)


def test_both_run_with_the_same_message_and_seed() -> None:
    """The speculative run first, then the plain one, which proposes nothing; then the race is ready."""
    track = Track()
    track.race.start()
    track.run(DRAFTED)
    assert not track.race.ready
    track.run(PLAIN)
    assert track.race.ready
    first, second = track.sent
    assert isinstance(first, Generate)
    assert isinstance(second, Generate)
    assert first.prompt == second.prompt == PROMPT
    assert first.options.seed == second.options.seed == 42
    assert (second.options.spec, second.options.depth) == ((), 0)
    assert first.options.spec is None


@pytest.mark.parametrize("off", [ReplyOptions(spec=()), ReplyOptions(depth=0)])
def test_a_race_has_a_runner_even_where_speculation_is_off(off: ReplyOptions) -> None:
    """Otherwise both would run plain; a seed that was chosen stays."""
    race = Track(replace(off, seed=7)).race
    assert (race.speculative.options.spec, race.speculative.options.depth) == (None, None)
    assert race.plain.options.seed == race.speculative.options.seed == 7


@pytest.mark.parametrize(
    "sampling",
    [Sampling(temperature=1), Sampling(mirostat=2), Sampling(dynatemp_range=0.5), Sampling(xtc_probability=0.5)],
    ids=["temperature", "mirostat", "dynatemp", "xtc"],
)
def test_both_write_the_likeliest_text(sampling: Sampling) -> None:
    """Or two texts of different lengths would be compared; what else holds of replies holds here."""
    race = Track(ReplyOptions(replace(sampling, repeat_penalty=1.1), max_tokens=50)).race
    for lane in (race.plain, race.speculative):
        assert lane.options.sampling == Sampling(temperature=0, repeat_penalty=1.1)
        assert lane.options.max_tokens == 50


def test_the_replay_is_the_recording() -> None:
    """A round shows at the moment it was done, no sooner; at the end everything does."""
    track = Track()
    track.race.start()
    track.run(DRAFTED)
    track.run(PLAIN)
    lane = track.race.plain
    assert [lane.done_by(elapsed) for elapsed in (0.0, 0.0199, 0.02, 0.05, 0.12, 9.0)] == [0, 0, 1, 2, 6, 6]
    assert lane.took_s == pytest.approx(0.12)
    assert "3 tokens" in lane_line(lane, 0.06, 3)
    assert "50.0 tokens/s" in lane_line(lane, 0.06, 3)
    assert lane_line(lane, 99.0, 6).endswith("done")
    assert "0.12 s" in lane_line(lane, 99.0, 6), "the clock of one who has arrived stands"


def run_both(drafted: list[Round] = DRAFTED, plain: list[Round] = PLAIN) -> Race:
    track = Track()
    track.race.start()
    track.run(drafted)
    track.run(plain)
    return track.race


def test_the_verdict_explains_the_speed() -> None:
    """By what a round brought and what it cost."""
    worth = run_both().verdict()
    assert worth.startswith("1.25x as fast with guesses: a round wrote 3.00 tokens and took as long as 2.40 without")
    slower = [replace(round_, total_s=0.12) for round_ in DRAFTED]
    worth = run_both(slower).verdict()
    assert worth.startswith("0.50x as fast with guesses: a round wrote 3.00 tokens and took as long as 6.00 without")
    assert worth.endswith("Both wrote the same text.")


def test_the_verdict_says_how_far_the_texts_are_the_same() -> None:
    """And no more of the reason than is known."""
    assert run_both().verdict().endswith("Both wrote the same text.")
    other = [*PLAIN[:4], replace(make_round(["x"], Origin.PLAIN), total_s=0.02)]
    assert "The texts differ after 4 tokens, usually where two" in run_both(plain=other).verdict()
    assert "The texts differ after 5 tokens" in run_both(plain=PLAIN[:5]).verdict()
    assert "The texts differ from the first token on, usually" in run_both(plain=[other[-1], *PLAIN[1:]]).verdict()


def test_a_race_that_is_called_off_ends() -> None:
    """The engine is told; what comes after is not a race."""
    track = Track()
    track.race.start()
    track.race.stop()
    assert track.sent[-1] == Cancel()
    assert track.race.receive(1, Finished(FinishReason.CANCELLED, "", Tally().timings()))
    assert len(track.sent) == 2, "the other run is not begun"
    assert not track.race.ready
    assert not track.race.receive(99, Started(1, 0, 1)), "events of replies are not the race's"


async def run_lane(pilot: Pilot[Any], engine: FakeEngine, rounds: list[Round], n: int) -> None:
    await wait_until(pilot, lambda: len(engine.prompts) == n)
    engine.start()
    engine.write(rounds)
    engine.finish()


async def test_a_race_on_screen() -> None:
    """The latest message again: seen as it is written, the verdict, a replay; the conversation stays as it was."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await begin(pilot, engine)
        engine.write(DRAFTED)
        engine.finish()
        await answered(pilot)
        await send(pilot, "/race")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, RaceScreen))
        screen = pilot.app.screen
        assert isinstance(screen, RaceScreen)
        await wait_until(pilot, lambda: "reading the message" in drawn(screen, 1))
        assert "waits for its turn" in drawn(screen, 0)
        engine.start()
        engine.write(DRAFTED[:1])
        await wait_until(pilot, lambda: texts(screen) == ["", "abc"])
        assert "3 tokens" in drawn(screen, 1)
        assert "done" not in drawn(screen, 1)
        engine.write(DRAFTED[1:])
        engine.finish()
        await run_lane(pilot, engine, PLAIN, 3)
        assert engine.prompts[1].prompt == engine.prompts[2].prompt == engine.prompts[0].prompt
        await wait_until(pilot, lambda: "the same text" in str(screen.query_one("#race-verdict").render()))
        assert texts(screen) == ["abcdef", "abcdef"]
        await pilot.press("r", "space")
        await wait_until(pilot, lambda: "the same text" in str(screen.query_one("#race-verdict").render()))
        assert "Side by side" in str(screen.query_one("#race-head").render())
        assert texts(screen) == ["abcdef", "abcdef"]
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, RaceScreen))
        assert session(pilot).last.reply.text == "abcdef"
        assert not session(pilot).busy


async def test_a_race_that_fails_waits_for_nothing() -> None:
    """Neither lane gets a reply, and the reason is read below them."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "/race Count to three")
        await wait_until(pilot, lambda: engine.prompts)
        engine.inbox.put(Failed(engine.prompts[0].request_id, 7, "It is too long.", "Shorten it."))
        screen = pilot.app.screen
        assert isinstance(screen, RaceScreen)
        await wait_until(pilot, lambda: "It is too long." in str(screen.query_one("#race-verdict").render()))
        assert ["no reply" in drawn(screen, n) for n in (0, 1)] == [True, True]


def texts(screen: RaceScreen) -> list[str]:
    """What stands in the lanes."""
    return ["".join(token.text for token in view._reply.tokens) for view in screen.query(LaneView)]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
async def test_the_figures_of_a_lane_keep_to_their_rows(width: int) -> None:
    """Two of them, whatever the width and however many tokens; nothing is cut off."""
    lane = [replace(make_round(["word "] * 8), total_s=0.7)] * 1_500
    race = Race(lambda request: None, count(1).__next__, PROMPT, ReplyOptions(), seed=1)
    race.speculative.rounds = race.plain.rounds = lane
    race.speculative.finished = race.plain.finished = Finished(FinishReason.STOP, "", Tally().timings())
    async with make_app(FakeEngine()).run_test(size=(width, 24)) as pilot:
        screen = RaceScreen(race, pilot.app._palette)  # type: ignore[attr-defined]
        pilot.app.push_screen(screen)
        await pilot.pause()
        await pilot.press("space")
        await wait_until(pilot, lambda: len(list(screen.query(".lane-line"))) == 2 and "done" in drawn(screen, 0))
        for columns in (width, 60, 140):
            await pilot.resize_terminal(columns, 24)
            await pilot.pause()
            for n in (0, 1):
                assert "12000 tokens" in drawn(screen, n)
                assert drawn(screen, n).rstrip().endswith("tokens/s  done")
                assert drawn(screen, n).count("\n") < 2


async def test_on_a_low_screen_there_is_room_for_the_replies() -> None:
    """Figures take one row, cut where it is full, and the sentence about the race gives way."""
    lane = [replace(make_round(["word "] * 8), total_s=0.7)] * 1_500
    race = Race(lambda request: None, count(1).__next__, PROMPT, ReplyOptions(), seed=1)
    race.speculative.rounds = race.plain.rounds = lane
    race.speculative.finished = race.plain.finished = Finished(FinishReason.STOP, "", Tally().timings())
    async with make_app(FakeEngine()).run_test(size=(60, 15)) as pilot:
        screen = RaceScreen(race, pilot.app._palette)  # type: ignore[attr-defined]
        pilot.app.push_screen(screen)
        await wait_until(pilot, lambda: len(list(screen.query(".lane-line"))) == 2 and "tokens/s" in drawn(screen, 0))
        for view in screen.query(LaneView):
            assert view.query_one(".lane-line").size.height == 1
            assert view.query_one(VerticalScroll).size.height >= 4


async def test_long_replies_are_scrolled_by_keys() -> None:
    """Both of a race. The row of keys says so where it is of use; more text moves nothing that is read."""
    rounds = [replace(make_round(["word "] * 8), total_s=0.7)] * 300
    race = Race(lambda request: None, count(1).__next__, PROMPT, ReplyOptions(), seed=1)
    async with make_app(FakeEngine()).run_test(size=(80, 24)) as pilot:
        screen = RaceScreen(race, pilot.app._palette)  # type: ignore[attr-defined]
        pilot.app.push_screen(screen)
        await wait_until(pilot, lambda: len(list(screen.query(VerticalScroll))) == 2)
        keys, scrolls = screen.query_one(KeyRow), list(screen.query(VerticalScroll))
        await wait_until(pilot, lambda: "Esc back" in str(keys.render()))
        assert "scroll" not in str(keys.render())
        race.speculative.rounds = race.plain.rounds = rounds[:200]
        await wait_until(pilot, lambda: "Page Up scroll" in str(keys.render()))
        await wait_until(pilot, lambda: all(each.max_scroll_y and each.is_vertical_scroll_end for each in scrolls))
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        read = [(each.scroll_y, each.max_scroll_y) for each in scrolls]
        assert all(0 < at < end for at, end in read)
        race.speculative.rounds = race.plain.rounds = rounds
        await wait_until(pilot, lambda: all(scrolls[n].max_scroll_y > end for n, (_, end) in enumerate(read)))
        assert [each.scroll_y for each in scrolls] == [at for at, _ in read]
        await pilot.press(*["pagedown"] * 30)
        await wait_until(pilot, lambda: all(each.is_vertical_scroll_end for each in scrolls))


def drawn(screen: RaceScreen, n: int) -> str:
    """The figures of a lane as they stand on the screen."""
    line = list(screen.query(".lane-line"))[n]
    return "\n".join(line.render_line(y).text for y in range(line.size.height))


async def test_a_race_needs_a_message_and_an_idle_engine() -> None:
    """A sentence instead of a screen; and a message can be named."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await send(pilot, "/race")
        assert "engine is busy" in notice_text(pilot)
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase.value == "idle")
        await send(pilot, "/race")
        assert "no message" in notice_text(pilot)
        await send(pilot, "/race Count to three")
        await wait_until(pilot, lambda: engine.prompts)
        assert engine.prompts[0].prompt[-1] == Message(Role.USER, "Count to three")
        await pilot.press("escape")
        assert engine.sent[-1] == Cancel()
