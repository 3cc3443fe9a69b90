"""A child process that evaluates the built-in draft, as it is and quantised.

It runs as ``python -m localspec.doctor.evaluation_child`` and writes the device as JSON. A crash affects only this
process.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from localspec.base.errors import LocalSpecError
from localspec.base.paths import shipped
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import logger, native
from localspec.engine.cancel import Cancellation

_Q4_0 = 2
"""LLAMA_FTYPE_MOSTLY_Q4_0."""
_PROMPT_N, _VERIFIED_N = 40, 8


def device_of(path: Path) -> str:
    """Evaluate a prompt, a token and a verification, and return the device. Raises LocalSpecError."""
    model = LlamaModel.open(LoadSettings(path, _VERIFIED_N, n_ctx=256), Cancellation())
    prompt = list(range(100, 100 + _PROMPT_N))
    for context, last in ((prompt[:-_VERIFIED_N], 0), (prompt[: 1 - _VERIFIED_N], 1), (prompt, _VERIFIED_N)):
        model.logits(context, last)  # raises for scores that are not numbers
    device = model.device
    model.close()
    return device


def quantised(path: Path, folder: Path) -> Path:
    """Write the network at Q4_0, because quantised matrix products are separate code in llama.cpp."""
    c, out = native().c, folder / "q4_0.gguf"
    params = c.llama_model_quantize_default_params()
    params.ftype = _Q4_0
    if c.llama_model_quantize(os.fsencode(path), os.fsencode(out), params) != 0:
        raise SystemExit(f"it cannot quantise {path.name}")
    return out


def main() -> None:
    logger.addHandler(logging.StreamHandler())  # its last messages explain a crash
    logger.setLevel(logging.ERROR)
    draft = shipped("assets/builtin-draft.gguf")
    try:
        with TemporaryDirectory(prefix="localspec-") as folder:
            device_of(draft)
            device = device_of(quantised(draft, Path(folder)))
    except LocalSpecError as error:
        raise SystemExit(error.message) from error
    sys.stdout.write(json.dumps({"device": device}))


if __name__ == "__main__":
    main()
