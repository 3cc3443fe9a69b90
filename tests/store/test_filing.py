"""Folders, tags and the archive: the words for them, what is stored, and what a search finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localspec.store import Heading, Store
from localspec.store.files import read_conversations
from localspec.store.files.native_json import to_json
from localspec.store.filing import Filing, FilingFilter
from tests.store.support import START, converse

HEADING = Heading("c", START, START)


@pytest.mark.parametrize(
    ("text", "folder", "tags", "written"),
    [
        ("", "", (), ""),
        ("thesis", "thesis", (), "thesis"),
        (
            "  My  thesis / notes/ #Physics #a #physics",
            "My thesis/notes",
            ("a", "physics"),
            "My thesis/notes #a #physics",
        ),
        ("#one two #three", "two", ("one", "three"), "two #one #three"),
        ("# ## /", "", (), ""),
        ("a\x1b[31m\x07 #b\x1b]0;", "a[31m", ("b]0;",), "a[31m #b]0;"),
        ("x" * 999, "x" * 60, (), "x" * 60),
    ],
)
def test_a_filing_is_a_folder_and_tags(text: str, folder: str, tags: tuple[str, ...], written: str) -> None:
    """Whatever is typed; what it is written as means the same again."""
    filing = Filing.parse(text)
    assert (filing.folder, filing.tags, str(filing)) == (folder, tags, written)
    assert Filing.parse(str(filing)) == filing


def test_a_change_of_many_leaves_what_they_do_not_share() -> None:
    one, other = replace(HEADING, folder="a", tags=("x", "y")), replace(HEADING, folder="b", tags=("y", "z"))
    before = Filing.common([one, other])
    assert before == Filing("", ("y",))
    changed = [Filing.of(Filing.parse("#new").changed(each, before)) for each in (one, other)]
    assert changed == [Filing("a", ("new", "x")), Filing("b", ("new", "z"))]
    assert Filing.of(Filing.parse("c #y").changed(other, before)) == Filing("c", ("y", "z"))


@pytest.mark.parametrize(
    ("text", "filter_", "rest"),
    [
        ("blue sky", FilingFilter(), "blue sky"),
        ("tag:Work sky", FilingFilter(tags=("work",)), " sky"),
        ('folder:"My Thesis" tag:a', FilingFilter(("my thesis",), ("a",)), " "),
        ("is:archived sky", FilingFilter(archived=True), " sky"),
        ("IS:ANY", FilingFilter(archived=None), ""),
        ('"tag:work" is:odd tag: meta:tag:x', FilingFilter(), '"tag:work" is:odd tag: meta:tag:x'),
    ],
)
def test_a_filter_is_taken_out_of_a_text(text: str, filter_: FilingFilter, rest: str) -> None:
    assert FilingFilter.parse(text) == (filter_, rest)


@pytest.fixture
def filed(store: Store) -> Store:
    """Three talks about the sky: one in the folder thesis/notes, one tagged, one in the archive."""
    for title, change in (
        ("Sky one", {"folder": "Thesis/Notes"}),
        ("Sky two", {"tags": ("physics", "work")}),
        ("Sky three", {"archived": True, "folder": "Thesis"}),
    ):
        talk = converse(store, (title, "Blue."))
        store.change_headings([talk.id], lambda heading, change=change: replace(heading, **change))  # type: ignore[misc]
    return store


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("sky", ["Sky two", "Sky one"]),
        ("sky is:any", ["Sky three", "Sky two", "Sky one"]),
        ("is:archived", ["Sky three"]),
        ("folder:thesis sky", ["Sky one"]),
        ("folder:thesis is:any", ["Sky three", "Sky one"]),
        ("folder:thes sky", []),
        ("tag:work", ["Sky two"]),
        ("tag:work tag:physics blue", ["Sky two"]),
        ("tag:work tag:other", []),
        ("tag:work is:archived sky", []),
        ('folder:"thesis/notes" 🌞', []),
    ],
)
def test_a_search_knows_folders_tags_and_the_archive(filed: Store, query: str, titles: list[str]) -> None:
    """Without other words it lists conversations; the archive is searched when asked."""
    assert sorted(hit.title for hit in filed.search(query)) == sorted(titles)


def test_filing_is_stored_and_travels_with_an_export(filed: Store, path: Path, tmp_path: Path) -> None:
    """Also when the conversation is open, where all that holds it see the change."""
    ids = [each.heading.id for each in filed.conversations()]
    held = filed.open_conversation(ids[0])
    filed.change_headings(ids, lambda heading: replace(heading, tags=("all", *heading.tags)))
    assert "all" in held.heading.tags
    exported = tmp_path / "all.json"
    exported.write_text(to_json([filed.document(each) for each in ids]), encoding="utf-8")
    headings = {each.heading.id: each.heading for each in filed.conversations()}
    again = Store.in_memory()
    again.add(read_conversations(exported))
    assert {each.heading.id: each.heading for each in again.conversations()} == headings
    again.close()
