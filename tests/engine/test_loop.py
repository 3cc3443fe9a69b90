"""The loop on table models: any drafter, any depth, any seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import CapacityError, EngineError, InputError
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.costs import Costs
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.drafter import Drafter, NextProposal
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.events import (
    DrafterFailure,
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Round,
    Started,
)
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.tally import Tally
from localspec.runtime.messages import Reply
from tests.fakes import (
    PieceVocab,
    RecordingSampler,
    SamplingDrafter,
    ScriptedCursor,
    ScriptedDrafter,
    Softmax,
    TableModel,
    letters,
)

PROMPT = [0, 1, 2]


def reply(
    target: TableModel,
    drafter: Drafter | None,
    *,
    prompt: Sequence[int] = PROMPT,
    depth: int = 3,
    seed: int = 0,
    sampler: Sampler | None = None,
    max_tokens: int | None = 40,
    stop: Sequence[str] = (),
    prompt_chunk: int = 256,
    cancel: Cancellation | None = None,
) -> list[Event]:
    """All events of one reply."""
    request = Request(
        prompt,
        sampler or Greedy(),
        SeededRng(seed),
        FixedDepth(depth),
        seed=seed,
        max_tokens=max_tokens,
        stop=stop,
        prompt_chunk=prompt_chunk,
    )
    return list(generate(target, [drafter] if drafter else [], request, cancel or Cancellation()))


def rounds_of(events: Sequence[Event]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def ids_of(events: Sequence[Event]) -> list[int]:
    return [token.id for round_ in rounds_of(events) for token in round_.tokens]


def done_of(events: Sequence[Event]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    return last


def any_drafter(which: int, vocab: PieceVocab, seed: int) -> Drafter | None:
    """The kinds of drafter there are: none, a good model, a bad one, scripts that run short or dry."""
    return [
        None,
        DraftModel(TableModel(vocab, seed=seed)),
        DraftModel(TableModel(vocab, seed=seed + 1)),
        DraftModel(TableModel(vocab, seed=seed, order=1)),
        SamplingDrafter(TableModel(vocab, seed=seed, order=1)),
        ScriptedDrafter(lambda context: [context[-1], context[-2], 1, 1]),
        ScriptedDrafter(lambda context: [0] * (len(context) % 4)),
        ScriptedDrafter(lambda context: []),
    ][which]


WHICH = st.integers(0, 7)


@given(which=WHICH, depth=st.integers(0, 8), seed=st.integers(0, 999), ends=st.booleans())
@settings(max_examples=150, deadline=None)
def test_greedy_text_does_not_depend_on_the_draft(which: int, depth: int, seed: int, ends: bool) -> None:
    """Greedy speculative text equals greedy plain text: same length, same tokens, same reason."""
    vocab = letters(12, frozenset({11}) if ends else frozenset())
    plain = reply(TableModel(vocab, seed=seed), None, depth=0)
    drafted = reply(TableModel(vocab, seed=seed), any_drafter(which, vocab, seed), depth=depth)
    assert len(ids_of(drafted)) == len(ids_of(plain))
    assert ids_of(drafted) == ids_of(plain)
    assert done_of(drafted).text == done_of(plain).text
    assert done_of(drafted).reason == done_of(plain).reason


@given(
    which=WHICH,
    depth=st.integers(0, 8),
    seed=st.integers(0, 999),
    max_tokens=st.one_of(st.none(), st.integers(0, 25)),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    stop=st.sampled_from([(), ("ab",), ("c", "ddd"), ("bca", "a")]),
)
@settings(max_examples=250, deadline=None)
def test_every_round_keeps_its_books(
    which: int, depth: int, seed: int, max_tokens: int | None, temperature: float, stop: tuple[str, ...]
) -> None:
    """Whatever happens, each proposal is accounted for once and the figures are sums over the rounds."""
    vocab = letters(6, frozenset({5}))
    target = TableModel(vocab, seed=seed, n_ctx=40)
    sampler: Sampler = Softmax(temperature) if temperature else Greedy()
    events = reply(
        target,
        any_drafter(which, vocab, seed),
        depth=depth,
        seed=seed,
        sampler=sampler,
        max_tokens=max_tokens,
        stop=stop,
    )
    rounds, done = rounds_of(events), done_of(events)
    assert [round_.index for round_ in rounds] == list(range(len(rounds)))
    for round_ in rounds:
        check_round(round_, depth)
    timings = done.timings
    assert timings.predicted_n == sum(len(r.tokens) for r in rounds) == sum(timings.origins.values())
    assert timings.draft_n == sum(r.proposed_n for r in rounds)
    assert timings.draft_n_accepted == sum(r.accepted_n for r in rounds) == sum(timings.accepted_per_pos)
    assert len(timings.accepted_per_pos) == max((r.depth for r in rounds), default=0)
    assert timings.draft_n_ignored == sum(len(r.ignored) for r in rounds)
    assert timings.rounds_n == len(rounds)
    assert timings.draft_acceptance_rate == (timings.draft_n_accepted / timings.draft_n if timings.draft_n else None)
    assert timings.mean_acceptance_length == (timings.predicted_n / len(rounds) if rounds else None)
    assert "".join(token.text for r in rounds for token in r.tokens) == done.text
    assert max_tokens is None or timings.predicted_n <= max_tokens
    assert len(PROMPT) + timings.predicted_n <= target.n_ctx + 1
    if any(r.ignored for r in rounds[:-1]):
        raise AssertionError("only the last round can go past the end")
    for text in stop:
        assert text not in done.text


def check_round(round_: Round, depth: int) -> None:
    """The shape of one round."""
    origins = [token.origin for token in round_.tokens]
    assert 1 <= len(origins) <= round_.depth + 1 <= depth + 1
    assert round_.proposed_n == round_.depth
    assert all(origin is Origin.ACCEPTED for origin in origins[:-1])
    assert (round_.drafter is None) == (round_.proposed_n == 0)
    if origins[-1] is Origin.PLAIN:
        assert round_.proposed_n == 0
    if origins[-1] is Origin.CORRECTED:
        assert round_.rejected
        assert not round_.ignored
    if origins[-1] is Origin.BONUS:
        assert round_.accepted_n == round_.proposed_n > 0
    if round_.rejected:
        assert origins[-1] is Origin.CORRECTED
    assert round_.total_s >= round_.draft_s + round_.verify_s >= 0


def test_a_model_drafting_for_itself_is_always_right() -> None:
    """Greedy with its own copy as the draft: every round is depth accepted tokens and a bonus."""
    vocab = letters(12)
    events = reply(TableModel(vocab, seed=3), DraftModel(TableModel(vocab, seed=3)), depth=3, max_tokens=12)
    pattern = [[token.origin for token in round_.tokens] for round_ in rounds_of(events)]
    assert pattern == [[Origin.ACCEPTED] * 3 + [Origin.BONUS]] * 3
    assert done_of(events).timings.draft_acceptance_rate == 1.0
    assert done_of(events).timings.mean_acceptance_length == 4.0


def test_the_draft_is_never_evaluated_twice() -> None:
    """After the prompt the draft model evaluates each token of the text at most once, refused guesses aside."""
    vocab = letters(12)
    draft = TableModel(vocab, seed=3)
    events = reply(TableModel(vocab, seed=3), DraftModel(draft), depth=3, max_tokens=21)
    committed = done_of(events).timings.predicted_n
    assert draft.evaluated_n <= len(PROMPT) + committed


def test_the_target_evaluates_only_what_is_new() -> None:
    """Evaluations of the target: the prompt, each committed token once, each refused proposal once."""
    vocab = letters(12)
    target = TableModel(vocab, seed=3)
    events = reply(target, DraftModel(TableModel(vocab, seed=4)), depth=3, max_tokens=30)
    refused = sum(len(r.rejected) + len(r.ignored) for r in rounds_of(events))
    committed = done_of(events).timings.predicted_n
    assert target.evaluated_n <= len(PROMPT) + committed + refused


def test_the_sampler_is_advanced_along_exactly_the_reply() -> None:
    """A stateful sampler sees each committed token once and in order, and no proposal."""
    vocab = letters(8)
    sampler = RecordingSampler(Softmax())
    events = reply(TableModel(vocab, seed=1), SamplingDrafter(TableModel(vocab, seed=2)), sampler=sampler)
    assert len(sampler.path) == len(ids_of(events))
    assert sampler.path == ids_of(events)


def test_the_same_seed_gives_the_same_reply() -> None:
    """And another seed another one."""
    vocab = letters(12)

    def ids(seed: int) -> list[int]:
        drafter = SamplingDrafter(TableModel(vocab, seed=2))
        return ids_of(reply(TableModel(vocab, seed=1), drafter, seed=seed, sampler=Softmax()))

    assert ids(7) == ids(7)
    assert ids(7) != ids(8)


def test_the_prompt_is_read_in_chunks_and_said_so() -> None:
    """All but the last prompt token is read, in both models at a fixed depth, in chunks of the size asked for."""
    vocab = letters(12)
    target, drafter = TableModel(vocab), ScriptedDrafter(lambda context: [], model=TableModel(vocab))
    events = reply(target, drafter, prompt=[1] * 11, prompt_chunk=4, max_tokens=1)
    assert [e for e in events if isinstance(e, PromptProgress)] == [
        PromptProgress(4, 10),
        PromptProgress(8, 10),
        PromptProgress(10, 10),
    ]
    assert drafter.prefills == [4, 8, 10]
    assert events[0] == Started(prompt_n=11, cache_n=0, seed=0)


def test_a_follow_up_evaluates_only_what_is_new() -> None:
    """The second turn's prompt begins with the first turn; the target evaluates the rest alone."""
    vocab = letters(12)
    target = TableModel(vocab, seed=3)
    first = reply(target, None, depth=0, max_tokens=10)
    context = [*PROMPT, *ids_of(first)]
    before = target.evaluated_n
    second = reply(target, None, depth=0, prompt=[*context, 4, 5], max_tokens=1, prompt_chunk=2)
    start = second[0]
    assert [event for event in second if isinstance(event, PromptProgress)] == [PromptProgress(14, 14)]
    assert isinstance(start, Started)
    # The reply's last token was committed but never needed as an input, so it is new as well.
    assert start.cache_n == len(context) - 1
    assert done_of(second).timings.prompt_n == 3
    assert target.evaluated_n - before == 3


