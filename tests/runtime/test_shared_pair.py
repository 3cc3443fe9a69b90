"""Several replies at once on the built-in pair: each is what it is alone, whoever comes and goes beside it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest

from localspec.base.errors import UsageError
from localspec.engine.cancel import Cancellation
from localspec.engine.events import FinishReason, Origin
from localspec.engine.settings import Sampling
from localspec.runtime.load import ConcurrentPair, InspectablePair
from localspec.runtime.messages import Listener, Message, Prompt, Reply, ReplyOptions, Role, TokenIds
from localspec.runtime.options import LoadOptions
from tests.builtin import DRAFT, HEADS, NOISE, TARGET, write_with_mtp
from tests.runtime.opened_pairs import follow, open_unmeasured
from tests.tiny_heads import TinyHead, write_head, write_step35_target
from tests.tiny_models import write_tiny

PROMPTS = (
    "Write a poem about rain.",
    "What is speculative decoding?",
    "Count from 1 to 30.",
    "Write a Python function for the factorial.",
)
"""The target is never torn between two tokens of its answers: batches of other sizes move its scores by ``NOISE``."""
KINDS = ("draft", "eagle3", "mtp", "dflash")
GREEDY = Sampling(temperature=0.0)
REPLIES_N = 3


@dataclass
class Played:
    """A reply, as its listener hears of it."""

    reply: Reply = field(default_factory=Reply)
    errors: list[Exception] = field(default_factory=list)
    cancel: Cancellation = field(default_factory=Cancellation)

    @property
    def ids(self) -> list[int]:
        return ids_of(self.reply)


def ids_of(reply: Reply) -> list[int]:
    return [token.id for token in reply.tokens]


def accepted_n(reply: Reply) -> int:
    return sum(token.origin is Origin.ACCEPTED for token in reply.tokens)


def user(text: str) -> tuple[Message, ...]:
    return (Message(Role.USER, text),)


def opened(replies: int, draft: Path | None = DRAFT, target: Path = TARGET) -> InspectablePair:
    return open_unmeasured(LoadOptions(target, draft, n_ctx=512, threads=1, flash_attn="on", replies=replies))


@pytest.fixture(scope="module")
def shared() -> Iterator[ConcurrentPair]:
    pair = opened(REPLIES_N)
    assert isinstance(pair, ConcurrentPair)
    yield pair
    pair.close()


@pytest.fixture(scope="module")
def alone() -> Iterator[InspectablePair]:
    pair = opened(1)
    yield pair
    pair.close()


def begin(pair: ConcurrentPair, prompt: Prompt, options: ReplyOptions) -> Played:
    played = Played()
    pair.begin(prompt, options, "", Listener(played.reply.receive, played.errors.append), played.cancel)
    return played


def finish(pair: ConcurrentPair) -> None:
    while pair.step():
        pass


@pytest.fixture(params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ConcurrentPair, InspectablePair]]:
    """A pair for several replies and for one, with a drafter of this kind."""
    kind: str = request.param
    target = write_with_mtp(tmp_path / "target.gguf") if kind == "mtp" else TARGET
    pairs = [opened(n, {"draft": DRAFT, "mtp": None, **HEADS}[kind], target) for n in (REPLIES_N, 1)]
    assert isinstance(pairs[0], ConcurrentPair)
    assert pairs[0].info.drafters == pairs[1].info.drafters == (kind,)
    yield pairs[0], pairs[1]
    for pair in pairs:
        pair.close()


def test_a_schedule_changes_no_reply(both: tuple[ConcurrentPair, InspectablePair]) -> None:
    """Greedy texts, and those of a seed; at a depth that is fixed proposals are those that a reply has alone."""
    (shared, alone), chance = both, random.Random(5)
    asked = []
    for seed in range(12):
        sampling = Sampling(temperature=chance.choice((0.0, 0.8)))
        options = ReplyOptions(sampling, seed=seed, repeatable=True, max_tokens=24, depth=chance.choice((None, 0, 3)))
        asked.append((user(chance.choice(PROMPTS)), options))
    waiting, played = list(asked), []
    while waiting or shared.step():
        if waiting and shared.room_n and chance.random() < 0.2:
            played.append(begin(shared, *waiting.pop(0)))
        shared.step()
    assert shared.info.replies == REPLIES_N
    assert not any(each.errors for each in played)
    plays = [follow(alone, prompt, options) for prompt, options in asked]
    assert [each.ids for each in played] == [ids_of(reply) for reply in plays]
    fixed = [n for n, (_, options) in enumerate(asked) if options.depth]
    assert sum(accepted_n(played[n].reply) for n in fixed) == pytest.approx(
        sum(accepted_n(plays[n]) for n in fixed), rel=0.1
    )


def test_a_cancelled_reply_leaves_the_others(shared: ConcurrentPair, alone: InspectablePair) -> None:
    options = ReplyOptions(GREEDY, max_tokens=24)
    kept, ended = begin(shared, user(PROMPTS[0]), options), begin(shared, user(PROMPTS[1]), options)
    while len(ended.ids) < 4:
        shared.step()
    ended.cancel.set()
    finish(shared)
    assert (ended.reply.finished, kept.reply.finished) == (FinishReason.CANCELLED, FinishReason.LENGTH)
    assert kept.ids == ids_of(follow(alone, user(PROMPTS[0]), options))
    assert shared.room_n == REPLIES_N


def test_a_reply_that_cannot_be_made_is_told_and_frees_its_place(shared: ConcurrentPair) -> None:
    played = begin(shared, user(PROMPTS[0]), ReplyOptions(GREEDY, spec=("mtp",)))
    finish(shared)
    assert isinstance(played.errors[0], UsageError)
    assert shared.room_n == REPLIES_N


def test_a_reply_that_the_system_has_no_thread_for_frees_its_place(
    shared: ConcurrentPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", start)
        with pytest.raises(RuntimeError):
            begin(shared, PROMPTS[0], ReplyOptions(GREEDY))
    assert shared.room_n == REPLIES_N


def test_a_beginning_that_another_sequence_holds_is_not_read_again(shared: ConcurrentPair) -> None:
    system = Message(Role.SYSTEM, "You are an assistant who answers in short sentences. " * 6)
    options = ReplyOptions(GREEDY, max_tokens=4)
    begin(shared, (system, *user("Name a colour.")), options)
    finish(shared)
    others = [begin(shared, (system, *user(f"Name {n} animals.")), options) for n in range(2, 2 + REPLIES_N)]
    finish(shared)
    read = [played.reply.prompt for played in others]
    assert all(started and started.cache_n > 0.7 * started.prompt_n for started in read)


def test_log_probabilities_are_of_the_replys_own_rows(shared: ConcurrentPair) -> None:
    """Beside others, to prompts in words and in tokens, and of a text that is no reply, asked about in between."""
    ids, _ = shared.prompter.tokenize(f"<|user|>\n{PROMPTS[0]}<|end|>\n<|assistant|>\n", special=True)
    options = ReplyOptions(GREEDY, depth=3, max_tokens=16, logprobs=1)
    played = [begin(shared, prompt, options) for prompt in (user(PROMPTS[0]), TokenIds(ids), user(PROMPTS[2]))]
    while shared.step():
        between = shared.inspector.logprobs(ids, 1, len(ids), 0)
    for each in played:
        assert [token.logprobs.top[0].id for token in each.reply.tokens if token.logprobs] == each.ids
    assert played[0].ids == played[1].ids
    alone = shared.inspector.logprobs(ids, 1, len(ids), 0)
    assert [each.logprob for each in between] == pytest.approx([each.logprob for each in alone], abs=NOISE)


def test_what_is_held_is_not_evaluated_again(shared: ConcurrentPair) -> None:
    """Where no scores are asked for, there may be nothing to evaluate at all."""
    target = shared.inspector._target  # type: ignore[attr-defined]
    for _ in range(2):
        assert not len(target.logits([5, 6, 7], 0))


def test_questions_are_answered_between_steps(shared: ConcurrentPair, alone: InspectablePair) -> None:
    options = ReplyOptions(GREEDY, max_tokens=16)
    played = begin(shared, user(PROMPTS[0]), options)
    while len(played.ids) < 4:
        shared.step()
    asked = user(PROMPTS[0]), options, tuple(played.ids[:3]), 1
    assert shared.inspector.inspect(*asked).target.prob == pytest.approx(
        alone.inspector.inspect(*asked).target.prob, abs=0.2
    )
    assert shared.count_tokens("two words") == alone.count_tokens("two words")
    finish(shared)
    assert played.ids == ids_of(follow(alone, user(PROMPTS[0]), options))


def test_closing_ends_what_is_under_way() -> None:
    pair = opened(2, draft=None)
    assert isinstance(pair, ConcurrentPair)
    played = begin(pair, user(PROMPTS[0]), ReplyOptions(GREEDY))
    pair.step()
    pair.close()
    assert played.reply.finished is FinishReason.CANCELLED


@pytest.mark.parametrize("kind", ["a DSpark head", "several MTP layers"])
def test_pairs_that_cannot_share_make_one_reply_at_a_time(kind: str, tmp_path: Path) -> None:
    """They say why."""
    draft, target = None, tmp_path / "target.gguf"
    if kind == "a DSpark head":
        write_tiny(target, "llama")
        draft = write_head(tmp_path / "head.gguf", TinyHead("dflash", markov_rank=8))
    else:
        write_step35_target(target)
    pair = opened(2, draft, target)
    assert not isinstance(pair, ConcurrentPair)
    assert (pair.info.replies, pair.info.why_fewer) == (1, f"it has {kind}")
    pair.close()
