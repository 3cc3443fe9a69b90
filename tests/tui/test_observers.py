"""Those who follow replies hear in the chat what goes on record, and the reader hears of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import LocalSpecError, UsageError
from localspec.chat.commands.watching import STOP
from localspec.chat.pacing import Pacer
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.session import ChatSession
from localspec.chat.status import live_state, pause_note
from localspec.chat.tokens.live import Activity, Figures
from localspec.engine.events import (
    DrafterFailure,
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Round,
    Started,
)
from localspec.insight.metrics.meters import StoredMetrics
from localspec.insight.metrics.server import MetricsServer
from localspec.insight.observers import News, ReplyObserver
from localspec.insight.observers.observers import Observers
from localspec.runtime.worker.messages import Failed, Load, Loaded, Silence
from localspec.store import ReplyMetadata, Store
from localspec.tui.app import ChatApp
from localspec.tui.prompt.prompt import Prompt
from tests.config.support import configure
from tests.insight.metrics.test_metrics import samples
from tests.tui.fakes import NoPairs
from tests.tui.settings_support import chat_config, open_settings, said
from tests.tui.support import (
    INFO,
    LAUNCH,
    Clock,
    FakeEngine,
    chat,
    live_text,
    make_round,
    notice_text,
    ready,
    rounds_of,
    send,
    session,
    views,
    wait_until,
)


@dataclass
class Follower:
    """Takes down what it hears of each reply, by the id of its message."""

    heard: list[tuple[str, list[Event | LocalSpecError]]] = field(default_factory=list)

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        said: list[Event | LocalSpecError] = []
        self.heard.append((message, said))
        return _Followed(said)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        return ()


@dataclass
class _Followed:
    said: list[Event | LocalSpecError]

    def receive(self, event: Event) -> None:
        self.said.append(event)

    def fail(self, error: LocalSpecError) -> None:
        self.said.append(error)


class Talking:
    """A session without a screen, whose pair is loaded."""

    def __init__(self, pace: float | None = None) -> None:
        self.engine, self.clock, self.follower = FakeEngine(), Clock(), Follower()
        self.session = ChatSession(LAUNCH, self.engine, Pacer(pace, self.clock), observer=self.follower)
        self.engine.load()
        self.hear()

    def hear(self) -> None:
        for answer in self.engine.inbox.take():
            self.session.receive(answer)
        self.session.advance()

    def begin(self) -> None:
        self.session.ask("Hello")
        self.engine.start()
        self.engine.write(rounds_of("One two three four five"))
        self.hear()

    @property
    def last(self) -> list[Event | LocalSpecError]:
        return self.follower.heard[-1][1]


def finish(talking: Talking) -> str:
    talking.engine.finish()
    talking.hear()
    return "stop"


def refuse(talking: Talking) -> str:
    talking.engine.inbox.put(Failed(talking.engine.prompts[-1].request_id, 7, "Too long.", "Shorten it."))
    talking.hear()
    return "Too long."


def die(talking: Talking) -> str:
    talking.engine.die()
    talking.hear()
    return "The engine process stopped unexpectedly."


def cancel(talking: Talking) -> str:
    talking.session.stop()
    talking.engine.finish(FinishReason.CANCELLED)
    talking.hear()
    return "cancelled"


def leave(talking: Talking) -> str:
    talking.session.turn_to(talking.session.store.begin())
    return "cancelled"


@pytest.mark.parametrize("pace", [None, 5.0], ids=["full-speed", "paced"])
@pytest.mark.parametrize("end", [finish, refuse, die, cancel, leave])
def test_observers_receive_what_goes_on_record(end: Any, pace: float | None) -> None:
    """However the reply ends, and where the reader is behind the engine."""
    talking = Talking(pace)
    talking.begin()
    store = talking.session.store
    reason = end(talking)
    while talking.session.current is not None:
        talking.clock.now += 1
        talking.hear()
    (message, said), *others = talking.follower.heard
    assert not others
    stored = store.open_conversation(store.conversations()[0].heading.id).reply(message)
    assert stored is not None
    (part,) = stored.parts
    assert [each for each in said if isinstance(each, Started)] == [part.started]
    assert [each for each in said if isinstance(each, Round)] == list(part.rounds)
    last = said[-1]
    assert not isinstance(last, PromptProgress)
    assert (last.reason if isinstance(last, Finished) else str(getattr(last, "message", ""))) == reason
    assert sum(isinstance(each, Finished | LocalSpecError) for each in said) == 1
    if part.finished is not None:
        assert isinstance(last, Finished)
        assert last.timings == part.finished.timings


@pytest.mark.parametrize(
    ("accepted", "why"),
    [
        (["a", "b", "c", "d"], "most were right, but checking costs more than it saves"),
        (["d"], "too few were right"),
    ],
)
def test_guesses_that_pause_are_explained_by_their_cost_or_by_themselves(accepted: list[str], why: str) -> None:
    """Guesses that are all right and do not pay contradict each other, until the cost is named."""
    talking = Talking()
    talking.session.ask("Hello")
    talking.engine.start()
    rejected = ["x"] * (4 - len(accepted))
    plain = [replace(make_round([text], Origin.PLAIN), depth=0) for text in "efgh"]
    talking.engine.write([make_round(accepted, rejected=rejected), *plain])
    talking.hear()
    assert pause_note(talking.session) == f"no guesses for now: {why}; tried again within 64 tokens"


def test_nothing_is_said_of_the_guesses_of_a_server_that_tells_none() -> None:
    talking = Talking()
    talking.engine.inbox.put(Loaded(replace(INFO, tells_tokens=False)))
    talking.session.ask("Hello")
    talking.engine.start()
    talking.engine.write([replace(make_round([text], Origin.PLAIN), depth=0) for text in "efgh"])
    talking.hear()
    assert pause_note(talking.session) == ""


def test_a_reply_that_goes_on_is_followed_anew() -> None:
    """Under the same message."""
    talking = Talking()
    talking.begin()
    cancel(talking)
    assert talking.session.last is not None
    talking.session.queue(talking.session.thread.carry_on(talking.session.last))
    talking.engine.start()
    finish(talking)
    (first, _), (second, said) = talking.follower.heard
    assert first == second
    assert isinstance(said[-1], Finished)


@pytest.mark.parametrize(
    ("drafter", "note"), [("suffix", "the draft failed and is left out of this reply: It broke"), (None, "")]
)
def test_a_drafter_that_failed_is_said_in_one_place(drafter: str | None, note: str) -> None:
    """In the notice where another goes on; where nobody is left to propose, on the live line."""
    talking = Talking()
    talking.session.ask("Hello")
    talking.engine.start()
    failed = replace(
        make_round(["one", " two"]), depth=2 if drafter else 0, failures=(DrafterFailure("draft", "It broke."),)
    )
    talking.engine.write([replace(failed, drafter=drafter)])
    talking.hear()
    assert pause_note(talking.session) == note
    shown = live_state(talking.session, "Esc")
    assert isinstance(shown, Figures)
    assert shown.why_off == (None if drafter else "draft failed: It broke")


def test_a_server_that_does_not_answer_stands_on_the_live_line_until_it_does() -> None:
    talking = Talking()
    talking.session.ask("Hello")
    talking.engine.start()
    talking.session.receive(Silence("no answer from the RPC server gpu:50052 for 16 s"))
    shown = live_state(talking.session, "Esc")
    assert isinstance(shown, Activity)
    assert (shown.what, shown.detail) == ("no answer from the RPC server gpu:50052 for 16 s", "Esc gives up waiting")
    talking.engine.write([make_round(["one"])])
    talking.hear()
    assert isinstance(live_state(talking.session, "Esc"), Figures)


def test_a_pair_that_could_not_be_loaded_again_for_a_message_is_loaded_for_the_next() -> None:
    """The engine ended unnoticed, after a reply that was stopped; the client started it again for the next message."""
    talking = Talking()
    talking.session.ask("Hello")
    refused = talking.engine.prompts[-1].request_id
    for number in (None, refused):
        talking.session.receive(Failed(number, 8, "No RPC server can be reached.", "Start it."))
    talking.hear()
    loads_n = sum(isinstance(request, Load) for request in talking.engine.sent)
    talking.session.ask("Hello again")
    assert sum(isinstance(request, Load) for request in talking.engine.sent) == loads_n + 1


# On the screen


def app_of(engine: FakeEngine, store: Store, *arguments: str, settings: str = "") -> ChatApp:
    """With everything that the settings and the command line want."""
    made = replace(chat_config(settings, *arguments), pace_tokens_per_second=None)
    observers = Observers()
    observers.use(made)
    observers.watch(store)
    app = ChatApp(made, engine, engine.inbox, PairLibrary(NoPairs()), Clock(), store, observers)
    app.animation_level = "none"
    return app


async def test_the_reader_hears_of_a_missed_objective(tmp_path: Path) -> None:
    """In the notice, while something is typed as well, until something is sent."""
    engine, store = FakeEngine(), Store.open(tmp_path / "history.db")
    app = app_of(engine, store, settings="[stats]\nmin_speedup = 1000")
    async with app.run_test(size=(100, 24)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Hello")
        engine.reply("Good day.")
        await wait_until(pilot, lambda: "median speed-up is" in notice_text(pilot))
        await pilot.press("a")
        assert "builtin: median speed-up is" in notice_text(pilot)
        chat(pilot).query_one(Prompt).set_text("")
        await send(pilot, "More")
        engine.reply("No.")
        await wait_until(pilot, lambda: session(pilot).current is None)
        assert "median" not in notice_text(pilot)
        app._observers.close()
    store.close()


async def test_metrics_and_log_follow_the_chat(tmp_path: Path) -> None:
    """The page counts what the store has; where it is is said at the start."""
    engine, store = FakeEngine(), Store.in_memory()
    page, log = tmp_path / "page", tmp_path / "audit"
    app = app_of(engine, store, "--metrics", str(page), "--audit-log", str(log))
    async with app.run_test(size=(120, 24)) as pilot:
        assert "Metrics are in" in notice_text(pilot)
        await ready(pilot, engine)
        for text in ("Good day.", "Quite so, indeed."):
            await send(pilot, "Hello")
            engine.reply(text)
            await wait_until(pilot, lambda: session(pilot).current is None)
        app._observers.close()
    assert samples(page.read_text()) == pytest.approx(samples(StoredMetrics(store).page()))
    assert log.read_text().count('"event": "end"') == 2
    store.close()


async def test_a_log_that_breaks_is_said_on_the_quiet_line(tmp_path: Path) -> None:
    """And the reply goes on."""
    engine, log = FakeEngine(), tmp_path / "audit"
    app = app_of(engine, Store.in_memory(), "--audit-log", str(log))
    async with app.run_test(size=(160, 24)) as pilot:
        await ready(pilot, engine)
        log.unlink()
        log.mkdir()
        await send(pilot, "Hello")
        engine.reply("Good day.")
        await wait_until(pilot, lambda: "The audit log" in notice_text(pilot))
        assert session(pilot).last.reply.finished is FinishReason.STOP


async def test_settings_count_at_once(tmp_path: Path) -> None:
    """Another outlet from the next reply on; what cannot be is refused, and the former stays."""
    engine, taken = FakeEngine(), MetricsServer(lambda: "", 0)
    app = app_of(engine, Store.in_memory())
    async with app.run_test(size=(120, 24)) as pilot:
        await ready(pilot, engine)
        page = tmp_path / "page"
        app._change_settings(chat_config(f"[stats]\nmetrics = {str(page)!r}\n").settings.config)  # type: ignore[union-attr]
        assert page.exists()
        config = chat_config(f"[stats]\nmetrics = {taken.port}\n").settings.config  # type: ignore[union-attr]
        with pytest.raises(UsageError, match="port"):
            app._change_settings(config)
        session(pilot).pacer.full_speed = True
        await send(pilot, "Hello")
        engine.reply("Good day.")
        await wait_until(pilot, lambda: "vllm:generation_tokens_total" in page.read_text())
        app._observers.close()
    taken.close()


async def test_an_outlet_that_cannot_be_keeps_no_other_setting_from_being_shown() -> None:
    """The colours and the keys of the same file, which are not refused."""
    engine, taken = FakeEngine(), MetricsServer(lambda: "", 0)
    app = app_of(engine, Store.in_memory())
    async with app.run_test(size=(120, 24)) as pilot:
        await ready(pilot, engine)
        text = f'[stats]\nmetrics = {taken.port}\n[screen]\ntheme = "nord"\n[keys]\nstop = "f21"\n'
        config = chat_config(text).settings.config  # type: ignore[union-attr]
        with pytest.raises(UsageError, match="port"):
            app._change_settings(config)
        assert app.theme == "nord"
        assert chat(pilot)._preferences.keymap.label(STOP) == "F21"
    taken.close()


@pytest.mark.parametrize("outlet", ["stats.metrics", "audit.audit_log"])
async def test_an_outlet_that_cannot_be_in_a_changed_file_is_a_sentence(tmp_path: Path, outlet: str) -> None:
    """When the settings are opened, and by the key that reads the file again; what is right after that counts."""
    engine, page = FakeEngine(), tmp_path / "page"
    section, _, key = outlet.partition(".")
    app = app_of(engine, Store.in_memory())

    def configured(place: Path, end: str) -> None:
        configure(f"[{section}]\n{key} = {str(place)!r}\n# {end}\n")

    async with app.run_test(size=(120, 24)) as pilot:
        configured(tmp_path, "a folder")
        await open_settings(pilot)
        assert "cannot be written" in said(pilot)
        configured(tmp_path.parent, "another folder")
        await pilot.press("f5")
        assert str(tmp_path.parent) in said(pilot)
        assert str(tmp_path) not in said(pilot)
        configured(page, "and then a file")
        await pilot.press("f5")
        assert "was read again" in said(pilot)
        app._observers.close()
    assert page.exists()


async def test_a_draft_that_fails_is_said_while_and_after(tmp_path: Path) -> None:
    """On the live line in place of acceptance, and under the reply for as long as it is there."""
    engine = FakeEngine()
    app = app_of(engine, Store.in_memory())
    async with app.run_test(size=(120, 24)) as pilot:
        await ready(pilot, engine)
        await send(pilot, "Hello")
        engine.start()
        broken = replace(make_round(["word"]), depth=0, drafter=None, failures=(DrafterFailure("draft", "It broke."),))
        engine.write([*rounds_of("One two three"), broken])
        await wait_until(pilot, lambda: "off: draft failed: It broke" in live_text(pilot))
        engine.finish()
        await wait_until(pilot, lambda: session(pilot).current is None)
        await wait_until(
            pilot, lambda: "the draft failed and is left out" in str(views(pilot)[0].query("Static").last().render())
        )
