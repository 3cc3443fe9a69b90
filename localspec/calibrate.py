"""How fast the target is on its own: the measure that every speed-up is held against.

Measured once, at load, on a short context. It is not measured again while replies grow, so at the end
of a long conversation, where every token costs more, the speed-up reads a little low.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededChance
from localspec.engine.events import Finished, FinishReason, Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Cancelled, Model
from localspec.engine.sampling import Greedy

ENOUGH_ROUNDS = 24
FEWEST_ROUNDS = 3
ENOUGH_S = 0.7
_WARM_UP_ROUNDS = 1
"""The first token touches memory for the first time."""


def plain_speed(target: Model, prompt: Sequence[int], cancel: Cancellation) -> float:
    """Tokens per second at depth 0, by the very loop that replies use: the median round of some two dozen.

    Raises Cancelled.
    """
    spent_s: list[float] = []
    for round_ in _plain_rounds(target, prompt[: max(1, target.n_ctx // 2)], cancel):
        spent_s.append(round_.total_s)
        measured = spent_s[_WARM_UP_ROUNDS:]
        if len(measured) >= ENOUGH_ROUNDS or (len(measured) >= FEWEST_ROUNDS and sum(measured) >= ENOUGH_S):
            break
    return 1 / median(spent_s[_WARM_UP_ROUNDS:])


def _plain_rounds(target: Model, prompt: Sequence[int], cancel: Cancellation) -> Iterator[Round]:
    """Rounds of one token without end: a reply that is over is begun again."""
    while True:
        request = Request(prompt=prompt, sampler=Greedy(), chance=SeededChance(0), policy=FixedDepth(0))
        for event in generate(target, None, request, cancel):
            if isinstance(event, Round):
                yield event
            elif isinstance(event, Finished) and event.reason is FinishReason.CANCELLED:
                raise Cancelled
