"""The target's own MTP layers, trained to predict several tokens ahead, propose by the user's own settings.

DeepSeek-AI 2024 (multi-token prediction, arXiv 2412.19437); Gemma 4's assistant works the same way.
"""

from __future__ import annotations

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.drafter import DrafterInputs
from localspec.engine.head import HeadModel
from localspec.engine.model_drafter import ModelDrafter

MARK = "white"


def make(inputs: DrafterInputs) -> ModelDrafter:
    """Raises DrafterUnavailableError if the target has no MTP layers."""
    head = inputs.heads.get("mtp")
    if head is None:
        hint = "Load a target whose file has them, or one with its assistant as --draft FILE."
        raise DrafterUnavailableError("The target has no MTP layers, or they are not loaded.", hint)
    return ModelDrafter("mtp", HeadModel(head, shift=0))
