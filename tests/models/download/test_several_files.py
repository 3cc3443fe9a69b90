"""A pair of more than two files, from the Hub to a reply and away again."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.errors import NotFoundError
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished
from localspec.gguf.draft_heads import DRAFT, MTP
from localspec.models.discovery.taking import take
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.state import HERE, PARTLY, state_of
from localspec.runtime.load import open_pair
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from tests.cli.conftest import Localspec
from tests.gguf_files import Plain, model
from tests.hub import HubServer
from tests.models.download.support import BIG, SMALL, World
from tests.models.pairs.support import write_own
from tests.tiny_heads import TinyHead, write_head
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


@pytest.mark.parametrize(("architecture", "drafter"), [("glm4moe", MTP), ("llama", DRAFT)])
def test_mtp_layers_in_a_later_part_on_the_hub_count_as_announced(
    server: HubServer, world: World, architecture: str, drafter: str
) -> None:
    """Of the parts only the first is read, if llama.cpp can run such layers at all."""
    metadata: dict[str, Plain] = {
        "general.architecture": architecture,
        f"{architecture}.block_count": 4,
        f"{architecture}.nextn_predict_layers": 1,
        "split.count": 2,
    }
    server.add(BIG, "big-00001-of-00002.gguf", model(metadata=metadata))
    server.add(BIG, "big-00002-of-00002.gguf", bytes(1000))
    assert take(f"{BIG}:big-00001-of-00002.gguf", world.context()).drafter == drafter


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


def test_the_heads_of_a_pair_are_checked_pulled_used_and_removed(
    localspec: Localspec, server: HubServer, tmp_path: Path
) -> None:
    """The pair can be used without them; ``--spec`` says how to get the one that it names."""
    server.add(BIG, "big.gguf", write_tiny(tmp_path / "big.gguf", "llama").read_bytes())
    server.add(SMALL, "small.gguf", write_tiny(tmp_path / "small.gguf", "llama", n_layers=1).read_bytes())
    head, repo = write_head(tmp_path / "head.gguf", TinyHead(target_layers=(1, 2, 9))), "Owner/Head-GGUF"
    server.add(repo, "head.gguf", head.read_bytes())
    tables = {"target": (BIG, "big"), "draft": (SMALL, "small"), "heads.eagle3": (repo, "head")}
    files = "".join(
        f'[pairs.{table}]\nrepo = "{repo}"\nfile = "{name}.gguf"\n' for table, (repo, name) in tables.items()
    )
    write_own(f'[[pairs]]\nid = "mine"\ntitle = "Mine"\n{files}')
    done = localspec("pairs", "pull", "mine")
    assert (done.code, "it reads layer 9" in done.err) == (6, True), done.err
    server.add(repo, "head.gguf", write_head(tmp_path / "head.gguf", TinyHead()).read_bytes())
    done = localspec("pairs", "pull", "mine")
    assert (done.code, "3 files" in done.err) == (0, True), done.err
    pair = load_catalogue().find("mine")
    assert state_of(pair).state == HERE
    draft = pair.files(("eagle3",)).draft
    assert draft is not None
    assert (draft.name, pair.heads["eagle3"].verified) == ("head.gguf", True)
    draft.unlink()
    assert state_of(pair).state == HERE
    with pytest.raises(NotFoundError, match=r"head\.gguf is not on this machine") as missing:
        pair.files(("eagle3",))
    assert "pairs pull mine" in missing.value.hint
    assert localspec("pairs", "rm", "mine", "--yes").code == 0
    assert not list(hub_cache().rglob("*.gguf"))
