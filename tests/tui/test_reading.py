"""What is told from a reply's text: thoughts, code, pages; and the list of conversations, as plain objects."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from localspec.base.errors import NotFoundError, OutputError, StoreError, UsageError
from localspec.chat.exporting import export, file_name
from localspec.chat.history import History, age
from localspec.chat.markdown import code_blocks
from localspec.engine.events import Origin, Token
from localspec.runtime.reasoning import Reasoning, tokens_before
from localspec.store import Store
from localspec.tui.conversation.page import CHARACTERS_PER_PAGE, TURNS_PER_PAGE, grouped


@pytest.mark.parametrize(
    ("reply", "thought", "answer"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", "Hm.", "\n\nYes."),
        ("\n<thinking>Hm.</thinking>Yes.", "Hm.", "Yes."),
        ("[THINK]Hm.[/THINK]Yes.", "Hm.", "Yes."),
        ("Hm.\n</think>\nYes.", "Hm.", "\nYes."),
        ("Hm.</think>Yes.", "Hm.", "Yes."),
        ("</think:opensource>Yes.", "", "Yes."),
        ("Hm.<|END_THINKING|>\nYes.", "Hm.", "\nYes."),
        ("<think></think>Yes.", "", "Yes."),
    ],
)
def test_thoughts_are_told_from_the_answer(reply: str, thought: str, answer: str) -> None:
    found = Reasoning.find(reply)
    assert found is not None
    assert (found.text, reply[found.end :], found.closed) == (thought, answer, True)


def test_thoughts_that_never_ended_have_no_answer() -> None:
    """The reply was cut off in the middle of them."""
    found = Reasoning.find("<think>Hm")
    assert found == Reasoning("Hm", len("<think>Hm"), False)


@pytest.mark.parametrize(
    "reply",
    [
        "Yes.",
        "Use <think> tags.",
        "`</think>` closes them.",
        'So does "</think>", or a </think> there.',
        "It is:\n<think>\nHm.\n</think>\n",
        "",
        "A < b",
        "a" + "\n" * 300_000,
    ],
)
def test_a_plain_answer_has_no_thoughts(reply: str) -> None:
    assert Reasoning.find(reply) is None


def test_tokens_are_counted_up_to_a_place() -> None:
    tokens = [Token(1, text, Origin.PLAIN) for text in ("ab", "", "c", "def")]
    assert [tokens_before(tokens, end) for end in range(8)] == [0, 1, 1, 3, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("```\na\n```", ["a\n"]),
        ("~~~py\na\n\nb\n~~~~\n```x\nc\n```", ["a\n\nb\n", "c\n"]),
        ("````\n```\na\n```\n````", ["```\na\n```\n"]),
        ("- x\n  ```\n  a\n    b\n  ```\n", ["a\n  b\n"]),
        ("```\nnever closed", ["never closed\n"]),
        ("1. x\n\n    ```sh\n    a\n    ```\n", ["a\n"]),
        ("- x\n  - y\n\n    ```\n    a\n    ```\n\n> ```\n> b\n> ```\n", ["a\n", "b\n"]),
        ("x\n\n    a\n", ["a\n"]),
        ("a `b` c", []),
    ],
)
def test_code_is_what_stands_between_fences(markdown: str, blocks: list[str]) -> None:
    assert code_blocks(markdown) == blocks


@pytest.mark.parametrize("sizes", [[], [1], [1] * 12, [CHARACTERS_PER_PAGE * 2, 1, 1], [CHARACTERS_PER_PAGE // 2] * 5])
def test_pages_hold_every_turn_once_and_never_too_much(sizes: list[int]) -> None:
    pages = grouped(sizes)
    assert [index for page in pages for index in range(len(sizes))[page]] == list(range(len(sizes)))
    for page in pages:
        turns = sizes[page]
        assert 1 <= len(turns) <= TURNS_PER_PAGE
        assert len(turns) == 1 or sum(turns) <= CHARACTERS_PER_PAGE


def history(tmp_path: Path, *titles: str) -> tuple[Store, History]:
    store = Store.open(tmp_path / "history.db")
    for title in titles:
        store.begin().ask(title)
    return store, History(store)


def listed(history: History) -> list[str]:
    return [row.headings[0].title for row in history.rows]


def test_the_list_is_filtered_and_keeps_its_mark(tmp_path: Path) -> None:
    """The latest comes first; a filter marks its best match."""
    store, conversations = history(tmp_path, "Apples", "Pears", "Plums")
    assert listed(conversations) == ["Plums", "Pears", "Apples"]
    conversations.move(1)
    conversations.move(5)
    assert conversations.marked is not None
    assert conversations.marked.headings[0].title == "Apples"
    conversations.filter("p")
    assert conversations.marked.headings[0].title == "Plums"
    conversations.filter("zz")
    assert conversations.marked is None
    assert "No title has these letters. F20 searches" in conversations.empty("F20")
    store.close()


def test_pinned_ones_stay_on_top_and_deleted_ones_come_back(tmp_path: Path) -> None:
    store, conversations = history(tmp_path, "Apples", "Pears", "Plums")
    conversations.move(2)
    assert conversations.pin() == "Pinned."
    assert listed(conversations) == ["Apples", "Plums", "Pears"]
    conversations.move(1)
    assert "F21 brings it back" in conversations.delete("F21")
    assert listed(conversations) == ["Apples", "Pears"]
    assert conversations.marked is not None
    assert conversations.marked.headings[0].title == "Pears"
    conversations.undo()
    assert listed(conversations) == ["Apples", "Plums", "Pears"]
    assert conversations.undo() == "There is nothing to bring back."
    store.close()


def test_what_the_disk_refuses_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, conversations = history(tmp_path, "Apples")

    def refuse(conversation: str) -> None:
        raise StoreError("The file is locked.", "Close the other program.")

    monkeypatch.setattr(store, "delete", refuse)
    assert conversations.delete("F21") == "The file is locked. Close the other program."
    assert listed(conversations) == ["Apples"]
    store.close()


def test_an_empty_list_says_what_to_do(tmp_path: Path) -> None:
    store, conversations = history(tmp_path)
    assert (conversations.marked, conversations.pin(), conversations.delete("F21")) == (None, "", "")
    assert "No conversations yet" in conversations.empty("F20")
    store.close()


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (timedelta(seconds=3), "now"),
        (timedelta(minutes=5), "5 m"),
        (timedelta(hours=23), "23 h"),
        (timedelta(days=6), "6 d"),
        (timedelta(days=30), "Apr 15"),
        (timedelta(days=800), "2024"),
    ],
)
def test_ages_are_short(passed: timedelta, shown: str) -> None:
    now = datetime(2026, 5, 15, 12).astimezone()
    assert age(now - passed, now) == shown


@pytest.mark.parametrize(
    ("title", "name"), [("A/B: c?", "a-b-c"), ("…", "conversation"), ("漢字", "漢字"), ("x" * 90, "conversation")]
)
def test_titles_become_names_of_files(title: str, name: str) -> None:
    assert file_name(title) == name


def test_an_export_never_overwrites(tmp_path: Path) -> None:
    store, _ = history(tmp_path)
    thread = store.begin()
    with pytest.raises(NotFoundError, match="nothing has been said"):
        export(thread, tmp_path)
    thread.ask("Apples")
    assert [export(thread, tmp_path).name for _ in range(2)] == ["apples.md", "apples-2.md"]
    export(thread, tmp_path, "mine.json")
    with pytest.raises(UsageError, match="already exists"):
        export(thread, tmp_path, "mine.json")
    for folder, name in ((tmp_path / "absent", ""), (tmp_path, "absent/a.md"), (tmp_path, "~nobody-of-this-name/a")):
        with pytest.raises(OutputError, match="cannot be written"):
            export(thread, folder, name)
    store.close()


@pytest.mark.parametrize(
    ("name", "file", "beginning"),
    [
        ("", "apples.md", "# Apples\n"),
        ("markdown", "apples.md", "# Apples\n"),
        ("json", "apples.json", '{\n "format": "localspec-conversations"'),
        ("ndjson", "apples.ndjson", '{"kind": "conversation"'),
        ("talk.json", "talk.json", '{\n "format": "localspec-conversations"'),
        ("talk.txt", "talk.txt", "# Apples\n"),
        ("json talk.json", "talk.json", '{\n "format": "localspec-conversations"'),
        ("json my talk", "my talk.json", '{\n "format": "localspec-conversations"'),
        ("my talk.json", "my talk.json", '{\n "format": "localspec-conversations"'),
    ],
)
def test_an_export_is_of_the_kind_that_is_named(tmp_path: Path, name: str, file: str, beginning: str) -> None:
    """By a word, by the ending of the file, or by both."""
    store, _ = history(tmp_path)
    thread = store.begin()
    thread.ask("Apples")
    path = export(thread, tmp_path, name)
    assert path == tmp_path / file
    assert path.read_text(encoding="utf-8").startswith(beginning)
    store.close()
