"""The orders of a benchmark, from the options of ``localspec bench``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localspec.insight.bench.run import BenchPlan
    from localspec.insight.prompt_sets import BenchPrompt


def plan_of(given: dict[str, Any]) -> BenchPlan:
    """The orders. Raises UsageError, InputError and NotFoundError for prompts that are not there."""
    from localspec.insight.bench.run import BenchPlan
    from localspec.insight.bench.trials import conditions
    from localspec.insight.prompt_sets import of_subjects

    prompts = _prompts(given)
    listed = conditions(given["specs"] or (None,), given["depths"] or (None,), given["temperatures"] or (0.0, 1.0))
    chosen = of_subjects(prompts, given["subjects"])
    return BenchPlan(chosen, listed, given["repeats"], given["tokens"], given["seed"], given["minutes"] * 60)


def _prompts(given: dict[str, Any]) -> tuple[BenchPrompt, ...]:
    from localspec.insight.prompt_sets import read_prompts, shipped_prompts

    if given["from_history"]:
        from localspec.cli.history_store import open_history
        from localspec.insight.bench.own_prompts import drawn_prompts

        with open_history() as store:
            return drawn_prompts(store, given["from_history"], given["seed"])
    return read_prompts(given["prompts"]) if given["prompts"] else shipped_prompts()
