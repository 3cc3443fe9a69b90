"""Files in a message come out of it as they went in."""

from __future__ import annotations

import doctest

from hypothesis import assume, given
from hypothesis import strategies as st

from localspec.store import file_blocks
from localspec.store.file_blocks import TextFile, split_files

names = st.sampled_from(["a.py", "b", "c d.md", "e.???", "src/f.c++"])
notes = st.sampled_from(["", "pages 1-40 of 312"])
texts = st.lists(st.sampled_from(["`", "```", "````", "\n", " ", "a", "\u00e9", "\r", "File: x"]), max_size=30).map(
    "".join
)


@given(st.lists(st.tuples(names, texts, notes), max_size=4), texts)
def test_a_message_is_parted_where_it_was_joined(files: list[tuple[str, str, str]], message: str) -> None:
    """Whatever the files hold; and joined again it is the same to the letter."""
    assume(not message.startswith("File: "))
    content = "".join(f"{TextFile(*file).block}\n" for file in files) + message
    found, rest = split_files(content)
    assert rest == message
    assert [(file.name, file.text.removesuffix("\n"), file.note) for file in found] == [
        (name, text.removesuffix("\n"), note) for name, text, note in files
    ]
    assert "".join(f"{file.block}\n" for file in found) + rest == content


def test_a_message_that_only_looks_like_it_has_no_files() -> None:
    for content in (
        "File: a.py",
        "File: a.py\n```py\nnever closed",
        "File: \n```\nx\n```\n",
        "See\n" + TextFile("a", "b").block,
    ):
        assert split_files(content) == ([], content)


def test_the_examples_hold() -> None:
    assert doctest.testmod(file_blocks).failed == 0
