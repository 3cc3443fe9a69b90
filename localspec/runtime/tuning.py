"""Fitting a loaded pair to this machine: threads by measuring, costs from the disk or measured anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.model import ShortTextModel, TunableModel
from localspec.runtime.calibration import (
    choose_context,
    choose_threads,
    costs_weight,
    is_steady,
    measure_costs,
    more_threads_pay,
    plain_round,
    plain_weight,
    read,
)
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.measuring_progress import MeasuringProgress

_TARGET = "target"
"""The target's name among the models; no drafter has it."""
_VERIFY_BATCH = 4
"""Threads and the context for short texts are chosen by a batch of this size: a small verification."""
_SAME_DAY = 2.5
"""Costs from the disk are scaled by up to this factor; a machine that is faster or slower by more is another."""
_SAME_NETWORK = 1.25
"""Likewise of a network: its delay makes every pass costlier by the same time, and not by the same factor."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The models of a pair, and which of them may have their number of threads chosen."""

    target: TunableModel
    drafters: Mapping[str, TunableModel]
    """The models of drafters that have one, by drafter."""
    tune_target: bool
    tune_drafters: bool
    largest: int
    """The largest batch a round may have."""
    remote: bool = False
    """True if any of the models is evaluated over a network."""

    def tuned(self) -> dict[str, TunableModel]:
        """The models whose number of threads is chosen, by name."""
        target = {_TARGET: self.target} if self.tune_target else {}
        return target | dict(self.drafters) if self.tune_drafters else target

    def fit(
        self,
        prompt: Sequence[int],
        file: CalibrationFile,
        cancel: Cancellation,
        show: Callable[[str, float], None],
    ) -> Costs:
        """Costs as of now, threads set; ``show`` as ``MeasuringProgress`` calls it. Raises Cancelled."""
        costs = self._fitted(prompt, file, cancel, MeasuringProgress(show))
        for name, model in self.drafters.items():
            costs.read_singly(name, model.singly_n)
        return costs

    def _fitted(
        self, prompt: Sequence[int], file: CalibrationFile, cancel: Cancellation, progress: MeasuringProgress
    ) -> Costs:
        if kept := file.load():
            costs, threads, short_context = kept
            if isinstance(self.target, ShortTextModel) and not short_context:
                self.target.keep_one_context()
            all_n = {name: model.threads for name, model in self.tuned().items()}
            for name, model in self.tuned().items():
                model.set_threads(min(threads.get(name, model.threads), model.threads))
            progress.plan(plain_weight(prompt))
            read(self.target, prompt, progress)
            if not self._had_too_few(all_n.get(_TARGET, 1), prompt):
                factor = plain_round(self.target, prompt, cancel, progress).total_s / costs.plain_s
                trusted = _SAME_NETWORK if self.remote else _SAME_DAY
                if 1 / trusted < factor < trusted and costs.queries.keys() == self.drafters.keys():
                    return costs.scaled(factor)
            for name, model in self.tuned().items():
                model.set_threads(all_n[name])
        return self._measure(prompt, file, cancel, progress)

    def _had_too_few(self, all_n: int, prompt: Sequence[int]) -> bool:
        """True if another program wanted a processor when the target's threads were chosen, and none does now."""
        few = self.target.threads < all_n
        return few and more_threads_pay(self.target, all_n, prompt, min(_VERIFY_BATCH, len(prompt)))

    def _measure(
        self, prompt: Sequence[int], file: CalibrationFile, cancel: Cancellation, progress: MeasuringProgress
    ) -> Costs:
        tuned = self.tuned()
        weight = costs_weight(self.target, tuned.values(), len(self.drafters))
        progress.plan(plain_weight(prompt) + weight)
        read(self.target, prompt, progress)
        threads = {
            name: choose_threads(model, prompt, min(_VERIFY_BATCH, len(prompt)) if name == _TARGET else 1, progress)
            for name, model in tuned.items()
        }
        short_context = False
        if isinstance(self.target, ShortTextModel) and self.target.has_short_context:
            short_context = choose_context(self.target, prompt, min(_VERIFY_BATCH, len(prompt)), progress)
        plain = plain_round(self.target, prompt, cancel, progress)
        costs = measure_costs(
            self.target,
            self.drafters,
            prompt,
            plain,
            self.largest,
            progress,
            remote=self.remote,
            recorded=self.target.singly_n > 1,
        )
        if is_steady(self.target, prompt, progress):
            file.save(costs, threads, short_context)
        return costs
