"""What is said in the line mode is kept, and every command works on it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from localspec.base.errors import CapacityError
from localspec.base.paths import user_paths
from localspec.engine.cancel import Cancellation
from localspec.models.pairs.collecting import collect
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Role
from localspec.runtime.options import LoadOptions, Progress
from localspec.store import Store
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, Done, FakeWorld
from tests.tiny_models import write_tiny

PLAIN = ("chat", "--plain", *FILES)


def lines(*said: str) -> bytes:
    return "".join(f"{line}\n" for line in said).encode()


def stored() -> list[tuple[str, list[str]]]:
    """Titles with the questions on their path, the latest first."""
    store = Store.open()
    try:
        talks = [store.open_conversation(each.heading.id) for each in store.conversations()]
        return [(thread.title, [node.content for node in thread.path if node.role is Role.USER]) for thread in talks]
    finally:
        store.close()


def asked(world: FakeWorld, turn: int = -1) -> list[str]:
    prompt = world.pairs[-1].asked[turn][0]
    assert not isinstance(prompt, str)
    return [message.content for message in prompt]


def test_conversations_are_kept_and_gone_on_with(localspec: Localspec) -> None:
    """--continue takes up the one in which something was said last, --conversation any."""
    first = localspec(*PLAIN, stdin=lines("one")).out
    localspec(*PLAIN, stdin=lines("two"))
    assert [questions for _, questions in stored()] == [["two"], ["one"]]
    world = FakeWorld()
    done = localspec(*PLAIN, "--continue", world=world, stdin=lines("three"))
    assert done.err.startswith("Opened two, 2 messages.")
    assert stored()[0] == ("two", ["two", "three"])
    store = Store.open()
    (one,) = (each.heading.id for each in store.conversations() if each.heading.title == "one")
    store.close()
    localspec(*PLAIN, "--conversation", one[:12], world=world, stdin=lines("four"))
    assert asked(world)[::2] == ["one", "four"]
    assert asked(world)[1] == first.removesuffix("\n")
    assert stored()[0] == ("one", ["one", "four"])


def test_a_conversation_with_another_pair_says_so(localspec: Localspec) -> None:
    """When it is opened, with the command that goes on with that pair; until another has replied in it."""
    localspec(*PLAIN, stdin=lines("one"))
    builtin = ("chat", "--plain", "--pair", "builtin")
    done = localspec(*builtin, "--continue", stdin=lines("/list", "/open 1", "two", "/open 1"))
    assert done.err.count("It was with big.gguf, which is not among the pairs here.") == 2
    done = localspec(*PLAIN, "--continue", stdin=lines("three"))
    assert "It was with" not in done.err, "nobody is sent back to the tour"


def test_a_conversation_is_filed_and_archived(localspec: Localspec) -> None:
    """With words of its own; a list leaves the archive out until it is asked for."""
    said = lines("one", "/folder", "/folder Garden #Wood", "/folder #trees", "/archive", "/list", "/list is:archived")
    done = localspec(*PLAIN, stdin=said)
    for text in (
        "in no folder and has no tags",
        "filed as Garden #wood.",
        "filed as Garden #trees.",
        "is in the archive",
        "All conversations are in the archive. /list is:archived lists them.",
        "Garden #trees",
    ):
        assert text in done.err
    done = localspec(*PLAIN, "--continue", stdin=lines("/archive", "/folder none", "/list", "/list folder:Wood"))
    assert "is back in the list" in done.err
    assert "#trees" not in done.err
    assert done.err.endswith("Nothing is filed as 'folder:Wood'. /list is:any lists all, the archive too.\n")


def test_a_conversation_without_messages_is_not_archived(localspec: Localspec) -> None:
    """Its first message would go straight into the archive, where nobody looks for it."""
    assert localspec(*PLAIN, stdin=lines("/archive")).code == 2
    done = localspec("chat", "--json", *FILES, stdin=lines("/archive", "one", "/list"))
    refused, *_, listed = map(json.loads, done.out.splitlines())
    assert refused["message"] == "There is nothing to archive."
    assert [each["title"] for each in listed["conversations"]] == ["one"]


def test_nothing_to_go_on_with(localspec: Localspec) -> None:
    """--continue then begins; an id that is not there is refused before anything is loaded."""
    done = localspec(*PLAIN, "--continue", stdin=lines("one"))
    assert (done.code, done.err.splitlines()[0]) == (0, "There is no conversation yet; this is a new one.")
    world = FakeWorld()
    done = localspec(*PLAIN, "--conversation", "nope", world=world, stdin=lines("one"))
    assert (done.code, done.out, world.loads) == (4, "", [])


def test_the_system_prompt_of_an_opened_conversation(localspec: Localspec) -> None:
    """It stays, unless the command line names another."""
    localspec(*PLAIN, "--system", "Be brief.", stdin=lines("one"))
    world = FakeWorld()
    localspec(*PLAIN, "--continue", world=world, stdin=lines("two"))
    assert asked(world)[0] == "Be brief."
    localspec(*PLAIN, "--continue", "--system", "Be loud.", world=world, stdin=lines("three"))
    assert asked(world)[0] == "Be loud."


def test_list_open_show_and_search(localspec: Localspec) -> None:
    """Numbers are those of the latest list; /show reads what was said."""
    localspec(*PLAIN, stdin=lines("the sky", "/new", "the sea"))
    said = lines("/list", "/open 2", "/show", "/search sea", "/open 1", "and then?", "/list sky")
    done = localspec(*PLAIN, stdin=said)
    assert done.code == 0
    assert "1. the sea, 2 messages," in done.err
    assert "Opened the sky, 2 messages." in done.err
    assert "You: the sky\n\nReply: " in done.err
    assert "1. In the sea," in done.err
    assert "1. the sky, 2 messages," in done.err
    assert stored()[0] == ("the sea", ["the sea", "and then?"])


def test_a_script_may_begin_with_a_byte_order_mark(localspec: Localspec) -> None:
    """As files from Windows do, with their line ends; the first line is a command all the same."""
    done = localspec(*PLAIN, stdin=b"\xef\xbb\xbf/list\r\none\r\n")
    assert "There are no conversations yet" in done.err
    assert stored() == [("one", ["one"])]


@pytest.mark.parametrize(
    ("command", "code"),
    [("/open 7", 4), ("/open zz", 4), ("/open", 2), ("/search nothing", 4), ("/search", 2), ("/version 2", 2)],
)
def test_what_is_not_there(localspec: Localspec, command: str, code: int) -> None:
    """One sentence; a script ends there."""
    world = FakeWorld()
    done = localspec(*PLAIN, world=world, stdin=lines(command, "never asked"))
    assert (done.code, done.out, world.pairs[0].asked) == (code, "", [])
    assert done.err.count("\n") == 1


def test_regenerate_edit_and_version(localspec: Localspec) -> None:
    """Each is another version, none is lost, and the model sees the one that is shown."""
    world = FakeWorld()
    said = lines("one", "/regenerate", "/version 1", "/edit first", "/version", "two")
    done = localspec(*PLAIN, world=world, stdin=said)
    assert done.code == 0
    assert "This is reply 2 of 2; /version NUMBER shows another." in done.err
    assert "Reply 1 of 2: " in done.err
    assert "This is reply 1 of 1." in done.err
    assert [asked(world, turn)[::2] for turn in range(4)] == [["one"], ["one"], ["first"], ["first", "two"]]
    store = Store.open()
    thread = store.open_conversation(store.conversations()[0].heading.id)
    assert len(thread.tree.children(None)) == 2
    store.close()


def test_delete_and_undo(localspec: Localspec) -> None:
    """A turn or the whole conversation; undone in the opposite order."""
    world = FakeWorld()
    said = lines("one", "two", "/delete", "three", "/delete conversation", "/list", "/undo", "/undo", "/show all")
    done = localspec(*PLAIN, world=world, stdin=said)
    assert asked(world)[::2] == ["one", "three"]
    assert "There are no conversations yet" in done.err
    assert "one is back, and open." in done.err
    assert "The turn is back in one." in done.err
    assert done.code == 0
    assert localspec(*PLAIN, stdin=lines("/undo")).code == 2


def test_a_turn_of_an_earlier_day_comes_back(localspec: Localspec) -> None:
    """As in the app: whenever it was deleted, and before a conversation that was deleted earlier still."""
    localspec(*PLAIN, stdin=lines("one", "two", "/delete"))
    world = FakeWorld()
    done = localspec(*PLAIN, "--continue", world=world, stdin=lines("/undo", "three", "/undo"))
    assert "The turn is back in one." in done.err
    assert asked(world)[::2] == ["one", "two", "three"]
    localspec(*PLAIN, "--continue", stdin=lines("/delete", "/delete", "/delete"))
    assert "no conversation yet" not in localspec(*PLAIN, "--continue", stdin=lines("/undo")).err
    assert "nothing to bring back" in done.err


def test_a_whole_conversation_comes_back_before_what_was_deleted_earlier_elsewhere(localspec: Localspec) -> None:
    """The latest first: of the conversation that is open, what was deleted since counts before."""
    said = ("one", "two", "/delete", "/new", "other", "/delete conversation", "/list", "/open 1", "/undo", "/undo")
    done = localspec(*PLAIN, stdin=lines(*said))
    assert "other is back, and open." in done.err
    assert "nothing to bring back" in done.err
    done = localspec(*PLAIN, stdin=lines(*said[:-2], "three", "/delete", "/undo", "/undo", "/open 1", "/undo"))
    back = [line for line in done.err.splitlines() if " back" in line and "brings" not in line]
    assert back == ["The turn is back in one.", "other is back, and open.", "The turn is back in one."]


def test_rename_and_export(localspec: Localspec, tmp_path: Path) -> None:
    """The suffix says the form; a file that is there is left alone."""
    done = localspec(
        *PLAIN,
        stdin=lines("one", "/rename My talk", *(f"/export {tmp_path / f'a.{s}'}" for s in ("md", "json", "ndjson"))),
    )
    assert "The title is: My talk." in done.err
    assert (tmp_path / "a.md").read_text("utf-8").startswith("# My talk\n")
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert all(json.loads(line) for line in (tmp_path / "a.ndjson").read_text("utf-8").splitlines())
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("a.*")} == {0o600}
    assert localspec(*PLAIN, "--continue", stdin=lines(f"/export {tmp_path / 'a.md'}")).code == 2
    assert localspec(*PLAIN, "--continue", stdin=lines(f"/export {tmp_path}/no/a.md")).code == 13
    assert localspec(*PLAIN, "--continue", stdin=lines(f'/export "{tmp_path}/two words.md"')).code == 0
    assert (tmp_path / "two words.md").exists()


def test_an_export_may_be_named_by_its_kind(
    localspec: Localspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the screen: the file then has the title for its name. An empty conversation is not written."""
    monkeypatch.chdir(tmp_path)
    done = localspec(*PLAIN, stdin=lines("My talk", "/export HTML"))
    assert "written to my-talk.html" in done.err
    assert "<html" in (tmp_path / "my-talk.html").read_text("utf-8")
    assert "nothing to export" in localspec(*PLAIN, stdin=lines("/export talk.md")).err
    assert [file.name for file in tmp_path.glob("*.*")] == ["my-talk.html"]


