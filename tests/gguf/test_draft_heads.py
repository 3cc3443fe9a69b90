"""Draft heads are recognised by the header of a file alone, whatever else it says."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from localspec.gguf import GgufHeader, parse_header
from localspec.gguf.draft_heads import drafter_in_words, drafter_kind, is_dspark, mtp_layers
from tests import gguf_files as gf

TRUNK = ("token_embd.weight", "blk.0.attn_norm.weight")


def header(architecture: str, tensors: Sequence[str] = TRUNK, **values: gf.Plain) -> GgufHeader:
    metadata = {f"{architecture}.{key}": value for key, value in values.items()} | {
        "general.architecture": architecture
    }
    data = gf.gguf(metadata, [gf.Tensor(name, (8,)) for name in tensors])
    return parse_header(io.BytesIO(data), source="test.gguf", size_bytes=len(data))


def nextn(*layers: int, names: Sequence[str] = ("eh_proj", "enorm", "hnorm")) -> tuple[str, ...]:
    return tuple(f"blk.{n}.nextn.{name}.weight" for n in layers for name in names)


@pytest.mark.parametrize(
    ("file", "kind", "words"),
    [
        (header("eagle3"), "eagle3", "an EAGLE-3 head"),
        (header("dflash"), "dflash", "a DFlash head"),
        (header("dflash", ("markov_w1.weight",)), "dflash", "a DSpark head"),
        (header("gemma4-assistant"), "mtp", "MTP heads"),
        (header("qwen35", ("token_embd.weight", *nextn(32))), "mtp", "MTP heads"),
        (header("qwen35", (*TRUNK, *nextn(32))), "draft", "a draft model"),
        (header("llama", ("markov_w1.weight",)), "draft", "a draft model"),
    ],
)
def test_the_kind_of_a_draft_file_is_known(file: GgufHeader, kind: str, words: str) -> None:
    assert (drafter_kind(file), drafter_in_words(file)) == (kind, words)
    assert is_dspark(file) is (words == "a DSpark head")


@pytest.mark.parametrize(
    ("announced", "tensors", "found"),
    [
        (0, (), 0),
        (1, nextn(5), 1),
        (2, nextn(4, 5), 2),
        (1, nextn(4), 0),  # another layer's
        (2, nextn(5), 0),
        (1, nextn(5, names=("eh_proj", "enorm")), 0),
        (0, nextn(5), 0),
        (6, nextn(*range(6)), 0),  # nothing would be left of the model
    ],
)
def test_mtp_layers_count_when_they_are_announced_and_there(
    announced: int, tensors: tuple[str, ...], found: int
) -> None:
    """llama.cpp fails to load a model with its MTP layers if one is announced that is not there."""
    whole = header("qwen35", (*TRUNK, *tensors), block_count=6, nextn_predict_layers=announced)

    assert mtp_layers([whole]) == found


def test_mtp_layers_may_lie_in_a_later_file_of_a_split_model() -> None:
    first = header("glm4moe", TRUNK, block_count=6, nextn_predict_layers=1)
    second = header("glm4moe", nextn(5))

    assert mtp_layers([first]) == 0
    assert mtp_layers([first, second]) == 1


def test_a_head_has_no_mtp_layers_of_its_own() -> None:
    """The assistant of Gemma 4 counts its layers under the same name."""
    assert mtp_layers([header("gemma4-assistant", nextn(3), block_count=4, nextn_predict_layers=1)]) == 0
