"""What is kept on disk: sent messages and the unsent one; private, bounded, and never a reason to fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.chat.compose import history as history_module
from localspec.chat.compose.history import HistoryCursor, PromptHistory, Recall, search
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.unsent import UnsentMessages


def texts(history: PromptHistory) -> list[str]:
    return [message.text for message in history.messages]


def test_sent_messages_are_there_after_a_restart(tmp_path: Path) -> None:
    """In order, with what was pasted, each repeated one once; for nobody else to read."""
    path = tmp_path / "new" / "sent.jsonl"
    history = PromptHistory(path)
    pasted = WrittenMessage("see [pasted text: 9.9 kB, 12 lines]", {"[pasted text: 9.9 kB, 12 lines]": "é\n" * 12})
    for message in (
        WrittenMessage("one"),
        WrittenMessage("one"),
        WrittenMessage("two\nlines"),
        WrittenMessage("  "),
        pasted,
    ):
        history.add(message)
    assert texts(PromptHistory(path)) == ["one", "two\nlines", pasted.text]
    assert PromptHistory(path).messages[-1] == pasted
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_apps_keep_each_others_messages(tmp_path: Path) -> None:
    """Each adds to the file, whatever it knew of it."""
    one, other = PromptHistory(tmp_path / "sent"), PromptHistory(tmp_path / "sent")
    assert texts(one) == texts(other) == []
    one.add(WrittenMessage("from one"))
    other.add(WrittenMessage("from the other"))
    one.add(WrittenMessage("one more"))
    assert texts(PromptHistory(tmp_path / "sent")) == ["from one", "from the other", "one more"]


def test_the_file_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest messages are kept, the oldest go; a huge paste never gets in."""
    monkeypatch.setattr(history_module, "MAX_FILE_BYTES", 2000)
    history = PromptHistory(tmp_path / "sent")
    for n in range(300):
        history.add(WrittenMessage(f"message number {n}"))
        assert (tmp_path / "sent").stat().st_size <= 2000
    kept = texts(PromptHistory(tmp_path / "sent"))
    assert kept[-1] == "message number 299"
    assert kept == [f"message number {n}" for n in range(300 - len(kept), 300)]
    history.add(WrittenMessage("[pasted text: 1,024 kB, 1 line]", {"[pasted text: 1,024 kB, 1 line]": "x" * 1_024_000}))
    assert (tmp_path / "sent").stat().st_size < 4000


@pytest.mark.parametrize(
    "damage",
    [b"", b"\xff\xfe\x00", b'{"text": 7}\n[]\nnull\n{"text":"whole"}\n{"text":"cut sh', b'{"text":"x","pasted":[1]}\n'],
)
def test_a_damaged_file_is_read_as_far_as_it_is_whole(tmp_path: Path, damage: bytes) -> None:
    """What cannot be read is passed over, and the next message is kept."""
    path = tmp_path / "sent"
    path.write_bytes(damage)
    history = PromptHistory(path)
    history.add(WrittenMessage("new"))
    assert texts(PromptHistory(path)) == (["whole"] if b"whole" in damage else []) + ["new"]


@pytest.mark.parametrize(
    "text", ["a secret", "a long secret " * 10_000, "\n漢" * 30_000], ids=["short", "long", "wide"]
)
def test_nothing_is_left_of_a_message_that_is_forgotten(text: str, tmp_path: Path) -> None:
    """Not the beginning of one, either, that was too long to be kept whole; others stay."""
    history = PromptHistory(tmp_path / "sent")
    for each in (text, f"{text[:100]}, or another"):
        history.add(WrittenMessage(each))
    history.forget([text.strip()])
    assert texts(PromptHistory(tmp_path / "sent")) == [f"{text[:100]}, or another"]


def test_where_nothing_can_be_kept_the_session_still_has_its_history(tmp_path: Path) -> None:
    """A folder in the file's place stands for every disk that cannot be written."""
    history = PromptHistory(tmp_path)
    history.add(WrittenMessage("one"))
    assert texts(history) == ["one"]
    (tmp_path / "file").touch()
    UnsentMessages(tmp_path / "file").save("", WrittenMessage("x"))
    assert UnsentMessages(tmp_path / "file").load("").blank


def test_a_walk_goes_back_and_returns_to_what_was_being_written() -> None:
    """Past neither end."""
    unsent, one, two = (WrittenMessage(text) for text in ("unsent", "one", "two"))
    cursor = HistoryCursor([one, two])
    assert cursor.step(1, unsent) is None
    assert [cursor.step(-1, each) for each in (unsent, two, one)] == [two, one, None]
    assert [cursor.step(1, each) for each in (one, two, unsent)] == [two, unsent, None]


def test_a_walk_goes_on_to_examples() -> None:
    """And back to the messages sent before."""
    unsent, one, tried = WrittenMessage(""), WrittenMessage("one"), WrittenMessage("try this")
    cursor = HistoryCursor([one], ["try this", "or this"])
    assert cursor.step(1, unsent) == tried
    assert [cursor.step(1, tried), cursor.step(1, tried)] == [WrittenMessage("or this"), None]
    assert [cursor.step(-1, tried) for _ in range(4)] == [tried, unsent, one, None]


def test_a_message_just_sent_is_the_first_of_the_next_walk(tmp_path: Path) -> None:
    """Also where the walk before ended at the empty prompt that there is again; a text in it leads to no examples."""
    history = PromptHistory(tmp_path / "sent")
    history.add(WrittenMessage("one"))
    recall = Recall(history, lambda: ["try this"])
    empty = WrittenMessage("")
    assert recall.step(-1, empty) == WrittenMessage("one")
    assert recall.step(1, WrittenMessage("one")) == empty
    history.add(WrittenMessage("two"))
    assert recall.step(-1, empty) == WrittenMessage("two")
    assert recall.step(1, WrittenMessage("typed")) is None
    assert recall.step(1, empty) == WrittenMessage("try this")


def test_a_search_finds_the_newest_first_and_each_text_once() -> None:
    """Whatever the case; if nothing has the word, what has its letters in order."""
    messages = [
        WrittenMessage(text) for text in ("Tell a story", "stop", "tell a story", "Tell a story", "sort by year")
    ]
    assert [found.text for found in search(messages, "STORY", 9)] == ["Tell a story", "tell a story"]
    assert [found.text for found in search(messages, "sty", 9)] == ["Tell a story", "tell a story", "sort by year"]
    assert [found.text for found in search(messages, "", 2)] == ["sort by year", "Tell a story"]


def test_what_is_unsent_is_kept_for_each_conversation(tmp_path: Path) -> None:
    """Whatever its name is, until it is sent."""
    unsent = UnsentMessages(tmp_path / "unsent")
    for key in ("", "7", "../../escape", "\udcff"):
        unsent.save(key, WrittenMessage(f"for {key!r}"))
    for key in ("", "7", "../../escape", "\udcff"):
        assert UnsentMessages(tmp_path / "unsent").load(key).text == f"for {key!r}"
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "unsent"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.rglob("*.json"))
    unsent.save("", WrittenMessage(" "))
    assert unsent.load("").blank
    assert len(list(tmp_path.rglob("*.json"))) == 3
