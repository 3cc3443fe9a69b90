"""The costs of rounds with a pair on this machine, measured at load, before the first reply.

The plain speed is measured each time, by the very loop that replies use. The rest, the costs of a batch of b tokens
and of a drafter's query beside a plain token, takes some seconds with a small target and up to
half a minute with one that writes two tokens a second, so it is kept on disk (``calibration_file.py``) and only scaled
to the speed of the day. Prices are the fastest of several evaluations, without the time that other programs had the
processor: a token may fit between two interruptions where a batch never does, and the ratio of two prices is to be the
same on a busy machine as on a quiet one. Over a network they are medians: lost packets hold up the larger batches more,
and the fastest evaluation is one that lost none. The context is short here; replies keep the figures true as it grows,
and what they taught is kept when the pair is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean, median

from localspec.base.machine import waited_s
from localspec.engine.block_head import BlockModel
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.events import Finished, FinishReason, Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Model, Ranking, SelectiveModel, ShortTextModel, TunableModel
from localspec.engine.sampling import Greedy
from localspec.runtime.measuring_progress import MeasuringProgress, batch_weight

ENOUGH_ROUNDS = 24
FEWEST_ROUNDS = 3
ENOUGH_S = 0.7
_WARM_UP_ROUNDS = 1
"""The first token touches memory for the first time."""
_BATCHES = (4, 2, 8, 16, 12, 15, 9, 5, 3, 6, 7, 17)
"""Batches to measure, the telling ones first, in case time runs out.

