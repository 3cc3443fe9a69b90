"""Papers made to do harm: each ends as text that may be cut, or in a sentence, and within its limits."""

from __future__ import annotations

import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.base.errors import InputError
from localspec.chat.compose.file_reading import read_attachment
from localspec.chat.papers import reading
from localspec.chat.papers.kinds import PaperKind, kind_of
from localspec.chat.papers.reading import read_paper
from tests.chat.papers import documents

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LAUGHS = "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
LAUGHTER = f'<!DOCTYPE x [<!ENTITY a "ha">{LAUGHS}]>'


def excel(path: Path, sheets_n: int, rows: str, strings: str = "") -> None:
    """A workbook whose sheets all have these rows."""
    numbers = range(1, sheets_n + 1)
    sheets = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers)
    to_sheet = f'Type="{_OFFICE}/worksheet" Target="worksheets'
    links = "".join(f'<Relationship Id="r{n}" {to_sheet}/s{n}.xml"/>' for n in numbers)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    a_sheet = f'ContentType="{kind}.worksheet+xml"'
    parts = "".join(f'<Override PartName="/xl/worksheets/s{n}.xml" {a_sheet}/>' for n in numbers)
    parts += f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
    if strings:
        parts += f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}.sharedStrings+xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        types = "http://schemas.openxmlformats.org/package/2006/content-types"
        packed.writestr("[Content_Types].xml", f'<Types xmlns="{types}">{parts}</Types>')
        packed.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'
        )
        packed.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{_RELATIONS}">{links}</Relationships>')
        if strings:
            packed.writestr("xl/sharedStrings.xml", strings)
        for n in numbers:
            packed.writestr(
                f"xl/worksheets/s{n}.xml", f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
            )


def pdf_of(*objects: bytes) -> bytes:
    return documents.pdf_of_objects(objects)


def stream(data: bytes, about: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), about, data)


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
BOX = b"/MediaBox [0 0 99 99]"


def looping_pages(path: Path) -> None:
    """A page tree that is its own child."""
    path.write_bytes(pdf_of(CATALOGUE, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>"))


def looping_forms(path: Path) -> None:
    """A drawing that draws itself."""
    resources = b"/Resources << /XObject << /X 4 0 R >> >>"
    page = b"<< /Type /Page /Parent 2 0 R %s %s /Contents 5 0 R >>" % (BOX, resources)
    form = stream(b"/X Do /X Do", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] %s" % resources)
    path.write_bytes(pdf_of(CATALOGUE, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, form, stream(b"/X Do")))


def deflated_pdf(path: Path) -> None:
    """A page of 25 kB that unpacks to 100 MB, packed once more."""
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(b"BT /F 9 Tf (a) Tj ET " * 50_000) for _ in range(100)) + packer.flush()
    data = stream(zlib.compress(once), b"/Filter [/FlateDecode /FlateDecode]")
    font = b"/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    page = b"<< /Type /Page /Parent 2 0 R %s %s /Contents 4 0 R >>" % (BOX, font)
    path.write_bytes(pdf_of(CATALOGUE, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, data))


def nested_arrays(path: Path) -> None:
    """Brackets in brackets, a hundred thousand deep."""
    path.write_bytes(pdf_of(CATALOGUE, b"<< /Type /Pages /Kids " + b"[" * 100_000 + b" /Count 1 >>"))


def laughing_strings(path: Path) -> None:
    """A billion laughs in the words of a workbook."""
    strings = f'{LAUGHTER}<sst xmlns="{_MAIN}"><si><t>&i;</t></si></sst>'
    excel(path, 1, '<row r="1"><c r="A1" t="s"><v>0</v></c></row>', strings)


def far_cell(path: Path) -> None:
    """A cell far out, which stands for millions that are empty."""
    excel(path, 1, '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>' * 3)


HOSTILE: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "looping-pages": ("a.pdf", looping_pages, "cannot be read"),
    "looping-forms": ("a.pdf", looping_forms, "holds no text"),
    "deflated-twice": ("a.pdf", deflated_pdf, "cannot be read"),
    "nested-arrays": ("a.pdf", nested_arrays, "cannot be read"),
    "laughing-strings": ("a.xlsx", laughing_strings, "cannot be read"),
    "far-cell": ("a.xlsx", far_cell, "Sheet s1|takes too long"),
}


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no limit on memory")
@pytest.mark.parametrize(("name", "write", "words"), HOSTILE.values(), ids=HOSTILE)
def test_it_ends_in_a_sentence_or_as_a_text(
    name: str, write: Callable[[Path], None], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the time that is given, and with no more text than is taken."""
    monkeypatch.setattr(reading, "MAX_S", 5.0)
    path = tmp_path / name
    write(path)
    kind = kind_of(path, path.read_bytes()[:8192])
    assert kind is not None
    try:
        said = read_paper(path, name, kind, 100_000).text
        assert len(said) < 200_000
    except InputError as error:
        said = error.message
    assert re.search(words, said)


def test_a_workbook_of_thousands_of_sheets_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """And says how far that is."""
    excel(tmp_path / "a.xlsx", 2000, f'<row r="1"><c r="A1" t="inlineStr"><is><t>{"word " * 20}</t></is></c></row>')
    paper = read_paper(tmp_path / "a.xlsx", "a.xlsx", PaperKind.EXCEL, 2000)
    assert paper.taken.startswith("sheets 1-")
    assert paper.taken.endswith(" of 2,000")
    assert paper.text.count("## Sheet s") < 100


def test_macros_are_never_looked_at(tmp_path: Path) -> None:
    """A document with a program in it, and links to others, is its text."""
    field = '<w:p><w:r><w:instrText>DDEAUTO c:\\\\cmd "/k calc"</w:instrText></w:r></w:p>'
    body = documents.paragraph("Only text.") + field
    (tmp_path / "a.docm").write_bytes(documents.word(body))
    with zipfile.ZipFile(tmp_path / "a.docm", "a") as packed:
        packed.writestr("word/vbaProject.bin", b"\xd0\xcf\x11\xe0" + bytes(1000))
        packed.writestr("../../outside.txt", "not unpacked")
    text = read_attachment(tmp_path / "a.docm", "a.docm").files[0].text
    assert text.strip() == "Only text."
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.docm"]
