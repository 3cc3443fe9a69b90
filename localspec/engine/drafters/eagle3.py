"""The EAGLE-3 head, a small network that reads three of the target's layers, proposes by the user's own settings.

Li et al. 2025 (EAGLE-3, arXiv 2503.01840).
"""

from __future__ import annotations

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.drafter import DrafterInputs
from localspec.engine.head import HeadModel
from localspec.engine.model_drafter import ModelDrafter

MARK = "yellow"


def make(inputs: DrafterInputs) -> ModelDrafter:
    """Raises DrafterUnavailableError without an EAGLE-3 head."""
    head = inputs.heads.get("eagle3")
    if head is None:
        hint = "Name one that was made for the target with --draft FILE."
        raise DrafterUnavailableError("No EAGLE-3 head is loaded.", hint)
    return ModelDrafter("eagle3", HeadModel(head, shift=1))
