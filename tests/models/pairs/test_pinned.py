"""Which copy in the Hub's cache a pair gets that names a revision, or a checksum, and which it does not."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from localspec.base.errors import NotFoundError
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.pair import ModelFile, Proof
from tests.gguf_files import write
from tests.models.pairs.support import in_hub

REPO, FILE = "Owner/Name", "sub/big.gguf"
ONE, TWO = "1" * 40, "2" * 40
OLD, NEW = b"old", b"new"


def model(**facts: Any) -> ModelFile:
    return ModelFile(file=FILE, path=None, repo=REPO, size_bytes=3, **facts)


def sum_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def without_links(data: bytes, commit: str) -> None:
    """As the cache is where there are none: the file itself under its name."""
    write(hub_cache() / "models--Owner--Name" / "snapshots" / commit / FILE, data)


def has(found: ModelFile, data: bytes) -> bool:
    return found.locate().read_bytes() == data


def refused(found: ModelFile) -> None:
    with pytest.raises(NotFoundError, match="but only as another version") as error:
        found.locate()
    assert error.value.hint.endswith(f" --revision {found.revision}`." if found.revision else f"{FILE}`.")


def test_what_is_not_pinned_takes_what_there_is() -> None:
    in_hub(REPO, FILE, OLD, ONE)
    assert has(model(), OLD)
    in_hub(REPO, FILE, NEW, TWO)
    assert has(model(), NEW)
    assert has(model(revision="main"), NEW)


def test_a_commit_is_that_commit() -> None:
    """And no other, whichever the main branch is."""
    in_hub(REPO, FILE, NEW, TWO)
    refused(model(revision=ONE))
    in_hub(REPO, FILE, OLD, ONE)
    assert has(model(revision=ONE), OLD)
    assert has(model(revision=TWO), NEW)


def test_a_branch_is_the_commit_that_it_was_when_it_was_fetched() -> None:
    in_hub(REPO, FILE, NEW, TWO)
    in_hub(REPO, FILE, OLD, ONE)
    refused(model(revision="v2"))
    write(hub_cache() / "models--Owner--Name" / "refs" / "v2", TWO.encode())
    assert has(model(revision="v2"), NEW)


def test_a_checksum_is_that_content() -> None:
    """In the snapshot of any commit, and in none that has another."""
    in_hub(REPO, FILE, NEW, TWO)
    refused(model(sha256=sum_of(OLD)))
    refused(model(sha256=sum_of(OLD), revision=TWO))
    assert has(model(sha256=sum_of(NEW), revision=ONE), NEW)
    in_hub(REPO, FILE, OLD, ONE)
    in_hub(REPO, "other.gguf", b"", TWO)  # which makes that the main branch again
    assert has(model(sha256=sum_of(OLD)), OLD)
    assert has(model(sha256=sum_of(NEW)), NEW)


def test_a_blob_that_is_named_otherwise_says_nothing() -> None:
    """As of a file that git keeps itself."""
    link = in_hub(REPO, FILE, OLD, ONE)
    blob = link.resolve()
    link.unlink()
    link.symlink_to(blob.rename(blob.with_name("a" * 40)))
    assert has(model(sha256=sum_of(OLD)), OLD)
    refused(model(sha256=sum_of(OLD), revision=TWO))


def test_without_links_the_size_decides_and_the_commit() -> None:
    """Nobody hashes gigabytes to look for a file."""
    without_links(NEW, TWO)
    assert has(model(), NEW)
    assert has(model(sha256=sum_of(NEW)), NEW)
    assert has(model(sha256=sum_of(NEW), revision=TWO), NEW)
    refused(model(revision=ONE))


@pytest.mark.parametrize("commit", [ONE, TWO])
def test_without_links_a_checksum_counts_that_a_download_has_established(commit: str) -> None:
    """Of the copy that it brought, and of no other."""
    without_links(NEW, TWO)
    proof = Proof(revision=commit, sha256=sum_of(NEW), size_bytes=3, fingerprint=None, on="2026-11-22")
    assert has(model(sha256=sum_of(NEW), proof=proof), NEW)
    if commit == TWO:
        assert has(model(sha256=sum_of(NEW), revision=ONE, proof=proof), NEW)
        refused(model(sha256=sum_of(OLD), proof=proof))
    else:
        assert has(model(sha256=sum_of(OLD), proof=proof), NEW)


def test_the_checksum_of_a_model_in_parts_is_none_of_its_first() -> None:
    first = "big-00001-of-00002.gguf"
    in_hub(REPO, first, OLD, ONE)
    found = ModelFile(file=first, path=None, repo=REPO, sha256=sum_of(NEW))
    assert has(found, OLD)
