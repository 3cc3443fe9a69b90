"""Partial files of interrupted downloads are known for the file that they are a part of."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from localspec.models.pairs import describe, load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.pair import ModelFile
from localspec.models.pairs.unfinished import NOTE_SUFFIX, PART_SUFFIX, Unfinished, unfinished
from tests.cli.conftest import Localspec
from tests.cli.conftest import localspec as localspec
from tests.gguf_files import write
from tests.models.pairs.support import hub_pair, in_hub, write_own

REPO = "Owner/Name"
NAMED: dict[str, object] = {"file": "big.gguf", "validator": None}


def part(note: object, size_bytes: int = 30, etag: str = "a" * 64) -> Path:
    blobs = hub_cache() / "models--Owner--Name" / "blobs"
    write(blobs / (etag + NOTE_SUFFIX), note if isinstance(note, bytes) else json.dumps(note).encode())
    return write(blobs / (etag + PART_SUFFIX), bytes(size_bytes))


def arrived_bytes(model: ModelFile) -> int:
    return unfinished(model).arrived_bytes


def big(file: str = "big.gguf", **facts: str) -> ModelFile:
    return ModelFile(file=file, path=None, repo=REPO, **facts)  # type: ignore[arg-type]


def test_a_part_is_known_by_the_name_in_its_note() -> None:
    assert arrived_bytes(big()) == 0
    part(NAMED)
    assert arrived_bytes(big()) == 30
    assert arrived_bytes(big("small.gguf")) == 0


@pytest.mark.parametrize("note", [b"", b"{", b"[" * 5_000, b'["file"]', b'{"file": 5}', b"\xff", b'{"validator": "x"}'])
def test_a_part_whose_note_says_nothing_is_nobodys(note: bytes) -> None:
    part(note)
    assert arrived_bytes(big()) == 0


def test_a_part_of_the_content_that_is_pinned_needs_no_note() -> None:
    part({}, etag=sha256(b"pinned").hexdigest())
    part(NAMED, size_bytes=90)
    assert arrived_bytes(big(sha256=sha256(b"pinned").hexdigest())) == 30, "not that of another content"


def test_of_a_model_in_several_files_the_complete_ones_count() -> None:
    in_hub(REPO, "big-00001-of-00002.gguf", bytes(100))
    part({"file": "big-00002-of-00002.gguf"})
    assert unfinished(big("big-00001-of-00002.gguf")) == Unfinished(130, None)
    part({"file": "big-00002-of-00002.gguf", "size_bytes": 50})
    assert unfinished(big("big-00001-of-00002.gguf")) == Unfinished(130, 150)


def test_a_part_of_a_draft_alone_is_no_download_of_the_pair() -> None:
    """Several pairs have the same draft; a download begins with the target."""
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    part({"file": "small.gguf"}, size_bytes=5, etag="b" * 64)
    assert describe(load_catalogue().find("one")).arrived_bytes == 0
    part(NAMED)
    assert describe(load_catalogue().find("one")).arrived_bytes == 35
    in_hub(REPO, "big.gguf", bytes(100))
    assert describe(load_catalogue().find("one")).arrived_bytes == 5, "the draft is what is missing"


def test_info_tells_what_has_arrived(localspec: Localspec) -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    part(NAMED | {"size_bytes": 5_000_000}, size_bytes=3_000_000)
    assert "arrived    3.00 MB of 5.00 MB\n" in localspec("pairs", "info", "one").out
    assert json.loads(localspec("pairs", "info", "one", "--json").out)["arrived_bytes"] == 3_000_000
