"""The drafters of a loaded pair. They stay as long as it does, and so does what they learn."""

from __future__ import annotations

from collections.abc import Mapping

from localspec.engine.drafter import Drafter, DrafterInputs
from localspec.engine.drafters import available_drafters, make_drafter
from localspec.engine.model import TunableModel


class PairDrafters:
    """Every drafter that the pair has what it takes for."""

    def __init__(self, inputs: DrafterInputs) -> None:
        self._inputs = inputs
        self._drafters = available_drafters(inputs)

    @property
    def models(self) -> Mapping[str, TunableModel]:
        """The models that drafters evaluate, by drafter; those without one cost next to nothing."""
        models = {name: drafter.model for name, drafter in self._drafters.items()}
        return {name: model for name, model in models.items() if isinstance(model, TunableModel)}

    def chosen(self, spec: tuple[str, ...] | None) -> list[Drafter]:
        """The drafters named in ``spec``, all for None; those without a model first.

        Raises UsageError for one that there is not, or not for this pair.
        """
        names = self._drafters if spec is None else dict.fromkeys(spec)
        drafters = [self._drafters.get(name) or make_drafter(name, self._inputs) for name in names]
        return sorted(drafters, key=lambda drafter: drafter.model is not None)
