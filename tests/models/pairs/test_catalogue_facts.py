"""The facts in models.toml agree: sizes that can be, drafts that are drafts, licences, and how sure each fact is.

Whether a name exists on the Hub is not for a test to ask; ``pairs pull`` asks it before it fetches anything.
"""

from __future__ import annotations

import re

import pytest

from localspec.base.paths import shipped
from localspec.gguf.draft_heads import DRAFT, DRAFTERS
from localspec.gguf.tensors import TENSOR_TYPES
from localspec.models.heads import can_run
from localspec.models.pairs import ModelFile, Pair, load_catalogue
from localspec.models.pairs.draft_size import SMALLEST
from localspec.models.pairs.estimate import known_size
from localspec.models.pairs.schema import read_pairs

PAIRS = [pair for pair in read_pairs(shipped("models.toml"), locate=shipped, shipped=True) if not pair.tour]
CLASSIC = [pair for pair in PAIRS if pair.drafter == DRAFT]
FILES = list({model.label: model for pair in PAIRS for model in pair.models}.values())
HEADS = re.compile(r"(?i)^(mtp-|eagle3-|dflash-)")

MIXES = {"Q4_K_M": 4.85, "Q4_K_XL": 4.95, "MXFP4": 4.4, "Q4_0": 4.6}
"""Bits a parameter takes in types that mix several, embeddings kept wider."""
FAMILIES = {
    "SmolLM2": "smollm2",
    "Qwen3": "qwen3",
    "Qwen3 Coder": "qwen3-coder",
    "Qwen2.5": "qwen2.5|deepseek-r1-distill-qwen",
    "Qwen2.5 Coder": "qwen2.5-coder",
    "Llama 3": r"llama-3\.[123]",
    "Gemma 3": "gemma-3-",
    "Gemma 4": "gemma-4-",
    "Qwen3.5": r"qwen3\.5",
    "Qwen3.6": r"qwen3\.6",
    "gpt-oss": "gpt-oss",
    "GLM-4.5": r"glm-4\.5",
}
"""The names of the files of a family, which has one vocabulary."""


def parameters(model: ModelFile) -> float:
    """As the name of the file tells, in units."""
    if "GLM-4.5-Air" in model.file:
        return 110e9
    found = re.search(r"(?i)(?<![a-z\d.])e?(\d+(?:\.\d+)?)([bm])(?![a-z\d])", model.file)
    assert found, f"{model.label} does not tell how large it is"
    return float(found[1]) * (1e9 if found[2] in "bB" else 1e6)


def bits(model: ModelFile) -> float:
    """Of a parameter, as the name of the file tells."""
    found = re.search(r"(?i)[-.](Q4_K_M|UD-Q4_K_XL|MXFP4|Q\d_\d|BF16|F16)(-00001-of-\d{5})?\.gguf$", model.file)
    assert found, f"{model.label} does not tell its type"
    name = found[1].upper().removeprefix("UD-")
    if name in MIXES:
        return MIXES[name]
    elements, size = next((elements, size) for each, elements, size in TENSOR_TYPES.values() if each == name)
    return size * 8 / elements


def labelled(model: ModelFile) -> str:
    return model.label.rpartition("/")[2]


def test_there_are_pairs_for_machines_from_1_to_48_gb() -> None:
    catalogue = load_catalogue().pairs
    classes = {pair.memory_gb for pair in catalogue}

    assert len(catalogue) >= 14
    assert len(CLASSIC) >= 14
    assert {1, 6, 8, 12, 16, 24, 32, 48} <= classes


def test_pairs_are_there_for_every_drafter_and_llama_cpp_can_run_it() -> None:
    with_heads = [pair for pair in PAIRS if pair.drafter != DRAFT]

    assert {DRAFT, *(pair.drafter for pair in with_heads)} == DRAFTERS.keys()
    for pair in with_heads:
        assert pair.draft is None or HEADS.search(pair.draft.file), pair.id
        assert pair.target.architecture, pair.id
        assert can_run(pair.drafter, pair.target.architecture), pair.id


@pytest.mark.parametrize("model", [file for file in FILES if not HEADS.search(file.file)], ids=labelled)
def test_a_size_is_what_parameters_and_type_make_of_it(model: ModelFile) -> None:
    """Within what names round: a tenth less to 15 % more.

    Small models have more of their weights in the vocabulary, which is stored wider; Gemma's E sizes do not count it.
    """
    size = known_size(model)
    assert size is not None
    share = size / (parameters(model) * bits(model) / 8)

    most = 2.6 if re.search(r"(?i)-E\d+B-", model.file) else 1.65 if parameters(model) < 2e9 else 1.15
    assert 0.9 <= share <= most, f"{share:.2f}"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_draft_is_much_the_smaller(pair: Pair) -> None:
    """By what is read for every token; a share that gains little is said to."""
    if pair.draft is None:
        assert pair.drafter == "mtp"
        return
    target, draft = known_size(pair.target), known_size(pair.draft)
    assert target is not None
    assert draft is not None
    assert draft < target / 2
    if pair.drafter == DRAFT:
        told = not pair.recommended or "little" in pair.note
        assert draft <= target / 4 or told, "a draft that large gains little, and the note should say so"
        assert draft >= target * SMALLEST / 3


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_both_files_are_of_the_family_and_so_of_one_vocabulary(pair: Pair) -> None:
    pattern = re.compile(FAMILIES[pair.family], re.IGNORECASE)
    for model in pair.models:
        assert pattern.search(model.file), model.label
    fingerprints = {model.fingerprint for model in pair.models if model.fingerprint}
    assert len(fingerprints) <= 1 or pair.family.startswith("Qwen2.5"), "Qwen2.5's differ by 128 tokens at the end"
    if pair.drafter == DRAFT:
        assert len({model.architecture for model in pair.models if model.architecture}) == 1


@pytest.mark.parametrize("model", FILES, ids=labelled)
def test_every_file_has_its_licence_and_says_how_sure_its_facts_are(model: ModelFile) -> None:
    """A checksum comes with the exact size it is of; what is only rounded is never called exact."""
    assert model.licence
    assert model.repo
    assert (model.size_bytes is None) != (model.about_bytes is None), "either exact or rounded"
    if model.about_bytes:
        assert model.about_bytes % 100_000 == 0, "an exact figure under the name of a rounded one"
    assert model.sha256 is None or model.size_bytes
    assert model.revision is None or re.fullmatch("[0-9a-f]{40}", model.revision)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_what_is_promised_names_who_says_so(pair: Pair) -> None:
    assert pair.family
    assert pair.note, "what to expect"
    assert pair.source
    if pair.speedup_high is not None:
        assert 1 <= (pair.speedup_low or 1) <= pair.speedup_high <= 4


def test_what_nobody_has_seen_is_marked() -> None:
    """The marks are there in the file, not by default, so that whoever adds an entry has to think of it."""
    text = shipped("models.toml").read_text(encoding="utf-8")
    tables = re.split(r"\n(?=\[)", text)
    of_hub = [table for table in tables if table.startswith("[pairs.") and "\nrepo = " in table]

    assert of_hub
    assert all(re.search(r"^verified = (true|false)$", table, re.MULTILINE) for table in of_hub)
    assert any(not model.verified for model in FILES)