Kernels take rows in groups of four, eight or sixteen, so the sizes just above a full group are the costly ones: without
9, 12 and 15 the straight line from 8 to 16 makes those between look cheaper than they are. 15 can take longer than 16.
"""
_DEEP_BATCHES = (32, 24)
"""Batches to measure beyond these where those of 16 are cheap: with weights of 16 bits, with AMX, on a GPU."""
_GROUP, _CHEAP = 16, 0.25
"""Batches of so many are cheap if each of their tokens takes less than this part of a plain one."""
_BATCHES_S = 5.0
"""Seconds for two passes. The second is over batches that take long, which each pass evaluates once."""
_CATCH_UP_N = 16
"""Tokens of the batch by which catching up is priced."""
_VERIFIED_N = 4
"""Tokens of the verification by which taking back is priced."""
_SCORED_N = 8
"""Tokens of the batch by which scores are priced."""
_REFUSALS_N = 12
"""Refusals in a row to measure: copies of a recurrent state are made every few tokens, so they cost by turns."""
_REPEATS, _MOST_REPEATS = 3, 12
"""Evaluations of one size, the second number where they are short."""
_SHORT_S = 0.03
"""Evaluations are repeated for about so long."""
_LONG_REPEATS, _LONG_S = 2, 0.08
"""Evaluations of one size where one takes longer than this many seconds."""
_REMOTE_REPEATS = 7
"""Evaluations of one size over a network."""
_PLAIN_BETWEEN_N, _RESIZE_S = 4, 2.0
"""Plain tokens between two changes of size, and seconds for measuring these."""
_FIRST_PIECE_N, _PIECE_N = 4, 16
"""Tokens of the prompt that are read at once, so that there is progress to show while it is read."""
_DRAFT_SHARE = 0.1
"""A drafter's share of the target's time, as far as planning goes."""
_CLEARLY = 0.93
"""One way is clearly faster than another if it takes less than this share of the time."""
_THERE_AND_BACK = ((True, False), (False, True))
"""The orders in which two ways are measured by turns: a machine that becomes slower meanwhile is so for both."""
_CONTEXTS_S = 2.0
"""After so many seconds both contexts are not measured again on the way back: long evaluations vary less."""
_STEADY = 1.6
"""If the same evaluation takes this many times as long as another time, something else wants the machine."""


def plain_weight(prompt: Sequence[int]) -> float:
    """About how long measuring the plain speed takes, in single tokens of the target."""
    return len(prompt) / _PIECE_N * batch_weight(_PIECE_N) + FEWEST_ROUNDS + _WARM_UP_ROUNDS


def costs_weight(target: TunableModel, tuned: Iterable[TunableModel], drafters_n: int) -> float:
    """About how long choosing threads for ``tuned`` and measuring costs take, in the same unit."""
    threads = sum(min(2, model.threads) * _threads_weight(_VERIFIED_N if model is target else 1) for model in tuned)
    two = isinstance(target, ShortTextModel) and target.has_short_context
    contexts = 2 * _evaluations_weight(_VERIFIED_N) if two else 0.0
    return threads + contexts + _passes_weight((1, *_BATCHES[:FEWEST_ROUNDS])) + _rest_weight(drafters_n)


def _rest_weight(drafters_n: int) -> float:
    """The steps after the batches: scores, the drafters, and whether the machine is steady."""
    return 2 * batch_weight(_SCORED_N) + drafters_n * _drafter_weight() + 2 * _REPEATS


def _drafter_weight() -> float:
    return 2 * _DRAFT_SHARE * _evaluations_weight(_CATCH_UP_N)


def _threads_weight(batch: int) -> float:
    """One number of threads; a draft, which evaluates single tokens, takes less."""
    return _evaluations_weight(batch) * (_DRAFT_SHARE if batch == 1 else 1)


def _evaluations_weight(batch: int) -> float:
    """The weight of the evaluations of one size, for a target so slow that the user has to wait."""
    return (1 + _LONG_REPEATS) * batch_weight(batch)


def _passes_weight(batches: Iterable[int]) -> float:
    """Two passes over batches of a target that is so slow."""
    return 2 * sum(map(batch_weight, batches))


def read(model: TunableModel, prompt: Sequence[int], progress: MeasuringProgress) -> None:
    """Evaluate all of the prompt but its last token, piece by piece. Raises Cancelled."""
    if not model.forgets_freely:
        return  # it could not go back to where measuring begins
    last = len(prompt) - 1
    for start, end in pairwise(sorted({0, *range(_FIRST_PIECE_N, last, _PIECE_N), last})):
        progress.begin("a test text", batch_weight(end - start))
        model.logits(prompt[:end], 0)


@dataclass(frozen=True, slots=True)
class PlainRound:
    """A round at depth 0, as replies make it."""

    total_s: float
    """The median."""
    host_s: float
    """Its part outside the model, where nothing interrupted it."""


def plain_round(target: Model, prompt: Sequence[int], cancel: Cancellation, progress: MeasuringProgress) -> PlainRound:
    """The time of a token without speculation, from some two dozen rounds of the loop that replies use.

    Raises Cancelled.
    """
    rounds: list[Round] = []
    progress.begin("plain speed", batch_weight(_PIECE_N))
    for round_ in _plain_rounds(target, prompt[: max(1, target.n_ctx // 2)], cancel):
        rounds.append(round_)
        spent_s = [each.total_s for each in rounds[_WARM_UP_ROUNDS:]]
        if len(spent_s) >= ENOUGH_ROUNDS or (len(spent_s) >= FEWEST_ROUNDS and sum(spent_s) >= ENOUGH_S):
            break
        progress.begin("plain speed", 1)
    measured = rounds[_WARM_UP_ROUNDS:]
    host_s = min(each.total_s - each.verify_s for each in measured)
    return PlainRound(median(each.total_s for each in measured), host_s)


def choose_threads(model: TunableModel, prompt: Sequence[int], batch: int, progress: MeasuringProgress) -> int:
    """Set the number of threads that evaluates ``batch`` tokens fastest, from all of them down by halves; returns it.

    A small draft is often quicker on fewer threads: they wait for each other several times a layer.
    """
    best_n, best_s, n = model.threads, float("inf"), model.threads
    while n >= 1:
        model.set_threads(n)
        progress.begin("threads", _threads_weight(batch))
        spent_s = _evaluation_s(model, prompt, batch, _median_s)
        if best_s * _CLEARLY > spent_s and best_n != n:
            # It may be that something else ran meanwhile: more threads suffer the more from it.
            model.set_threads(best_n)
            best_s = min(best_s, _evaluation_s(model, prompt, batch, _median_s))
            model.set_threads(n)
        if spent_s >= best_s * _CLEARLY:
            break
        best_n, best_s = n, spent_s
        n //= 2
    model.set_threads(best_n)
    return best_n


def more_threads_pay(model: TunableModel, n: int, prompt: Sequence[int], batch: int) -> bool:
    """True if ``n`` threads evaluate ``batch`` tokens clearly faster than those that the model has, and keeps."""
    had_n, had_s = model.threads, _evaluation_s(model, prompt, batch)
    model.set_threads(n)
    more_s = _evaluation_s(model, prompt, batch)
    model.set_threads(had_n)
    return more_s < _CLEARLY * had_s


def choose_context(model: ShortTextModel, prompt: Sequence[int], batch: int, progress: MeasuringProgress) -> bool:
    """Evaluate short texts in a context of their own, unless ``batch`` tokens are clearly slower there; True if so.

    Fused attention is faster there on most processors measured, by less than the time of one evaluation may vary.
    """
    spent_s: dict[bool, list[float]] = {False: [], True: []}
    deadline = time.perf_counter() + _CONTEXTS_S
    for order in _THERE_AND_BACK:
        for on in order:
            model.use_short_context(on)
            progress.begin("attention", _evaluations_weight(batch))
            spent_s[on].append(_evaluation_s(model, prompt, batch))
        if time.perf_counter() > deadline:
            break
    if fmean(spent_s[False]) < _CLEARLY * fmean(spent_s[True]):
        model.keep_one_context()
    else:
        model.use_short_context(True)
    return model.has_short_context


def measure_costs(
    target: TunableModel,
    drafters: Mapping[str, TunableModel],
    prompt: Sequence[int],
    plain: PlainRound,
    largest: int,
    progress: MeasuringProgress,
    *,
    remote: bool = False,
    recorded: bool = False,
) -> Costs:
    """Prices of batches up to ``largest`` tokens, and of queries by drafter, at the speed of ``plain``.

    Batches of more than 17 have none where those of 16 are not cheap: they would gain nothing. ``drafters`` are the
    models of those that have one, by drafter; ``remote`` if any model is evaluated over a network, ``recorded`` if the
    target's device replays evaluations of the same size (CUDA).
    Raises Cancelled.
    """
    of, of_batch = (_usual_s, _usual_s) if remote else (_least_s, _once_or_least_s)

    def between() -> None:
        """Drafters evaluate before each verification, which takes the processor's caches from the target."""
        for model in drafters.values():
            _asking(model)(prompt, 1)

    # Before the batches and again after them: a draft that is priced too high is never asked, nor priced again.
    queries = {name: _query_cost(model, prompt, of) for name, model in drafters.items()}
    batches = [batch for batch in _BATCHES if batch <= min(largest, len(prompt))]
    progress.plan(_batches_weight(batches, plain.total_s) + _rest_weight(len(drafters)))
    batches_s = _batches_s(target, prompt, batches, of_batch, between, progress)
    if not _is_cheap(batches_s):
        largest = min(largest, max(_BATCHES))
    elif _GROUP in batches_s:  # else there was no time for it
        deep = [batch for batch in _DEEP_BATCHES if batch <= min(largest, len(prompt))]
        progress.plan(_passes_weight((1, *deep)) / 2 + _rest_weight(len(drafters)))
        batches += deep
        batches_s = _batches_s(target, prompt, deep, of_batch, between, progress) | batches_s
    again = [batch for batch in batches if batches_s.get(batch, 0.0) >= _LONG_S]
    if again and not remote:
        # A slow moment of the machine, which may last for seconds, makes no size look dear.
        progress.plan(_passes_weight((1, *again)) / 2 + _rest_weight(len(drafters)))
        again_s = _batches_s(target, prompt, again, _once_or_least_s, between, progress)
        batches_s = {batch: min(spent_s, again_s.get(batch, spent_s)) for batch, spent_s in batches_s.items()}
    rounds_s = {batch: plain.host_s + seconds for batch, seconds in batches_s.items()}
    rollback_s = 0.0
    if target.replay_n and _VERIFIED_N in batches_s:
        rollback_s = _rollback_s(target, prompt, batches_s[_VERIFIED_N])
    scores = 0.0
    if isinstance(target, SelectiveModel) and target.forgets_freely and not (remote or recorded):
        progress.begin("scores", 2 * batch_weight(_SCORED_N))
        scores = _scores_share(target, prompt, batches_s, between)
    if largest not in rounds_s and len(rounds_s) > 1:
        rounds_s[largest] = _extrapolated(rounds_s, largest)
    for name, model in drafters.items():
        progress.begin(f"drafter {name}", _drafter_weight())
        queries[name] = queries[name].least(_query_cost(model, prompt, of))
    resizes = (remote or recorded) and target.forgets_freely
    resize_s, settle_s = _resize_s(target, prompt) if resizes else (0.0, 0.0)
    costs = Costs(rounds_s, queries, rollback_s, resize_s, settle_s if recorded else 0.0, scores).scaled(
        plain.total_s / rounds_s[1]
    )
    return replace(costs, queries=queries) if remote else costs  # no network is slower for a busy machine


