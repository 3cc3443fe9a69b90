"""What was done last is undone first, as far as there is anything to undo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.store import Store, StoredConversation
from localspec.tui.undoing import Undoing


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[StoredConversation]:
    store = Store.open(tmp_path / "history.db")
    yield store.begin()
    store.close()


def test_deletions_come_back_in_turn(stored: StoredConversation) -> None:
    """The latest first, until all that was said is there again."""
    said = [stored.ask(text).id for text in ("One", "Two", "Three")]
    undoing = Undoing(stored)
    undoing.delete(said[2])
    undoing.delete(said[0])
    assert [node.id for node in stored.path] == [said[1]]
    assert undoing.undo(None) == said[0]
    assert undoing.undo(None) == said[2]
    assert [node.id for node in stored.path] == said
    assert undoing.undo(None) is None


def test_a_summary_that_was_never_finished_is_passed_over(stored: StoredConversation) -> None:
    said = stored.ask("One").id
    undoing = Undoing(stored)
    undoing.delete(said)
    undoing.note("a summary that was stopped")
    assert undoing.undo(None) == said
    assert undoing.undo(None) is None
