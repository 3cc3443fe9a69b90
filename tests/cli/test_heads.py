"""Draft heads on the command line: checked, added, scanned and refused by their headers, before anything is loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import gguf
import pytest

from localspec.engine.cancel import Cancellation
from localspec.insight.bench.measure import _forget
from localspec.models.pairs import load_catalogue
from localspec.runtime.load import open_pair
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.codec import decode_answer, encode
from localspec.runtime.worker.messages import Loaded
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld
from tests.tiny_heads import TinyHead, cut_short, write_head, write_mtp_target
from tests.tiny_models import write_tiny

EAGLE3, DFLASH = TinyHead(), TinyHead("dflash")
BAD = {
    "width": replace(EAGLE3, target_hidden_size=128),
    "layers": replace(EAGLE3, target_layers=(1, 2, 9)),
    "range": replace(EAGLE3, part=(1, 500), own_output=True),
    "mask": replace(DFLASH, mask_token=None),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, targets with and without their MTP layers, heads for the first, and bad ones."""
    path = tmp_path_factory.mktemp("heads")
    write_tiny(path / "target.gguf", "llama")
    write_tiny(path / "gemma.gguf", "gemma3")
    write_mtp_target(path / "mtp.gguf")
    write_mtp_target(path / "bare.gguf", with_tensors=False)
    write_head(path / "eagle3.gguf", EAGLE3)
    write_head(path / "dflash.gguf", DFLASH)
    write_head(path / "dspark.gguf", replace(DFLASH, markov_rank=4))
    cut_short(write_head(path / "cut.gguf", EAGLE3))
    for name, head in BAD.items():
        write_head(path / f"{name}.gguf", head)
    return path


@pytest.mark.parametrize(
    ("target", "draft", "code", "said"),
    [
        ("target", "eagle3", 0, "eagle3.gguf, an EAGLE-3 head, can draft for target.gguf."),
        ("target", "dflash", 0, "dflash.gguf, a DFlash head, can draft for target.gguf."),
        ("target", "dspark", 0, "dspark.gguf, a DSpark head, can draft for target.gguf."),
        ("mtp", None, 0, "mtp.gguf can draft for itself: it has MTP layers."),
        ("bare", None, 6, "the file announces MTP layers and does not have them"),
        ("target", None, 6, "the target has no MTP layers"),
        ("target", "cut", 5, "cut.gguf is truncated"),
        ("target", "width", 6, "it reads hidden states 128 wide, and the target's are 64 wide"),
        ("target", "layers", 6, "it reads layer 9 of the target, which has 4"),
        ("target", "range", 6, "it proposes token 500, and the target has 100"),
        ("target", "mask", 6, "it does not name the token that stands for a place to be filled"),
        ("gemma", "eagle3", 6, "llama.cpp cannot give the hidden states of a target of the architecture 'gemma3'"),
        ("eagle3", "target", 6, "the target is not a model of its own but an EAGLE-3 head"),
    ],
)
def test_check_says_in_a_sentence_what_a_head_fits(
    localspec: Localspec, folder: Path, target: str, draft: str | None, code: int, said: str
) -> None:
    names = [folder / f"{name}.gguf" for name in (target, draft) if name]

    done = localspec("pairs", "check", *names)

    assert done.code == code
    assert said in (done.err if code else done.out)


def test_check_names_the_kind_of_drafter_for_programs(localspec: Localspec, folder: Path) -> None:
    done = localspec("pairs", "check", folder / "target.gguf", folder / "eagle3.gguf", "--json")

    found = json.loads(done.out)
    assert (found["fits"], found["target"]["drafter"], found["draft"]["drafter"]) == (True, "draft", "eagle3")
    alone = json.loads(localspec("pairs", "check", folder / "bare.gguf", "--json").out)
    assert (alone["fits"], alone["draft"]) == (False, None)


@pytest.mark.parametrize("right", [True, False])
def test_a_head_may_name_the_checksum_of_its_target(
    localspec: Localspec, folder: Path, tmp_path: Path, right: bool
) -> None:
    target = folder / "target.gguf"
    wanted = sha256(target.read_bytes() if right else b"another").hexdigest()
    with_key = tmp_path / "named.gguf"
    add_key(folder / "eagle3.gguf", with_key, "localspec.target_sha256", wanted)

    done = localspec("pairs", "check", target, with_key)

    assert done.code == (0 if right else 6)
    assert right or f"it was made for a file with the SHA-256 {wanted[:12]}..." in done.err


