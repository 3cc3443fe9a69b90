"""The built-in pair, for tests that need real models."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from localspec.base.paths import shipped
from localspec.doctor.hardware import hardware
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation

TARGET = shipped("assets/builtin-target.gguf")
DRAFT = shipped("assets/builtin-draft.gguf")
HEADS = {kind: shipped(f"assets/builtin-{kind}.gguf") for kind in ("eagle3", "dflash")}
MTP_LAYER = shipped("assets/builtin-mtp.gguf")
ON_GPU = os.environ.get("LOCALSPEC_TESTS_ON_GPU") == "1"
ROUNDING = 4.0 if ON_GPU else 1.0
"""The factor by which a GPU's rounding errors are larger than the CPU's: up to 3.5 was seen on an NVIDIA H200."""
RANDOM_ROUNDING = 40.0 if ON_GPU else 1.0
"""The same where weights are random: up to 21 was seen there."""
HAS_AVX512 = "avx512f" in hardware().instruction_sets
"""Without it llama.cpp multiplies otherwise, and fused and unfused attention were seen to differ by 0.68 in a logit."""
NOISE = 0.5 * ROUNDING
"""The most by which a logit of the target may differ between batches of other sizes; its logits span some twenty.

Its matrices have 4 bits, and llama.cpp rounds what it multiplies with them to 8, so that a last digit of attention is
seen: texts read in other pieces were seen to move a logit by up to 0.4.
"""


def open_target(cancel: Cancellation | None = None, *, n_ctx: int | None = None, max_outputs: int = 17) -> LlamaModel:
    return LlamaModel.open(LoadSettings(TARGET, max_outputs, n_ctx), cancel or Cancellation())


def write_with_mtp(path: Path) -> Path:
    """Write the built-in target with its MTP layer inside, by the recipe, which is no package."""
    spec = importlib.util.spec_from_file_location("mtp_target", shipped("assets/recipe/mtp_target.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.combine(TARGET, MTP_LAYER, path)
    return path
