"""Files too large for the context are searched: the passages that fit the question go along, and are kept with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localspec.chat.compose.attachment import Attachment, as_read, attached_in, brief, in_full, with_files
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.compose.message import Enclosures, taken_apart
from localspec.chat.papers.passages import PASSAGE_CHARS, PassageIndex, found_for
from localspec.store.file_blocks import TextFile

FILLER = "The afternoon was long and nobody said anything about it at all.\n\n" * 40
FACTS = {
    "bees.md": "# Bees\nA bee dances to tell the hive where flowers grow.\n",
    "tides.md": "# Tides\nThe moon pulls the sea, and so the tide rises twice a day.\n",
    "bread.md": "# Bread\nYeast eats sugar, and its breath raises the dough.\n",
    "logic.md": "# Logic\nA statement implies another if it is never true without it.\n",
    "海.md": "# 海\n潮の満ち引きは月の引力による。\n",
}
QUESTIONS = {
    "How do bees tell each other of flowers?": "bees.md",
    "why do tides rise": "tides.md",
    "What raises dough?": "bread.md",
    "When does one statement imply another?": "logic.md",
    "潮はなぜ満ちる": "海.md",
}


@pytest.fixture
def folder() -> Attachment:
    """Each fact in the middle of a file of its own that says nothing else."""
    files = (TextFile(f"notes/{name}", f"{FILLER}{fact}\n{FILLER}") for name, fact in FACTS.items())
    return Attachment("notes/", tuple(files), n_ctx=2048)


@pytest.mark.parametrize(("question", "name"), QUESTIONS.items())
def test_the_right_passage_comes_first(folder: Attachment, question: str, name: str) -> None:
    """Also in other forms of the words, and in a script that writes no spaces."""
    (first,) = found_for(question, (PassageIndex(folder.files),), 1)
    assert first.name == f"notes/{name}"
    assert FACTS[name] in first.text


def test_the_rank_is_the_formula_of_the_paper() -> None:
    """Worked out by hand for three passages: a rare word weighs more, a longer passage less."""
    files = tuple(TextFile(str(n), text) for n, text in enumerate(("sea sea moon", "sea bird bird bird bird", "bird")))
    (best,) = found_for("sea moon", (PassageIndex(files),), 1)
    assert best.name == "0"
    (best,) = found_for("bird", (PassageIndex(files),), 1)
    assert best.name == "1"  # 2.2 * 4 / (4 + 1.2 * (0.25 + 0.75 * 6 / 4)) > 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 4))


def test_passages_cover_a_text_once() -> None:
    """Every letter is in one of them, also of a line without an end; none is much longer than it should be."""
    for text in (FILLER, "x" * 10_000, "\n" * 3000, "# a\n" * 2000, "one"):
        passages = PassageIndex((TextFile("a", text),)).passages
        assert "".join(text[each.start : each.stop] for each in passages) == text
        assert max(each.stop - each.start for each in passages) <= 2 * PASSAGE_CHARS


def test_a_message_has_the_passages_and_says_where_they_are_from(folder: Attachment) -> None:
    """In the order of the files whatever their rank, so that the same passages are the same text for the caches."""
    question = "Do bees know the tides? @notes/"
    content = with_files((folder,), question)
    assert len(content) < 2048 * 3 / 4 + 500
    assert re.search(r"File: notes/bees.md\n```md lines \d+-\d+, found for the question\n", content)
    assert content.index("A bee dances") < content.index("The moon pulls")
    assert content.endswith(question)
    assert re.match(r"\[notes/  \d passages of 2 files, 1\.\d kB\]\n", brief(content))
    assert re.match(r"notes/bees.md  lines \d+-\d+, found for the question\n", in_full(content))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_passage_names_its_lines(folder: Attachment, question: str) -> None:
    """The first and the last of them, as an editor counts."""
    whole = {file.name: file.text.splitlines() for file in folder.files}
    for found in found_for(question, (PassageIndex(folder.files),), 1):
        lines = re.match(r"lines (\d+)-(\d+), ", found.note)
        assert lines is not None
        assert found.text.splitlines() == whole[found.name][int(lines[1]) - 1 : int(lines[2])]


def test_what_the_store_has_is_what_was_read(folder: Attachment) -> None:
    """Taken apart and put together again it is the same to the letter: no file is read or searched again for it."""
    content = with_files((folder,), "Do bees know the tides? @notes/")
    assert with_files(*attached_in(content)) == content
    written, besides = taken_apart(content)
    assert written.content == content
    assert not besides


def test_an_edited_question_is_searched_again(folder: Attachment) -> None:
    """Its mention counts as one that is still to be read; if the folder is gone, the old passages stay."""
    written, _ = taken_apart(with_files((folder,), "Do bees know? @notes/"))
    enclosures = Enclosures()
    enclosures.take_over(written)
    assert enclosures.unknown("Why is there a tide? @notes/ ") == ["notes/"]
    assert enclosures.written("Why is there a tide? @notes/ ").attachments == written.attachments
    enclosures.attach(folder)
    assert enclosures.unknown("Why is there a tide? @notes/ ") == []
    assert "moon" in enclosures.written("Why is there a tide? @notes/ ").content


def test_a_question_about_nothing_gets_the_beginnings(folder: Attachment) -> None:
    """Of every file in turn."""
    names = [file.name for file in found_for("!?", (PassageIndex(folder.files),), 4 * PASSAGE_CHARS)]
    assert names == [f"notes/{name}" for name in FACTS][:5][: len(names)]
    assert len(names) >= 4


def test_what_fits_is_read_whole(folder: Attachment) -> None:
    """A small file beside a large folder stays whole; files that are too large together are all searched."""
    small = Attachment("a.txt", (TextFile("a.txt", "short"),), n_ctx=2048)
    read = as_read((small, folder), "What about the tides?")
    assert read[0] == small
    assert read[1].passages_n > 0
    thirds = tuple(
        Attachment(name, (TextFile(name, f"{fact}{'word ' * 600}"),), n_ctx=2048) for name, fact in FACTS.items()
    )
    assert all(attachment.passages_n for attachment in as_read(thirds, "What raises dough?"))
    assert as_read(thirds[:2], "What raises dough?") == thirds[:2]


def test_a_message_follows_the_context_of_the_pair(folder: Attachment) -> None:
    """Attached before a pair was there; a pair with a large context reads all."""
    enclosures = Enclosures()
    enclosures.attach(Attachment("notes/", folder.files))
    text = "Why is there a tide? @notes/ "
    whole = enclosures.written(text).content
    enclosures.fit(2048)
    assert len(enclosures.written(text).content) < len(whole) / 5
    enclosures.fit(100_000)
    assert enclosures.written(text).content == whole


def test_a_folder_is_read_and_searched(tmp_path: Path) -> None:
    """From the disk, with the pages of a paper named."""
    for name, fact in FACTS.items():
        (tmp_path / name).write_text(f"{FILLER}{fact}\n{FILLER}", "utf-8")
    (tmp_path / "whales.txt").write_text("".join(f"[Page {n}]\nWhale {'song ' * 100}{n}.\n\n" for n in range(1, 99)))
    attachment = read_attachment(tmp_path, "notes", 2048)
    content = with_files((attachment,), "Which whale sang? @notes/")
    assert "File: notes/whales.txt\n```txt page " in content
    assert "A bee" not in content
