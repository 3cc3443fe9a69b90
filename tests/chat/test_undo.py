"""What was deleted or summarised last is undone first, be it a turn, a summary or a whole conversation."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localspec.chat.compaction import summary_request
from localspec.chat.core import ChatCore
from localspec.chat.history import History
from localspec.chat.pair_slot import PairSlot
from localspec.store import Store
from tests.store.support import ABOUT, converse, events, open_store
from tests.tui.support import LAUNCH


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "history.db")
    yield store
    store.close()


def steps(core: ChatCore) -> list[str]:
    """Each step that can be undone, as it is."""
    found = []
    while (undone := core.undo()) is not None:
        found.append(undone.message.content.strip() if undone.message else f"all of {undone.conversation.title}")
    return found


def test_turns_summaries_and_conversations_are_undone_in_reverse_order(store: Store) -> None:
    """Whole conversations whichever front end's list they were deleted in, once each."""
    other, third = converse(store, ("Other?", "Yes.")), converse(store, ("Third?", "Yes."))
    one = converse(store, ("One?", "First."), ("Two?", "Second."), ("Three?", "Third."))
    core = ChatCore(PairSlot(LAUNCH), store, one)
    history = History(store, core.deleted)
    core.thread.delete(core.thread.turns[2])
    history.mark(other.id)
    history.delete("F8")
    request = summary_request(core.stored, 1)
    assert request is not None
    recorder = core.stored.begin_summary(request.through, ABOUT)
    for event in events("They counted."):
        recorder.receive(event)
    core.deleted.delete(third.id)
    core.thread.refresh()
    assert len(core.thread.turns) == 2
    assert steps(core) == ["all of Third?", "They counted.", "all of Other?", "Three?"]
    assert [turn.prompt for turn in core.thread.turns] == ["One?", "Two?", "Three?"]
    assert len(store.conversations()) == 3
    assert history.undo() == "There is nothing to bring back."


def test_what_could_not_be_brought_back_can_be_later(tmp_path: Path) -> None:
    """While another program holds the file it stays deleted; what is gone for good is told once."""
    path = tmp_path / "history.db"
    with closing(open_store(path)) as store:
        converse(store, ("One?", "Yes."))
        history = History(store)
        history.delete("F8")
        with closing(sqlite3.connect(path)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            assert history.undo() not in ("It is back.", "There is nothing to bring back.")
        assert history.undo() == "It is back."
        gone, _ = converse(store, ("Two?", "Yes.")).id, history.refresh()
        history.select_all()
        history.delete("F8")
        store.destroy(gone)
        assert f"There is no conversation {gone}." in history.undo()
        assert history.undo() == "There is nothing to bring back."
