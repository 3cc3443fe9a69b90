"""Prompts of the user's own: their fields, and the files that are written."""

from __future__ import annotations

import pytest

from localspec.base.errors import InputError, NotFoundError, StoreError, UsageError
from localspec.base.paths import user_paths
from localspec.config.prompt_template import fields_of, filled
from localspec.config.text_folder import PROMPTS


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("no field { } {{}} {{ }} {x}", {}),
        ("{{text}} and {{ text }}", {"text": ""}),
        ("{{language|English}}: {{ the text }}, {{language}}", {"language": "English", "the text": ""}),
        ("{{a|}}{{a|b c }}{{b}}", {"a": "b c", "b": ""}),
    ],
)
def test_fields_are_found_once_each(text: str, fields: dict[str, str]) -> None:
    """In their order, with the first default."""
    assert dict(fields_of(text)) == fields
    assert list(fields_of(text)) == list(fields)


def test_values_take_the_places_of_their_fields() -> None:
    """What is typed is no template, and no pattern."""
    values = {"text": r"{{language}} \1 \g<0>", "language": "French"}
    assert filled("To {{language|x}}: {{ text }}!{{}}", values) == r"To French: {{language}} \1 \g<0>!{{}}"


def test_a_text_is_written_and_read_again() -> None:
    """Into the file it came from, or into a new one of Markdown."""
    assert PROMPTS.names() == ()
    path = PROMPTS.write("translate", "Translate {{text}}\n\n")
    assert (path, PROMPTS.read("translate")) == (PROMPTS.path / "translate.md", "Translate {{text}}")
    (PROMPTS.path / "other.txt").write_text("one", encoding="utf-8")
    assert PROMPTS.write("other", "two").name == "other.txt"
    assert PROMPTS.names() == ("other", "translate")
    with pytest.raises(NotFoundError, match="translate"):
        PROMPTS.read("translat")


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b", "none", "a\x1bb", "x" * 99])
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        PROMPTS.write(name, "text")
    assert not list(user_paths().config.parent.rglob("*.*"))


def test_what_cannot_be_written_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="empty"):
        PROMPTS.write("empty", " \n")
    PROMPTS.path.parent.mkdir(parents=True)
    PROMPTS.path.write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        PROMPTS.write("new", "text")
    PROMPTS.path.unlink()
    PROMPTS.write("new", "text").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="is empty"):
        PROMPTS.read("new")
