"""What will surely stand before the reply is read while the person types, and given up when the engine is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.machine import on_battery
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.reading_ahead import WORTH_CHARS, ReadingAhead
from localspec.runtime.messages import Message, Role
from localspec.runtime.worker.messages import Cancel, HasRead, ReadAhead, Request
from localspec.store.file_blocks import TextFile

LONG = "x" * WORTH_CHARS


def said(text: str) -> tuple[Message, ...]:
    return (Message(Role.USER, text),)


@pytest.fixture
def sent() -> list[Request]:
    return []


@pytest.fixture
def reading(sent: list[Request]) -> ReadingAhead:
    return ReadingAhead(sent.append)


def test_one_piece_at_a_time_is_asked_for_until_nothing_is_left(reading: ReadingAhead, sent: list[Request]) -> None:
    reading.want(said(LONG))
    for left_n in (64, 1, 0):
        reading.ask()
        reading.ask()
        reading.receive(HasRead(left_n))
    reading.ask()
    assert sent == [ReadAhead(said(LONG))] * 3


def test_a_short_text_is_not_worth_it(reading: ReadingAhead, sent: list[Request]) -> None:
    reading.want(said("Hello"))
    reading.ask()
    assert sent == []


def test_it_is_given_up_when_the_engine_is_needed(reading: ReadingAhead, sent: list[Request]) -> None:
    """Once; the answer to what was given up ends nothing that is wanted since."""
    reading.want(said(LONG))
    reading.ask()
    reading.withdraw()
    reading.withdraw()
    reading.want(said(f"{LONG} more"))
    reading.ask()
    reading.receive(HasRead(0))
    reading.ask()
    assert sent == [ReadAhead(said(LONG)), Cancel(), ReadAhead(said(f"{LONG} more"))]


def test_another_text_ends_the_piece_under_way_at_once(reading: ReadingAhead, sent: list[Request]) -> None:
    """A letter taken back, another conversation: the piece would be read for nothing."""
    for text in (said(LONG), said(f"{LONG}!"), (Message(Role.USER, LONG), *said(LONG)), said(LONG)):
        reading.want(text)
        reading.ask()
        reading.want(said(f"y{LONG}"))
        assert sent == [ReadAhead(text), Cancel()]
        reading.receive(HasRead(0))
        sent.clear()


def test_another_reasoning_ends_the_piece_under_way_at_once(reading: ReadingAhead, sent: list[Request]) -> None:
    """Some templates ask for it at the beginning of the prompt."""
    reading.want(said(LONG))
    reading.ask()
    reading.want(said(LONG), reasoning="off")
    reading.receive(HasRead(0))
    reading.ask()
    assert sent == [ReadAhead(said(LONG)), Cancel(), ReadAhead(said(LONG), (), "off")]


def test_it_rests_while_the_screen_is_needed(reading: ReadingAhead, sent: list[Request]) -> None:
    """The piece under way ends with the key, no other begins until the pause, and nothing is taken as read."""
    reading.want(said(LONG))
    reading.ask()
    for _ in range(3):
        reading.rest()
    assert sent == [ReadAhead(said(LONG)), Cancel()]
    reading.receive(HasRead(0))
    reading.ask()
    assert len(sent) == 2
    reading.go_on()
    reading.ask()
    assert sent[2:] == [ReadAhead(said(LONG))]


def test_text_that_is_written_on_disturbs_nothing(reading: ReadingAhead, sent: list[Request]) -> None:
    """The piece under way is the beginning of the longer text, too."""
    reading.want(said(LONG))
    reading.ask()
    reading.want(said(f"{LONG} and"))
    reading.receive(HasRead(0))
    reading.ask()
    assert sent == [ReadAhead(said(LONG)), ReadAhead(said(f"{LONG} and"))]


def test_the_beginning_of_a_message_is_what_stays() -> None:
    """A whole file and the text so far; of files that are searched nothing, as every word finds others."""
    file = (TextFile("a.txt", LONG),)
    whole = WrittenMessage("Why @a.txt", attachments=(Attachment("a.txt", file, n_ctx=1000),))
    assert whole.beginning == whole.content
    assert WrittenMessage("Why @a.txt", attachments=(Attachment("a.txt", file, n_ctx=100),)).beginning == ""


def test_a_battery_that_is_emptied_is_seen(tmp_path: Path) -> None:
    """As Linux shows it; no battery, or a system without such files, is none."""
    assert not on_battery(tmp_path / "none")
    for name, kind, status in (("AC", "Mains", ""), ("BAT0", "Battery", "Charging")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(f"{kind}\n")
        (tmp_path / name / "status").write_text(f"{status}\n")
    assert not on_battery(tmp_path)
    (tmp_path / "BAT0" / "status").write_text("Discharging\n")
    assert on_battery(tmp_path)
