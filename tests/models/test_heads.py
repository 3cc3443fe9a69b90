"""Heads and their targets: every misfit over which llama.cpp would end the process is refused in a sentence."""

from __future__ import annotations

import io
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.errors import ModelFileError, PairMismatchError
from localspec.base.hidden_architectures import FINAL_ARCHITECTURES, LAYER_ARCHITECTURES
from localspec.gguf import GgufHeader, Value, parse_header, read_header
from localspec.models.compatibility import check_match, check_target, judge_match
from localspec.models.heads import can_run, file_drafters, mtp_fault
from tests import gguf_files as gf
from tests.tiny_heads import TinyHead, cut_short, write_head, write_mtp_target
from tests.tiny_models import N_VOCAB, WIDTH, write_tiny

EAGLE3 = TinyHead()
DFLASH = TinyHead("dflash")
ALL_ARCHITECTURES = LAYER_ARCHITECTURES | FINAL_ARCHITECTURES | {"qwen2", "gemma3", "glm4", "deepseek2-ocr"}
DSPARK = TinyHead("dflash", markov_rank=4)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> GgufHeader:
    return read_header(write_tiny(tmp_path_factory.mktemp("target") / "target.gguf", "llama"))


def head_file(folder: Path, head: TinyHead) -> GgufHeader:
    return read_header(write_head(folder / "head.gguf", head))


@pytest.mark.parametrize(
    "head",
    [
        EAGLE3,
        DFLASH,
        DSPARK,
        replace(EAGLE3, part=range(0, N_VOCAB, 2), own_output=True),
        replace(DFLASH, part=(3, 7, 99), own_output=True),
        replace(EAGLE3, width=2 * WIDTH, own_output=True, own_embedding=True),
        replace(DFLASH, block_size=None),
        replace(DFLASH, n_layers=2, target_layers=(0, 3)),
    ],
)
def test_a_head_fits_the_target_it_was_made_for(target: GgufHeader, head: TinyHead, tmp_path: Path) -> None:
    verdict = judge_match(target, head_file(tmp_path, head))

    assert verdict.fits, verdict.reason
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (
            replace(EAGLE3, target_hidden_size=WIDTH * 2),
            "it reads hidden states 128 wide, and the target's are 64 wide",
        ),
        (replace(DFLASH, width=32), "it reads hidden states 32 wide, and the target's are 64 wide"),
        (
            replace(EAGLE3, width=32, own_output=True),
            "it is 32 wide and uses the embedding or the output of the target, which is 64 wide",
        ),
        (replace(EAGLE3, target_layers=None), "it does not name the target's layers that it reads"),
        (replace(DFLASH, target_layers=None), "it does not name the target's layers that it reads"),
        (replace(EAGLE3, target_layers=(1, 2)), "it reads 2 layers of the target, and an EAGLE-3 head reads 3"),
        (replace(EAGLE3, target_layers=(1, 2, 5)), "it reads layer 5 of the target, which has 4"),
        (replace(DFLASH, target_layers=(-1, 2)), "it reads layer -1 of the target, which has 4"),
        (
            replace(DFLASH, target_layers=(1, 4)),
            "it reads what the last layer gives, which llama.cpp cannot take from a 'llama'",
        ),
        (replace(EAGLE3, n_vocab=N_VOCAB + 1), "the target knows 100 tokens, the head 101"),
        (replace(EAGLE3, part=(1, N_VOCAB), own_output=True), "it proposes token 100, and the target has 100"),
        (replace(EAGLE3, part=(-1, 5), own_output=True), "it proposes token -1, and the target has 100"),
        (
            replace(DFLASH, part=(5, 5), own_output=True),
            "it lists a token twice among those that it can propose",
        ),
        (replace(EAGLE3, part=(1, 2)), "it lists 2 tokens that it can propose, and has outputs for 0"),
        (replace(EAGLE3, n_layers=2), "it has 2 layers, and an EAGLE-3 head has one"),
        (replace(DFLASH, block_size=1), "its blocks have 1 tokens; from 2 to 512 are possible"),
        (replace(DFLASH, block_size=2**20), "its blocks have 1,048,576 tokens; from 2 to 512 are possible"),
        (replace(DSPARK, block_size=None), "it does not say how long its blocks are"),
        (replace(DFLASH, mask_token=None), "it does not name the token that stands for a place to be filled"),
        (replace(DFLASH, mask_token=N_VOCAB), "its mask token is 100, and it knows 100 tokens"),
    ],
)
def test_a_head_of_another_target_is_refused(target: GgufHeader, head: TinyHead, reason: str, tmp_path: Path) -> None:
    with pytest.raises(PairMismatchError) as caught:
        check_match(target, head_file(tmp_path, head))

    assert caught.value.message == f"head.gguf cannot draft for target.gguf: {reason}."
    assert "a head that was made for this target" in caught.value.hint
    assert caught.value.exit_code == 6


