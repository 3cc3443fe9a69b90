"""Pairs in the app, driven as a reader would: offered, fetched, used, left again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from localspec.base.errors import DownloadError, NotFoundError
from localspec.chat.pair_slot import Phase
from localspec.chat.pairs.downloads import Stage
from localspec.chat.pairs.library import PairLibrary
from localspec.engine.events import Finished, FinishReason
from localspec.engine.tally import Tally
from localspec.models.download.queue_file import QueuedDownload
from localspec.models.pairs.state import NOT_HERE
from localspec.runtime.worker.messages import Load
from localspec.store import ReplyMetadata, Store
from localspec.tui.app import ChatApp
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.pair_list import PairList
from tests.tui.fakes import with_settings
from tests.tui.pairs_support import BEST, MB, FakeWorld, fetched, progressed
from tests.tui.support import (
    LAUNCH,
    Clock,
    FakeEngine,
    chat,
    live_text,
    notice_text,
    rounds_of,
    send,
    session,
    shown,
    transcript_of,
    wait_until,
)

TOUR = replace(LAUNCH, pair_id="builtin", title="LocalSpec tour", pace_tokens_per_second=None)
FULL = DownloadError("The disk of /models is full; 2.1 GB of big.gguf are missing.", "Free some space.")


@contextmanager
def app_of(world: FakeWorld, engine: FakeEngine) -> Iterator[ChatApp]:
    """The app over pairs that are made of words; downloads that were left are ended."""
    library = PairLibrary(world)
    app = ChatApp(with_settings(TOUR), engine, engine.inbox, library, Clock())
    app.animation_level = "full"
    try:
        yield app
    finally:
        library.close()
        for _ in world.stops:
            world.feed.put(None)


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def app(world: FakeWorld, engine: FakeEngine) -> Iterator[ChatApp]:
    with app_of(world, engine) as app:
        yield app


async def ready(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """The tour is loaded, and the offer has been found."""
    engine.load()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE and "F3" in offered(pilot))


def offered(pilot: Pilot[Any]) -> str:
    return shown(pilot, "#offer")


async def opened(pilot: Pilot[Any]) -> PairsScreen:
    await pilot.press("ctrl+l")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, PairsScreen) and listed(pilot))
    screen = pilot.app.screen
    assert isinstance(screen, PairsScreen)
    return screen


def listed(pilot: Pilot[Any]) -> list[str]:
    return [str(option.id) for option in pilot.app.screen.query_one(PairList).options]


def marked(pilot: Pilot[Any]) -> str | None:
    option = pilot.app.screen.query_one(PairList).highlighted_option
    return option.id if option else None


def said(pilot: Pilot[Any], selector: str) -> str:
    return " ".join(str(widget.render()) for widget in pilot.app.screen.query(selector))


def loads(engine: FakeEngine) -> list[str]:
    """The targets that were to be loaded."""
    return [request.options.target.stem for request in engine.sent if isinstance(request, Load)]


@pytest.mark.parametrize(("size", "with_legend"), [((80, 24), True), ((60, 20), False)])
async def test_the_whole_first_page_fits_a_low_terminal(
    app: ChatApp, engine: FakeEngine, size: tuple[int, int], with_legend: bool
) -> None:
    """Beside an offer, too; where it is very low, without the legend of the colours, which the help has."""
    async with app.run_test(size=size) as pilot:
        await ready(pilot, engine)
        await wait_until(pilot, lambda: offered(pilot))
        await pilot.pause()
        page = transcript_of(pilot)
        assert page.virtual_size.height <= page.size.height
        assert chat(pilot).query_one("#legend").display is with_legend


async def test_the_offer_comes_after_the_first_screen_and_one_key_accepts_it(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    async with app.run_test() as pilot:
        assert not chat(pilot).query_one("#offer").display
        await ready(pilot, engine)
        assert offered(pilot) == "F3 downloads Qwen3 8B + 0.6B, 5.64 GB, which suits this machine."

        await pilot.press("f3")
        await wait_until(pilot, lambda: "F3 once more downloads 5.64 GB to " in notice_text(pilot))
        assert not app._library.downloads.pending
        await pilot.press("f3")
        world.feed.put(progressed(2312 * MB))
        await wait_until(pilot, lambda: "Qwen3 8B + 0.6B: 40 %, 24.0 MB/s, 2 min left" in notice_text(pilot))
        assert not chat(pilot).query_one("#offer").display
        await send(pilot, "Hello")
        engine.reply("Good day.")
        await wait_until(pilot, lambda: session(pilot).last is not None)
        assert "40 %" in notice_text(pilot)

        for event in (fetched(), None):
            world.feed.put(event)
        await wait_until(pilot, lambda: "is here; F3 switches to it." in notice_text(pilot))
        await pilot.press("f3")
        await wait_until(pilot, lambda: loads(engine) == [BEST.id])
        assert "Changing to Qwen3 8B + 0.6B; the conversation stays." in notice_text(pilot)
        engine.load()
        await wait_until(pilot, lambda: "You are talking to Qwen3 8B + 0.6B now." in notice_text(pilot))
        await wait_until(pilot, lambda: world.remembered == [BEST.id])
        await send(pilot, "And now?")
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert [message.content for message in engine.prompts[-1].prompt] == [  # type: ignore[union-attr]
            "Hello",
            "Good day.",
            "And now?",
        ]


async def test_nothing_to_accept_is_said(app: ChatApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f3")
        await wait_until(pilot, lambda: "Nothing is offered now; Ctrl+L lists all pairs." in notice_text(pilot))


async def test_typing_filters_and_keys_move(app: ChatApp, engine: FakeEngine) -> None:
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        assert marked(pilot) == BEST.id
        await pilot.press("down", "down")
        assert marked(pilot) == "deepseek-r1-distill-qwen-14b"
        assert "DeepSeek" in said(pilot, "PairDetails Static")
        await pilot.press("pagedown", "down")
        assert marked(pilot) == listed(pilot)[-1]
        await pilot.press("pageup")
        assert marked(pilot) == listed(pilot)[0]
        await pilot.press(*"llama fits")
        await wait_until(pilot, lambda: listed(pilot) == ["llama-3.2-3b"])
        assert marked(pilot) == "llama-3.2-3b"
        assert "1 of 8 pairs" in said(pilot, "#pairs-count")
        await pilot.press(*"zzz")
        await wait_until(pilot, lambda: not listed(pilot))
        assert "No pair has all of" in said(pilot, "#pairs-empty")
        assert "Enter" not in said(pilot, "#pairs-keys")
        await pilot.press("enter", "ctrl+s", "escape")
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_a_download_is_started_stopped_and_gone_on_with(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        assert "Enter download 5.64 GB" in said(pilot, "#pairs-keys")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Enter once more: download 5.64 GB" in said(pilot, "#pairs-keys"))
        assert "Enter once more downloads 5.64 GB to /models." in said(pilot, "PairDetails Static")
        assert not world.stops
        await pilot.press("enter")
        world.feed.put(progressed(2312 * MB))
        await wait_until(pilot, lambda: "40 %, 24.0 MB/s, 2 min left" in said(pilot, "PairDetails Static"))
        assert "Ctrl+S pause" in said(pilot, "#pairs-keys")
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "Paused at 40 %" in said(pilot, "PairDetails Static"))
        assert world.stops[0].is_set()
        assert "Enter resume" in said(pilot, "#pairs-keys")
        world.feed.put(progressed(2312 * MB))  # what the stopped one says last
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(world.stops) == 2)
        await pilot.press("escape")
        for event in (progressed(2820 * MB), FULL):
            world.feed.put(event)
        await wait_until(pilot, lambda: "could not be fetched; Ctrl+L says why." in notice_text(pilot))
        await opened(pilot)
        await wait_until(pilot, lambda: FULL.message in said(pilot, "PairDetails Static").replace("\n", " "))


async def test_a_pair_that_is_here_is_used_once_the_reply_is_done(app: ChatApp, engine: FakeEngine) -> None:
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await send(pilot, "Hello")
        engine.start()
        engine.write(rounds_of("Good day.")[:1])
        await wait_until(pilot, lambda: session(pilot).phase is Phase.WRITING)
        await opened(pilot)
        await pilot.press(*"smol", "enter")
        await wait_until(pilot, lambda: "SmolLM2 1.7B + 135M is loaded once this reply is done." in notice_text(pilot))
        assert loads(engine) == []
        engine.finish()
        await wait_until(pilot, lambda: loads(engine) == ["smollm2-1.7b"])
        engine.load()
        await wait_until(pilot, lambda: "You are talking to SmolLM2 1.7B + 135M now." in notice_text(pilot))


@pytest.mark.parametrize("command", ["/pair smollm2-1.7b", "/model SmolLM2-1.7B", "/load smollm2-1.7b"])
async def test_a_command_names_the_pair_to_go_on_with(app: ChatApp, engine: FakeEngine, command: str) -> None:
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await send(pilot, command)
        await wait_until(pilot, lambda: loads(engine) == ["smollm2-1.7b"])
        engine.load()
        await wait_until(pilot, lambda: "You are talking to SmolLM2 1.7B + 135M now." in notice_text(pilot))
        await send(pilot, command)
        await wait_until(pilot, lambda: "You are talking to SmolLM2 1.7B + 135M already." in notice_text(pilot))
        assert loads(engine) == ["smollm2-1.7b"]


@pytest.mark.parametrize(("name", "ids"), [("qwen3-8b", [BEST.id]), ("llama", ["llama-3.2-3b", "llama-3.3-70b"])])
async def test_a_command_lists_the_pairs_that_are_called_so(
    app: ChatApp, engine: FakeEngine, name: str, ids: list[str]
) -> None:
    """Where the one that is named is not here, or none has that id."""
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await send(pilot, f"/pair {name}")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, PairsScreen) and listed(pilot) == ids)
        assert marked(pilot) == ids[0]
        assert pilot.app.screen.query_one(Input).value == name
        await pilot.press("escape")
        assert not engine.prompts


async def test_a_conversation_with_another_pair_offers_that_when_it_is_opened(
    world: FakeWorld, engine: FakeEngine
) -> None:
    """As the app begins with it; one key goes on with that pair."""
    with closing(Store.open_or_memory()) as store:
        thread = store.begin(None)
        recorder = thread.begin_reply(ReplyMetadata(pair_id="smollm2-1.7b"), under=thread.ask("Hello").id)
        recorder.receive(Finished(FinishReason.STOP, "Good day.", Tally().timings()))
        chat_config = replace(TOUR, conversation=thread.id)
        app = ChatApp(with_settings(chat_config), engine, engine.inbox, PairLibrary(world), Clock(), store)
        async with app.run_test() as pilot:
            engine.load()
            offered = "This conversation was with SmolLM2 1.7B + 135M; F3 goes back to it."
            await wait_until(pilot, lambda: offered in notice_text(pilot))
            await pilot.press("f3")
            await wait_until(pilot, lambda: loads(engine) == ["smollm2-1.7b"])
            engine.load()
            await wait_until(pilot, lambda: "You are talking to SmolLM2 1.7B + 135M now." in notice_text(pilot))
            await pilot.press("a")
            await wait_until(pilot, lambda: "135M" not in notice_text(pilot))


async def test_a_pair_that_cannot_be_loaded_says_why_and_one_key_goes_back(app: ChatApp, engine: FakeEngine) -> None:
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        await pilot.press(*"smol", "enter")
        await wait_until(pilot, lambda: loads(engine) == ["smollm2-1.7b"])
        engine.refuse_load()
        await wait_until(pilot, lambda: chat(pilot).query(".load-error"))
        assert "F3 loads LocalSpec tour again; Ctrl+L lists all pairs." in shown(pilot, ".load-error")
        await pilot.press("f3")
        await wait_until(pilot, lambda: loads(engine) == ["smollm2-1.7b", "target"])
        engine.load()
        await wait_until(pilot, lambda: not chat(pilot).query(".load-error"))
        assert "ready" in live_text(pilot)


async def test_a_pair_whose_files_are_gone_by_now_is_not_changed_to(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    world.launch_error = NotFoundError("There is no file /models/smol.gguf.", "Fetch it again.")
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        await pilot.press(*"smol", "enter")
        await wait_until(pilot, lambda: chat(pilot).query(".load-error"))
        assert shown(pilot, ".load-error") == "There is no file /models/smol.gguf. Fetch it again."
        assert loads(engine) == []
        assert session(pilot).phase is Phase.IDLE


async def test_files_of_the_pair_in_use_that_were_deleted_are_fetched_again(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    """The list notices when it is opened; the chat goes on all the while."""
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        world.pairs = tuple(
            replace(pair, state=NOT_HERE, available=False) if pair.id == "builtin" else pair for pair in world.pairs
        )
        await opened(pilot)
        await pilot.press("up", "up")
        assert marked(pilot) == "builtin"
        await wait_until(pilot, lambda: "no longer on the disk" in said(pilot, "PairDetails Static"))
        assert "Enter download" in said(pilot, "#pairs-keys")
        await pilot.press("enter", "enter")
        await wait_until(pilot, lambda: world.stops)
        world.feed.put(None)
        await wait_until(pilot, lambda: "no longer on the disk" not in said(pilot, "PairDetails Static"))
        assert "Enter" not in said(pilot, "#pairs-keys")
        await pilot.press("escape")
        assert session(pilot).phase is Phase.IDLE


async def test_quitting_says_first_what_becomes_of_downloads(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    """From any screen; once more quits, and the next start goes on with them."""
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        await pilot.press("f3", "f3")
        world.feed.put(progressed(2312 * MB))
        await wait_until(pilot, lambda: "40 %" in notice_text(pilot))
        await opened(pilot)
        await pilot.press("ctrl+q")
        one = "A download stops here and goes on at the next start; Ctrl+Q once more quits."
        await wait_until(pilot, lambda: one in notice_text(pilot))
        app._library.fetch("llama-3.2-3b")
        await wait_until(pilot, lambda: "(and 1 more)" in notice_text(pilot))
        await pilot.press("ctrl+q")
        two = "2 downloads stop here and go on at the next start; Ctrl+Q once more quits."
        await wait_until(pilot, lambda: two in notice_text(pilot))
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: not pilot.app.is_running or pilot.app._exit)
    app._library.close()
    assert world.stops[0].is_set()
    assert [each.pair_id for each in world.queue] == [BEST.id, "llama-3.2-3b"]


async def test_the_queue_of_the_start_before_goes_on_once_the_pair_is_loaded(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    world.queue = [QueuedDownload(pair_id, "Q") for pair_id in ("llama-3.2-3b", BEST.id)]
    async with app.run_test(size=(100, 40)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: world.stops)
        await opened(pilot)
        await wait_until(pilot, lambda: listed(pilot)[:4] == [":queue", "llama-3.2-3b", BEST.id, ":pairs"])
        await pilot.press("down", "alt+up")
        await wait_until(pilot, lambda: listed(pilot)[:3] == [":queue", BEST.id, "llama-3.2-3b"])
        assert marked(pilot) == BEST.id
        assert "Downloads: 1 under way, 1 waiting" in str(
            pilot.app.screen.query_one(PairList).get_option(":queue").prompt
        )
        await pilot.press("f8")
        await wait_until(pilot, lambda: listed(pilot)[:3] == [":queue", "llama-3.2-3b", ":pairs"])
        await wait_until(pilot, lambda: [each.pair_id for each in world.queue] == ["llama-3.2-3b"])


async def test_a_flood_of_events_is_drawn_five_times_a_second(
    app: ChatApp, world: FakeWorld, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much the downloader tells, the screen is drawn for the newest alone."""
    drawn: list[int] = []
    draw = PairsScreen.show_pairs

    def counted(screen: PairsScreen) -> None:
        drawn.append(1)
        draw(screen)

    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        await pilot.press("enter", "enter")
        monkeypatch.setattr(PairsScreen, "show_pairs", counted)
        for n in range(1000):
            world.feed.put(progressed(n * 5 * MB))
        await wait_until(pilot, lambda: "88 %" in said(pilot, "PairDetails Static"))
        assert len(drawn) < 50


