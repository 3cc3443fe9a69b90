"""Past replies survive whatever happens to their file, up to where it happened."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.runtime.past_replies import PastReplies, ReplyMemory

REPLY = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20)
REPLIES = st.lists(REPLY, max_size=12)


def stored(folder: Path, replies: list[list[int]], size_bytes: int = 2**18) -> PastReplies:
    past = PastReplies(folder, "vocabulary", size_bytes)
    for reply in replies:
        past.add(reply)
    return past


def the_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


@given(REPLIES)
def test_what_was_added_is_loaded_in_order(replies: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stored(Path(folder), replies)
        assert PastReplies(Path(folder), "vocabulary").load() == replies


@given(REPLIES, st.integers(0, 400))
def test_a_full_file_keeps_the_latest_replies_and_its_size(replies: list[list[int]], size_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        past = stored(folder, [], size_bytes)
        kept: list[list[int]] = []
        for reply in replies:
            past.add(reply)
            before, kept = kept, past.load()
            fits = 16 + 4 * len(reply) <= size_bytes
            assert kept == ([*before, reply][-len(kept) :] if fits else before)
            assert sum(file.stat().st_size for file in folder.iterdir()) <= size_bytes


@given(st.lists(REPLY, min_size=1, max_size=5), REPLY, st.data())
def test_a_cut_file_is_read_up_to_the_cut_and_then_goes_on(
    replies: list[list[int]], after: list[int], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        past = stored(Path(name), replies)
        whole = the_file(Path(name)).read_bytes()
        cut = data.draw(st.integers(0, len(whole) - 1))
        the_file(Path(name)).write_bytes(whole[:cut])
        ends = [8 + sum(8 + 4 * len(reply) for reply in replies[: count + 1]) for count in range(len(replies))]
        readable = replies[: sum(end <= cut for end in ends)]
        assert past.load() == readable
        past.add(after)
        assert past.load() == [*readable, after]


@given(st.lists(REPLY, min_size=1, max_size=5), st.data())
def test_a_flipped_bit_costs_no_reply_before_it_and_makes_none_up(
    replies: list[list[int]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        past = stored(Path(name), replies)
        content = bytearray(the_file(Path(name)).read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
        the_file(Path(name)).write_bytes(content)
        ends = [8 + sum(8 + 4 * len(reply) for reply in replies[: count + 1]) for count in range(len(replies))]
        intact = replies[: sum(end <= at for end in ends)] if at >= 8 else []
        assert past.load() == intact


def test_a_tail_of_zeros_is_no_reply(tmp_path: Path) -> None:
    past = stored(tmp_path, [[1, 2]])
    with the_file(tmp_path).open("ab") as stream:
        stream.write(bytes(64))
    assert past.load() == [[1, 2]]
    past.add([3])
    assert past.load() == [[1, 2], [3]]


@pytest.mark.parametrize("content", [b"", b"something else entirely", b"replies1" + b"\xff" * 8])
def test_a_foreign_file_holds_no_replies_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "vocabulary.replies").write_bytes(content)
    past = PastReplies(tmp_path, "vocabulary")
    assert past.load() == []
    past.add([1, 2])
    assert past.load() == [[1, 2]]


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    stored(tmp_path, [[1], [2]])
    assert stat.S_IMODE(the_file(tmp_path).stat().st_mode) == 0o600


def test_a_full_file_makes_room_for_more_than_one_reply(tmp_path: Path) -> None:
    past = stored(tmp_path, [[token] for token in range(10)], size_bytes=100)
    before = the_file(tmp_path).stat().st_ino
    past.add([10])
    assert the_file(tmp_path).stat().st_ino == before
    assert past.load()[-2:] == [[9], [10]]


def test_each_vocabulary_has_its_own(tmp_path: Path) -> None:
    stored(tmp_path, [[1]])
    assert PastReplies(tmp_path, "another").load() == []


def test_a_folder_that_cannot_be_written_costs_the_reply_alone(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    past = PastReplies(in_the_way, "vocabulary")
    past.add([1])
    assert past.load() == []


def test_a_program_that_goes_on_for_weeks_remembers_the_latest_replies() -> None:
    memory = ReplyMemory.open("vocabulary")
    memory.add([10_000, 10_001])
    for _ in range(30):
        memory.add(range(5_000))
        assert len(memory.automaton) < 140_000
    guesses = [memory.automaton.cursor_after(context).guess() for context in ([10_000], [4_997, 4_998])]
    assert [guess and guess.token for guess in guesses] == [None, 4_999]
