"""The expected speed of a model or a pair: seconds for rounds by the kernels' speeds, then the depth policy's rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.config.table import MAX_DEPTH
from localspec.engine.costs import Costs, QueryCost
from localspec.gguf import GgufHeader
from localspec.gguf.draft_heads import DFLASH, EAGLE3, MTP, drafter_kind
from localspec.models.pairs.draft_size import BEST
from localspec.models.pairs.estimate import known_size, model_costs
from localspec.models.pairs.expectation import Expectation
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.references import Resolved
from localspec.models.token_work import TokenWork, token_work, work_of_size
from localspec.runtime.speed.kernels import KernelSpeeds
from localspec.runtime.speed.speed_file import MachineSpeed, PairRun, run_key

_HEAD_CHANCES = {MTP: 0.75, EAGLE3: 0.65, DFLASH: 0.72}
"""The chance of a head's proposal before any was seen here: an estimate, which replies of the pair replace."""
_DRAFT_CHANCE, _BY_DOUBLING = 0.68, 0.06
"""The chance of a draft a tenth of its target, and how much a draft twice as large adds."""
_LOWEST, _HIGHEST = 0.3, 0.9
_PRIOR_N = 200.0
"""The weight of these chances, in judged proposals."""
_HEAD_LAYERS = {EAGLE3: 1, DFLASH: 5}
_CATCH_UP_N = 16
_BATCHES = (*range(1, MAX_DEPTH + 1), MAX_DEPTH + 1)


@dataclass(frozen=True, slots=True)
class DraftWork:
    """The work of what drafts."""

    kind: str
    """A kind of drafter: "draft", "mtp", "eagle3" or "dflash"."""
    work: TokenWork


def expected_speed(target: TokenWork, machine: MachineSpeed, draft: DraftWork | None = None) -> Expectation | None:
    """The speed of a target on this machine, and with what drafts for it; None if the machine was not measured."""
    kernels = machine.kernels
    if kernels is None:
        return None
    plain = 1 / kernels.round_s(target)
    if draft is None:
        return Expectation(plain)
    chance = expected_chance(target, draft, machine.acceptance)
    return Expectation(plain, plain * _costs(target, draft, kernels).speedup(draft.kind, chance, MAX_DEPTH))


def expected_chance(target: TokenWork, draft: DraftWork, acceptance: Mapping[str, tuple[float, float]]) -> float:
    """The chance that a proposal is accepted; ``acceptance`` has accepted and judged proposals by kind."""
    ratio = draft.work.bytes_read / max(1.0, target.bytes_read)
    by_size = _DRAFT_CHANCE + _BY_DOUBLING * log2(max(ratio, 1e-3) / BEST)
    accepted, judged = acceptance.get(draft.kind, (0.0, 0.0))
    chance = (_HEAD_CHANCES.get(draft.kind, by_size) * _PRIOR_N + accepted) / (_PRIOR_N + judged)
    return min(max(chance, _LOWEST), _HIGHEST)


def _costs(target: TokenWork, draft: DraftWork, kernels: KernelSpeeds) -> Costs:
    """The prices of rounds and queries, as calibration would measure them."""
    rounds_s = {batch: kernels.round_s(target, batch) for batch in _BATCHES}
    step_s, many_s = kernels.round_s(draft.work), kernels.round_s(draft.work, _CATCH_UP_N)
    further_s = max(0.0, many_s - step_s) / (_CATCH_UP_N - 1)
    query = QueryCost(step_s, further_s, row_s=further_s if draft.kind == DFLASH else None)
    costs = Costs(rounds_s, {draft.kind: query})
    costs.pad()
    return costs


def expect_pair(pair: Pair, machine: MachineSpeed) -> Expectation | None:
    """The speed of a pair: as its replies here had it, else expected; None if neither is known."""
    files = [Path(model.file).name for model in (pair.target, pair.draft) if model is not None]
    run = machine.runs.get(run_key(*files))
    if run is not None and _is_of(run, pair):
        return run.expectation
    if pair.tour:
        return None  # in a toy, all that is not a matrix takes most of the time
    target = _work(pair, pair.target)
    return None if target is None else expected_speed(target, machine, _draft_work(pair, target))


def _is_of(run: PairRun, pair: Pair) -> bool:
    """False for the run of another target of the same name: Jan calls every file ``model.gguf``."""
    try:
        return model_costs(pair, pair.target).work == run.work
    except LocalSpecError:
        return True  # it is not here now


def expect_with(target: Resolved, draft: GgufHeader, machine: MachineSpeed) -> Expectation | None:
    """The speed of a target with a draft or a head that is not its pair's, from their headers."""
    parts = [target.header, *target.later_parts]
    # Of a split model on the Hub only the first header is read.
    is_whole = len(parts) >= target.header.split_count
    work = token_work(parts) if is_whole else work_of_size(target.size_bytes, target.model.file)
    return expected_speed(work, machine, DraftWork(drafter_kind(draft), token_work([draft])))


def _draft_work(pair: Pair, target: TokenWork) -> DraftWork | None:
    if pair.draft is not None:
        work = _work(pair, pair.draft, _HEAD_LAYERS.get(pair.drafter))
        return None if work is None else DraftWork(pair.drafter, work)
    if pair.drafter != MTP:
        return None
    try:
        work = model_costs(pair, pair.target).mtp
    except LocalSpecError:
        work = None
    if work is None:
        # One layer, and the output, which is about as large as two.
        work = TokenWork({kind: 3 * size // target.n_layers for kind, size in target.dense.items()}, n_layers=1)
    return DraftWork(MTP, work)


def _work(pair: Pair, model: ModelFile, n_layers: int | None = None) -> TokenWork | None:
    """The work of a file, from its header if it is here, else from its size; ``n_layers`` of a head."""
    try:
        return model_costs(pair, model).work
    except LocalSpecError:
        size = known_size(model)
    if size is None:
        return None
    cached = model.cache_bytes_per_token or 0
    work = work_of_size(size, model.file, active_share=model.active_share, cache_bytes_per_token=cached)
    return work if n_layers is None else TokenWork(work.dense, n_layers=n_layers)