async def test_thousands_of_pairs_are_listed_in_parts_around_the_highlight(
    world: FakeWorld, engine: FakeEngine
) -> None:
    """What is not among the rows is counted, and the keys and the filter reach all."""
    world.pairs = (*world.pairs, *(replace(BEST, id=f"p{n:04}", title=f"P{n:04}") for n in range(5000)))
    with app_of(world, engine) as app:
        async with app.run_test(size=(100, 40)) as pilot:
            await ready(pilot, engine)
            await opened(pilot)
            rows = pilot.app.screen.query_one(PairList)
            assert len(listed(pilot)) < 200
            assert "more below; type to filter" in str(rows.get_option(":below").prompt)
            for _ in range(6):
                await pilot.press("pagedown")
            reached = marked(pilot)
            assert reached is not None
            assert reached.startswith("p0")
            await wait_until(pilot, lambda: ":above" in listed(pilot) or listed(pilot)[-1] == ":below")
            await pilot.press(*"p4999")
            await wait_until(pilot, lambda: listed(pilot) == ["p4999"])


async def test_a_click_highlights_and_starts_nothing(app: ChatApp, world: FakeWorld, engine: FakeEngine) -> None:
    async with app.run_test() as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        await pilot.click(PairList, offset=(5, 3))
        await wait_until(pilot, lambda: marked(pilot) == "llama-3.2-3b")
        assert world.stops == []
        assert isinstance(pilot.app.screen, PairsScreen)
        assert isinstance(pilot.app.focused, Input)


