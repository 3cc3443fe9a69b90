"""Fitting a loaded pair to this machine: threads by measuring, costs from the disk or measured anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.runtime.calibration import (
    Tunable,
    choose_threads,
    is_steady,
    measure_costs,
    plain_round,
    planned_weight,
    read,
)
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.measuring_progress import MeasuringProgress

_VERIFY_BATCH = 4
"""Threads are chosen by a batch of this size: a small verification."""
_SAME_DAY = 2.5
"""Costs from the disk are scaled by up to this factor; beyond it the machine is another."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is to be fitted, and what is already decided."""

    target: Tunable
    draft: Tunable | None
    tune_target: bool
    """Whether the number of the target's threads is ours to choose."""
    tune_draft: bool
    largest: int
    """The largest batch a round may have."""

    def models(self) -> dict[str, Tunable]:
        """Those whose threads are ours to choose, by name."""
        models = {"target": self.target} if self.tune_target else {}
        return {**models, "draft": self.draft} if self.draft and self.tune_draft else models

    def fit(
        self,
        prompt: Sequence[int],
        file: CalibrationFile,
        cancel: Cancellation,
        show: Callable[[str, float], None],
    ) -> Costs:
        """Costs as of now, threads set; ``show`` as ``MeasuringProgress`` calls it. Raises Cancelled."""
        costs = self._fitted(prompt, file, cancel, MeasuringProgress(show))
        if self.draft:
            costs.read_singly("draft", self.draft.singly_n)
        return costs

    def _fitted(
        self, prompt: Sequence[int], file: CalibrationFile, cancel: Cancellation, progress: MeasuringProgress
    ) -> Costs:
        if kept := file.load():
            costs, threads = kept
            for name, model in self.models().items():
                model.set_threads(min(threads.get(name, model.threads), model.threads))
            progress.plan(planned_weight(self.target, prompt, (), costs=False))
            read(self.target, prompt, progress)
            factor = plain_round(self.target, prompt, cancel, progress).total_s / costs.plain_s
            if 1 / _SAME_DAY < factor < _SAME_DAY and set(costs.queries) == ({"draft"} if self.draft else set()):
                return costs.scaled(factor)
        return self._measure(prompt, file, cancel, progress)

    def _measure(
        self, prompt: Sequence[int], file: CalibrationFile, cancel: Cancellation, progress: MeasuringProgress
    ) -> Costs:
        models = self.models()
        progress.plan(planned_weight(self.target, prompt, list(models.values()), costs=True))
        read(self.target, prompt, progress)
        threads = {
            name: choose_threads(model, prompt, 1 if model is self.draft else min(_VERIFY_BATCH, len(prompt)), progress)
            for name, model in models.items()
        }
        plain = plain_round(self.target, prompt, cancel, progress)
        costs = measure_costs(self.target, self.draft, prompt, plain, self.largest, progress)
        if is_steady(self.target, prompt, progress):
            file.save(costs, threads)
        return costs
