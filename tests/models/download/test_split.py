"""A model in several files, from the Hub to a reply and away again."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.state import HERE, PARTLY, state_of
from localspec.runtime.load import open_pair
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from tests.cli.conftest import Localspec
from tests.hub import HubServer
from tests.models.download.support import BIG, SMALL
from tests.tiny_models import write_tiny

PART_TENSORS = 10


@pytest.fixture
def parts(server: HubServer, tmp_path: Path) -> list[str]:
    """The names of the target's parts; its draft lies in one file."""
    (tmp_path / "parts").mkdir()
    write_tiny(tmp_path / "parts" / "big.gguf", "llama", part_tensors=PART_TENSORS)
    made = sorted((tmp_path / "parts").iterdir())
    for part in made:
        server.add(BIG, part.name, part.read_bytes())
    draft = write_tiny(tmp_path / "small.gguf", "llama", n_layers=1)
    server.add(SMALL, "small.gguf", draft.read_bytes())
    return [part.name for part in made]


def test_a_model_in_parts_is_judged_added_pulled_used_and_removed(localspec: Localspec, parts: list[str]) -> None:
    assert len(parts) == 4
    assert parts[0] == "big-00001-of-00004.gguf"
    target, draft = f"{BIG}:{parts[0]}", f"{SMALL}:small.gguf"
    done = localspec("pairs", "check", target, draft)
    assert (done.code, done.out) == (0, f"small.gguf can draft for {parts[0]}.\n"), done.err
    assert localspec("pairs", "add", "--target", target, "--draft", draft, "--id", "mine").code == 0
    done = localspec("pairs", "pull", "mine")
    assert done.code == 0, done.err
    assert "5 files" in done.err

    files = load_catalogue().find("mine").files()
    pair = open_pair(LoadOptions(files.target, files.draft, n_ctx=256, threads=1), Cancellation())
    replied = list(pair.reply("abc", ReplyOptions(max_tokens=8)))
    pair.close()
    finished = replied[-1]
    assert isinstance(finished, Finished)
    assert finished.text

    done = localspec("pairs", "rm", "mine", "--yes")
    assert done.code == 0, done.err
    assert all(part in done.out for part in parts)
    assert not list(hub_cache().rglob("*.gguf"))
    assert not list(hub_cache().glob("models--*/blobs/*"))


@pytest.mark.parametrize("gone", [1, 3])
def test_a_part_that_is_missing_is_named_and_pulled_again(localspec: Localspec, parts: list[str], gone: int) -> None:
    localspec("pairs", "add", "--target", f"{BIG}:{parts[0]}", "--draft", f"{SMALL}:small.gguf", "--id", "mine")
    assert localspec("pairs", "pull", "mine").code == 0
    pair = load_catalogue().find("mine")
    part = pair.files().target.with_name(parts[gone])
    part.resolve().unlink()
    part.unlink()
    state = state_of(pair)
    assert state.state == PARTLY
    assert parts[gone] in state.reason
    assert "pairs pull mine" in state.hint

    done = localspec("pairs", "pull", "mine")
    assert done.code == 0, done.err
    assert "1 file" in done.err, "only what is missing"
    assert state_of(pair).state == HERE
