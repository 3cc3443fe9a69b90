"""The pair that is offered: recommended, left half fetched, or that of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import LocalSpecError
from localspec.chat.pacing import Pacer
from localspec.chat.pairs.downloads import Download
from localspec.chat.pairs.entry import details
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.offer import OfferKind
from localspec.chat.session import ChatSession
from localspec.engine.events import Finished, FinishReason
from localspec.engine.tally import Tally
from localspec.models.pairs.state import HERE, NOT_HERE
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.store import Arm, ModelFileRecord, ReplyMetadata
from localspec.tui.controllers.pairs import PairController
from tests.tui.pairs_support import (
    BEST,
    FULL,
    MB,
    SMALL,
    TOUR,
    FakeWorld,
    Later,
    fetched,
    progressed,
    text_of,
)
from tests.tui.support import LAUNCH, Clock, FakeEngine

TOUR_LAUNCH = replace(LAUNCH, pair_id="builtin", title="LocalSpec tour")


def test_speed_is_measured_after_a_load_even_if_the_list_was_opened_during_it() -> None:
    """It is not measured while models are loaded."""
    asked: list[str] = []

    class World(FakeWorld):
        def measure(self, may_go_on: Callable[[], bool]) -> bool:
            asked.append(moment)
            return False

    controller, _, later = desk_of(World())
    moment = "loading"
    controller.open()
    later.run()
    moment = "loaded"
    controller.begin()
    later.run()
    assert asked == ["loading", "loaded"]


def test_a_recommended_pair_that_is_here_is_offered_for_use() -> None:
    here = replace(BEST, state=HERE, available=True)
    controller, _, later = desk_of(FakeWorld(pairs=(TOUR, here)))
    controller.begin()
    later.run()
    assert controller.offer is not None
    assert controller.offer.kind is OfferKind.USE
    assert controller.welcome() == "F3 switches to Qwen3 8B + 0.6B, which suits this machine."


def opened_with(
    pair_id: str | None, world: FakeWorld | None = None, arm: Arm | None = None
) -> tuple[PairController, str]:
    """The desk once a conversation is open whose last reply is by this pair; and what it says at once."""
    controller, _, later = desk_of(world, replace(TOUR_LAUNCH, tour=False, pair_id="mine"))
    stored = controller._session.thread.stored
    about = ReplyMetadata(target=ModelFileRecord("big.gguf"), pair_id=pair_id, arm=arm)
    recorder = stored.begin_reply(about, under=stored.ask("Hello").id)
    recorder.receive(Finished(FinishReason.STOP, "Good day.", Tally().timings()))
    stored.flush()
    said = controller.conversation_opened()
    later.run()
    return controller, said


def test_the_pair_of_a_conversation_is_offered_when_that_is_opened() -> None:
    """To be used where it is here, else to be downloaded; until it is in use, or another has replied."""
    controller, said = opened_with(SMALL.id)
    assert (said, controller.news()) == (
        "",
        "This conversation was with SmolLM2 1.7B + 135M; F3 goes back to it.",
    )
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.USE, SMALL.id)
    controller.replying()
    assert not controller.offer
    assert not controller.news()
    controller, _ = opened_with(BEST.id)
    assert controller.news() == "This conversation was with Qwen3 8B + 0.6B; F3 downloads it, 5.64 GB."


@pytest.mark.parametrize(("pair_id", "arm"), [("mine", None), ("builtin", None), (SMALL.id, Arm.CANDIDATE)])
def test_no_pair_is_offered_where_there_is_none_to_return_to(pair_id: str, arm: Arm | None) -> None:
    """It is in use, is the tour, or spoke for a trial."""
    controller, said = opened_with(pair_id, arm=arm)
    assert (controller.offer, controller.news(), said) == (None, "", "")


def test_a_pair_of_a_conversation_that_cannot_be_returned_to_is_named() -> None:
    controller, _ = opened_with("gone-for-good")
    assert (controller.offer, controller.news()) == (
        None,
        "This conversation was with gone-for-good, which is not among the pairs any more.",
    )


def test_files_that_a_conversation_was_with_are_named() -> None:
    controller, said = opened_with(None)
    assert controller.offer is None
    assert said.startswith("This conversation was with big.gguf, a file named on the command line")


def test_from_the_offer_to_the_pair_in_use() -> None:
    """Accepted, it is fetched while the chat goes on; when it has come a switch is offered; then nothing more."""
    world = FakeWorld()
    controller, _, later = desk_of(world)
    controller.begin()
    later.run()
    controller.library.fetch(BEST.id)
    assert controller.offer is None
    assert controller.news() == "Qwen3 8B + 0.6B: reading the headers"
    for event in (progressed(2312 * MB), fetched(), None):
        world.feed.put(event)
    later.run()
    controller.library.take()
    later.run()
    assert controller.offer is not None
    assert controller.offer.kind is OfferKind.USE
    assert controller.news() == "Qwen3 8B + 0.6B is here; F3 switches to it."
    assert controller.use(world.chat_config(BEST.id)) == "Changing to Qwen3 8B + 0.6B; the conversation stays."
    assert (controller.offer, controller.news()) == (None, "")
    assert controller.open().in_use == BEST.id


def test_a_pair_that_has_come_is_not_named_for_another_that_is_offered() -> None:
    """It is in use already, and the recommended one, which the key switches to, is here too."""
    here = replace(BEST, state=HERE, available=True)
    controller, _, later = desk_of(FakeWorld(pairs=(TOUR, here, SMALL)), replace(TOUR_LAUNCH, pair_id=SMALL.id))
    controller.begin()
    later.run()
    controller.library.arrived = Download(SMALL.id, SMALL.title)
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.USE, BEST.id)
    assert controller.news() == ""


def test_a_failed_download_is_told_until_somebody_looks() -> None:
    world = FakeWorld()
    controller, _, later = desk_of(world)
    controller.begin()
    later.run()
    controller.library.fetch(BEST.id)
    world.feed.put(FULL)
    later.run()
    controller.library.take()
    assert controller.news() == "Qwen3 8B + 0.6B could not be fetched; Ctrl+L says why."
    browser = controller.open()
    assert controller.news() == ""
    assert browser.marked is not None
    assert str(FULL) in text_of(details(browser.marked, 76))


def test_a_choice_that_cannot_be_written_down_is_told() -> None:
    world = FakeWorld(remember_error=LocalSpecError("settings.toml is read-only.", "Mend it."))
    controller, engine, later = desk_of(world)
    engine.load()
    drain(controller._session, engine)
    controller.use(world.chat_config(SMALL.id))
    engine.load()
    drain(controller._session, engine)
    assert controller.ready() == "You are talking to SmolLM2 1.7B + 135M now."
    later.run()
    assert controller.news() == "The next start will not remember this pair: settings.toml is read-only."


def test_several_downloads_are_one_line() -> None:
    controller, _, later = desk_of()
    controller.library.look()
    later.run()
    controller.library.fetch(BEST.id)
    controller.library.fetch("llama-3.2-3b")
    assert controller.news() == "Qwen3 8B + 0.6B: reading the headers (and 1 more)"


def test_files_that_were_named_can_be_returned_to(tmp_path: Path) -> None:
    """A pair that cannot be loaded is left again, also for one that is in no list."""
    named = ChatConfig(LoadOptions(tmp_path / "a.gguf"), title="a")
    controller, engine, _ = desk_of(chat_config=named)
    session = controller._session
    engine.load()
    drain(session, engine)
    controller.use(FakeWorld().chat_config(SMALL.id))
    engine.refuse_load()
    drain(session, engine)
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.RETURN, None)
    assert controller.way_back() == "F3 loads a again; Ctrl+L lists all pairs."
    assert controller.go_back() == "Changing to a; the conversation stays."
    assert session.chat_config == named
    engine.load()
    drain(session, engine)
    assert controller.offer is None
    assert controller.ready() == "You are talking to a now."
    assert controller.ready() == ""


def drain(session: ChatSession, engine: FakeEngine) -> None:
    for answer in engine.inbox.take():
        session.receive(answer)
    session.advance()


def test_a_download_that_was_left_is_offered_before_another() -> None:
    begun = replace(SMALL, state=NOT_HERE, available=False, missing_bytes=1210 * MB, arrived_bytes=300 * MB)
    controller, _, later = desk_of(FakeWorld(pairs=(TOUR, begun, BEST)))
    controller.begin()
    later.run()
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.FETCH, SMALL.id)
    assert controller.welcome() == "F3 resumes the download of SmolLM2 1.7B + 135M, 300 MB of 1.21 GB are here."
    controller.library.fetch(SMALL.id)
    assert controller.offer is None or controller.offer.pair_id != SMALL.id


def desk_of(
    world: FakeWorld | None = None, chat_config: ChatConfig = TOUR_LAUNCH
) -> tuple[PairController, FakeEngine, Later]:
    engine, later = FakeEngine(), Later()
    session = ChatSession(chat_config, engine, Pacer(chat_config.pace_tokens_per_second, Clock()))
    controller = PairController(PairLibrary(world or FakeWorld(), later), session)
    return controller, engine, later


def test_somebody_on_the_tour_is_offered_the_recommended_pair() -> None:
    controller, _, later = desk_of()
    assert controller.offer is None
    assert later.works == []
    controller.begin()
    later.run()
    assert controller.offer is not None
    assert (controller.offer.kind, controller.offer.pair_id) == (OfferKind.FETCH, BEST.id)
    assert controller.welcome() == "F3 downloads Qwen3 8B + 0.6B, 5.64 GB, which suits this machine."
    assert controller.news() == ""


def test_nobody_else_is_offered_anything() -> None:
    controller, _, later = desk_of(chat_config=replace(LAUNCH, tour=False, pair_id="smollm2-1.7b"))
    controller.begin()
    later.run()
    assert not controller.library.pairs
    controller.library.look()
    later.run()
    assert (controller.offer, controller.welcome()) == (None, "")
    only_tour, _, later = desk_of(FakeWorld(pairs=(replace(TOUR, recommended_here=True), SMALL)))
    only_tour.begin()
    later.run()
    assert only_tour.offer is None
