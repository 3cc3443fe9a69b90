"""One notice at a time: about the last action, before what goes on by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.base.errors import InputError, LocalSpecError
from localspec.chat.pacing import Pacer
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.session import ChatSession
from localspec.engine.events import Event
from localspec.insight.observers import News, ReplyObserver
from localspec.store import ReplyMetadata
from localspec.tui.controllers.notices import NoticeController
from localspec.tui.controllers.pairs import PairController
from tests.tui.pairs_support import FakeWorld, shelf_of
from tests.tui.support import LAUNCH, Clock, FakeEngine


@dataclass
class Follower:
    """Has news when a test says so."""

    told: list[News] = field(default_factory=list)

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return Nobody()

    def news(self, wait_s: float = 0.0) -> list[News]:
        told, self.told = self.told, []
        return told


class Nobody:
    def receive(self, event: Event) -> None: ...

    def fail(self, error: LocalSpecError) -> None: ...


def line_of(shown: list[str], follower: Follower) -> NoticeController:
    session = ChatSession(LAUNCH, FakeEngine(), Pacer(None, Clock()), observer=follower)
    library = shelf_of(FakeWorld(remember_error=InputError("The disk is full.", "Free some space.")))
    library.remember("builtin")
    return NoticeController(session, PairController(library, session), shown.append)


def test_a_download_that_begins_takes_the_place_of_what_was_said() -> None:
    """Such as that a setting was left out at the start; what is said later stands before it again."""
    shown: list[str] = []
    session = ChatSession(LAUNCH, FakeEngine(), Pacer(None, Clock()))
    library = PairLibrary(FakeWorld(), lambda work: None)
    line = NoticeController(session, PairController(library, session), shown.append)
    line.say("1 setting is left out.")
    library.fetch("qwen3-8b")
    line.draw()
    line.say("Written to talk.md.")
    line.draw()
    line.say("")
    fetching = "qwen3-8b: reading the headers"
    assert shown == ["1 setting is left out.", fetching, "Written to talk.md.", "Written to talk.md.", fetching]


def test_what_was_just_done_goes_before_news_and_news_before_what_goes_on() -> None:
    """And each of them is there again when what stood before it has been read."""
    shown: list[str] = []
    follower = Follower()
    line = line_of(shown, follower)
    line.draw()
    about_pairs = "The next start will not remember this pair: The disk is full."
    follower.told.append(News("It became worse."))
    line.say("Written to talk.md.")
    line.say("")
    line.news.read()
    line.draw()
    assert shown == [about_pairs, "Written to talk.md.", "It became worse.", about_pairs]
