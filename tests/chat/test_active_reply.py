"""One life of a reply: recorder and observers hear the same of it in the screen, the line mode and run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from localspec.base.errors import EngineError, LocalSpecError
from localspec.chat.core import ChatCore
from localspec.chat.pacing import Pacer
from localspec.chat.pair_slot import PairSlot
from localspec.chat.session import ChatSession
from localspec.chat.turn import Turn
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.tally import Tally
from localspec.insight.observers import News
from localspec.insight.observers.observers import Observers
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.worker.messages import Emitted, Failed
from localspec.store import Recorder, ReplyMetadata, StoredConversation, SummaryRecorder
from tests.cli.conftest import Localspec, localspec
from tests.cli.support import FakePair, FakeWorld
from tests.tui.support import INFO, LAUNCH, Clock, FakeEngine, rounds_of

__all__ = ["localspec"]

STARTED = Started(prompt_n=12, cache_n=3, seed=1)
ROUNDS = rounds_of("Good day to you.")
ERROR = EngineError("The engine process stopped unexpectedly.", "Send your message again.")
Call = tuple[str, object]


def finished(reason: FinishReason, rounds: Sequence[Round] = ROUNDS) -> Finished:
    tally = Tally(plain_per_second=INFO.plain_per_second)
    tally.prompt_n, tally.cache_n = STARTED.prompt_n - STARTED.cache_n, STARTED.cache_n
    for round_ in rounds:
        tally.add(round_)
    return Finished(reason, "".join(token.text for r in rounds for token in r.tokens), tally.timings())


@dataclass(frozen=True)
class Ending:
    """The events of a reply, and the way it ends."""

    events: tuple[Event, ...]
    error: BaseException | None = None
    """Raised in this process after the events; the reader has gone if it is no LocalSpecError."""
    died: bool = False

    @property
    def heard(self) -> list[object]:
        """The calls after the beginning that recorder and observers are to get."""
        if isinstance(self.error, LocalSpecError):
            return [*self.events, str(self.error)]
        if self.error is not None:
            rounds = [event for event in self.events if isinstance(event, Round)]
            return [*self.events, finished(FinishReason.CANCELLED, rounds)]
        return list(self.events)


PARTIAL: tuple[Event, ...] = (STARTED, *ROUNDS[:2])
ENDINGS = {
    "stop": Ending((STARTED, *ROUNDS, finished(FinishReason.STOP))),
    "length": Ending((STARTED, *ROUNDS, finished(FinishReason.LENGTH))),
    "cancelled by the user": Ending((*PARTIAL, finished(FinishReason.CANCELLED, ROUNDS[:2]))),
    "an error": Ending(PARTIAL, ERROR),
    "an error before the first event": Ending((), ERROR),
    "the engine dies": Ending(PARTIAL, ERROR, died=True),
    "the engine dies before the first event": Ending((), ERROR, died=True),
    "the reader leaves": Ending(PARTIAL, SystemExit(143)),
}


@dataclass
class Spy:
    """All calls to recorders and to an observer, in order."""

    calls: list[Call] = field(default_factory=list)

    def begin(self, about: ReplyMetadata, message: str = "") -> Spy:
        self.calls.append(("observer begins", None))
        return self

    def receive(self, event: Event) -> None:
        self.calls.append(("observer", event))

    def fail(self, error: LocalSpecError) -> None:
        self.calls.append(("observer", str(error)))

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        return ()

    def of(self, who: str) -> list[object]:
        return [what for name, what in self.calls if name == who]


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    """Hears of every reply in this test, from the command line too."""
    spy = Spy()

    def watched(cls: type[Any], method: str, tell: Callable[[Any], object]) -> None:
        real = getattr(cls, method)

        def call(self: Any, what: Any) -> None:
            spy.calls.append(("recorder", tell(what)))
            before = len(spy.calls)
            real(self, what)
            del spy.calls[before:]  # a summary is stored by a recorder of its own

        monkeypatch.setattr(cls, method, call)

    for cls in (Recorder, SummaryRecorder):
        watched(cls, "receive", lambda event: event)
        watched(cls, "fail", str)
    for method in ("begin_reply", "begin_summary"):
        real = getattr(StoredConversation, method)

        def begin(self: Any, *args: Any, real: Any = real, **named: Any) -> Any:
            spy.calls.append(("recorder begins", None))
            return real(self, *args, **named)

        monkeypatch.setattr(StoredConversation, method, begin)
    monkeypatch.setattr("localspec.insight.observers.observers.Observers", lambda: Observers([spy]))
    return spy


class ScriptedPair(FakePair):
    """Replies by the script of its world."""

    endings: list[Ending]

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        ending = self.endings.pop(0)
        yield from ending.events
        if ending.error is not None:
            raise ending.error


@dataclass(slots=True)
class ScriptedWorld(FakeWorld):
    """A command line over such a pair."""

    endings: list[Ending] = field(default_factory=list)

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        pair = ScriptedPair(INFO, cancel)
        pair.endings = self.endings
        return pair


WHOLE = ENDINGS["stop"]


def screen(ending: Ending, spy: Spy, *, summary: bool) -> None:
    """The chat session that the screen draws, over a fake engine process."""
    engine = FakeEngine()
    session = ChatSession(LAUNCH, engine, Pacer(None, Clock()), observer=spy)
    engine.load()
    feed(session, engine)
    if summary:
        session.ask("Hello")
        reply(session, engine, WHOLE)
        spy.calls.clear()
        turn = session.summary(0)
        assert turn is not None
        session.queue(turn)
    else:
        session.ask("Hello")
    reply(session, engine, ending)


def feed(session: ChatSession, engine: FakeEngine) -> None:
    for answer in engine.inbox.take():
        session.receive(answer)
    session.advance()


def reply(session: ChatSession, engine: FakeEngine, ending: Ending) -> None:
    request_id = engine.prompts[-1].request_id
    for event in ending.events:
        engine.inbox.put(Emitted(request_id, event))
    if isinstance(ending.error, LocalSpecError):
        error = ending.error
        engine.inbox.put(Failed(request_id, error.exit_code, error.message, error.hint, died=ending.died))
    feed(session, engine)
    if ending.error is not None and not isinstance(ending.error, LocalSpecError):
        session.turn_to(session.store.begin())


def line(ending: Ending, spy: Spy, localspec: Localspec, *, summary: bool) -> None:
    """``localspec chat --plain`` with a line to answer, or to compact."""
    said = b"Hello\n/compact 0\n" if summary else b"Hello\n"
    world = ScriptedWorld(endings=[*([WHOLE] if summary else []), ending])
    localspec("chat", "--plain", "--target", "big.gguf", "--draft", "small.gguf", stdin=said, world=world)
    if summary:
        del spy.calls[: 2 + 2 * len(WHOLE.events)]


def run(ending: Ending, localspec: Localspec) -> None:
    """``localspec run``: nothing is stored."""
    world = ScriptedWorld(endings=[ending])
    localspec("run", "--target", "big.gguf", "--draft", "small.gguf", "Hello", world=world)


@pytest.mark.parametrize("summary", [False, True], ids=["a reply", "a summary"])
@pytest.mark.parametrize("name", ENDINGS)
def test_recorder_and_observers_hear_the_same_in_every_front_end(
    spy: Spy, localspec: Localspec, name: str, summary: bool
) -> None:
    """The recorder begins, then the observers; each event goes to the recorder first; the end comes once."""
    ending = ENDINGS[name]
    expected: list[Call] = [("recorder begins", None), ("observer begins", None)]
    for what in ending.heard:
        expected += [("recorder", what), ("observer", what)]
    screen(ending, spy, summary=summary)
    assert spy.calls == expected
    spy.calls.clear()
    line(ending, spy, localspec, summary=summary)
    assert spy.calls == expected
    if not summary:
        spy.calls.clear()
        run(ending, localspec)
        assert spy.calls == [call for call in expected if call[0].startswith("observer")]


def test_a_reader_who_leaves_while_an_event_is_shown_has_read_it(spy: Spy) -> None:
    """The text so far is the reply, whoever fails to show it."""
    core = ChatCore(PairSlot(LAUNCH))
    active = core.begin_reply(1, Turn("Hello"), INFO)

    def show(event: Event) -> None:
        if isinstance(event, Round):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        active.follow(WHOLE.events, show)
    assert spy.of("recorder") == [STARTED, ROUNDS[0], finished(FinishReason.CANCELLED, ROUNDS[:1])]
    assert active.over
    active.receive(ROUNDS[1])
    active.fail(ERROR)
    active.cut_short()
    assert len(spy.of("recorder")) == 3


def test_a_continued_reply_that_is_cut_short_is_stored_with_the_figures_of_its_last_run() -> None:
    """Those of the runs before are stored already."""
    core = ChatCore(PairSlot(LAUNCH))
    turn = Turn("Hello")
    core.begin_reply(1, turn, INFO).follow([*PARTIAL, finished(FinishReason.CANCELLED, ROUNDS[:2])], lambda event: None)
    active = core.begin_reply(2, core.thread.carry_on(turn), INFO)
    for event in (STARTED, ROUNDS[2]):
        active.receive(event)
    active.cut_short()
    assert turn.answer is not None
    stored = core.stored.reply(turn.answer)
    assert stored is not None
    last = stored.parts[-1].finished
    assert last is not None
    assert last.timings == finished(FinishReason.CANCELLED, ROUNDS[2:3]).timings