@pytest.mark.parametrize("n", [0, 33, 64])
@pytest.mark.parametrize("kind", [EAGLE3, DFLASH])
def test_a_head_that_rotates_its_keys_wrongly_is_refused(
    target: GgufHeader, kind: TinyHead, n: int, tmp_path: Path
) -> None:
    """llama.cpp never ends, or ends the process."""
    head = head_file(tmp_path, kind)
    metadata = {**head.metadata, f"{head.architecture}.rope.dimension_count": n}

    reason = judge_match(target, replace(head, metadata=metadata)).reason

    assert reason == f"it rotates {n} numbers of keys that are 32 wide"


@pytest.mark.parametrize("kind", [EAGLE3, DFLASH])
def test_a_head_with_another_token_is_refused_by_its_text(target: GgufHeader, kind: TinyHead, tmp_path: Path) -> None:
    head = head_file(tmp_path, kind)
    tokens = (*head.vocabulary.tokens[:50], "other", *head.vocabulary.tokens[51:])

    verdict = judge_match(target, replace(head, vocabulary=replace(head.vocabulary, tokens=tokens)))

    assert verdict.token_id == 50
    assert "'other' in the draft" in verdict.reason


def test_a_head_without_a_vocabulary_counts_by_its_size(target: GgufHeader, tmp_path: Path) -> None:
    head = head_file(tmp_path, EAGLE3)
    bare = replace(head, vocabulary=replace(head.vocabulary, tokens=()))

    assert judge_match(target, bare).fits


@pytest.mark.parametrize("architecture", ["gemma3", "mamba"])
def test_a_target_that_gives_no_hidden_states_is_refused(architecture: str, tmp_path: Path) -> None:
    """llama.cpp asserts that it does, and a failed assertion ends the process."""
    other = read_header(write_tiny(tmp_path / "target.gguf", architecture))

    assert judge_match(other, head_file(tmp_path, EAGLE3)).reason == (
        f"llama.cpp cannot give the hidden states of a target of the architecture {architecture!r}"
    )


def test_the_backend_asks_the_same_architectures() -> None:
    """Neither may import the other, and both were read from the same source."""
    assert {each for each in ALL_ARCHITECTURES if can_run("eagle3", each)} == LAYER_ARCHITECTURES
    assert {each for each in ALL_ARCHITECTURES if can_run("mtp", each)} <= FINAL_ARCHITECTURES


def test_a_head_that_is_cut_short_is_refused_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is truncated"):
        read_header(cut_short(write_head(tmp_path / "head.gguf", EAGLE3)))


def test_a_head_is_no_target(target: GgufHeader, tmp_path: Path) -> None:
    head = head_file(tmp_path, EAGLE3)

    assert judge_match(head, target).reason == ("the target is not a model of its own but an EAGLE-3 head")
    with pytest.raises(ModelFileError, match="cannot be a target") as caught:
        check_target(head)
    assert "--draft" in caught.value.hint


# MTP layers


def network(architecture: str, tensors: Sequence[str] = (), **values: gf.Plain) -> GgufHeader:
    """A header of some tensors, by llama.cpp's keys with ``__`` for their dots."""
    metadata = {f"{architecture}.{key.replace('__', '.')}": value for key, value in values.items()}
    data = gf.model(
        metadata={"general.architecture": architecture, **metadata}, tensors=[gf.Tensor(name, (8,)) for name in tensors]
    )
    return parse_header(io.BytesIO(data), source=f"{architecture}.gguf", size_bytes=len(data))


def mtp_target(architecture: str, n: int = 1, more: Sequence[str] = (), **values: gf.Plain) -> GgufHeader:
    names = ("nextn.eh_proj", "nextn.enorm", "nextn.hnorm", *more)
    layers = [f"blk.{4 - 1 - i}.{name}.weight" for i in range(n) for name in names]
    return network(architecture, ["blk.0.attn_norm.weight", *layers], block_count=4, nextn_predict_layers=n, **values)


@pytest.mark.parametrize("architecture", ["glm4moe", "qwen35"])
def test_mtp_layers_of_a_target_are_usable(architecture: str, tmp_path: Path) -> None:
    whole = read_header(write_mtp_target(tmp_path / "whole.gguf", architecture))
    bare = read_header(write_mtp_target(tmp_path / "bare.gguf", architecture, with_tensors=False))

    assert mtp_fault([whole]) == ""
    assert mtp_fault([bare]) == "the file announces MTP layers and does not have them"


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (network("llama"), "the target has no MTP layers"),
        (mtp_target("qwen35"), ""),
        (mtp_target("step35", 3), ""),
        (mtp_target("llama"), "llama.cpp cannot run the MTP layers of the architecture 'llama'"),
        (mtp_target("glm5-next"), "llama.cpp cannot run the MTP layers of the architecture 'glm5-next'"),
        (
            mtp_target("qwen35", 2),
            "llama.cpp can run one MTP layer of the architecture 'qwen35', and there are 2",
        ),
        (mtp_target("glm4moe"), "its MTP layer lacks the tensor blk.3.ffn_gate_inp.weight"),
        (mtp_target("glm4moe", more=["ffn_gate_inp"]), ""),
        (
            mtp_target("mimo2", more=["attn_qkv", "ffn_gate", "ffn_up"]),
            "its MTP layer lacks the tensor blk.3.ffn_down.weight",
        ),
        (
            mtp_target("deepseek2", more=["ffn_gate_inp"]),
            "its MTP layer has no latent attention, which llama.cpp needs",
        ),
        (mtp_target("deepseek2", more=["ffn_gate_inp"], attention__key_length_mla=192), ""),
    ],
)
def test_mtp_layers_that_llama_cpp_would_abort_over_are_left_out(header: GgufHeader, fault: str) -> None:
    assert mtp_fault([header]) == fault