def _batches_s(
    target: TunableModel,
    prompt: Sequence[int],
    batches: Sequence[int],
    of: _Of,
    between: Callable[[], None],
    progress: MeasuringProgress,
) -> dict[int, float]:
    """One pass: seconds for a token, and for as many of ``batches`` as there is time for; ``between`` before each."""
    progress.begin("one token", batch_weight(1))
    deadline = time.perf_counter() + _BATCHES_S / 2
    spent_s = {1: _evaluation_s(target, prompt, 1, of)}
    for done_n, batch in enumerate(batches):
        if time.perf_counter() > deadline and done_n >= FEWEST_ROUNDS:
            break
        progress.begin(f"batches of {batch}", batch_weight(batch))
        spent_s[batch] = _evaluation_s(target, prompt, batch, of, between)
    return spent_s


def _is_cheap(batches_s: Mapping[int, float]) -> bool:
    """True if batches of 16 are cheap, as measured or on the line of the others."""
    if len(batches_s) == 1:
        return False
    group_s = batches_s[_GROUP] if _GROUP in batches_s else _extrapolated(batches_s, _GROUP)
    return group_s < _CHEAP * _GROUP * batches_s[1]


def _scores_share(
    target: SelectiveModel, prompt: Sequence[int], batches_s: Mapping[int, float], between: Callable[[], None]
) -> float:
    """The part of a token's time that the scores of a row take; 0 if a batch is not clearly faster without most.

    With small vocabularies it is too little to tell.
    """
    all_s = batches_s.get(_SCORED_N, 0.0)

    def once() -> float:
        between()
        return _timed(lambda: target.selected_logits(prompt, _SCORED_N, range(_SCORED_N - 1)))

    if not all_s or (few_s := min(_once_or_least_s(once), _once_or_least_s(once))) > _CLEARLY * all_s:
        return 0.0
    return (all_s - few_s) / (_SCORED_N - 1) / batches_s[1]


