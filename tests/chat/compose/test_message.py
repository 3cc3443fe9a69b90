"""Text with marks and mentions in it: what the model reads is what was written, pasted and attached."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from localspec.chat.compose.attachment import Attachment, brief, with_files, without_files
from localspec.chat.compose.cleaning import REPLACEMENT, cleaned, cleaning_note
from localspec.chat.compose.mentions import mentions, readings, unfinished, written
from localspec.chat.compose.message import Enclosures, WrittenMessage, is_long, is_too_long, taken_apart
from localspec.store.file_blocks import TextFile

LOG = "a line of a log\n" * 64_000


def test_a_long_paste_is_folded_and_comes_out_whole() -> None:
    """The mark says how much it stands for; what the model reads has the text in its place."""
    enclosures = Enclosures()
    mark = enclosures.fold(LOG)
    assert mark == "[pasted text: 1,024 kB, 64,000 lines]"
    message = enclosures.written(f"Explain {mark} please")
    assert message.content == f"Explain {LOG} please"
    assert message.shown == f"Explain {mark} please"


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=6))
def test_pastes_never_get_mixed_up(pastes: list[str]) -> None:
    """However alike their marks are, each stands for its own text."""
    enclosures = Enclosures()
    marks = [enclosures.fold(paste) for paste in pastes]
    message = enclosures.written("<".join(marks))
    assert message.unfolded == "<".join(pastes)
    assert len(set(marks)) == len(set(pastes))


def test_a_mark_that_is_gone_takes_its_text_along_and_undo_brings_it_back() -> None:
    """What a mark stands for counts only while it is there."""
    enclosures = Enclosures()
    mark = enclosures.fold(LOG)
    assert enclosures.written("nothing").pasted == {}
    assert enclosures.written(mark).content == LOG.strip()
    assert enclosures.written(mark[:-1]).content == mark[:-1]
    enclosures.clear()
    assert enclosures.written(mark).content == mark


def test_what_looks_like_a_mark_is_text() -> None:
    """Only marks that were made stand for something, and text in a paste is never taken for a mark."""
    enclosures = Enclosures()
    other = "[pasted text: 9.9 kB, 12 lines]"
    mark = enclosures.fold(other)
    assert enclosures.written(f"{mark} {other}").unfolded in (f"{other} {other}", f"{other} {mark}")
    assert enclosures.mark_around(other, 3) is None


def test_a_message_survives_a_file() -> None:
    """With what was pasted into it."""
    enclosures = Enclosures()
    message = enclosures.written(f"é {enclosures.fold(LOG)}")
    assert WrittenMessage.from_dict(message.to_dict()) == message


def test_long_is_what_the_prompt_cannot_show() -> None:
    """By lines or by characters; too long, by either, to be written on in it."""
    assert not is_long("a\n" * 5)
    assert is_long("a\n" * 20)
    assert is_long("a" * 2001)
    assert not is_too_long("a\n" * 20_000)
    assert is_too_long("a\n" * 30_000)
    assert is_too_long("a" * 9_000)


# --- attached files --------------------------------------------------------------------------------


def test_attached_files_stand_before_the_message_in_the_documented_form() -> None:
    """Path, fenced text, an empty line; the mention stays in the sentence."""
    enclosures = Enclosures()
    enclosures.attach(Attachment("src/app.py", (TextFile("src/app.py", "print(1)"),)))
    message = enclosures.written("What does @src/app.py do?")
    assert message.content == "File: src/app.py\n```py\nprint(1)\n```\n\nWhat does @src/app.py do?"
    assert message.shown == "[src/app.py  0.1 kB]\nWhat does @src/app.py do?"


file_text = st.lists(st.sampled_from(["`", "```", "````", "\n", " ", "a", "\u00e9"]), max_size=30).map("".join)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a.py", "b", "c d.md"]), file_text), max_size=4), st.text(max_size=30))
def test_no_file_can_end_its_own_fence(files: list[tuple[str, str]], text: str) -> None:
    """Whatever backticks it holds, the parts come apart again where they were put together."""
    attachments = [Attachment(name, (TextFile(name, content),)) for name, content in files]
    if text.startswith("File: "):
        return
    chips, rest = without_files(with_files(attachments, text))
    assert rest == text
    assert [re.split("  ", chip)[0] for chip in chips] == [name for name, _ in files]


def test_an_attachment_counts_once_and_only_while_it_is_mentioned() -> None:
    """Also with a full stop behind it; not inside a word."""
    enclosures = Enclosures()
    attachment = Attachment("a.py", (TextFile("a.py", "x"),))
    enclosures.attach(attachment)
    assert enclosures.written("@a.py and again @a.py.").attachments == (attachment,)
    assert enclosures.written("(see @a.py)").attachments == (attachment,)
    assert enclosures.written("me@a.py @b.py").attachments == ()
    enclosures.detach("a.py")
    assert enclosures.written("@a.py").attachments == ()


def test_a_stored_message_is_shown_with_chips_and_a_long_one_in_brief() -> None:
    """What was kept is all that is needed to draw it again."""
    content = with_files([Attachment("a.py", (TextFile("a.py", "x\n" * 900),))], "What is this?")
    assert brief(content) == "[a.py  1.8 kB]\nWhat is this?"
    assert brief("line\n" * 100).endswith("[89 lines more]")
    assert len(brief("x" * 10_000)) < 2100


def test_of_many_files_some_are_named() -> None:
    """So that the question can be seen below them; a folder that it mentions is one."""
    files = tuple(TextFile(f"src/{n}.py", "x\n") for n in range(30))
    mentioned = with_files([Attachment("src/", files)], "What is in @src/?")
    assert brief(mentioned) == "[src/  30 files, 0.1 kB]\nWhat is in @src/?"
    others = with_files([Attachment(file.name, (file,)) for file in files], "And\n" * 30).removesuffix("\n")
    rows = brief(others).split("\n")
    assert rows[4:7] == ["[src/4.py  0.1 kB]", "[25 more files]", "And"]
    assert rows[-1] == "[24 lines more]"
    assert len(rows) == 13


def test_a_message_is_taken_apart_as_it_was_put_together() -> None:
    """The files that it mentions are attached to it again, with the text that they had; the others stand beside it."""
    note = Attachment("notes.txt", (TextFile("notes.txt", "One\n\n\n"),))
    folder = Attachment("src/", (TextFile("src/a.py", "a"), TextFile("src/b/c.py", "```\n")))
    beside = Attachment("README.md", (TextFile("README.md", "Read me."),))
    content = with_files([beside, note, folder], "Why @notes.txt, and what is @src?")
    written, besides = taken_apart(content)
    assert written.text == "Why @notes.txt, and what is @src?"
    assert [attachment.path for attachment in written.attachments] == ["notes.txt", "src/"]
    assert [attachment.path for attachment in besides] == ["README.md"]
    assert with_files(besides, written.content) == content
    assert taken_apart("No file: at all.") == (WrittenMessage("No file: at all."), ())


def test_a_folder_is_attached_with_a_slash_behind_its_mention_or_without() -> None:
    enclosures = Enclosures()
    folder = Attachment("src/", (TextFile("src/a.py", "a"),))
    enclosures.attach(folder)
    for text in ("see @src/ now", "see @src now", "see @src, now"):
        assert enclosures.attachments(text) == (folder,)
        assert enclosures.unknown(text) == []


# --- mentions --------------------------------------------------------------------------------------


def test_mentions_are_found_where_people_put_them() -> None:
    """After white space, quoted if the path has spaces; an address is none."""
    text = 'Compare @a/b.py with @"my notes.txt" and write to me@example.org (@c).'
    assert [mention.path for mention in mentions(text)] == ["a/b.py", "my notes.txt"]
    assert [list(readings(mention.path)) for mention in mentions("see @a/b.py.")] == [["a/b.py.", "a/b.py"]]


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["C", "Z"]), min_size=1, max_size=20))
@example('He_said_"no"')
@example('"quoted"')
def test_a_mention_is_read_as_it_was_written(path: str) -> None:
    """Whatever the path, spaces and quotes included."""
    for name in (path, f"{path} {path}"):
        assert [mention.path for mention in mentions(f"see {written(name)} there")] == [name]


def test_the_mention_being_written_ends_at_the_cursor() -> None:
    """Nothing before it, a part of it, a quoted part with a space; none where none is."""
    for line, path in (("@", ""), ("see @lo", "lo"), ('@"my no', "my no"), ('@"a \\"b', 'a "b'), ("@a/", "a/")):
        found = unfinished(line)
        assert found is not None
        assert found.path == path
    assert unfinished("me@lo") is None
    assert unfinished("@done and") is None


# --- text from outside -----------------------------------------------------------------------------


steering = st.sampled_from([*"\x00\x07\x1b[]m\x9b\r\n\u202a\u202e\u2066\u2069\u2028\ud800\udfff"])


@settings(deadline=None)
@given(st.lists(steering | st.text(st.characters(codec=None), max_size=3), max_size=12).map("".join))
def test_cleaned_text_steers_nothing(text: str) -> None:
    """No control characters but tabs and line ends, nothing that cannot be written as UTF-8; clean text stays."""
    clean, n = cleaned(text)
    clean.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", clean)
    assert cleaned(clean)[0] == clean
    if n == 0:
        assert clean == re.sub("\r\n?", "\n", text)


def test_what_was_taken_out_is_counted_and_said() -> None:
    """A colour code is one, not its letters; emoji, accents and right-to-left text are nothing to clean."""
    assert cleaned("\x1b[31mred\x1b[0m\r\nline\tétat 👩‍🔬 שלום") == ("red\nline\tétat 👩‍🔬 שלום", 2)
    assert cleaned("a\x00b\udcff") == (f"a{REPLACEMENT}b{REPLACEMENT}", 2)
    assert cleaning_note(0) == ""
    assert cleaning_note(1).startswith("One character that is not text was")
    assert cleaning_note(1200).startswith("1,200 characters that are not text were")
