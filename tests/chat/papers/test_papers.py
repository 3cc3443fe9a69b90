"""Papers become text, within limits; what cannot be read is refused with a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pypdf import PdfReader
from pypdf.generic import DictionaryObject
from pypdf.generic._font import Font

from localspec.base.errors import InputError
from localspec.base.extras import install_extra
from localspec.chat.compose.attachment import Attachment, brief, fitted, notices, with_files
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.papers import pdf, reading
from localspec.chat.papers.kinds import SOURCE_BYTES, PaperKind
from localspec.chat.papers.reading import PaperText, read_paper
from localspec.store.file_blocks import TextFile
from tests.chat.papers import documents

PAGE = f"<head><title>no</title></head><h1>Cats</h1><p>A <b>cat</b> sat.</p><script>{'x' * SOURCE_BYTES}</script>"
CHILD = "from localspec.chat.papers import child; from localspec.chat.papers.child import _write, main"
MARKUP = "http://schemas.openxmlformats.org/markup-compatibility/2006"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'


def text_of(path: Path) -> str:
    return read_attachment(path, path.name).files[0].text


def test_each_kind_becomes_text(tmp_path: Path) -> None:
    """With headings, tables, sheets and pages that the model can name."""
    (tmp_path / "a.pdf").write_bytes(documents.pdf(["The first page.", "", "The third page."]))
    body = documents.paragraph("Cats", "Heading1") + documents.paragraph("They sit.")
    (tmp_path / "a.docx").write_bytes(documents.word(body + documents.table(("name", "age"), ("Tom", "3"))))
    documents.workbook(tmp_path / "a.xlsx", {"People": [("name", "age"), ("Tom", 3), (None, None)], "Empty": []})
    (tmp_path / "a.ipynb").write_text(documents.notebook())
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "a.csv").write_text("name,age\nTom,3\n")
    assert text_of(tmp_path / "a.pdf") == "[Page 1]\nThe first page.\n\n[Page 3]\nThe third page.\n\n"
    assert text_of(tmp_path / "a.docx") == "# Cats\n\nThey sit.\n\n| name | age |\n| Tom | 3 |\n"
    assert text_of(tmp_path / "a.xlsx") == "## Sheet People\nname,age\nTom,3\n\n## Sheet Empty\n\n"
    notebook = text_of(tmp_path / "a.ipynb")
    assert notebook == "# Six times seven\n\n```python\nx = 6 * 7\nx\n```\nOutput:\n```\n42\n```\n\n"
    assert text_of(tmp_path / "a.html").strip() == "# Cats\n\nA **cat** sat."
    assert text_of(tmp_path / "a.csv") == "name,age\nTom,3\n"


def test_a_text_box_is_read_once(tmp_path: Path) -> None:
    """Word writes it a second time for its older versions. Its paragraphs are lines of their own, in a table, too."""
    box = f"<w:txbxContent>{documents.paragraph('One.')}{documents.paragraph('Two.')}</w:txbxContent>"
    shape = f'<m:AlternateContent xmlns:m="{MARKUP}"><m:Choice>{box}</m:Choice><m:Fallback>{box}</m:Fallback>'
    around = f"<w:p><w:r><w:t>Before.</w:t>{shape}</m:AlternateContent></w:r></w:p>"
    (tmp_path / "a.docx").write_bytes(documents.word(around))
    assert text_of(tmp_path / "a.docx").split() == ["Before.", "One.", "Two."]
    (tmp_path / "a.docx").write_bytes(documents.word(f"<w:tbl><w:tr><w:tc>{around}</w:tc></w:tr></w:tbl>"))
    assert text_of(tmp_path / "a.docx") == "| Before. One. Two. |\n"


def test_tab_stops_of_a_word_document_are_no_tabs(tmp_path: Path) -> None:
    """They are a format; a tab that was typed is one, and a hyphen that may not break is a hyphen."""
    stops = '<w:pPr><w:pStyle w:val="Heading2"/><w:tabs><w:tab w:pos="720"/></w:tabs></w:pPr>'
    typed = "<w:r><w:t>1</w:t><w:tab/><w:t>X</w:t><w:noBreakHyphen/><w:t>ray</w:t></w:r>"
    (tmp_path / "a.docx").write_bytes(documents.word(f"<w:p>{stops}{typed}</w:p>"))
    assert text_of(tmp_path / "a.docx") == "## 1\tX-ray\n"


@pytest.mark.parametrize(
    "about",
    ['{"kernelspec": {"language": "R"}}', '{"kernelspec": null, "language_info": {"name": "R"}}', "null"],
    ids=["kernel", "language", "none"],
)
def test_the_language_of_a_notebook_is_named_where_it_is_known(about: str, tmp_path: Path) -> None:
    cells = '[{"cell_type": "code", "source": "x", "outputs": []}]'
    (tmp_path / "a.ipynb").write_text(f'{{"cells": {cells}, "metadata": {about}}}')
    assert text_of(tmp_path / "a.ipynb").startswith("```python" if about == "null" else "```R")


def test_a_font_is_made_once_for_all_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the text is that of the library alone."""
    path = tmp_path / "a.pdf"
    path.write_bytes(documents.pdf([f"This is page {number}." for number in range(9)]))
    plainly = [page.extract_text() for page in PdfReader(path).pages]
    made = []
    make = Font.from_font_resource

    def counted(kind: type[Font], resource: DictionaryObject) -> Font:
        made.append(resource)
        return make(resource)

    monkeypatch.setattr(Font, "from_font_resource", classmethod(counted))
    assert [str(text).split("\n")[1] for text in pdf.read(path).texts] == plainly
    assert len(made) == 1