def test_asked_again_the_last_token_of_the_prompt_is_evaluated_anew() -> None:
    """A reply that is wanted once more finds all of its prompt held, and needs the scores at its end."""
    target = TableModel(letters(12), seed=3)
    first = reply(target, None, depth=0, max_tokens=10)
    again = reply(target, None, depth=0, max_tokens=10)
    assert ids_of(again) == ids_of(first)
    assert again[0] == Started(len(PROMPT), cache_n=len(PROMPT) - 1, seed=0)
    assert done_of(again).timings.prompt_n == 1


@dataclass(frozen=True)
class Listening(FixedDepth):
    """Writes down what it hears."""

    heard: list[tuple[Round, list[NextProposal], int]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)

    def begin(self) -> None:
        self.begun.append(len(self.heard))

    def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
        self.heard.append((round_, list(proposals), accepted))


@dataclass
class Pupil(ScriptedDrafter):
    """Writes down what it is taught."""

    learned: list[tuple[NextProposal, Dist]] = field(default_factory=list)

    def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
        self.learned += zip(proposals, target_dists, strict=True)


def test_policy_and_drafters_hear_what_was_judged() -> None:
    """Every proposal that stayed and the first that did not, each from who made it, with the target's own law."""
    target = TableModel(letters(4), seed=1)
    drafters = [
        Pupil(lambda context: [context[-1], 1], name="one"),
        Pupil(lambda context: [0, 0, 2, 1], name="two"),
    ]
    policy = Listening(4)
    request = Request(PROMPT, Greedy(), SeededRng(0), policy, max_tokens=60)
    events = list(generate(target, drafters, request, Cancellation()))
    assert policy.begun == [0]
    assert [round_ for round_, _, _ in policy.heard] == rounds_of(events)
    context, taught = list(PROMPT), []
    for round_, proposals, accepted in policy.heard:
        assert accepted == round_.accepted_n
        assert len(proposals) == accepted + bool(round_.rejected)
        proposed = [token.drafter for token in round_.tokens[:accepted]] + [each.drafter for each in round_.rejected]
        assert [proposal.drafter for proposal in proposals] == proposed[: len(proposals)]
        for proposal in proposals:
            taught.append((proposal, int(np.argmax(target.row(context)))))
            context.append(int(proposal.dist.ids[0]))
        context[len(context) - len(proposals) :] = [token.id for token in round_.tokens]
    assert {proposal.drafter for proposal, _ in taught} == {"one", "two"}
    for drafter in drafters:
        learned = [(proposal, int(law.ids[0])) for proposal, law in drafter.learned]
        assert learned == [(proposal, favourite) for proposal, favourite in taught if proposal.drafter == drafter.name]


