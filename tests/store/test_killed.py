"""A program that is killed at any moment leaves a database that opens, with nearly all of its reply."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from localspec.store import ReplyState, Store
from tests.store.killing import ROOT, kill_and_look
from tests.store.support import ABOUT, events, open_store


def test_ten_kills(tmp_path: Path) -> None:
    """At moments drawn by chance; most of them in the middle of a reply."""
    found = [kill_and_look(tmp_path, seed) for seed in range(10)]
    assert found.count(ReplyState.CUT_OFF) > 2


def test_a_living_program_is_not_taken_for_a_dead_one(store: Store, path: Path) -> None:
    """A second one that opens the file leaves the reply alone that the first is writing."""
    thread = store.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    said = events("one two", "three")
    for event in said[:2]:
        recorder.receive(event)
    recorder.flush()
    second = open_store(path, first_id=500)
    seen = second.open_conversation(thread.id).path[-1]
    assert (seen.content, seen.state) == ("one two ", ReplyState.WRITING)
    reply = second.open_conversation(thread.id).reply(seen.id)
    assert reply is not None
    assert [token.text for token in reply.tokens] == ["one ", "two "]
    second.close()
    for event in said[2:]:
        recorder.receive(event)
    assert thread.trouble is None
    third = open_store(path, first_id=900)
    ended = third.open_conversation(thread.id).path[-1]
    assert (ended.content, ended.state) == ("one two three ", ReplyState.DONE)
    third.close()


def test_a_cut_off_reply_can_be_found_and_continued(path: Path) -> None:
    """Its text is searched like any other."""
    first = open_store(path)
    thread = first.begin()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    for event in events("one two", "three")[:2]:
        recorder.receive(event)
    recorder.flush()
    first._writer.close()  # as a death would let go of it
    store = open_store(path, first_id=500)
    again = store.open_conversation(thread.id)
    assert again.path[-1].state is ReplyState.CUT_OFF
    assert len(store.search("two")) == 1
    more = again.continue_reply(again.path[-1].id, ABOUT)
    for event in events("three"):
        more.receive(event)
    assert (again.path[-1].content, again.path[-1].state) == ("one two three ", ReplyState.DONE)
    assert len(store.search('"two three"')) == 1
    store.close()


def test_two_programs_that_write_at_once_do_not_lose_a_word(path: Path) -> None:
    """Each stores its own conversation in full, though the other holds the file every now and then, or opens it."""
    path.parent.mkdir()
    command = [sys.executable, "-m", "tests.store.storyteller", str(path)]
    tellers = [subprocess.Popen([*command, seed], stdout=subprocess.PIPE, cwd=ROOT) for seed in ("1", "2")]
    heard = []
    for teller in tellers:
        assert teller.stdout is not None
        lines = [json.loads(teller.stdout.readline()) for _ in range(300)]
        heard.append([lines[n - 1][1] for n in range(1, 300) if lines[n][0] == "ask"])
    for teller in tellers:
        teller.kill()
        teller.communicate()
    store = open_store(path)
    replies = []
    for summary in store.conversations():
        thread = store.open_conversation(summary.heading.id)
        replies.append([node.content for node in thread.path if node.state is ReplyState.DONE])
    assert len(replies) == 2
    for said in heard:
        assert len(said) > 3
        assert any(each[: len(said)] == said for each in replies)
    store.close()