def test_an_ending_that_names_no_form_is_refused(localspec: Localspec, tmp_path: Path) -> None:
    """With those that do."""
    done = localspec(*PLAIN, stdin=lines("one", f"/export {tmp_path / 'talk.pdf'}"))
    assert "cannot be written as .pdf" in done.err
    assert all(ending in done.err for ending in (".md", ".txt", ".json", ".ndjson"))
    assert not list(tmp_path.glob("talk*"))


def test_attached_files_go_with_the_next_message_alone(localspec: Localspec, tmp_path: Path) -> None:
    """Asked anew in other words, they still do; a name with @ in a pipe is only text."""
    note = tmp_path / "note.txt"
    note.write_text("read me\n", "utf-8")
    world = FakeWorld()
    done = localspec(*PLAIN, world=world, stdin=lines(f"/attach {note}", "what?", "/edit why?", f"@{note}"))
    assert "The next message goes with" in done.err
    for turn, text in ((0, "what?"), (1, "why?")):
        assert "read me" in asked(world, turn)[-1]
        assert asked(world, turn)[-1].endswith(text)
    assert asked(world)[-1] == f"@{note}"
    (tmp_path / "binary").write_bytes(b"\0\1")
    assert localspec(*PLAIN, stdin=lines(f"/attach {tmp_path / 'binary'}")).code == 3
    localspec(*PLAIN, world=world, stdin=lines(f"/attach {note}", f'/attach "{note}"', "twice?"))
    assert asked(world)[-1].count("read me") == 1


