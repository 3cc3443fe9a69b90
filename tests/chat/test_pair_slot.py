"""Another pair in the middle of a conversation: when it is loaded, and whose answers count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from localspec.chat.changes import LoadFailed, PairReady
from localspec.chat.pacing import Pacer
from localspec.chat.pair_slot import Phase
from localspec.chat.session import ChatSession
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Cancel, Failed, Load, Unloaded
from tests.tui.support import LAUNCH, Clock, FakeEngine, rounds_of

OTHER = ChatConfig(LoadOptions(Path("other.gguf")), pair_id="other", title="Other", pace_tokens_per_second=7.0)
THIRD = replace(OTHER, load=LoadOptions(Path("third.gguf")), pair_id="third")
REFUSED = Failed(None, 5, "other.gguf is no model.", "Choose another.")


def begun() -> tuple[ChatSession, FakeEngine]:
    """A conversation whose pair is loaded."""
    engine = FakeEngine()
    session = ChatSession(LAUNCH, engine, Pacer(None, Clock()))
    engine.load()
    hear(session, engine)
    assert session.phase is Phase.IDLE
    return session, engine


def hear(session: ChatSession, engine: FakeEngine) -> list[object]:
    changes: list[object] = []
    for answer in engine.inbox.take():
        session.receive(answer)
        changes += session.advance()
    return changes + list(session.advance())


def loads(engine: FakeEngine) -> list[Path]:
    return [request.options.target for request in engine.sent if isinstance(request, Load)]


def test_between_turns_the_pair_changes_at_once_and_the_conversation_stays() -> None:
    session, engine = begun()
    session.ask("Hello")
    engine.reply("Good day.")
    hear(session, engine)

    session.switch(OTHER)

    assert (session.phase, session.chat_config, session.coming) == (Phase.LOADING, OTHER, None)
    assert loads(engine) == [Path("other.gguf")]
    assert session.pacer.tokens_per_second == 7.0
    engine.load()
    assert any(isinstance(change, PairReady) for change in hear(session, engine))
    session.ask("And now?")
    asked = [message.content for message in engine.prompts[-1].prompt]  # type: ignore[union-attr]
    assert asked == ["Hello", "Good day.", "And now?"]
    assert engine.prompts[-1].options == OTHER.reply


def test_during_a_reply_the_change_waits_and_so_do_messages() -> None:
    session, engine = begun()
    session.ask("Hello")
    engine.start()
    engine.write(rounds_of("Good day.")[:1])
    hear(session, engine)

    session.switch(OTHER)
    session.ask("And now?")

    assert (session.chat_config, session.coming, loads(engine)) == (LAUNCH, OTHER, [])
    engine.finish()
    hear(session, engine)
    assert (session.chat_config, session.coming) == (OTHER, None)
    assert loads(engine) == [Path("other.gguf")]
    assert len(engine.prompts) == 1
    engine.load()
    hear(session, engine)
    assert len(engine.prompts) == 2


def test_a_change_of_mind_before_the_reply_ends() -> None:
    session, engine = begun()
    session.ask("Hello")
    session.switch(OTHER)
    session.switch(LAUNCH)
    assert session.coming is None
    engine.reply("Good day.")
    hear(session, engine)
    assert (session.chat_config, loads(engine)) == (LAUNCH, [])


def test_while_another_pair_loads_only_the_newest_counts() -> None:
    """The load that was made obsolete is cancelled; neither its end nor its failure is taken for the new one's."""
    for obsolete in (Unloaded(), REFUSED):
        session, engine = begun()
        session.switch(OTHER)
        session.switch(THIRD)
        assert [type(request) for request in engine.sent] == [Load, Cancel, Load]
        engine.inbox.put(obsolete)
        assert hear(session, engine) == []
        assert session.phase is Phase.LOADING
        engine.load()
        hear(session, engine)
        assert (session.phase, session.chat_config) == (Phase.IDLE, THIRD)


def test_a_load_that_was_done_before_it_could_be_cancelled_is_not_taken_for_the_next() -> None:
    session, engine = begun()
    session.switch(OTHER)
    session.switch(THIRD)
    engine.load()
    assert hear(session, engine) == []
    assert session.phase is Phase.LOADING
    engine.load()
    assert len(hear(session, engine)) == 1


def test_a_pair_that_cannot_be_loaded_leaves_the_way_back() -> None:
    session, engine = begun()
    session.switch(OTHER)
    engine.inbox.put(REFUSED)
    (change,) = hear(session, engine)
    assert isinstance(change, LoadFailed)
    assert (session.phase, session.former) == (Phase.BROKEN, LAUNCH)
    session.ask("Hello?")
    assert loads(engine) == [Path("other.gguf")] * 2
    engine.inbox.put(REFUSED)
    hear(session, engine)
    assert session.former == LAUNCH
    session.switch(LAUNCH)
    engine.load()
    hear(session, engine)
    assert session.former is None
    assert (session.phase, session.chat_config) == (Phase.READING, LAUNCH)
    assert [message.content for message in engine.prompts[-1].prompt] == ["Hello?"]


def test_a_first_load_that_fails_has_nothing_to_go_back_to() -> None:
    engine = FakeEngine()
    session = ChatSession(LAUNCH, engine, Pacer(None, Clock()))
    engine.refuse_load()
    hear(session, engine)
    assert (session.phase, session.former) == (Phase.BROKEN, None)


def test_an_engine_that_dies_is_no_reason_to_go_back() -> None:
    session, engine = begun()
    session.ask("Hello")
    engine.start()
    engine.die()
    hear(session, engine)
    assert (session.phase, session.former) == (Phase.BROKEN, None)


def test_the_pair_in_use_is_not_loaded_again_but_a_broken_one_is() -> None:
    session, engine = begun()
    session.switch(LAUNCH)
    assert loads(engine) == []
    session.ask("Hello")
    engine.die()
    hear(session, engine)
    session.switch(LAUNCH)
    assert len(loads(engine)) == 1