def test_a_small_web_page_is_attached_as_its_source(tmp_path: Path) -> None:
    """It was written by hand, and the question is about its tags."""
    (tmp_path / "a.html").write_text("<p>cat")
    assert text_of(tmp_path / "a.html") == "<p>cat"


def test_the_content_decides_and_not_the_name(tmp_path: Path) -> None:
    """A PDF is one under any name; text under the name of a PDF is text."""
    (tmp_path / "paper.txt").write_bytes(documents.pdf(["Under another name."]))
    (tmp_path / "notes.pdf").write_text("just notes")
    assert "Under another name." in text_of(tmp_path / "paper.txt")
    assert text_of(tmp_path / "notes.pdf") == "just notes"


def test_papers_in_a_folder_are_read(tmp_path: Path) -> None:
    """Those that cannot be are counted with the files that hold no text."""
    (tmp_path / "good.pdf").write_bytes(documents.pdf(["In a folder."]))
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4\n")
    attachment = read_attachment(tmp_path, "papers")
    assert [file.name for file in attachment.files] == ["papers/good.pdf"]
    assert attachment.chip == "papers/  1 file (1 without text left out), 0.1 kB"


def test_hostile_text_is_made_harmless(tmp_path: Path) -> None:
    """As the text of any other file: terminal codes go, control characters are replaced."""
    body = documents.paragraph("red \u202egreen\u2066")
    (tmp_path / "a.docx").write_bytes(documents.word(body))
    (tmp_path / "a.ipynb").write_text(documents.notebook().replace("Six", "\\u001b[31mSix\\u0007"))
    assert text_of(tmp_path / "a.docx") == "red \ufffdgreen\ufffd\n"
    assert text_of(tmp_path / "a.ipynb").startswith("# Six\ufffd times seven")


def encrypted(path: Path) -> None:
    from pypdf import PdfWriter

    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(path)


