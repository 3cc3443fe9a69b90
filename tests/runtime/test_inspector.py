"""The built-in pair asked again about what it wrote."""

from __future__ import annotations

from itertools import pairwise

import pytest

from localspec.base.errors import CapacityError, InputError
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.settings import Sampling
from localspec.runtime.load import InspectablePair
from localspec.runtime.messages import Message, ReplyOptions, Role, TokenIds
from tests.builtin import NOISE, ON_GPU
from tests.runtime.opened_pairs import follow

QUESTION = (Message(Role.USER, "Tell me a story about a fox."),)
GREEDY = ReplyOptions(Sampling(temperature=0), depth=3, max_tokens=40)
DRAWN = ReplyOptions(Sampling(temperature=0.9, top_k=40, repeat_penalty=1.2), depth=3, seed=4, max_tokens=40)


def ids_of(pair: InspectablePair, options: ReplyOptions) -> list[int]:
    return [token.id for token in follow(pair, QUESTION, options).tokens]


def test_a_greedy_reply_is_the_targets_favourite_everywhere(pair: InspectablePair) -> None:
    """Rank 1 and probability 1 after the filters; the whole reply weighed at once says the same as token by token."""
    reply = ids_of(pair, GREEDY)
    probs = pair.inspector.probs(QUESTION, GREEDY, reply, 0, len(reply))
    assert len(probs) == len(reply)
    for position in (0, 7, len(reply) - 1, 3):
        seen = pair.inspector.inspect(QUESTION, GREEDY, reply, position)
        assert (seen.greedy, seen.exact_context) == (True, True)
        assert (seen.target.rank, seen.target.filtered) == (1, 1.0)
        assert seen.target.prob == pytest.approx(probs[position], abs=1e-2 if ON_GPU else 1e-3)
        assert seen.target.top[0].id == seen.token == reply[position]
        assert seen.draft is not None
        assert seen.draft.filtered in (0.0, 1.0)
        for opinion in (seen.target, seen.draft):
            assert all(a.prob >= b.prob for a, b in pairwise(opinion.top))


def test_looking_back_changes_no_reply(pair: InspectablePair) -> None:
    """The same conversation goes on in the same words whether or not something was inspected in between."""

    def follow_up(look: bool) -> tuple[str, str]:
        reply = follow(pair, QUESTION, GREEDY)
        if look:
            ids = [token.id for token in reply.tokens]
            pair.inspector.inspect(QUESTION, GREEDY, ids, 5)
            pair.inspector.probs(QUESTION, GREEDY, ids, 2, len(ids))
        messages = (*QUESTION, Message(Role.ASSISTANT, reply.text), Message(Role.USER, "Another one."))
        return reply.text, follow(pair, messages, GREEDY).text

    assert follow_up(look=False) == follow_up(look=True)


def test_a_reply_of_another_branch_can_still_be_looked_into(pair: InspectablePair) -> None:
    """After an edit: with the very prompt that it was written to, and what was seen before."""
    reply = ids_of(pair, DRAWN)
    before = pair.inspector.inspect(QUESTION, DRAWN, reply, 9)
    follow(pair, (Message(Role.USER, "Count from 1 to 20."),), GREEDY)
    after = pair.inspector.inspect(QUESTION, DRAWN, reply, 9)
    assert after.exact_context
    assert after.target.filtered == pytest.approx(before.target.filtered, abs=1e-3)
    assert after.target.filtered, "what was drawn had a chance, penalties and all"


def test_a_reply_is_looked_into_with_its_own_sampling(pair: InspectablePair) -> None:
    """Also after the same question was answered again by other samplers."""

    def chances() -> list[float | None]:
        seen = [pair.inspector.inspect(QUESTION, DRAWN, reply, position) for position in range(12)]
        assert all(each.exact_context for each in seen)
        return [each.target.filtered for each in seen]

    reply = ids_of(pair, DRAWN)
    before = chances()
    follow(pair, QUESTION, GREEDY)
    assert chances() == pytest.approx(before, abs=1e-3)
    assert any(chance not in (0, 1) for chance in before), "a greedy sampler would say the same"


def test_a_prompt_that_was_forgotten_is_made_anew_and_said_to_be(pair: InspectablePair) -> None:
    """As after a restart."""
    reply = ids_of(pair, GREEDY)
    before = pair.inspector.inspect(QUESTION, GREEDY, reply, 4)
    pair.inspector._prompts.clear()  # type: ignore[attr-defined]
    after = pair.inspector.inspect(QUESTION, GREEDY, reply, 4)
    assert (before.exact_context, after.exact_context) == (True, False)
    assert after.target.prob == pytest.approx(before.target.prob, abs=1e-3)


def test_a_sampler_that_goes_by_its_past_choices_gives_no_filtered_probability(pair: InspectablePair) -> None:
    """Mirostat: the model's own opinion stands, the rest is left open."""
    options = ReplyOptions(Sampling(mirostat=2), seed=1, depth=0, max_tokens=8)
    reply = ids_of(pair, options)
    seen = pair.inspector.inspect(QUESTION, options, reply, 3)
    assert (seen.target.filtered, seen.acceptance) == (None, None)
    assert 0 < seen.target.prob <= 1


def test_a_text_that_is_no_reply_has_log_probabilities(pair: InspectablePair) -> None:
    """The very ones that a reply of the same tokens had; asked for in pieces they are the same."""
    ids, _ = pair.prompter.tokenize("<|user|>\nHello!<|end|>\n<|assistant|>\n", special=True)
    options = ReplyOptions(Sampling(temperature=0), depth=3, max_tokens=12, logprobs=2)
    told = [token.logprobs for token in follow(pair, TokenIds(ids), options).tokens]
    text = (*ids, *(token.top[0].id for token in told if token))
    whole = pair.inspector.logprobs(text, 1, len(text), 2)
    pieces = [*pair.inspector.logprobs(text, 1, 10, 2), *pair.inspector.logprobs(text, 10, len(text), 2)]
    for seen in (whole[len(ids) - 1 :], pieces[len(ids) - 1 :]):
        assert [each.top[0].id for each in seen] == list(text[len(ids) :])
        assert [each.logprob for each in seen] == pytest.approx([each.logprob for each in told if each], abs=NOISE)
    assert [each.logprob for each in pieces] == pytest.approx([each.logprob for each in whole], abs=NOISE)
    with pytest.raises(InputError, match="follows nothing"):
        pair.inspector.logprobs(text, 0, 5, 0)
    with pytest.raises(InputError, match="There is no token 1000000 "):
        pair.inspector.logprobs((*text, 10**6), 1, 5, 0)
    with pytest.raises(CapacityError):
        pair.inspector.logprobs(text * 50, 1, len(text) * 50, 0)


def test_what_cannot_be_looked_into_is_refused(pair: InspectablePair, cancel: Cancellation) -> None:
    """A place outside the reply, tokens of another vocabulary, and a stop signal that was set before."""
    for reply, position in (((5, 6), 2), ((5, 6), -1), ((5, 10**6), 0)):
        with pytest.raises(InputError):
            pair.inspector.inspect(QUESTION, GREEDY, reply, position)
    cancel.set()
    with pytest.raises(Cancelled):
        pair.inspector.probs(QUESTION, GREEDY, [5] * 300, 0, 300)