@pytest.mark.parametrize("max_tokens", [0, 1, 2, 5])
def test_the_token_limit_is_exact(max_tokens: int) -> None:
    """A limit of n gives n tokens, also when a round could have given more."""
    vocab = letters(12)
    events = reply(TableModel(vocab, seed=3), DraftModel(TableModel(vocab, seed=3)), max_tokens=max_tokens)
    assert done_of(events).timings.predicted_n == max_tokens
    assert done_of(events).reason is FinishReason.LENGTH


@given(depth=st.integers(0, 6), n_ctx=st.integers(3, 12))
@settings(deadline=None)
def test_the_context_is_filled_and_never_exceeded(depth: int, n_ctx: int) -> None:
    """The reply ends by length when the context is full; TableModel refuses to go past it."""
    vocab = letters(12)
    target = TableModel(vocab, seed=3, n_ctx=n_ctx)
    events = reply(target, DraftModel(TableModel(vocab, seed=3, n_ctx=n_ctx)), depth=depth, max_tokens=None)
    assert done_of(events).reason is FinishReason.LENGTH
    assert len(PROMPT) + done_of(events).timings.predicted_n == n_ctx + 1


def test_a_prompt_that_cannot_be_used_is_refused_first() -> None:
    """Before any event, with a sentence."""
    vocab = letters(12)
    with pytest.raises(InputError, match="empty"):
        reply(TableModel(vocab), None, prompt=[])
    with pytest.raises(CapacityError, match="9 tokens, but the context holds 8") as refused:
        reply(TableModel(vocab, n_ctx=8), None, prompt=[1] * 9)
    assert "--ctx 521" in refused.value.hint


