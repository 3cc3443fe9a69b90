"""Titles by the model: written while the engine is idle, given up when it is needed, replacing none of a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.pacing import Pacer
from localspec.chat.session import ChatSession
from localspec.chat.titles import GRAMMAR, REQUEST
from localspec.engine.backends.llama.grammar import check_grammar
from localspec.engine.events import FinishReason
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Cancel, Failed, Generate, Load, Request
from tests.chat.test_pair_slot import OTHER, hear
from tests.tui.support import LAUNCH, Clock, FakeEngine


def begun(engine: FakeEngine, *, tour: bool = False, writes_titles: bool = True) -> ChatSession:
    """A conversation whose pair is loaded."""
    session = ChatSession(replace(LAUNCH, tour=tour), engine, Pacer(None, Clock()))
    session.writes_titles = writes_titles
    engine.load()
    hear(session, engine)
    return session


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def session(engine: FakeEngine) -> ChatSession:
    """A conversation with one question and its reply; the title is being written."""
    made = begun(engine)
    made.ask("Why is the sky blue?")
    engine.reply("Because of Rayleigh.")
    hear(made, engine)
    return made


def asked(request: Request) -> tuple[str, ...]:
    assert isinstance(request, Generate)
    return tuple(each if isinstance(each, str) else each.content for each in request.prompt)


def test_a_title_is_written_after_the_reply_without_drafters(session: ChatSession, engine: FakeEngine) -> None:
    """From the conversation as it is, so that the cache has it; and no second one."""
    title = engine.prompts[-1]
    assert asked(title) == ("Why is the sky blue?", "Because of Rayleigh.", REQUEST)
    assert (title.options.spec, title.options.depth) == ((), 0)
    assert session.writing_title
    assert session.busy
    engine.reply("The colour of the sky")
    hear(session, engine)
    assert session.stored.title == "The colour of the sky"
    assert not session.writing_title
    assert not session.busy
    session.ask("And grass?")
    engine.reply("Green.")
    hear(session, engine)
    assert asked(engine.prompts[-1])[-1] == "And grass?"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("  # Sky\x1b]0;x\x07 \u202eblue\nand more.", "Sky ]0;x blue and more"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("Python vs. Java", "Python vs. Java"),
        ("?!", "Why is the sky blue?"),
        ("", "Why is the sky blue?"),
    ],
)
def test_its_words_are_one_line_that_steers_nothing(
    session: ChatSession, engine: FakeEngine, written: str, title: str
) -> None:
    """Whatever the model writes; what is no title changes nothing."""
    engine.reply(written)
    hear(session, engine)
    assert session.stored.title == title


def test_the_next_message_ends_it_at_once(session: ChatSession, engine: FakeEngine) -> None:
    """It is asked for again after that reply; the late end of the first changes nothing."""
    late = engine.prompts[-1].request_id
    session.ask("And grass?")
    assert [type(request) for request in engine.sent[-2:]] == [Cancel, Generate]
    assert asked(engine.sent[-1])[-1] == "And grass?"
    engine.reply("Green.")
    hear(session, engine)
    assert engine.prompts[-1].request_id != late
    assert asked(engine.prompts[-1])[-1] == REQUEST
    assert session.stored.title == "Why is the sky blue?"


def test_a_message_that_waits_comes_first(engine: FakeEngine) -> None:
    session = begun(engine)
    session.ask("One")
    session.ask("Two")
    engine.reply("Yes.")
    hear(session, engine)
    assert [asked(request)[-1] for request in engine.prompts] == ["One", "Two"]


def test_it_can_be_stopped_and_gives_way_to_another_pair(session: ChatSession, engine: FakeEngine) -> None:
    session.switch(replace(OTHER, pace_tokens_per_second=None))
    assert [type(request) for request in engine.sent[-2:]] == [Cancel, Load]
    engine.load()
    hear(session, engine)
    assert not session.writing_title
    session.ask("And grass?")
    engine.reply("Green.")
    hear(session, engine)
    assert session.writing_title
    session.stop()
    assert isinstance(engine.sent[-1], Cancel)
    assert not session.writing_title


def test_a_title_that_a_person_gives_meanwhile_stays(session: ChatSession, engine: FakeEngine) -> None:
    session.stored.rename("My sky")
    engine.reply("The colour of the sky")
    hear(session, engine)
    assert session.stored.title == "My sky"


@pytest.mark.parametrize("reason", [FinishReason.CANCELLED, FinishReason.LENGTH])
def test_a_reply_that_ended_early_gets_none(engine: FakeEngine, reason: FinishReason) -> None:
    """Neither does one of the built-in pair, nor one where nobody wished for it."""
    for wished, tour in ((True, False), (True, True), (False, False)):
        engine.sent.clear()
        session = begun(engine, tour=tour, writes_titles=wished)
        session.ask("Hello")
        engine.start()
        engine.finish(reason if wished and not tour else FinishReason.STOP)
        hear(session, engine)
        assert not session.writing_title


def test_an_error_leaves_the_title_as_it_is(session: ChatSession, engine: FakeEngine) -> None:
    """And the conversation goes on; if the engine died, the next message starts it again."""
    engine.inbox.put(Failed(engine.prompts[-1].request_id, 6, "The context is too small.", "Begin anew."))
    assert hear(session, engine) == []
    assert not session.writing_title
    session.ask("And grass?")
    engine.reply("Green.")
    hear(session, engine)
    engine.die()
    hear(session, engine)
    session.ask("And trees?")
    assert engine.sent[-1] == Load(LoadOptions(Path("target.gguf"), Path("draft.gguf")))


def test_llama_cpp_reads_the_grammar() -> None:
    check_grammar(GRAMMAR)