def test_figures_are_those_of_the_reply(localspec: Localspec) -> None:
    """Also of one that was made another day."""
    now = localspec(*PLAIN, stdin=lines("one", "/figures")).err.splitlines()
    then = localspec(*PLAIN, "--continue", stdin=lines("/figures")).err.splitlines()
    assert now[-8:] == then[-8:]
    assert any(line.startswith("acceptance ") for line in now)


def test_the_figures_of_all_replies_are_a_page(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of `localspec stats`; also of what was said a moment ago, and for programs as records."""
    monkeypatch.setenv("COLUMNS", "81")
    assert "There are no figures yet." in localspec(*PLAIN, stdin=lines("/stats")).err
    localspec(*PLAIN, stdin=lines("one", "two"))
    err = localspec(*PLAIN, stdin=lines("three", "/stats")).err
    page = err[err.index("3 replies of ") :].splitlines()
    assert any(line.startswith("ACCEPTANCE  REPLIES") for line in page)
    assert max(map(len, page[1:])) <= 80
    monkeypatch.setenv("COLUMNS", "80")  # a terminal breaks lines that fill it
    assert page[2:] == localspec("stats").out.splitlines()[-len(page[2:]) :]
    note = json.loads(localspec("chat", "--json", *FILES, stdin=lines("/stats")).out)
    assert note["stats"] == json.loads(localspec("stats", "--json").out)


def test_a_reply_that_was_cut_short_goes_on(localspec: Localspec) -> None:
    """The engine is given what there is; the two parts are one message."""
    done = localspec(*PLAIN, "--json", "--max-tokens", "3", stdin=lines("one", "/continue", "/show"))
    records = [json.loads(line) for line in done.out.splitlines()]
    first, second = (record["text"] for record in records if record["event"] == "done")
    assert records[-1]["messages"][-1]["content"] == first + second
    said = localspec(*PLAIN, "--max-tokens", "3", stdin=lines("one")).err
    assert "Ended at max tokens or the end of the context; /continue goes on." in said
    assert localspec(*PLAIN, stdin=lines("/continue")).code == 2


def test_personas(localspec: Localspec) -> None:
    """For this conversation, from the next reply on."""
    folder = user_paths().config / "personas"
    folder.mkdir(parents=True)
    (folder / "pirate.md").write_text("Speak as a pirate.", "utf-8")
    world = FakeWorld()
    done = localspec(*PLAIN, world=world, stdin=lines("/persona", "/persona pirate", "one", "/new", "two"))
    assert "Personas: pirate;" in done.err
    assert asked(world, 0) == ["Speak as a pirate.", "one"]
    assert asked(world, 1) == ["two"]


def test_another_pair(localspec: Localspec) -> None:
    """It is loaded in place of the first, and the conversation stays."""
    world = FakeWorld()
    done = localspec(*PLAIN, world=world, stdin=lines("one", "/pair builtin", "two"))
    assert done.code == 0
    assert [pair.closed for pair in world.pairs] == [True, True]
    assert asked(world)[::2] == ["one", "two"]
    assert localspec(*PLAIN, stdin=lines("/pair nope")).code == 4


class WithoutTiny(FakeWorld):
    """Everything but the pair "tiny" can be loaded."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        self.load_error = CapacityError("There is no room.", "Make some.") if options.target.stem == "tiny" else None
        return super().open_pair(options, cancel, progress)


def test_pairs_answer_the_same_message_one_after_the_other(localspec: Localspec, tmp_path: Path) -> None:
    """Their replies are versions; the pair of the conversation comes back, and one that cannot be loaded is told."""
    collect([write_tiny(tmp_path / "tiny.gguf", "llama")])
    said = ("one", "/compare tiny why so", "/version", "two", "/compare builtin tiny")
    world = FakeWorld()
    done = localspec("chat", "--plain", world=world, stdin=lines(*said))
    assert done.code == 0, done.err
    answered = [
        (pair.info.target.stem, [message.content for message in prompt if not isinstance(message, str)][-1])
        for pair in world.pairs
        for prompt, _ in pair.asked
    ]
    assert answered == [
        *(("builtin-target", "one"), ("builtin-target", "why so"), ("tiny", "why so")),
        *(("builtin-target", "two"), ("builtin-target", "two"), ("tiny", "two")),
    ], "without a message, the latest is answered again"
    assert "This is reply 2 of 2." in done.err
    assert "the fastest, with" in done.err
    assert world.pairs[-1].info.target.stem == "builtin-target"
    without = localspec("chat", "--plain", world=WithoutTiny(), stdin=lines("/compare tiny why so", "two"))
    assert "There is no room." in without.err
    assert without.code == 0
    assert localspec("chat", "--plain", stdin=lines("/compare builtin")).code == 2


@pytest.mark.parametrize("form", ["--plain", "--json"])
def test_a_store_that_cannot_be_written(localspec: Localspec, form: str) -> None:
    """It is said, and the chat goes on; the exit code tells of what was lost, if anything was."""
    path = user_paths().data / "history.db"
    path.mkdir(parents=True)
    command, world = ("chat", form, *FILES), FakeWorld()
    done = localspec(*command, world=world, stdin=lines("one", "two"))
    assert done.code == 11
    assert asked(world)[-1] == "two"
    assert "not stored" in done.err.splitlines()[0]
    assert done.err.splitlines()[-1].endswith("What is not stored is lost; /export FILE as the last line keeps it.")
    assert localspec(*command, stdin=b"").code == 0


def test_a_failed_reply_leaves_its_question(localspec: Localspec) -> None:
    """The question is kept, and /continue asks it again another time."""
    from localspec.base.errors import EngineError

    done: Done = localspec(*PLAIN, world=FakeWorld(reply_error=EngineError("It died.")), stdin=lines("one"))
    assert done.code == 8
    assert stored() == [("one", ["one"])]
    world = FakeWorld()
    localspec(*PLAIN, "--continue", world=world, stdin=lines("/regenerate"))
    assert asked(world) == ["one"]


def test_conversations_are_brought_in(localspec: Localspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a path as it is typed, in quotes or from home, and never twice; what is wrong with the file is said."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    file = tmp_path / "old talks.json"
    localspec(*PLAIN, stdin=lines("Apples", f"/export {file}", "/delete conversation"))
    done = localspec(*PLAIN, stdin=lines(f"/import {file}", f'/import "{file}"', "/list app", "/open 1", "Pears"))
    assert "1 conversation imported." in done.err
    assert "Nothing is new: 1 conversation skipped, already here." in done.err
    assert stored() == [("Apples", ["Apples", "Pears"])]
    assert "Nothing is new" in localspec(*PLAIN, stdin=lines("/import ~/old talks.json")).err
    file.write_text("no JSON", "utf-8")
    for argument, code, said in (
        ("", 2, "/import needs a file that LocalSpec (JSON), ChatGPT or LM Studio wrote."),
        ("nothing.json", 4, "There is no file nothing.json."),
        (str(file), 3, "is not JSON"),
    ):
        refused = localspec(*PLAIN, stdin=lines(f"/import {argument}"))
        assert (refused.code, said in refused.err) == (code, True)


def test_programs_are_told_what_was_brought_in(localspec: Localspec, tmp_path: Path) -> None:
    """By id."""
    file = tmp_path / "old.json"
    localspec(*PLAIN, stdin=lines("Apples", f"/export {file}"))
    (here,) = (each["id"] for each in json.loads(file.read_text("utf-8"))["conversations"])
    note = json.loads(localspec(*PLAIN, "--json", stdin=lines(f"/import {file}")).out)
    assert (note["imported"], note["known"]) == ([], [here])