def test_a_stop_signal_ends_the_reply_and_keeps_what_was_committed() -> None:
    """Set between rounds: the text so far is the text of the rounds so far."""
    vocab = letters(12)
    cancel = Cancellation()
    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(2), max_tokens=1000)
    events: list[Event] = []
    for event in generate(TableModel(vocab, seed=3), [DraftModel(TableModel(vocab, seed=3))], request, cancel):
        events.append(event)
        if len(rounds_of(events)) == 3:
            cancel.set()
    assert len(rounds_of(events)) == 3
    assert done_of(events).reason is FinishReason.CANCELLED
    assert len(done_of(events).text) == 9


def test_a_stop_signal_inside_an_evaluation_commits_nothing_of_it() -> None:
    """The backend raises; the round under way leaves no trace."""

    class Interrupted(TableModel):
        def logits(self, context: Sequence[int], last: int) -> Logits:
            if len(self.calls) == 3:
                raise Cancelled
            return super().logits(context, last)

    events = reply(Interrupted(letters(12), seed=3), None, depth=0)
    assert len(rounds_of(events)) == 2
    assert done_of(events).reason is FinishReason.CANCELLED


def test_a_failure_takes_nothing_back() -> None:
    """Rounds that waited for the rest of a stop string come before the error."""

    class Fails(TableModel):
        def row(self, context: Sequence[int]) -> list[float]:
            if len(context) == 6:
                raise EngineError("The scores are not numbers.", "Replace the file.")
            return [9, 0, 0, 0]

    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(0), stop=["aaaaaaaa"])
    events: list[Event] = []
    with pytest.raises(EngineError, match="not numbers"):
        events.extend(generate(Fails(letters(4)), [], request, Cancellation()))
    assert ids_of(events) == [0, 0, 0]


def test_a_signal_during_the_prompt_ends_it_there() -> None:
    """No round happens."""
    cancel = Cancellation()
    request = Request([1] * 100, Greedy(), SeededRng(0), FixedDepth(0), prompt_chunk=10)
    events: list[Event] = []
    for event in generate(TableModel(letters(12)), [], request, cancel):
        events.append(event)
        if event == PromptProgress(30, 99):
            cancel.set()
    assert rounds_of(events) == []
    assert events[-2] == PromptProgress(30, 99)
    assert done_of(events).reason is FinishReason.CANCELLED


