"""Files that a command writes its result to: wherever the name leads, and whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.base.errors import LocalSpecError, OutputError, UsageError
from localspec.cli.out_file import check_writable, write_out
from localspec.insight.metrics.server import write_page

WRITERS = pytest.mark.parametrize("write", [write_out, write_page])
Writer = Callable[[Path, str], None]


@WRITERS
def test_a_pipe_stays_one(tmp_path: Path, write: Writer) -> None:
    """What is written comes out at its other end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_writable(pipe)
        write(pipe, "é\n")
        assert os.read(end, 100) == "é\n".encode()
    finally:
        os.close(end)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_metrics_wait_for_no_reader_of_a_pipe(tmp_path: Path) -> None:
    """They are written after every reply, which would wait with them."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="cannot be written"):
        write_page(pipe, "# EOF")


@WRITERS
@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_a_device_stays_one(tmp_path: Path, write: Writer, device: str) -> None:
    """Also at the end of a link; one that is full is told."""
    if not Path(device).exists():
        pytest.skip(f"there is no {device}")
    link = tmp_path / "link"
    link.symlink_to(device)
    check_writable(link)
    if device == "/dev/full":
        with pytest.raises(LocalSpecError, match="no room left"):
            write(link, "text")
    else:
        write(link, "text")
    assert link.is_symlink()
    assert list(tmp_path.iterdir()) == [link]


def test_standard_output_is_written_behind_what_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Be it a file or not."""
    link = tmp_path / "link"
    link.symlink_to("/dev/stdout")
    check_writable(link)
    print("first")
    write_out(link, "second\n")
    assert capfd.readouterr().out == "first\nsecond\n"
    assert link.is_symlink()


@WRITERS
def test_a_link_stays_one(tmp_path: Path, write: Writer) -> None:
    """And the file that it leads to keeps its permissions."""
    real, link = tmp_path / "real" / "file", tmp_path / "link"
    real.parent.mkdir()
    link.symlink_to("real/file")
    for text in ("new", "again"):
        check_writable(link)
        write(link, text)
        assert link.is_symlink()
        assert real.read_text() == text
        real.chmod(0o640)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert {*tmp_path.iterdir()} == {link, real.parent}
    assert list(real.parent.iterdir()) == [real]


def test_a_link_into_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("no/file")
    with pytest.raises(UsageError, match=r"There is no folder .*no"):
        check_writable(link)


@pytest.mark.parametrize("closed", ["folder", "folder/file"])
def test_the_folder_must_let_the_file_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    """And the file must, too: whoever has made it read-only has meant it."""
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    file.write_text("old")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / closed and access(path, mode))
    with pytest.raises(UsageError, match="cannot be written"):
        check_writable(file)


@WRITERS
def test_a_file_that_cannot_be_replaced_is_kept(tmp_path: Path, write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing beside it."""
    file = tmp_path / "file"
    file.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(LocalSpecError, match="no room left"):
        write(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
