"""A child process that evaluates the built-in pair: matrices of 8 bits and of 4 are separate code in llama.cpp.

It runs as ``python -m localspec.doctor.evaluation_child`` and writes the device as JSON. A crash affects only this
process.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.base.paths import shipped
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import logger
from localspec.engine.cancel import Cancellation

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


def main() -> None:
    logger.addHandler(logging.StreamHandler())  # its last messages explain a crash
    logger.setLevel(logging.ERROR)
    try:
        device_of(shipped("assets/builtin-draft.gguf"))
        device = device_of(shipped("assets/builtin-target.gguf"))
    except LocalSpecError as error:
        raise SystemExit(error.message) from error
    sys.stdout.write(json.dumps({"device": device}))


if __name__ == "__main__":
    main()