REFUSED: dict[str, tuple[str, bytes | Callable[[Path], None], str]] = {
    "cut-short": ("a.pdf", documents.pdf(["text"])[:300], "cannot be read as a PDF"),
    "pictures": ("a.pdf", documents.pdf(["", ""]), "holds no text: its pages are pictures"),
    "password": ("a.pdf", encrypted, "a.pdf is encrypted"),
    "old-word": ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "is in the format of Office 97, or"),
    "half-zip": ("a.docx", documents.word("")[:40], "is a damaged archive"),
    "entities": ("a.docx", documents.word("&a;", BOMB), "declares XML entities"),
    "no-xml": ("a.docx", documents.archive({"word/document.xml": "hello"}), "cannot be read as a Word document"),
    "no-book": ("a.xlsx", documents.archive({"xl/workbook.xml": "hello"}), "cannot be read as an Excel workbook"),
    "no-notebook": ("a.ipynb", b'{"cells": [1]}', "cannot be read as a notebook"),
    "old-notebook": ("a.ipynb", b'{"worksheets": []}', "has no list of cells"),
    "no-cells": ("a.ipynb", b'{"cells": []}', "a.ipynb is empty"),
    "no-pages": ("a.pdf", documents.pdf([]), "a.pdf is empty"),
    "archive": ("a.zip", documents.archive({"x": "y"}), "is not text"),
}


