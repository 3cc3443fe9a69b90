"""A model file is known again by little of it, and told from another of the same name and size."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from localspec.base.file_identity import identify, text_digest

MB = 2**20


def identity_of(path: Path, data: bytes) -> tuple[str, str | None]:
    path.write_bytes(data)
    found = identify(path)
    assert found is not None
    return found.sample, found.sha256


@pytest.mark.parametrize("at", [0, MB - 1, -1], ids=["first", "in the head", "last"])
def test_other_content_of_the_same_size_is_another_file(tmp_path: Path, at: int) -> None:
    data = bytearray(3 * MB)
    before = identity_of(tmp_path / "model.gguf", bytes(data))
    data[at] = 1
    after = identity_of(tmp_path / "model.gguf", bytes(data))
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_the_same_content_is_the_same_file_wherever_it_lies(tmp_path: Path) -> None:
    one, other = (identity_of(tmp_path / name, b"weights") for name in ("one.gguf", "other.gguf"))
    assert one == other
    assert one[1] == hashlib.sha256(b"weights").hexdigest()


def test_of_a_large_file_the_checksum_is_known_where_the_hub_keeps_it(tmp_path: Path) -> None:
    """By the name of its blob; elsewhere it is not reckoned."""
    name = "ab" * 32
    (tmp_path / "blobs").mkdir()
    blob = tmp_path / "blobs" / name
    with blob.open("wb") as file:
        file.truncate(65 * MB)
    link = tmp_path / "model.gguf"
    link.symlink_to(blob)
    known, unknown = identify(link), identify(blob.rename(tmp_path / "plain.gguf"))
    assert known is not None
    assert unknown is not None
    assert (known.sha256, unknown.sha256) == (name, None)
    assert known.sample == unknown.sample


def test_what_cannot_be_read_has_no_identity(tmp_path: Path) -> None:
    assert identify(tmp_path / "nothing.gguf") is None
    assert text_digest(None) is None
    assert text_digest("a") != text_digest("b")
