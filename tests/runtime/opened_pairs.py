"""Pairs that are opened without being measured, which takes most of the time of opening a small one; their replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from localspec.config.table import MAX_DEPTH
from localspec.engine.block_head import BlockModel
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.model import TunableModel
from localspec.runtime import loaded_pair, shared_pair
from localspec.runtime.load import InspectablePair, open_pair
from localspec.runtime.messages import Prompt, Reply, ReplyOptions
from localspec.runtime.options import LoadOptions

SLOW_S = {1: 0.004, 4: 0.007, MAX_DEPTH + 1: 0.016}
"""Seconds for rounds by the size of their batch, as of the built-in pair on a slow machine."""


def open_unmeasured(
    options: LoadOptions, cancel: Cancellation | None = None, rounds_s: Mapping[int, float] = SLOW_S
) -> InspectablePair:
    """The pair of ``options``, whose rounds are taken to cost ``rounds_s``; nothing is kept of that."""

    def given_costs(
        _: object, target: object, models: Mapping[str, TunableModel], *more: object
    ) -> tuple[Costs, Iterable[TunableModel]]:
        queries = {
            name: QueryCost(0.001, 0.0002, model.singly_n, 0.0001 if isinstance(model, BlockModel) else None)
            for name, model in models.items()
        }
        return Costs(dict(rounds_s), queries), ()

    with pytest.MonkeyPatch.context() as patch:
        for module in (loaded_pair, shared_pair):
            patch.setattr(module, "fit_costs", given_costs)
        return open_pair(options, cancel or Cancellation())


def follow(pair: InspectablePair, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Reply:
    """The whole reply to a prompt."""
    reply = Reply()
    for event in pair.reply(prompt, options, prefix):
        reply.receive(event)
    return reply