@pytest.mark.parametrize(("name", "content", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_with_a_sentence(
    name: str, content: bytes | Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    """Naming the file, with the next step, in one line."""
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        content(tmp_path / name)
    with pytest.raises(InputError, match=words) as caught:
        read_attachment(tmp_path / name, name)
    assert caught.value.message.startswith(name)
    assert caught.value.hint
    assert caught.value.message.isprintable()


# --- limits ----------------------------------------------------------------------------------------


def test_what_was_cut_is_said(tmp_path: Path) -> None:
    """In the row of the attachment, in the transcript, and to the model."""
    path = tmp_path / "a.pdf"
    path.write_bytes(documents.pdf([f"{n}: {'word ' * 50}" for n in range(40)]))
    paper = read_paper(path, "a.pdf", PaperKind.PDF, 1000)
    assert paper.taken == "pages 1-3 of 40"
    assert "[Page 4]" not in paper.text
    file = TextFile("papers/a.pdf", paper.text, paper.taken)
    whole = Attachment("papers/", (file, TextFile("papers/b.txt", "b")))
    assert whole.chip == "papers/  2 files (1 in part), 0.8 kB"
    assert list(notices([whole], "")) == ["papers/ goes along in part: 2 files (1 in part), 0.8 kB."]
    (searched,) = fitted([Attachment("papers/a.pdf", (file,))], 100)
    content = with_files([searched], "What is on 2?")
    assert "```pdf page 3 (of pages 1-3 of 40), found for the question\n" in content
    assert brief(content).startswith("[papers/a.pdf  1 passage of pages 1-3 of 40, 0.3 kB]")
    (notice,) = notices([searched], "What is on 2?")
    assert notice == (
        "papers/a.pdf is too large to be read whole; what fits the question goes along: 1 passage of pages 1-3 of 40, "
        "0.3 kB."
    )


def run_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Have another program read the paper; it gets the same arguments."""
    monkeypatch.setattr(
        reading, "command", lambda kind, path: [sys.executable, "-P", "-c", f"{CHILD}\n{program}", kind.name, str(path)]
    )


def test_an_endless_paper_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the size that is taken, when nobody waits any more, or at the end of its time: here after the first page."""
    (tmp_path / "a.pdf").write_bytes(b"")
    run_instead(monkeypatch, "_write({'unit': 'page', 'total_n': 9})\nwhile True: _write('x' * 1000); _write(None)")
    assert read_paper(tmp_path / "a.pdf", "a.pdf", PaperKind.PDF, 2500).taken == "pages 1-2 of 9"
    endless = "import signal; _write({'unit': 'page', 'total_n': 9}); _write('x'); _write(None)\nsignal.pause()"
    run_instead(monkeypatch, endless)
    with pytest.raises(InputError, match="takes too long"):
        read_paper(tmp_path / "a.pdf", "a.pdf", PaperKind.PDF, 2500, cancelled=lambda: True)
    pages: list[object] = []
    take = reading._Collected.take

    def counted(collected: reading._Collected, value: object, name: str) -> None:
        take(collected, value, name)
        pages.extend([value] if value is None else ())

    monkeypatch.setattr(reading._Collected, "take", counted)
    monkeypatch.setattr(reading, "time", SimpleNamespace(monotonic=lambda: 40.0 * len(pages)))
    assert read_paper(tmp_path / "a.pdf", "a.pdf", PaperKind.PDF, 2500).taken == "page 1 of 9"


def test_an_endless_sheet_is_read_as_far_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning, which is said to be no more."""
    documents.workbook(tmp_path / "a.xlsx", {"Data": [("x",)], "More": []})
    endless = "from openpyxl.worksheet._read_only import ReadOnlyWorksheet as Sheet"
    run_instead(monkeypatch, f"{endless}\nSheet.iter_rows = lambda *_, **__: iter(lambda: ('word',), None)\nmain()")
    paper = read_paper(tmp_path / "a.xlsx", "a.xlsx", PaperKind.EXCEL, 100_000)
    assert paper.text.startswith("## Sheet Data\nword\nword\n")
    assert paper.taken == "the beginning of sheet 1 of 2"


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no limit on memory")
def test_a_bomb_ends_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of some kilobytes that unpacks to a gigabyte takes no more than its process may have."""
    run_instead(monkeypatch, "child.MEMORY_BYTES = 150_000_000; main()")
    (tmp_path / "a.docx").write_bytes(documents.word("<w:p/>" * 2_000_000))
    with pytest.raises(InputError, match="takes too much memory"):
        text_of(tmp_path / "a.docx")


def test_a_child_that_is_taken_over_says_nothing_but_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its output is read as JSON, what is no answer of ours is passed over, and it may write no file."""
    (tmp_path / "a.pdf").write_bytes(b"")
    odd = "_write({'unit': 1}); _write({'unit': '`', 'total_n': 2})"
    odd += "; _write([1]); _write({'error': 'x'}); _write('text'); _write(None)"
    limits = "child.limit_process(child.MEMORY_BYTES, child.CPU_S)"
    run_instead(monkeypatch, f"{limits}; {odd}\nopen({str(tmp_path / 'written')!r}, 'w').write('x')")
    assert read_paper(tmp_path / "a.pdf", "a.pdf", PaperKind.PDF, 2500) == PaperText("text")
    assert not (tmp_path / "written").exists() or not (tmp_path / "written").read_bytes()


@pytest.mark.parametrize("program", ["while True: sys.stdout.write('x' * 65536)", "print('[' * 500_000)"])
def test_a_child_that_is_taken_over_takes_no_memory_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """It is ended in the middle of a line that is longer than any of ours; nested arrays end nothing else."""
    (tmp_path / "a.pdf").write_bytes(b"")
    run_instead(monkeypatch, program)
    monkeypatch.setattr(reading, "MAX_S", 3600.0)
    with pytest.raises(InputError, match="takes too long, or too much memory"):
        read_paper(tmp_path / "a.pdf", "a.pdf", PaperKind.PDF, 2500)


def test_pages_of_a_long_paper_are_read_by_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order; a copy that ends, or cannot read its page, ends the reading with a sentence."""
    (tmp_path / "a.pdf").write_bytes(documents.pdf([f"This is page {n}." for n in range(1, 61)]))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    text = text_of(tmp_path / "a.pdf")
    assert text == "".join(f"[Page {n}]\nThis is page {n}.\n\n" for n in range(1, 61))
    patched = "import os; from localspec.chat.papers import pdf; os.cpu_count = lambda: 4; pdf._page = lambda n, _:"
    for end, why in (("os._exit(1)", "page 30: it takes too much memory or time"), ("[][0]", "page 30: list index")):
        run_instead(monkeypatch, f"{patched} 'x' if n != 30 else {end}\nmain()")
        with pytest.raises(InputError, match=why):
            text_of(tmp_path / "a.pdf")


def test_a_missing_library_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is not installed."""
    (tmp_path / "a.pdf").write_bytes(documents.pdf(["text"]))
    run_instead(monkeypatch, "import sys; sys.modules['pypdf'] = None; main()")
    with pytest.raises(InputError, match="Reading a PDF needs pypdf") as caught:
        text_of(tmp_path / "a.pdf")
    assert caught.value.hint == f"Install it: {install_extra('papers')}"
