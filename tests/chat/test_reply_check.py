"""The owner's check sees a reply before anybody else does, and may stop it."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import ReplyStoppedError
from localspec.chat.pacing import Pacer
from localspec.chat.reply_check import Check, CheckedEvents, check_of
from localspec.chat.session import ChatSession
from localspec.engine.events import Event, Finished, FinishReason, Round, Started
from localspec.engine.tally import Tally
from localspec.runtime.chat_config import Outlets
from localspec.runtime.worker.messages import Cancel, Emitted
from tests.chat.test_active_reply import WHOLE, Ending, ScriptedWorld
from tests.cli.conftest import Localspec, localspec
from tests.tui.support import LAUNCH, Clock, FakeEngine, rounds_of

__all__ = ["localspec"]

SAID = "Good day. The secret is out. Good bye."
PYTHON = shlex.quote(sys.executable)
HERE = "tests.chat.test_reply_check:no_secret"


def no_secret(sentence: str) -> str | None:
    """A check as an owner writes it."""
    return "it told the secret" if "secret" in sentence else None


def fails(sentence: str) -> str | None:
    raise ValueError("no list")


def reply(text: str = SAID, reason: FinishReason = FinishReason.STOP) -> tuple[Event, ...]:
    rounds = rounds_of(text)
    whole = "".join(token.text for round_ in rounds for token in round_.tokens)
    return (Started(1, 0, 1), *rounds, Finished(reason, whole, Tally().timings()))


def text_of(events: Sequence[Event]) -> str:
    return "".join(token.text for event in events if isinstance(event, Round) for token in event.tokens)


def passed(check: Check, events: Sequence[Event]) -> tuple[list[Event], str]:
    """The events that passed, and the error that ended them."""
    found: list[Event] = []
    try:
        found.extend(CheckedEvents(check).passing(events))
    except ReplyStoppedError as error:
        return found, str(error)
    return found, ""


@settings(deadline=None, max_examples=40)
@given(text=st.text(st.sampled_from("ab.! \n"), max_size=40))
def test_nothing_passes_that_was_not_seen_and_everything_is_seen_once(text: str) -> None:
    """The check gets the whole text in order, and every event passes in order, after its text."""
    seen: list[str] = []
    events = reply(text)

    def check(sentence: str) -> None:
        seen.append(sentence)

    found: list[Event] = []
    for event in CheckedEvents(check).passing(events):
        found.append(event)
        assert len(text_of(found).split()) <= len("".join(seen).split())
    assert text_of(found) == text_of(events)
    assert "".join(seen).split() == text_of(events).split()
    assert [type(event) for event in found] == [type(event) for event in events]


def test_a_sentence_waits_for_its_own_answer() -> None:
    """While the check thinks, its sentence and all that follows it are held."""
    answered, asked = threading.Semaphore(0), threading.Semaphore(0)

    def slow(sentence: str) -> None:
        asked.release()
        assert answered.acquire(timeout=60)

    gate = CheckedEvents(slow)
    for event in reply():
        gate.push(event)
    asked.acquire(timeout=60)
    assert text_of(gate.due()) == ""
    answered.release()
    asked.acquire(timeout=60)
    first = text_of(gate.due())
    assert "Good day".startswith(first.strip(". ") or "G")
    answered.release(3)
    gate.close()


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (check_of(HERE), "The check stopped the reply: it told the secret."),
        (check_of(f"{PYTHON} -c 'import sys; sys.exit(\"secret\" in sys.stdin.read())'"), "stopped the reply"),
        (check_of("tests.chat.test_reply_check:fails"), "held back: ValueError: no list."),
        (check_of("no.such.module:check"), "held back: ModuleNotFoundError"),
        (check_of("/no/such/command"), "cannot be started"),
        (check_of(f"{PYTHON} -c 'raise SystemExit(3)'"), "ended with exit code 3"),
    ],
)
def test_a_check_that_says_no_or_fails_ends_the_reply(check: Check, error: str) -> None:
    """Nothing of the sentence in question has passed, and a sentence says why."""
    events, said = passed(check, reply())
    assert error in said
    assert "secret" not in text_of(events)
    assert not any(isinstance(event, Finished) for event in events)


def test_a_check_that_hangs_holds_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.chat.reply_check.ANSWER_S", 0.0)

    def hangs(sentence: str) -> None:
        threading.Event().wait()

    gate = CheckedEvents(hangs)
    for event in reply():
        gate.push(event)
    with pytest.raises(ReplyStoppedError, match="did not answer within 0 seconds"):
        gate.due()


def test_guesses_are_counted_and_not_told() -> None:
    """What was proposed and not verified leaves the engine for nobody, ghosts included."""
    events = reply()
    found, _ = passed(lambda sentence: None, events)
    before = [event for event in events if isinstance(event, Round)]
    after = [event for event in found if isinstance(event, Round)]
    assert any(round_.rejected for round_ in before)
    assert [len(round_.rejected) for round_ in after] == [len(round_.rejected) for round_ in before]
    assert {proposal.text for round_ in after for proposal in (*round_.rejected, *round_.ignored)} == {""}
    assert [round_.proposed_n for round_ in after] == [round_.proposed_n for round_ in before]


def test_in_the_app_a_reply_that_is_stopped_is_neither_shown_nor_stored_further() -> None:
    engine = FakeEngine()
    launch = replace(LAUNCH, outlets=Outlets(reply_check=HERE))
    session = ChatSession(launch, engine, Pacer(None, Clock()))
    engine.load()
    take(session, engine)
    turn = session.ask("Hello")
    for event in reply():
        engine.inbox.put(Emitted(engine.prompts[-1].request_id, event))
    until(session, engine, lambda: turn.reply.done)
    assert isinstance(turn.reply.error, ReplyStoppedError)
    assert "secret" not in turn.text
    assert session.stored.path[-1].content == turn.text
    assert any(isinstance(request, Cancel) for request in engine.sent)


def take(session: ChatSession, engine: FakeEngine) -> None:
    for answer in engine.inbox.take():
        session.receive(answer)
    session.advance()


def until(session: ChatSession, engine: FakeEngine, done: Callable[[], bool]) -> None:
    for _ in range(60_000):
        take(session, engine)
        if done():
            return
        threading.Event().wait(0.001)
    raise AssertionError("it never came to an end")


def test_run_ends_with_its_own_exit_code_and_prints_what_passed(localspec: Localspec) -> None:
    arguments = ("run", "--target", "big.gguf", "--draft", "small.gguf", "--reply-check", HERE, "Hello")
    stopped = localspec(*arguments, world=ScriptedWorld(endings=[Ending(reply())]))
    assert (stopped.code, "secret" in stopped.out) == (14, False)
    assert "The check stopped the reply: it told the secret." in stopped.err
    through = localspec(*arguments, world=ScriptedWorld(endings=[WHOLE]))
    assert (through.code, through.out.strip()) == (0, "Good day to you.")


def test_a_command_is_out_of_reach_of_the_keyboard() -> None:
    """Ctrl-C, which a terminal sends to all programs of its session, would count as a failure of the check."""
    leads = "import os, sys; sys.exit(1 if os.getsid(0) != os.getpid() else 0)"
    check = check_of(f"{PYTHON} -c {shlex.quote(leads)}")
    assert check is not None
    assert check("A sentence.") is None
