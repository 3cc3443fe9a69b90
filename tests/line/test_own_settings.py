"""What one conversation sets for itself, line by line; and which conversation a chat begins with, in both modes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from localspec.config import read_config
from localspec.line.choices import LineFrontEnd
from localspec.store import Store
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld
from tests.config.support import add_persona, configure
from tests.line.test_conversations import PLAIN, lines, stored


def temperatures(world: FakeWorld) -> list[float]:
    return [options.sampling.temperature for _, options in world.pairs[-1].asked]


def test_a_setting_is_for_this_conversation_and_kept_with_it(localspec: Localspec) -> None:
    """From the next reply on; another conversation has none of it, and opening the first restores it."""
    world = FakeWorld()
    said = lines("/set temperature 0.2", "one", "/new", "two", "/list", "/open 2", "three", "/set")
    done = localspec(*PLAIN, world=world, stdin=said)
    assert temperatures(world) == [0.2, 0.8, 0.2]
    assert "Temperature is 0.2 in this conversation" in done.err
    assert "This conversation sets temperature 0.2" in done.err
    again = FakeWorld()
    localspec(*PLAIN, "--continue", world=again, stdin=lines("four", "/unset temperature", "five"))
    assert temperatures(again) == [0.2, 0.8]


def test_the_command_line_beats_it(localspec: Localspec) -> None:
    world = FakeWorld()
    done = localspec(*PLAIN, "--temperature", "0.9", world=world, stdin=lines("/set temperature 0.2", "one"))
    assert temperatures(world) == [0.9]
    assert "The command line names temperature" in done.err


def test_what_cannot_be_set_is_refused(localspec: Localspec) -> None:
    """With the exit code of a wrong command, and nothing is changed."""
    for wrong in ("/set temprature 1", "/set temperature hot", "/set threads 4", "/unset seed", "/schema off"):
        assert localspec(*PLAIN, stdin=lines(wrong)).code == 2
    assert localspec(*PLAIN, stdin=lines("/schema nowhere.json")).code == 4
    for kind in ("persona", "prompt"):
        assert f"/{kind} edit needs a name." in localspec(*PLAIN, stdin=lines(f"/{kind} edit")).err


def test_replies_are_held_to_a_schema(localspec: Localspec, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text('{"type": "integer"}', encoding="utf-8")
    world = FakeWorld()
    localspec(*PLAIN, world=world, stdin=lines(f"/schema {path}", "one", "/schema off", "two"))
    assert [options.sampling.grammar is not None for _, options in world.pairs[-1].asked] == [True, False]


def test_a_persona_is_there_when_the_conversation_is_opened_again(localspec: Localspec) -> None:
    """And goes where it is taken back."""
    add_persona("pirate.md", "Speak as a pirate.")
    localspec(*PLAIN, stdin=lines("/persona pirate", "one"))
    world = FakeWorld()
    localspec(*PLAIN, "--continue", world=world, stdin=lines("two", "/unset persona", "three"))
    firsts = [messages[0] for messages, _ in world.pairs[-1].asked]
    assert [getattr(first, "content", "") for first in firsts] == ["Speak as a pirate.", "one"]


def test_an_empty_line_keeps_a_text_that_cannot_be_put_into_the_line() -> None:
    """One of several lines, as a persona may have: it is shown before a line is typed in its place."""
    said: list[str] = []
    taken: list[Mapping[str, str]] = []
    state: Any = SimpleNamespace(ask=lambda invitation, begin: "", output=SimpleNamespace(remark=said.append))
    LineFrontEnd(state).ask(
        "The persona pirate", "Who speaks.", {"prompt": "Arr.\nLike rum.", "more": ""}, taken.append
    )
    assert taken == [{"prompt": "Arr.\nLike rum.", "more": ""}]
    assert said[1:] == ["prompt now: Arr.\nLike rum.\nAn empty line leaves it as it is."]


def test_programs_are_told_what_is_set(localspec: Localspec) -> None:
    done = localspec("chat", "--json", *FILES, stdin=lines("/set seed 7"))
    note = json.loads(done.out.splitlines()[-1])
    assert note["settings"] == {"reply.seed": 7}


def test_the_pair_has_settings_of_its_own(localspec: Localspec) -> None:
    """Set by a command, they are in the file and count from the next reply on, below those of the conversation."""
    said = ("/set pair temperature 0.2", "one", "/set temperature 0.4", "two", "/unset temperature", "three")
    world = FakeWorld()
    done = localspec("chat", "--plain", world=world, stdin=lines(*said, "/unset pair temperature", "four"))
    assert "Temperature is 0.2 for builtin, in config.toml; applies with the next reply." in done.err
    assert temperatures(world)[:3] == [0.2, 0.4, 0.2]
    assert temperatures(world)[3] == launch_temperature(localspec)
    assert read_config().pairs == {}
    assert localspec(*PLAIN, stdin=lines("/set pair temperature 0.2")).code == 2, "files are no pair"


def launch_temperature(localspec: Localspec) -> float:
    """Of a reply for which nothing is set."""
    world = FakeWorld()
    localspec("chat", "--plain", world=world, stdin=lines("one"))
    (temperature,) = temperatures(world)
    return temperature


def test_the_table_of_the_pair_that_is_changed_to_is_in_force(localspec: Localspec) -> None:
    """Its system prompt too."""
    configure("[pair.builtin]\nseed = 7\nsystem = 'Be brief.'\n")
    world = FakeWorld()
    localspec(*PLAIN, world=world, stdin=lines("one", "/pair builtin", "two"))
    ((_, before),) = world.pairs[0].asked
    ((messages, after),) = world.pairs[-1].asked
    assert (before.seed, after.seed) == (None, 7)
    assert getattr(messages[0], "content", "") == "Be brief."


# Which conversation a chat begins with


def test_the_screen_opens_the_conversation_that_is_asked_for(localspec: Localspec) -> None:
    """The last, or the one that is named; none where nothing is asked for."""
    localspec(*PLAIN, stdin=lines("one"))
    localspec(*PLAIN, stdin=lines("two"))
    store = Store.open()
    ids = {summary.heading.title: summary.heading.id for summary in store.conversations()}
    store.close()
    for options, expected in (
        ((), None),
        (("--continue",), ids["two"]),
        (("--conversation", ids["one"][:12]), ids["one"]),
    ):
        world = FakeWorld(terminal=True)
        assert localspec("chat", *FILES, *options, world=world).code == 0
        assert [screen.conversation for screen in world.screens] == [expected]


def test_a_conversation_that_is_not_there_is_refused_before_the_screen_opens(localspec: Localspec) -> None:
    """--continue without any begins one."""
    world = FakeWorld(terminal=True)
    assert localspec("chat", *FILES, "--conversation", "nope", world=world).code == 4
    assert not world.screens
    assert localspec("chat", *FILES, "--continue", world=world).code == 0
    assert [screen.conversation for screen in world.screens] == [None]
    assert not stored()
