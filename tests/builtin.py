"""The built-in pair, for tests that need real models."""

from __future__ import annotations

from localspec.base.paths import shipped
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation

TARGET = shipped("assets/builtin-target.gguf")
DRAFT = shipped("assets/builtin-draft.gguf")


def open_target(cancel: Cancellation | None = None, *, n_ctx: int | None = None, max_outputs: int = 17) -> LlamaModel:
    return LlamaModel.open(LoadSettings(TARGET, max_outputs, n_ctx), cancel or Cancellation())
