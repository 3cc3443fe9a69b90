"""The heads that belong to the built-in target: their files prove it, and they draft for it."""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from localspec.engine.events import Origin
from localspec.engine.settings import Sampling
from localspec.gguf import read_header
from localspec.gguf.draft_heads import target_sha256
from localspec.models.compatibility import check_match
from localspec.models.heads import mtp_fault
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from tests.builtin import HEADS, MTP_LAYER, TARGET, write_with_mtp
from tests.runtime.opened_pairs import follow, open_unmeasured

MOST_BYTES = 4_000_000
QUESTION = (Message(Role.USER, "Count from 1 to 20."),)
GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def with_mtp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in target with its MTP layer inside."""
    return write_with_mtp(tmp_path_factory.mktemp("mtp") / "target.gguf")


@pytest.mark.parametrize("kind", HEADS)
def test_a_head_names_the_target_it_was_made_for(kind: str) -> None:
    header = read_header(HEADS[kind])
    assert header.architecture == kind
    assert target_sha256(header) == sha256(TARGET.read_bytes()).hexdigest()
    check_match(read_header(TARGET), header, TARGET)


def test_the_mtp_layer_fits_into_a_file_with_the_target(with_mtp: Path) -> None:
    assert target_sha256(read_header(MTP_LAYER)) == sha256(TARGET.read_bytes()).hexdigest()
    assert not mtp_fault([read_header(with_mtp)])


def test_all_heads_together_are_small() -> None:
    assert sum(path.stat().st_size for path in (*HEADS.values(), MTP_LAYER)) <= MOST_BYTES


@pytest.mark.parametrize("kind", [*HEADS, "mtp"])
def test_a_head_drafts_and_the_text_is_the_targets_own(kind: str, with_mtp: Path) -> None:
    target, head = (with_mtp, None) if kind == "mtp" else (TARGET, HEADS[kind])
    with closing(open_unmeasured(LoadOptions(target, head, n_ctx=512, threads=1))) as pair:
        plain, drafted = (
            follow(pair, QUESTION, ReplyOptions(GREEDY, depth=depth, max_tokens=40, spec=(kind,))).tokens
            for depth in (0, 3)
        )
    assert [token.id for token in drafted] == [token.id for token in plain]
    assert any(token.origin is Origin.ACCEPTED for token in drafted)