async def test_details_are_scrolled_with_the_keyboard(app: ChatApp, engine: FakeEngine) -> None:
    async with app.run_test(size=(60, 15)) as pilot:
        await ready(pilot, engine)
        screen = await opened(pilot)
        details = screen.query_one("PairDetails")
        await pilot.press("tab")
        await wait_until(pilot, lambda: details.has_focus and not screen.query_one(PairList).display)
        await pilot.press("end")
        await wait_until(pilot, lambda: details.scroll_y > 0)
        await pilot.press("tab", *"llama")
        await wait_until(pilot, lambda: marked(pilot) == "llama-3.2-3b")
        assert details.scroll_y == 0


async def test_a_list_that_cannot_be_read_says_why(engine: FakeEngine) -> None:
    world = FakeWorld(problem=NotFoundError("pairs.toml is broken.", "Mend it."))
    with app_of(world, engine) as app:
        async with app.run_test() as pilot:
            await pilot.press("ctrl+l")
            await wait_until(pilot, lambda: "pairs.toml is broken. Mend it." in said(pilot, "#pairs-empty"))


def test_the_real_pairs_are_listed_without_a_network(tmp_path: Path) -> None:
    """At once what is here, then what fits; nothing is asked of the Hub."""
    from localspec.chat.pairs.source import LocalPairs
    from localspec.doctor.native_probe import NativeReport
    from tests.tui.fakes import NoSettings

    world = LocalPairs(NoSettings(TOUR))
    world._native = NativeReport(version="1", threads=2)
    at_once = {pair.id: pair for pair in world.listed()}
    assert at_once["builtin"].available
    assert at_once["builtin"].fit is None
    judged = {pair.id: pair for pair in world.judged()}
    assert list(judged) == list(at_once)
    assert all(pair.fit is not None for pair in judged.values())


async def test_the_title_is_whole_however_narrow_the_window_is(app: ChatApp, engine: FakeEngine) -> None:
    """What is said beside it is cut."""
    async with app.run_test(size=(30, 24)) as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        title, count = (pilot.app.screen.query_one(f"#pairs-{part}") for part in ("title", "count"))
        assert title.size.width == len("Pairs")
        assert title.region.right < count.region.x
        assert pilot.app.screen.region.contains_region(count.region)


def test_stages_are_words() -> None:
    assert [str(stage) for stage in Stage] == ["waiting", "reading the headers", "fetching", "paused", "failed", "done"]
