"""The list of conversations in folders, and changes of several at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.chat.history import FolderRow, History, HistoryRow
from localspec.chat.undo import DeletedConversations
from localspec.store import Store
from tests.store.support import converse, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "history.db")
    for title in ("Apples", "Pears", "Plums", "Quinces"):
        converse(store, (title, "Yes."))
    yield store
    store.close()


def listed(history: History) -> list[str]:
    """The rows: folders with their count, and conversations; those in folders are indented, selected ones marked."""
    rows = []
    for row in history.rows:
        if isinstance(row, HistoryRow):
            rows.append(f"{'  ' * row.in_folder}{'✓' * row.selected}{row.heading.title}")
        else:
            rows.append(f"{'−' if row.unfolded else '+'}{row.title} {'✓' * row.selected_n}{len(row.headings)}")
    return rows


def choose(history: History, *titles: str) -> None:
    for title in titles:
        (found,) = (row for row in history.rows if isinstance(row, HistoryRow) and row.heading.title == title)
        history.mark(found.id)
        history.select()


def test_folders_come_after_what_is_in_none_and_the_archive_last(store: Store) -> None:
    """A folder is folded until it is opened, stays open, and pinned ones stay on top."""
    unfolded: set[str] = set()
    history = History(store, unfolded=unfolded)
    assert listed(history) == ["Quinces", "Plums", "Pears", "Apples"]
    choose(history, "Apples", "Plums")
    assert history.about == "2 selected; keys change all of them."
    assert history.file(history.chosen, "fruit #red") == "Filed: 2 conversations."
    folder = next(row for row in history.rows if isinstance(row, FolderRow))
    history.mark(folder.id)
    history.select()
    assert listed(history)[-1] == "+fruit ✓✓2", "what is selected in a folded folder is counted"
    history.unselect()
    choose(history, "Pears")
    assert history.archive() == "Archived."
    assert listed(history) == ["Quinces", "+fruit 2", "+Archive 1"]
    history.fold("fruit")
    assert listed(history) == ["Quinces", "−fruit 2", "  Plums", "  Apples", "+Archive 1"]
    history.mark(next(row.id for row in history.rows if isinstance(row, HistoryRow) and row.in_folder))
    assert history.about == "fruit #red"
    history.pin()
    assert listed(History(store, unfolded=unfolded)) == ["Plums", "Quinces", "−fruit 1", "  Apples", "+Archive 1"]


def test_a_filter_lists_what_is_filed_there(store: Store) -> None:
    history = History(store)
    choose(history, "Apples", "Plums")
    history.file(history.chosen, "fruit #red")
    choose(history, "Pears")
    history.archive()
    for text, titles in (
        ("tag:red", ["Plums", "Apples"]),
        ("folder:fruit p", ["Plums", "Apples"]),
        ("p", ["Plums", "Apples"]),
        ("is:archived", ["Pears"]),
        ("is:any pea", ["Pears"]),
        ("tag:blue", []),
    ):
        history.filter(text)
        assert sorted(listed(history)) == sorted(titles), text


def test_the_row_of_a_folder_stands_for_all_in_it(store: Store) -> None:
    """It is renamed by filing, and deleted and brought back as one."""
    deleted = DeletedConversations(store)
    history = History(store, deleted)
    choose(history, "Apples", "Plums")
    history.file(history.chosen, "fruit")
    history.mark(history.rows[-1].id)
    assert history.file(history.chosen, "garden/fruit #own") == "Filed: 2 conversations."
    assert listed(history) == ["Quinces", "Pears", "+garden/fruit 2"]
    history.mark(history.rows[-1].id)
    assert history.delete("F21") == "Deleted: 2 conversations; F21 brings them back, for 30 days."
    assert listed(history) == ["Quinces", "Pears"]
    assert history.undo() == "It is back."
    assert listed(history) == ["Quinces", "Pears", "+garden/fruit 2"]
    assert deleted.last_at is None


def test_what_is_selected_is_changed_once(store: Store) -> None:
    """Select all, unselect, and a change that ends the selection."""
    history = History(store)
    history.select_all()
    assert listed(history) == ["✓Quinces", "✓Plums", "✓Pears", "✓Apples"]
    assert history.unselect()
    assert not history.unselect()
    history.select_all()
    history.archive()
    assert listed(history) == ["+Archive 4"]
    assert history.archive() == "Back in the list: 4 conversations."
    assert listed(history) == ["Quinces", "Plums", "Pears", "Apples"]
    assert history.marked is not None
