"""Old turns told in short, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from localspec.base.errors import EngineError
from localspec.chat.compaction import REQUEST
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Started
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions, Progress
from tests.cli.conftest import Localspec
from tests.cli.support import FakePair, FakeWorld
from tests.line.test_conversations import PLAIN, asked, lines, stored

FOUR = ("one", "two", "three", "four")


def test_old_turns_are_summarised(localspec: Localspec) -> None:
    """Without a word on standard output; the model is told the summary from then on, and /undo ends that."""
    world = FakeWorld()
    talked = localspec(*PLAIN, stdin=lines(*FOUR))
    done = localspec(*PLAIN, world=world, stdin=lines(*FOUR, "/compact", "five", "/undo", "six"))
    assert done.code == 0
    assert done.out.startswith(talked.out)
    assert "Summarising 2 turns." in done.err
    assert "2 turns are summarised: " in done.err
    assert "The full turns are back" in done.err
    assert asked(world, 4)[::2] == ["one", "two", REQUEST]
    first = world.pairs[-1].asked[5][0][0]
    assert not isinstance(first, str)
    assert (first.role, first.content.splitlines()[0]) == (Role.SYSTEM, "Summary of the conversation so far:")
    assert asked(world, 5)[1::2] == ["three", "four", "five"]
    assert asked(world, 6)[::2] == [*FOUR, "five", "six"]
    assert stored()[0] == ("one", [*FOUR, "five", "six"])


def test_a_summary_of_an_earlier_day_can_be_undone(localspec: Localspec) -> None:
    localspec(*PLAIN, stdin=lines(*FOUR, "/compact 1"))
    world = FakeWorld()
    done = localspec(*PLAIN, "--continue", world=world, stdin=lines("five", "/undo", "six", "/undo"))
    assert asked(world, 0)[1::2] == ["four", "five"]
    assert asked(world, 1)[::2] == [*FOUR, "five", "six"]
    assert "nothing to bring back" in done.err


def test_programs_are_told_it_as_a_note(localspec: Localspec) -> None:
    done = localspec("chat", "--json", *PLAIN[2:], stdin=lines(*FOUR, "/compact"))
    note = json.loads(done.out.splitlines()[-1])
    assert note["event"] == "note"
    assert note["turns_n"] == 2
    assert note["summary"] in note["text"]


def test_a_summary_that_fails_changes_nothing(localspec: Localspec) -> None:
    """The error is told as that of a reply is."""
    localspec(*PLAIN, stdin=lines(*FOUR))
    broken = FakeWorld(reply_error=EngineError("The engine stopped.", "Try again."))
    done = localspec(*PLAIN, "--continue", world=broken, stdin=lines("/compact"))
    assert done.code == EngineError.exit_code
    assert "The engine stopped." in done.err
    world = FakeWorld()
    localspec(*PLAIN, "--continue", world=world, stdin=lines("five"))
    assert asked(world)[::2] == [*FOUR, "five"]


class BreakingPair(FakePair):
    """The program is told to end after two events of a reply."""

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        for number, event in enumerate(FakePair.reply(self, prompt, options, prefix)):
            if number == 2:
                raise SystemExit(143)
            yield event


@dataclass(slots=True)
class BreakingWorld(FakeWorld):
    """Opens such pairs."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        pair = FakeWorld.open_pair(self, options, cancel, progress)
        return BreakingPair(pair.info, cancel)


def test_observers_are_told_that_a_summary_was_broken_off(localspec: Localspec, tmp_path: Path) -> None:
    """As of any reply: where the program has to end, the summary counts as cancelled."""
    localspec(*PLAIN, stdin=lines(*FOUR))
    log = tmp_path / "audit.ndjson"
    done = localspec(*PLAIN, "--continue", "--audit-log", log, world=BreakingWorld(), stdin=lines("/compact"))
    assert done.code == 143
    entry = json.loads(log.read_text().splitlines()[-1])
    assert (entry["event"], entry["reason"]) == ("end", "cancelled"), entry


@pytest.mark.parametrize("command", ["/compact", "/compact many", "/compact 2"])
def test_what_cannot_be_summarised_is_said(localspec: Localspec, command: str) -> None:
    done = localspec(*PLAIN, stdin=lines("one", "two", command))
    assert "/compact" in done.err
    assert stored() == [("one", ["one", "two"])]


class ShortPair(FakePair):
    """A pair whose context has no room for the oldest message."""

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        yield Started(9, 0, 1, dropped_n=1)
        yield from (event for event in FakePair.reply(self, prompt, options, prefix) if not isinstance(event, Started))


@dataclass(slots=True)
class ShortWorld(FakeWorld):
    """Opens such pairs."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        return ShortPair(FakeWorld.open_pair(self, options, cancel, progress).info, cancel)


def test_what_the_summary_had_no_room_for_is_told(localspec: Localspec) -> None:
    done = localspec(*PLAIN, world=ShortWorld(), stdin=lines(*FOUR, "/compact"))
    assert "For the oldest message the context had no room." in done.err
