"""Files and folders to attach: found in bounded time, read, or refused with a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.base.errors import CapacityError, InputError, LocalSpecError, NotFoundError
from localspec.chat.compose import file_reading
from localspec.chat.compose.file_reading import MAX_FOLDER_FILES, read_attachment, unquoted
from localspec.chat.compose.file_tree import list_files, list_folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "README.md",
        "src/app.py",
        "src/app_test.py",
        "src/deep/er/notes.txt",
        "node_modules/left/pad.js",
        "__pycache__/app.pyc",
        ".git/config",
        ".env",
        "made/by/tool.txt",
        "debug.log",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text of " + name)
    (tmp_path / ".gitignore").write_text("# comment\nmade/\n*.log\n!keep\n")
    return tmp_path


def test_what_tools_fill_is_not_offered(project: Path) -> None:
    """Hidden files, build folders and what git ignores are left out; the nearest files come first."""
    assert list_files(project).paths == (
        "README.md",
        "src/",
        "src/app.py",
        "src/app_test.py",
        "src/deep/",
        "src/deep/er/",
        "src/deep/er/notes.txt",
    )
    assert ".env" in list_folder(project).paths


def test_a_huge_tree_is_looked_at_in_part(tmp_path: Path) -> None:
    """By number, by time, or because nobody waits any more; what was found is there, and says that it is not all."""
    for name in range(50):
        (tmp_path / f"{name:02}").mkdir()
        (tmp_path / f"{name:02}" / "file").touch()
    few = list_files(tmp_path, max_entries=60)
    assert not few.complete
    assert 50 <= len(few.paths) <= 60
    ticking = iter(range(0, 1000, 1))
    assert not list_files(tmp_path, clock=lambda: float(next(ticking))).complete
    assert not list_files(tmp_path, cancelled=lambda: True).complete
    assert not list_folder(tmp_path, max_entries=10).complete
    assert list_files(tmp_path).complete


def test_links_that_lead_in_circles_end(tmp_path: Path) -> None:
    """A link to a folder is not followed."""
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "file").touch()
    assert list_files(tmp_path).paths == ("file",)


def test_a_link_to_itself_hides_nothing_beside_it(tmp_path: Path) -> None:
    """It is neither file nor folder; the system refuses to say what it is."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert list_files(tmp_path).paths == list_folder(tmp_path).paths == ("file", "folder/")


def test_a_folder_with_an_impossible_name_is_empty() -> None:
    assert list_folder(Path("a\0b")).paths == ()


# --- reading ---------------------------------------------------------------------------------------


def test_a_folder_is_its_text_files(project: Path) -> None:
    """In order, each under its own path; what is no text is counted, what is hidden is not there."""
    (project / "src" / "picture.png").write_bytes(b"\x89PNG\x00\x00")
    attachment = read_attachment(project / "src", "src")
    assert [file.name for file in attachment.files] == ["src/app.py", "src/app_test.py", "src/deep/er/notes.txt"]
    assert attachment.skipped_n == 1
    assert attachment.block.count("File: ") == 3
    assert attachment.chip.startswith("src/  3 files (1 without text left out), ")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_in_every_encoding_of_unicode_that_says_so(encoding: str, tmp_path: Path) -> None:
    """Windows writes a mark before it, and text of two bytes a letter; line ends become plain ones."""
    (tmp_path / "note.txt").write_bytes("café\r\n漢\r\n".encode(encoding))
    attachment = read_attachment(tmp_path / "note.txt", "my note.txt")
    assert (attachment.files[0].text, attachment.chip) == ("café\n漢\n", "my note.txt  0.1 kB")


def test_a_path_may_be_written_as_for_a_shell(tmp_path: Path) -> None:
    """As terminals paste a file that is dropped on them; a backslash that a name has is its own."""
    assert unquoted(rf"{tmp_path}/my\ notes\ \(1\).txt") == f"{tmp_path}/my notes (1).txt"
    assert unquoted(f"'{tmp_path}/my notes.txt'") == f"{tmp_path}/my notes.txt"
    (tmp_path / r"a\b").touch()
    assert unquoted(rf"{tmp_path}/a\b") == rf"{tmp_path}/a\b"
    for text in ("it's", "\\", "two words\\", r"two\ and words"):
        assert unquoted(text) == text


def make_hollow_folder(path: Path) -> None:
    path.mkdir()
    (path / ".hidden").write_text("x")


def make_full_folder(path: Path) -> None:
    path.mkdir()
    for n in range(MAX_FOLDER_FILES + 1):
        (path / str(n)).touch()


def make_heavy_folder(path: Path) -> None:
    path.mkdir()
    for n in range(3):
        (path / str(n)).write_bytes(b"word " * 700)


@pytest.mark.parametrize(
    ("made", "kind", "words"),
    [
        (b"\x7fELF\x00\x01", InputError, "is not text"),
        ("café".encode("latin-1"), InputError, "is not UTF-8 text"),
        ("one\ntwo 漢".encode()[:-1], InputError, "is not UTF-8 text"),
        ("hello".encode("utf-32"), InputError, "is not text"),
        (b" \n", InputError, "is empty"),
        (os.mkfifo, InputError, "is not a file of text"),
        (b"word " * 2_000, CapacityError, "is larger than 6.0 kB, more than can be attached"),
        (make_hollow_folder, InputError, "holds no text files"),
        (make_full_folder, CapacityError, f"holds more than {MAX_FOLDER_FILES} files"),
        (make_heavy_folder, CapacityError, "is larger than 6.0 kB, more than can be attached"),
        (lambda path: None, NotFoundError, "There is no file thing"),
    ],
    ids=["binary", "latin-1", "torn", "utf-32", "empty", "pipe", "huge", "hollow", "full", "heavy", "none"],
)
def test_what_cannot_be_attached_is_refused_with_a_sentence(
    made: bytes | Callable[[Path], None],
    kind: type[LocalSpecError],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Naming the file, before anything is sent, and with what to do."""
    monkeypatch.setattr(file_reading, "MAX_BYTES", 6000)
    if isinstance(made, bytes):
        (tmp_path / "thing").write_bytes(made)
    else:
        made(tmp_path / "thing")
    with pytest.raises(kind, match=words) as caught:
        read_attachment(tmp_path / "thing", "thing")
    assert caught.value.message.startswith(("thing", "There is no file thing"))
    assert caught.value.hint


@pytest.mark.parametrize("name", ["x" * 300, "thing/x"])
def test_a_name_that_no_file_can_have_is_no_file(name: str, tmp_path: Path) -> None:
    """So that a long word behind an @ is only text: one too long for a name, and one below a file."""
    (tmp_path / "thing").write_text("text")
    with pytest.raises(NotFoundError, match="There is no file"):
        read_attachment(tmp_path / name, name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    """With the system's reason."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_attachment(tmp_path / "secret", "secret")
