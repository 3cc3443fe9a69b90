"""Projectors judged by their headers, and found beside their models."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.errors import ModelFileError
from localspec.gguf import read_header
from localspec.models.compatibility import check_target, judge_match
from localspec.models.projectors import at_once, choose_projector, find_projector, is_projector, projector_misfit
from tests.tiny_heads import write_mtp_target
from tests.tiny_models import WIDTH, write_tiny
from tests.tiny_projectors import KINDS, write_projector


@pytest.mark.parametrize("kind", KINDS)
def test_a_projector_fits_targets_of_its_width(kind: str, tmp_path: Path) -> None:
    target = read_header(write_tiny(tmp_path / "target.gguf", "llama"))
    own = read_header(write_projector(tmp_path / "own.gguf", kind))
    other = read_header(write_projector(tmp_path / "other.gguf", kind, width=96))
    assert is_projector(own)
    assert at_once(own) == (kind == "gemma3")
    assert projector_misfit(target, own) == ""
    assert projector_misfit(target, other) == f"it makes rows 96 wide, and the target reads rows {WIDTH} wide"
    assert projector_misfit(target, target) == "it is no projector but a model of the architecture 'llama'"
    assert judge_match(target, own).reason == "the draft is a projector, which reads images"
    with pytest.raises(ModelFileError, match="it is a projector"):
        check_target(own)


def test_what_would_end_the_process_is_refused(tmp_path: Path) -> None:
    target = read_header(write_mtp_target(tmp_path / "target.gguf", "glm4moe"))
    projector = read_header(write_projector(tmp_path / "own.gguf"))
    assert projector_misfit(target, projector) == "the target's file was made without positions for images"


def test_a_projector_is_found_beside_its_model(tmp_path: Path) -> None:
    target = write_tiny(tmp_path / "Tiny-VL-4B-Q4_K_M.gguf", "llama")
    assert find_projector(target) is None
    write_projector(tmp_path / "mmproj-other-f16.gguf")
    write_projector(tmp_path / "mmproj-F16.gguf", width=96)
    (tmp_path / "mmproj-broken.gguf").write_bytes(b"GGUF")
    assert find_projector(target) is None
    nameless = write_projector(tmp_path / "mmproj-model-f16.gguf")
    assert find_projector(target) == nameless
    own = write_projector(tmp_path / "Tiny-VL-4B.mmproj-Q8_0.gguf")
    assert find_projector(target) == own
    assert find_projector(tmp_path / "missing" / "x.gguf") is None


@pytest.mark.parametrize(
    ("projector", "target"),
    [
        ("Owner_Tiny-VL-GGUF_mmproj-model-f16.gguf", "Owner_Tiny-VL-GGUF_Tiny-VL-Q4_K_M.gguf"),
        ("Owner_Tiny-VL-GGUF_mmproj-Tiny-VL-Q8_0.gguf", "Owner_Tiny-VL-GGUF_Tiny-VL-Q4_K_M.gguf"),
        ("Owner_Tiny-VL-GGUF_mmproj-BF16.gguf", "Owner_Tiny-VL-GGUF_Tiny-VL-UD-Q4_K_XL.gguf"),
        ("mmproj_f16.gguf", "model.gguf"),
        ("MMPROJ-F16.GGUF", "TINY.GGUF"),
    ],
)
def test_a_projector_is_known_by_its_name_in_the_folders_of_other_programs(projector: str, target: str) -> None:
    """llama.cpp's cache is one flat folder, where names begin with their repository."""
    assert choose_projector(target, {projector: 1}) == projector
    assert choose_projector("Owner_Other-GGUF_Other-Q4_K_M.gguf", {f"Owner_Tiny-GGUF_{projector}": 1}) is None