def _query_cost(model: TunableModel, prompt: Sequence[int], of: _Of) -> QueryCost:
    step_s = _evaluation_s(model, prompt, 1, of, ask=_asking(model))
    catch_up_n = min(_CATCH_UP_N, len(prompt) - 1)
    all_s = _catch_up_s(model, prompt, catch_up_n, of)
    catch_up_s = max(all_s - step_s, 0.02 * step_s) / max(1, catch_up_n - 1)
    return QueryCost(step_s, catch_up_s, row_s=_row_s(model, prompt, step_s, of))


def _row_s(model: TunableModel, prompt: Sequence[int], step_s: float, of: _Of) -> float | None:
    """Seconds for each proposal after the first of a block; None for a model that gives one at a time."""
    if not isinstance(model, BlockModel):
        return None
    n = model.block_n
    whole_s = of(lambda: _timed(lambda: model.block(prompt, n, ranked=True)))
    return max(0.0, whole_s - step_s) / max(1, n - 1)


def _batches_weight(batches: Sequence[int], plain_s: float) -> float:
    """The time of one token and of the batches that ``measure_costs`` will have time for, in single tokens."""
    weight = _passes_weight([1])
    for done_n, batch in enumerate(batches):
        if weight * plain_s > _BATCHES_S and done_n >= FEWEST_ROUNDS:
            break
        weight += _passes_weight([batch])
    return weight