def test_proposals_past_the_end_are_ignored_not_rejected() -> None:
    """A stop string is complete in the middle of a draft: the rest was of no use to judge."""

    class SaysAb(TableModel):
        def row(self, context: Sequence[int]) -> list[float]:
            return [0, 9, 0, 0] if len(context) > 3 else [9, 0, 0, 0]

    drafter = ScriptedDrafter(lambda context: [0, 1, 2, 2])
    events = reply(SaysAb(letters(4)), drafter, depth=4, stop=["ab"])
    (only,) = rounds_of(events)
    assert [token.origin for token in only.tokens] == [Origin.ACCEPTED, Origin.ACCEPTED]
    assert [proposal.id for proposal in (*only.ignored, *only.rejected)] == [2, 2]
    assert done_of(events).reason is FinishReason.STOP


def test_nothing_is_proposed_past_an_end_token() -> None:
    """Nobody could use it."""
    vocab = letters(4, frozenset({3}))

    class EndsNext(TableModel):
        def row(self, context: Sequence[int]) -> list[float]:
            return [0, 0, 0, 9] if len(context) > 3 else [9, 0, 0, 0]

    events = reply(EndsNext(vocab), ScriptedDrafter(lambda context: [0, 3, 1, 1]), depth=4)
    (only,) = rounds_of(events)
    assert [token.id for token in only.tokens] == [0, 3]
    assert [token.origin for token in only.tokens] == [Origin.ACCEPTED, Origin.ACCEPTED]
    assert only.ignored == only.rejected == ()
    assert done_of(events).reason is FinishReason.STOP


class _Counts(TableModel):
    """Says 0, 1, 2, ... after the prompt."""

    def row(self, context: Sequence[int]) -> list[float]:
        return [9.0 if token == len(context) - len(PROMPT) else 0.0 for token in range(self.vocab.n_vocab)]


def test_each_proposal_of_a_mixed_round_is_its_drafters() -> None:
    """Where the first drafter has no more to say the second goes on, and is told from it."""
    drafters = [
        ScriptedDrafter(lambda context: [0, 1], name="one"),
        ScriptedDrafter(lambda context: [7, 7, 2, 7, 7], name="two"),
    ]
    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(5), max_tokens=6)
    first = rounds_of(list(generate(_Counts(letters(9)), drafters, request, Cancellation())))[0]
    assert [(token.id, token.drafter) for token in first.tokens] == [(0, "one"), (1, "one"), (2, "two"), (3, None)]
    assert [(proposal.id, proposal.drafter) for proposal in first.rejected] == [(7, "two")] * 2
    assert (first.drafter, first.depth) == ("one+two", 5)


def test_a_draft_that_cannot_read_the_prompt_is_left_out_from_there_on() -> None:
    """It would go on without what it missed."""

    class Stumbles(ScriptedDrafter):
        def prefill(self, context: Sequence[int]) -> None:
            super().prefill(context)
            if len(self.prefills) == 1:
                raise EngineError("It broke.", "Try again.")

    drafter = Stumbles(lambda context: [1, 1], model=TableModel(letters(6)))
    events = reply(TableModel(letters(6)), drafter, prompt=[1] * 9, prompt_chunk=2, max_tokens=4)
    assert drafter.prefills == [2]
    assert [round_.depth for round_ in rounds_of(events)] == [0] * 4
    assert rounds_of(events)[0].failures == (DrafterFailure("scripted", "It broke."),)


