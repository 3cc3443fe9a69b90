"""The draft model, a smaller network with the target's vocabulary, proposes by the user's own sampling settings."""

from __future__ import annotations

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.drafter import DrafterInputs
from localspec.engine.model import Model
from localspec.engine.model_drafter import ModelDrafter

MARK = "blue"


def make(inputs: DrafterInputs) -> DraftModel:
    """Raises DrafterUnavailableError without a draft model."""
    if inputs.draft is None:
        hint = "Name one with --draft FILE, or turn speculation off."
        raise DrafterUnavailableError("No draft model is loaded.", hint)
    return DraftModel(inputs.draft)


class DraftModel(ModelDrafter):
    """The drafter of a draft model."""

    def __init__(self, model: Model) -> None:
        super().__init__("draft", model)