def _extrapolated(rounds_s: Mapping[int, float], batch: int) -> float:
    """The price of a batch larger than all measured, as far along the line from the smallest to the largest."""
    largest = max(rounds_s)
    slope_s = (rounds_s[largest] - rounds_s[1]) / (largest - 1)
    return rounds_s[largest] + max(0.0, slope_s) * (batch - largest)


def is_steady(target: Model, prompt: Sequence[int], progress: MeasuringProgress) -> bool:
    """True if the machine takes the same time for the same work; on a busy one no measurement is worth keeping."""
    progress.begin("is it steady?", 2 * _REPEATS)
    spent_s = [_timed(lambda: target.logits(prompt, 1)) for _ in range(2 * _REPEATS)]
    return max(spent_s[1:]) < _STEADY * min(spent_s[1:])


_Of = Callable[[Callable[[], float]], float]
"""Does the same work several times and makes one time of theirs."""
_Ask = Callable[[Sequence[int], int], object]
"""Asks as ``Model.logits`` is asked."""


def _asking(model: Model) -> _Ask:
    """Asks a drafter's model as most replies do: one that ranks for the likeliest tokens alone."""

    def ask(context: Sequence[int], last: int) -> None:
        if last != 1 or ranking is None or ranking.likeliest(context) is None:
            model.logits(context, last)

    ranking = model if isinstance(model, Ranking) else None
    return ask


def _least_s(once: Callable[[], float]) -> float:
    return min(_times_s(once))


def _once_or_least_s(once: Callable[[], float]) -> float:
    """The time of one evaluation that is long, else the least of several."""
    first_s = once()
    return first_s if first_s >= _LONG_S else _least_s(once)


def _median_s(once: Callable[[], float]) -> float:
    return median(_times_s(once))


def _usual_s(once: Callable[[], float]) -> float:
    """The median of more, where the times differ widely."""
    once()
    return median(once() for _ in range(_REMOTE_REPEATS))


def _evaluation_s(
    model: TunableModel,
    prompt: Sequence[int],
    batch: int,
    of: _Of = _least_s,
    between: Callable[[], object] = lambda: None,
    ask: _Ask | None = None,
) -> float:
    """The time for scoring the last ``batch`` tokens of the prompt; ``between`` runs before each time, uncounted."""
    ask = ask or model.logits
    if not model.forgets_freely:
        return _onward_s(model, prompt, batch, batch, of, ask)

    def once() -> float:
        between()
        return _timed(lambda: ask(prompt, batch))

    return of(once)


def _catch_up_s(model: TunableModel, prompt: Sequence[int], n: int, of: _Of) -> float:
    """The time that a drafter's model takes for reading the last ``n`` tokens and scoring the last of them."""
    ask = _asking(model)
    if not model.forgets_freely:
        return _onward_s(model, prompt, n, 1, of, ask)

    def once() -> float:
        # Another last token in place of what is read makes the cache forget it.
        model.logits([*prompt[:-n], prompt[-n] ^ 1], 0)
        return _timed(lambda: ask(prompt, 1))

    return of(once)