def test_time_is_counted_once_and_where_it_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafting, verifying, and all the rest; what comes after a round's events counts for the next."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    class Slow(TableModel):
        def logits(self, context: Sequence[int], last: int) -> Logits:
            clock[0] += 0.5
            return super().logits(context, last)

    class SlowDrafter(ScriptedDrafter):
        def begin(self, context: Sequence[int], sampler: Sampler) -> ScriptedCursor:
            clock[0] += 0.125
            return super().begin(context, sampler)

        def learn(self, proposals: Sequence[NextProposal], target_dists: Sequence[Dist]) -> None:
            clock[0] += 0.25

    class SlowPolicy(FixedDepth):
        def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
            clock[0] += 2.0

    drafter = SlowDrafter(lambda context: [1, 1])
    request = Request(PROMPT, Greedy(), SeededRng(0), SlowPolicy(2), max_tokens=12, prompt_chunk=1)
    events = []
    for event in generate(Slow(letters(6)), [drafter], request, Cancellation()):
        events.append(event)
        clock[0] += 100.0  # whoever reads the events takes their time
    rounds, timings = rounds_of(events), done_of(events).timings
    assert len(rounds) > 2
    assert [(r.draft_s, r.verify_s) for r in rounds[:-1]] == [(0.125, 0.5)] * (len(rounds) - 1)
    assert [r.total_s for r in rounds[:-1]] == [0.875] + [2.875] * (len(rounds) - 2)
    assert timings.prompt_ms == 1000.0
    assert timings.predicted_ms == 1000.0 * sum(r.total_s for r in rounds)
    assert timings.draft_ms == 1000.0 * sum(r.draft_s for r in rounds)
    assert timings.verify_ms == 1000.0 * sum(r.verify_s for r in rounds)


def test_speed_up_is_speed_over_plain_speed() -> None:
    """By the figures' own definition."""
    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(0), max_tokens=5, plain_per_second=100.0)
    timings = done_of(list(generate(TableModel(letters(12)), [], request, Cancellation()))).timings
    assert timings.predicted_per_second is not None
    assert timings.speedup_vs_plain == timings.predicted_per_second / 100.0


def test_plain_speed_is_that_of_the_rounds_where_they_have_a_price() -> None:
    """Rounds of depth 0 are plain rounds, whatever was measured before."""
    for costs, speedup in ((Costs({1: 0.5}), 1.0), (None, None)):
        request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(0, costs), max_tokens=5, plain_per_second=100.0)
        events = list(generate(TableModel(letters(6)), [], request, Cancellation()))
        timings = done_of(events).timings
        assert [round_.price for round_ in rounds_of(events)] == [speedup] * 5
        assert timings.speedup_vs_plain == pytest.approx(speedup or (timings.predicted_per_second or 0) / 100, abs=0.3)


def test_the_figures_do_not_change_when_the_reply_ends() -> None:
    """Whoever counted the rounds as they came has the figures that the last event brings."""
    costs = Costs({1: 0.5, 4: 0.9})
    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(3, costs), max_tokens=40, plain_per_second=100.0)
    drafter = DraftModel(TableModel(letters(12)))
    reply = Reply(tally=Tally(plain_per_second=7.0))
    for event in generate(TableModel(letters(12)), [drafter], request, Cancellation()):
        if isinstance(event, Finished):
            before = reply.timings
            after = event.timings
            assert (before.speedup_vs_plain, before.plain_per_second) == (
                after.speedup_vs_plain,
                after.plain_per_second,
            )
        reply.receive(event)
    assert reply.timings.draft_n > 0


def test_where_there_is_no_drafter_there_is_nothing_to_explain() -> None:
    policy = AdaptiveDepth(Costs({1: 0.5, 8: 0.6}), 7)
    request = Request(PROMPT, Greedy(), SeededRng(0), policy, max_tokens=2)
    events = list(generate(TableModel(letters(6)), [], request, Cancellation()))
    assert [round_.why for round_ in rounds_of(events)] == ["", ""]


class _Breaking(TableModel):
    """A draft whose evaluations fail from some moment on."""

    left_n = 5

    def logits(self, context: Sequence[int], last: int) -> Logits:
        self.left_n -= 1
        if self.left_n < 0:
            raise EngineError("llama.cpp failed (code -3).", "Try the prompt again.")
        return super().logits(context, last)


@pytest.mark.parametrize("good_n", [0, 1, 5, 9])
def test_a_draft_that_fails_is_left_out_and_the_reply_goes_on(good_n: int) -> None:
    target, draft = TableModel(letters(6), seed=1), _Breaking(letters(6), seed=1)
    draft.left_n = good_n
    events = reply(target, DraftModel(draft), prompt_chunk=1)
    rounds = [event for event in events if isinstance(event, Round)]
    assert [token.id for round_ in rounds for token in round_.tokens] == [
        token.id for event in reply(target, None) if isinstance(event, Round) for token in event.tokens
    ]
    assert rounds[-1].failures == (DrafterFailure("draft", "llama.cpp failed (code -3)."),)
    assert rounds[-1].depth == 0
    assert bool(rounds[0].accepted_n) is (good_n > len(PROMPT))
