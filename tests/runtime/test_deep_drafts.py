"""Drafts of more than sixteen proposals: where such batches have a price, of a reply that is alone at the moment."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.config.table import AUTO_MAX_DEPTH, MAX_DEPTH
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.settings import Sampling
from localspec.runtime.load import ConcurrentPair, InspectablePair, open_pair
from localspec.runtime.messages import Listener, Message, Reply, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.tuning import Tuning
from tests.builtin import DRAFT, HEADS, TARGET, write_with_mtp
from tests.runtime.opened_pairs import SLOW_S, follow, open_unmeasured

GREEDY = Sampling(temperature=0.0)
COUNT = Message(Role.USER, "Count from 1 to 30.")
CHEAP_S = {**SLOW_S, AUTO_MAX_DEPTH + 1: 0.02}
"""Prices at which the deepest draft costs little more than one of sixteen proposals."""


@contextmanager
def opened(
    replies: int, rounds_s: dict[int, float], draft: Path | None = None, target: Path = TARGET
) -> Iterator[InspectablePair]:
    options = LoadOptions(target, draft, n_ctx=512, threads=1, flash_attn="on", replies=replies)
    pair = open_unmeasured(options, rounds_s=rounds_s)
    try:
        yield pair
    finally:
        pair.close()


def copied(pair: InspectablePair) -> tuple[Message, ...]:
    """A conversation whose next reply is a copy of one in it."""
    first = follow(pair, (COUNT,), ReplyOptions(GREEDY, depth=0)).text
    return COUNT, Message(Role.ASSISTANT, first), COUNT


def ids_of(reply: Reply) -> list[int]:
    return [token.id for token in reply.tokens]


def deepest_of(reply: Reply) -> int:
    return max(round_.proposed_n for round_ in reply.rounds)


@pytest.mark.parametrize(
    ("replies", "kind"), [(1, None), (3, None), (1, "draft"), (1, "eagle3"), (1, "dflash"), (1, "mtp")]
)
def test_copies_are_drafted_deeper_and_are_the_same(replies: int, kind: str | None, tmp_path: Path) -> None:
    draft = {"draft": DRAFT, **HEADS}.get(kind or "")
    target = write_with_mtp(tmp_path / "target.gguf") if kind == "mtp" else TARGET
    with opened(replies, CHEAP_S, draft, target) as pair:
        assert pair.info.drafters == ((kind,) if kind else ())
        conversation = copied(pair)
        plain = follow(pair, conversation, ReplyOptions(GREEDY, depth=0))
        deep = follow(pair, conversation, ReplyOptions(GREEDY))
        assert MAX_DEPTH < deepest_of(deep) <= AUTO_MAX_DEPTH
        assert ids_of(deep) == ids_of(plain)


def test_replies_that_begin_beside_a_deep_one_are_the_same() -> None:
    """Each begins within a round of the others, whichever they planned alone."""
    chance, options = random.Random(2), ReplyOptions(GREEDY, max_tokens=60)
    with opened(3, CHEAP_S) as pair:
        assert isinstance(pair, ConcurrentPair)
        conversation = copied(pair)
        plain = follow(pair, conversation, replace(options, depth=0))
        waiting, begun = [Reply() for _ in range(12)], list[Reply]()
        errors: list[Exception] = []
        while waiting or pair.step():
            if waiting and pair.room_n and chance.random() < 0.05:
                begun.append(waiting.pop())
                pair.begin(conversation, options, "", Listener(begun[-1].receive, errors.append), Cancellation())
            pair.step()
        assert not errors
        assert {tuple(ids_of(reply)) for reply in begun} == {tuple(ids_of(plain))}
        assert max(map(deepest_of, begun)) > MAX_DEPTH


def test_replies_that_are_made_together_have_no_draft_deeper_than_sixteen() -> None:
    with opened(3, CHEAP_S) as pair:
        assert isinstance(pair, ConcurrentPair)
        conversation, replies = copied(pair), [Reply() for _ in range(3)]
        errors: list[Exception] = []
        for reply in replies:
            listener = Listener(reply.receive, errors.append)
            pair.begin(conversation, ReplyOptions(GREEDY, max_tokens=100), "", listener, Cancellation())
        while pair.room_n == 0:
            pair.step()
        assert not errors
        assert MAX_DEPTH - 1 <= max(map(deepest_of, replies)) <= MAX_DEPTH


@pytest.mark.parametrize("replies", [1, 3])
def test_without_a_price_no_draft_is_deeper_than_sixteen(replies: int) -> None:
    with opened(replies, SLOW_S) as pair:
        assert MAX_DEPTH - 1 <= deepest_of(follow(pair, copied(pair), ReplyOptions(GREEDY))) <= MAX_DEPTH


@pytest.mark.parametrize(("n_ctx", "largest"), [(512, AUTO_MAX_DEPTH + 1), (40, 20)])
def test_loading_measures_batches_as_large_as_rounds_may_be(
    n_ctx: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fit(tuning: Tuning, *_: object) -> Costs:
        asked.append(tuning.largest)
        return Costs(CHEAP_S)

    monkeypatch.setattr(Tuning, "fit", fit)
    open_pair(LoadOptions(TARGET, None, n_ctx=n_ctx, threads=1), Cancellation()).close()
    assert asked == [largest]
