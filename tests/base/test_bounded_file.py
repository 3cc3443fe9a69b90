"""A file that somebody names is regular and of a bounded size, or a sentence says so at once."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.base.bounded_file import UnfitFileError, read_beginning, read_file
from localspec.base.errors import ConfigError, InputError, LocalSpecError, NotFoundError, StoreError
from localspec.cli import prompt as cli_prompt
from localspec.config.file import read_config
from localspec.config.kinds import TextOrFile
from localspec.config.texts import read_setting, read_text
from localspec.insight.bench.result import read_result
from localspec.insight.prompt_sets import read_prompts
from localspec.insight.stats.redaction import read_rules
from localspec.insight.trials.book import TrialBook
from localspec.models.pairs.schema import read_pairs
from localspec.store.files import reading
from localspec.store.files.reading import read_conversations


def pipe_without_a_writer(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


ENDLESS: tuple[Callable[[Path], Path], ...] = (lambda folder: Path("/dev/zero"), pipe_without_a_writer)
READERS: tuple[Callable[[Path], object], ...] = (
    read_text,
    read_setting,
    read_prompts,
    read_rules,
    read_result,
    read_conversations,
    lambda path: TextOrFile().from_option(f"@{path}"),
)


def test_what_fits_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)
    assert read_file(path, 10) == b"x" * 10
    assert read_beginning(path, 4) == b"xxxx"
    with pytest.raises(UnfitFileError, match="larger than"):
        read_file(path, 9)


def test_what_is_not_there_or_a_folder_is_as_ever(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "b", 10)
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path, 10)


def test_a_pipe_that_this_process_was_given_is_read() -> None:
    """As ``--grammar @<(command)`` has it; it is bounded as well."""
    read, write = os.pipe()
    os.write(write, b"root ::= []")
    os.close(write)
    try:
        assert read_file(Path(f"/dev/fd/{read}"), 100) == b"root ::= []"
    finally:
        os.close(read)


@pytest.mark.parametrize("endless", ENDLESS, ids=["device", "pipe"])
@pytest.mark.parametrize("reader", READERS)
def test_devices_and_pipes_are_refused_at_once(
    reader: Callable[[Path], object], endless: Callable[[Path], Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="not a regular file"):
        reader(endless(tmp_path))


@pytest.mark.parametrize("endless", ENDLESS, ids=["device", "pipe"])
def test_files_of_our_own_are_refused_likewise(endless: Callable[[Path], Path], tmp_path: Path) -> None:
    path = endless(tmp_path)
    assert "not a regular file" in str(read_config(path).problems[0])
    with pytest.raises(ConfigError, match="not a regular file"):
        read_pairs(path, locate=Path)
    with pytest.raises(StoreError, match="not a regular file"):
        TrialBook(path).trials()


def test_a_file_that_is_missing_has_its_own_exit_code(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_text(tmp_path / "none")


def test_what_an_archive_holds_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes that become hundreds of megabytes are not unpacked further than is read."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * 2_000_000)
    monkeypatch.setattr(reading, "_MOST_BYTES", 1_000_000)
    with pytest.raises(InputError, match=r"conversations\.json in .* is larger than 1 MB"):
        read_conversations(path)


def test_standard_input_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cli_prompt, "_MOST_BYTES", 1_000_000)
    path = tmp_path / "long"
    path.write_bytes(b"a " * 600_000)
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(LocalSpecError, match="Standard input is larger than 1 MB"):
            cli_prompt.read_prompt(("-",))
