"""A pair that has heads beside its draft: ``--spec`` names the one to draft with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import ConfigError, UsageError
from localspec.models.pairs import ModelFile, Pair, load_catalogue
from localspec.models.pairs.state import pair_verdict
from localspec.runtime.building import build_chat_config
from tests.builtin import DRAFT, HEADS, TARGET
from tests.gguf_files import write
from tests.models.pairs.support import write_own
from tests.tiny_heads import TinyHead, write_head
from tests.tiny_models import write_tiny


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """A target and a draft of one shape, an EAGLE-3 head and a DFlash head."""
    target = write_tiny(tmp_path / "target.gguf", "llama")
    draft = write_tiny(tmp_path / "draft.gguf", "llama")
    eagle3 = write_head(tmp_path / "eagle3.gguf", TinyHead())
    dflash = write_head(tmp_path / "dflash.gguf", TinyHead("dflash"))
    write_own(
        f"""
        [[pairs]]
        id = "several"
        title = "Several"
        target = {{ file = "{target}" }}
        draft = {{ file = "{draft}" }}
        heads.eagle3 = {{ file = "{eagle3}" }}
        heads.dflash = {{ file = "{dflash}" }}
        """
    )
    return load_catalogue().find("several")


@pytest.mark.parametrize(
    ("spec", "file"),
    [
        ((), "draft.gguf"),
        (("draft", "suffix"), "draft.gguf"),
        (("suffix",), "draft.gguf"),
        (("eagle3", "suffix"), "eagle3.gguf"),
        (("dflash",), "dflash.gguf"),
    ],
)
def test_the_drafters_asked_for_choose_the_file(pair: Pair, spec: tuple[str, ...], file: str) -> None:
    """And it is the one that is loaded."""
    draft = pair.files(spec).draft
    assert draft is not None
    assert draft.name == file
    assert build_chat_config({"pair": pair.id, "spec": spec or None}).load.draft == draft


def test_two_files_at_a_time_are_refused(pair: Pair) -> None:
    with pytest.raises(UsageError, match="one file at a time, and --spec names an EAGLE-3 head and a draft model"):
        pair.files(("eagle3", "draft"))


def test_a_verdict_is_on_every_file(pair: Pair, tmp_path: Path) -> None:
    good = pair_verdict(pair)
    assert good is not None
    assert good.fits
    write_head(tmp_path / "dflash.gguf", replace(TinyHead("dflash"), target_layers=(1, 2, 9)))
    bad = pair_verdict(pair)
    assert bad is not None
    assert "it reads layer 9 of the target" in bad.reason


def test_a_verdict_is_on_the_very_file_that_a_head_names(tmp_path: Path) -> None:
    other = write(tmp_path / "other.gguf", TARGET.read_bytes()[:-1] + b"?")
    head = ModelFile(file="head.gguf", path=HEADS["eagle3"])
    for path, fits in ((TARGET, True), (other, False)):
        target = ModelFile(file=path.name, path=path)
        verdict = pair_verdict(Pair(id="x", title="x", target=target, draft=head, drafter="eagle3"))
        assert verdict is not None
        assert verdict.fits == fits


@pytest.mark.parametrize("name", ["target", "draft"])
def test_a_damaged_file_fits_nothing_and_the_verdict_names_it(pair: Pair, tmp_path: Path, name: str) -> None:
    """A file that is gone is told otherwise."""
    file = tmp_path / f"{name}.gguf"
    file.write_bytes(file.read_bytes()[:-100])
    verdict = pair_verdict(pair)
    assert verdict is not None
    assert verdict.reason.startswith(f"{name}.gguf is truncated")
    file.unlink()
    assert pair_verdict(pair) is None


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ('heads.eagle3 = { file = "../x.gguf", repo = "a/b" }', "with 'repo' it should be a name within"),
        ('heads.medusa = { file = "x.gguf" }', "medusa"),
        ('heads = "x.gguf"', "heads"),
    ],
)
def test_a_table_of_heads_has_files_of_known_kinds(heads: str, said: str) -> None:
    write_own(f'[[pairs]]\nid = "x"\ntitle = "X"\ntarget = {{ file = "t.gguf" }}\n{heads}\n')
    with pytest.raises(ConfigError, match=said):
        load_catalogue()


def test_heads_in_a_file_beside_their_target_are_judged_as_that_file(tmp_path: Path) -> None:
    """The target has no MTP layers of its own then."""
    target, draft = (ModelFile(file=file.name, path=file) for file in (TARGET, DRAFT))

    verdict = pair_verdict(Pair(id="x", title="x", target=target, draft=draft, drafter="mtp"))

    assert verdict is not None
    assert verdict.fits