def _onward_s(model: Model, prompt: Sequence[int], n: int, last: int, of: _Of, ask: _Ask) -> float:
    """The time for reading ``n`` tokens behind others and scoring the ``last`` of them.

    For a model that would have to read much again to be asked the same twice: it goes back in between, at a place
    that it is led to remember.
    """
    begin = max(0, len(prompt) - max(_BATCHES) - 1)
    other = prompt[begin] ^ 1

    def once() -> float:
        if model.held([*prompt[:begin], other]) < begin:
            model.logits([prompt[0] ^ 1], 0)
            model.logits(prompt[:begin], 0)
        ask(prompt[: begin + 1], 1)
        return _timed(lambda: ask(prompt[: begin + 1 + n], last))

    return of(once)


def _times_s(once: Callable[[], float]) -> Sequence[float]:
    """The times of the same work after a first: three, more where they are short, and two where they are long."""
    once()
    spent_s: list[float] = []
    while len(spent_s) < _LONG_REPEATS or _again(spent_s):
        spent_s.append(once())
    return spent_s


def _again(spent_s: Sequence[float]) -> bool:
    """True if a time more is wanted."""
    if len(spent_s) < _REPEATS:
        return min(spent_s) < _LONG_S
    return len(spent_s) < _MOST_REPEATS and sum(spent_s) < _SHORT_S


def _rollback_s(model: Model, prompt: Sequence[int], verified_s: float) -> float:
    """Seconds by which a round on average exceeds ``verified_s`` after one whose proposals were all refused."""
    rounds_n = min(_REFUSALS_N, len(prompt) - 2)
    ends = range(len(prompt) - rounds_n, len(prompt))
    model.logits(prompt[: ends[0] - 1], 0)
    spent_s = [
        _timed(partial(model.logits, [*prompt[:end], *[prompt[end] ^ 1] * (_VERIFIED_N - 1)], _VERIFIED_N))
        for end in ends
    ]
    return max(0.0, fmean(spent_s[1:]) - verified_s)


def _resize_s(target: Model, prompt: Sequence[int]) -> tuple[float, float]:
    """Seconds by which the first and the second batch after a change of size take longer than the third.

    They follow each other, for a busy machine makes all slower. Then some plain tokens follow, as in replies: with
    little to send, a connection over which packets are lost becomes slower.
    """
    excess_s: list[tuple[float, float]] = []
    deadline = time.perf_counter() + _RESIZE_S
    for size in (min(_VERIFIED_N, len(prompt)), 1) * _REMOTE_REPEATS:
        changed_s, second_s, same_s = (_timed(partial(target.logits, prompt, size)) for _ in range(3))
        excess_s.append((changed_s - same_s, second_s - same_s))
        for _ in range(_PLAIN_BETWEEN_N if size == 1 else 0):
            target.logits(prompt, 1)
        if time.perf_counter() > deadline and len(excess_s) >= FEWEST_ROUNDS:
            break
    first_s, second_s = (max(0.0, median(seconds)) for seconds in zip(*excess_s, strict=True))
    return first_s, second_s


def _timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes, less those that this thread had to wait for a processor."""
    waited_before_s, ran_before_s, started = waited_s(), time.thread_time(), time.perf_counter()
    work()
    spent_s, ran_s = time.perf_counter() - started, time.thread_time() - ran_before_s
    # A wait just before or after the work is counted too, so that the difference may be too small.
    return max(ran_s, spent_s - (waited_s() - waited_before_s))


def _plain_rounds(target: Model, prompt: Sequence[int], cancel: Cancellation) -> Iterator[Round]:
    """Rounds of one token without end: a reply that is over is begun again."""
    while True:
        request = Request(prompt=prompt, sampler=Greedy(), rng=SeededRng(0), policy=FixedDepth(0))
        for event in generate(target, [], request, cancel):
            if isinstance(event, Round):
                yield event
            elif isinstance(event, Finished) and event.reason is FinishReason.CANCELLED:
                raise Cancelled