def add_key(source: Path, path: Path, key: str, text: str) -> None:
    """Copy a GGUF file with one more key."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, str(reader.fields["general.architecture"].contents()))
    for name, field in reader.fields.items():
        if not name.startswith(("GGUF.", "general.architecture")):
            writer.add_key_value(name, field.contents(), field.types[0], field.types[1] if field.types[1:] else None)
    writer.add_string(key, text)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize(
    ("files", "drafter"),
    [(("target", "eagle3"), "eagle3"), (("target", "dflash"), "dflash"), (("mtp",), "mtp"), (("mtp", "mtp"), "draft")],
)
def test_a_pair_is_added_with_the_kind_of_its_drafter(
    localspec: Localspec, folder: Path, files: Sequence[str], drafter: str
) -> None:

    done = localspec("pairs", "add", *named(folder, files), "--id", "mine")

    assert done.code == 0, done.err
    pair = load_catalogue().find("mine")
    assert (pair.drafter, pair.draft is None) == (drafter, len(files) == 1)


def test_a_head_is_no_target_of_a_pair(localspec: Localspec, folder: Path) -> None:
    done = localspec("pairs", "add", "--target", folder / "eagle3.gguf", "--alone")

    assert done.code == 5
    assert "eagle3.gguf cannot be a target: it is not a model of its own but an EAGLE-3 head." in done.err


def test_a_scan_pairs_heads_with_the_targets_they_are_for_alone(localspec: Localspec, folder: Path) -> None:
    found = json.loads(localspec("pairs", "scan", folder, "--json").out)

    drafters = {Path(model["path"]).stem: model["drafter"] for model in found["models"]}
    assert (drafters["eagle3"], drafters["dspark"], drafters["target"]) == ("eagle3", "dflash", "draft")
    paired = {(Path(pair["target"]).stem, Path(pair["draft"]).stem) for pair in found["pairs"]}
    assert {("target", "eagle3"), ("target", "dflash"), ("target", "dspark")} <= paired
    assert not {draft for target, draft in paired if target in ("gemma", "eagle3")} & {"eagle3", "dflash", "dspark"}
    assert not {draft for _, draft in paired} & {"cut", *BAD}


@pytest.mark.parametrize(
    ("spec", "files", "said"),
    [
        ("eagle3", ("target", "eagle3"), ""),
        ("mtp", ("mtp",), ""),
        ("draft", ("mtp", "target"), ""),
        ("mtp", ("mtp", "target"), ""),
        ("draft", ("target", "eagle3"), "--spec draft needs a draft model, and there is none."),
        ("eagle3", ("target", "target"), "--spec eagle3 needs an EAGLE-3 head, and there is none."),
        ("eagle3", ("target",), "--spec eagle3 needs an EAGLE-3 head, and there is none."),
        ("mtp", ("bare",), "--spec mtp needs MTP layers, and there are none."),
    ],
)
def test_a_drafter_that_the_files_do_not_bring_is_refused_before_they_are_loaded(
    localspec: Localspec, folder: Path, spec: str, files: Sequence[str], said: str
) -> None:
    world = FakeWorld()

    done = localspec("run", "hello", *named(folder, files), "--spec", spec, world=world)

    assert done.code == (2 if said else 0)
    assert said in done.err
    assert bool(world.loads) is not bool(said)


@pytest.mark.parametrize(("target", "code"), [("mtp", 0), ("target", 2)])
def test_threads_of_a_drafter_are_for_mtp_layers_too(
    localspec: Localspec, folder: Path, target: str, code: int
) -> None:
    done = localspec("run", "hello", "--target", folder / f"{target}.gguf", "--draft-threads", "1")

    assert done.code == code


@pytest.mark.parametrize(
    ("files", "drafters"), [(("target", "eagle3"), ("eagle3",)), (("mtp", "target"), ("draft", "mtp"))]
)
def test_a_loaded_pair_tells_what_drafts_and_is_measured_with_it(
    folder: Path, files: Sequence[str], drafters: tuple[str, ...]
) -> None:
    """Before each trial of a benchmark each of them reads another text."""
    target, draft = (folder / f"{name}.gguf" for name in files)
    with closing(open_pair(LoadOptions(target, draft, n_ctx=256, threads=1), Cancellation())) as pair:
        assert set(pair.info.drafters) == set(drafters)
        assert decode_answer(encode(Loaded(pair.info))) == Loaded(pair.info)
        _forget(pair)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (("target", "eagle3"), "the head reads what the target gives"),
        (("mtp",), "the target has its MTP layers"),
        (("mtp", "target"), "target and draft have the same vocabulary"),
    ],
)
def test_the_description_of_a_pair_says_what_fits(
    localspec: Localspec, folder: Path, files: Sequence[str], said: str
) -> None:
    localspec("pairs", "add", *named(folder, files), "--id", "mine")

    assert said in localspec("pairs", "info", "mine").out


def named(folder: Path, files: Sequence[str]) -> list[str | Path]:
    """The options that name a target and, if there is a second file, a draft."""
    pairs = zip(("--target", "--draft"), files, strict=False)
    return [each for option, name in pairs for each in (option, folder / f"{name}.gguf")]
