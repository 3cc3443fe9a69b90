"""The drafters of a loaded pair. They stay as long as it does, and so does what they learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.dist import Dist
from localspec.engine.drafter import DraftCursor, Drafter, DrafterInputs, NextProposal
from localspec.engine.drafters import available_drafters, make_drafter
from localspec.engine.model import TunableModel
from localspec.engine.sampling import Sampler


class PairDrafters:
    """The drafters that can be made from the files of a pair."""

    def __init__(self, inputs: DrafterInputs, unavailable: Mapping[str, DrafterUnavailableError] | None = None) -> None:
        """``unavailable`` are drafters that were asked for with a file and cannot be had, with the reasons."""
        self._inputs = inputs
        self._drafters = available_drafters(inputs)
        self._unavailable = unavailable or {}

    @property
    def models(self) -> Mapping[str, TunableModel]:
        """The models that drafters evaluate, by drafter; those without one cost next to nothing."""
        models = {name: drafter.model for name, drafter in self._drafters.items()}
        return {name: model for name, model in models.items() if isinstance(model, TunableModel)}

    def chosen(self, spec: tuple[str, ...] | None) -> list[Drafter]:
        """The drafters named in ``spec``, all for None; those without a model first.

        Raises UsageError for one that there is not, or not for this pair. Of those that are chosen unasked, the ones
        that cannot be had fail in each reply, which says so and goes on without.
        """
        drafters = [self._named(name) for name in (self._drafters if spec is None else dict.fromkeys(spec))]
        if spec is None:
            drafters += [_Unavailable(name, error) for name, error in self._unavailable.items()]
        return sorted(drafters, key=lambda drafter: drafter.model is not None)

    def _named(self, name: str) -> Drafter:
        if error := self._unavailable.get(name):
            raise error
        return self._drafters.get(name) or make_drafter(name, self._inputs)


class _Unavailable:
    """A drafter that fails."""

    model = None
    lag = 0

    def __init__(self, name: str, error: DrafterUnavailableError) -> None:
        self.name = name
        self._error = error

    def prefill(self, context: Sequence[int]) -> None:
        raise self._error

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor:
        return self

    def peek(self) -> NextProposal | None:
        raise self._error

    def step(self, token: int) -> None:
        """Stay: it has no place in the text."""

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        """Do nothing: it proposes nothing."""
