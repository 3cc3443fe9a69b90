"""Personas: files of a folder, by name."""

from __future__ import annotations

import pytest

from localspec.base.errors import InputError, NotFoundError
from localspec.config.text_folder import PERSONAS, read_persona
from tests.config.support import add_persona


def test_they_are_listed_by_name() -> None:
    """Markdown and text files; nothing hidden, nothing else, and none is nobody."""
    for name in ("pirate.md", "Editor.txt", "editor.bak", ".hidden.md", "none.md"):
        add_persona(name, "x")
    assert PERSONAS.names() == ("Editor", "pirate")


def test_no_folder_is_no_personas() -> None:
    """Nor a mistake."""
    assert PERSONAS.names() == ()


def test_the_text_is_the_system_prompt() -> None:
    """Without the space around it; of two files of one name Markdown counts."""
    add_persona("pirate.md", "\ufeffTalk like a pirate.\n\n")
    add_persona("pirate.txt", "Do not.")
    assert read_persona("pirate") == "Talk like a pirate."
    assert read_persona("none") is None


@pytest.mark.parametrize("name", ["pirat", "../config", "pirate.md", ""])
def test_a_missing_one_is_a_sentence(name: str) -> None:
    """With those there are; a path is no name."""
    add_persona("pirate.md", "x")
    with pytest.raises(NotFoundError, match="pirate"):
        read_persona(name)


def test_with_none_at_all_the_sentence_says_where_they_go() -> None:
    """The folder and the name of the file."""
    with pytest.raises(NotFoundError, match=r"personas/pirate\.md"):
        read_persona("pirate")


@pytest.mark.parametrize("text", [b"", b" \n", b"caf\xe9"])
def test_one_that_says_nothing_is_a_sentence(text: bytes) -> None:
    """Empty, or not text."""
    add_persona("pirate.md", text)
    with pytest.raises(InputError, match="pirate"):
        read_persona("pirate")


def test_a_link_that_leads_nowhere_is_a_sentence() -> None:
    """As one that a moved folder leaves behind."""
    (add_persona("editor.md", "x").parent / "pirate.md").symlink_to("gone.md")
    with pytest.raises(NotFoundError, match="pirate"):
        read_persona("pirate")