def test_the_drafters_of_files_are_those_that_they_bring(target: GgufHeader, tmp_path: Path) -> None:
    with_mtp = read_header(write_mtp_target(tmp_path / "mtp.gguf"))
    eagle3 = head_file(tmp_path, EAGLE3)

    assert file_drafters([target], None) == ()
    assert file_drafters([target], target) == ("draft",)
    assert file_drafters([target], eagle3) == ("eagle3",)
    assert file_drafters([with_mtp], None) == ("mtp",)
    assert file_drafters([with_mtp], target) == ("draft", "mtp")


GEMMA: dict[str, gf.Plain] = {
    "embedding_length": 64,
    "attention__key_length": 32,
    "attention__key_length_swa": 16,
}


@pytest.mark.parametrize(
    ("target", "values", "reason"),
    [
        ("gemma4", {}, ""),
        ("gemma3", {}, "it is for a target of the architecture 'gemma4', not 'gemma3'"),
        (
            "gemma4",
            {"embedding_length_out": 48},
            "it reads hidden states 48 wide, and the target's are 64 wide",
        ),
        ("gemma4", {"attention__key_length_swa": 32}, "it reads keys 32 wide, and the target's are 16 wide"),
    ],
)
def test_the_assistant_of_gemma_4_shares_its_targets_cache(
    target: str, values: dict[str, gf.Plain], reason: str
) -> None:
    assistant = network(
        "gemma4-assistant", (), **(GEMMA | {"embedding_length": 16, "embedding_length_out": 64} | values)
    )

    assert judge_match(network(target, (), **GEMMA), assistant).reason == reason


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (network("qwen35", ["blk.0.attn_norm.weight"], embedding_length=64), ""),
        (network("llama", embedding_length=64), "it is for a target of the architecture 'qwen35', not 'llama'"),
        (network("qwen35", embedding_length=32), "it reads hidden states 64 wide, and the target's are 32 wide"),
    ],
)
def test_mtp_layers_in_a_file_of_their_own_need_their_target(target: GgufHeader, reason: str) -> None:
    layers = [f"blk.3.nextn.{name}.weight" for name in ("eh_proj", "enorm", "hnorm")]
    head = network("qwen35", layers, block_count=4, nextn_predict_layers=1, embedding_length=64)

    assert judge_match(target, head).reason == reason


VALUES: st.SearchStrategy[Value | None] = st.one_of(
    st.none(),
    st.integers(-(2**31), 2**64 - 1),
    st.booleans(),
    st.text(max_size=5),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4).map(lambda items: array("i", items)),
    st.lists(st.floats(allow_nan=True), max_size=4).map(lambda items: array("d", items)),
    st.lists(st.text(max_size=3), max_size=3).map(tuple),
)


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GgufHeader]:
    folder = tmp_path_factory.mktemp("heads")
    kinds = {"eagle3": EAGLE3, "dflash": DSPARK, "part": replace(EAGLE3, part=(3, 7, 99), own_output=True)}
    return {name: read_header(write_head(folder / f"{name}.gguf", head)) for name, head in kinds.items()}


@given(data=st.data())
def test_whatever_a_head_says_of_itself_it_is_judged(
    headers: dict[str, GgufHeader], target: GgufHeader, data: st.DataObject
) -> None:
    """A value of another type, a missing one, one out of all bounds: a verdict comes of it, and never an error."""
    head = headers[data.draw(st.sampled_from(sorted(headers)))]
    keys = [key for key in head.metadata if not key.startswith("general.architecture")]
    changed = data.draw(st.dictionaries(st.sampled_from(keys), VALUES, min_size=1, max_size=3))
    mixed: dict[str, Value | None] = {**head.metadata, **changed}
    metadata = {key: value for key, value in mixed.items() if value is not None}
    kept = data.draw(st.lists(st.sampled_from(head.tensors), unique=True))

    judge_match(target, replace(head, metadata=metadata))
    judge_match(target, replace(head, metadata=metadata, tensors=tuple(kept)))
    judge_match(replace(target, metadata={**metadata, **target.metadata}), head)
