"""``localspec pairs pull`` of one file in several revisions."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import LocalEntryNotFoundError

from localspec.base.errors import DownloadError, NotFoundError
from localspec.base.paths import user_paths
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from tests.cli.conftest import Localspec
from tests.gguf_files import Tensor, model, write
from tests.hub import HubServer, Repo
from tests.hub.server import COMMIT, Content
from tests.models.download.support import BIG

EARLIER = "89abcdef" * 5
NEW = model(tensors=[Tensor("token_embd.weight", (64, 1000))])
OLD = NEW[:-1] + bytes([NEW[-1] ^ 1])
"""Of one size."""
PAIRS = {
    "any": "",
    "new": f'revision = "{COMMIT}"',
    "old": f'revision = "{EARLIER}"',
    "old-content": f'sha256 = "{sha256(OLD).hexdigest()}"',
}


@pytest.fixture(autouse=True)
def _files(server: HubServer) -> None:
    server.add(BIG, "big.gguf", NEW)
    content = Content(OLD, len(OLD), sha256(OLD).hexdigest())
    server.repos[BIG].earlier[EARLIER] = Repo({"big.gguf": content}, EARLIER, plain=True)
    tables = [
        f'[[pairs]]\nid = "{name}"\ntitle = "{name}"\n[pairs.target]\nrepo = "{BIG}"\nfile = "big.gguf"\n{pinned}\n'
        for name, pinned in PAIRS.items()
    ]
    write(user_paths().config / "pairs.toml", "\n".join(tables).encode())


def content(pair_id: str) -> bytes:
    return load_catalogue().find(pair_id).files().target.read_bytes()


def test_a_revision_is_fetched_though_another_is_here(localspec: Localspec) -> None:
    """Each pair then has its own."""
    assert localspec("pairs", "pull", "any").code == 0
    assert content("new") == NEW
    for pinned in ("old", "old-content"):
        with pytest.raises(NotFoundError, match="only as another version"):
            content(pinned)
    assert localspec("pairs", "pull", "old").code == 0
    assert (content("new"), content("old"), content("old-content")) == (NEW, OLD, OLD)
    assert content("any") == NEW, "the main branch's, as before"


def test_one_pull_fetches_both_revisions(localspec: Localspec) -> None:
    """And its progress counts both."""
    done = localspec("pairs", "pull", "new", "old", "--json")
    assert done.code == 0, done.err
    assert (content("new"), content("old")) == (NEW, OLD)
    events = [json.loads(line) for line in done.out.splitlines()]
    assert sum(event["event"] == "fetched" for event in events) == 2
    progress = [event for event in events if event["event"] == "progress"]
    assert progress[-1]["done_bytes"] == progress[-1]["total_bytes"] == len(NEW) + len(OLD)


def test_a_file_that_several_pairs_want_is_fetched_once(localspec: Localspec, server: HubServer) -> None:
    done = localspec("pairs", "pull", "any", "new", "--json")
    assert done.code == 0, done.err
    assert done.out.count('"event": "fetched"') == 1


def test_another_content_than_is_pinned_is_not_taken_for_it(localspec: Localspec) -> None:
    """The Hub has it no more: said, where before the copy that is here was used."""
    assert localspec("pairs", "pull", "any").code == 0
    done = localspec("pairs", "pull", "old-content")
    assert done.code == DownloadError.exit_code
    assert "is not the catalogued file" in done.err


def test_a_commit_that_is_the_main_branch_is_found_by_programs_that_name_none(localspec: Localspec) -> None:
    """As after a fetch of the branch; and a commit that is not leaves the branch as it was."""
    assert localspec("pairs", "pull", "old").code == 0
    with pytest.raises(LocalEntryNotFoundError):
        hf_hub_download(BIG, "big.gguf", cache_dir=hub_cache(), local_files_only=True)
    assert localspec("pairs", "pull", "new").code == 0
    found = hf_hub_download(BIG, "big.gguf", cache_dir=hub_cache(), local_files_only=True)
    assert Path(found).read_bytes() == NEW
