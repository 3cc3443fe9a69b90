"""The built-in pair going on with a reply that was stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.base.errors import UsageError
from localspec.engine.cancel import Cancellation
from localspec.engine.events import FinishReason
from localspec.engine.settings import Sampling
from localspec.runtime.load import InspectablePair
from localspec.runtime.messages import Message, Reply, ReplyOptions, Role
from tests.runtime.opened_pairs import follow

QUESTION = (Message(Role.USER, "Tell me a story about a fox."),)
GREEDY = ReplyOptions(Sampling(temperature=0), depth=3)


def ask(pair: InspectablePair, tokens_n: int, prefix: str = "") -> Reply:
    return follow(pair, QUESTION, replace(GREEDY, max_tokens=tokens_n), prefix)


@pytest.mark.parametrize("tokens_n", [1, 7, 24])
def test_two_halves_are_the_whole(pair: InspectablePair, tokens_n: int) -> None:
    """A greedy reply that is gone on with says what it would have said, and nothing of it is read again."""
    whole, first = ask(pair, 40), ask(pair, tokens_n)
    second = ask(pair, 40 - tokens_n, first.text)
    assert first.text + second.text == whole.text
    assert second.prompt is not None
    assert second.prompt.prompt_n - second.prompt.cache_n == 1


def test_words_put_into_its_mouth_are_gone_on_with(pair: InspectablePair) -> None:
    assert ask(pair, 10, "Once upon a time there was a fox whose name was").text.startswith(" ")


SENTENCE = "Once upon a time."
IN_FULL = Sampling(temperature=0, grammar=f'root ::= "{SENTENCE}" ')


def halves(pair: InspectablePair, options: ReplyOptions, first_n: int) -> tuple[str, str, list[int]]:
    """The reply in two goes: text of the first, text of the second, all ids."""
    first = follow(pair, QUESTION, replace(options, max_tokens=first_n))
    second = follow(pair, QUESTION, replace(options, max_tokens=60), first.text)
    return first.text, second.text, [token.id for token in (*first.tokens, *second.tokens)]


@pytest.mark.parametrize("depth", [0, 3])
def test_a_grammar_goes_on_where_the_reply_was_stopped(pair: InspectablePair, depth: int) -> None:
    """The second half is held to what is left of the sentence, and the whole can be looked into."""
    options = ReplyOptions(IN_FULL, depth=depth)
    first, second, ids = halves(pair, options, 2)
    assert first
    assert second
    assert first + second == SENTENCE
    for position in (1, 2, len(ids) - 2):
        assert pair.inspector.inspect(QUESTION, options, ids, position).target.filtered == 1.0


@pytest.mark.parametrize("depth", [0, 3])
def test_a_grammar_that_was_set_off_stays_so(pair: InspectablePair, depth: int) -> None:
    """Stopped before and after the text that sets it off, which ends in the middle of what is free."""
    sampling = Sampling(temperature=0, grammar='root ::= " a time. THE END"', grammar_triggers=(" a",))
    options = ReplyOptions(sampling, depth=depth)
    whole = "".join(halves(pair, options, 60)[:2])
    assert whole.endswith(" a time. THE END")
    n = len(halves(pair, options, 60)[2])
    for first_n in (1, n // 2, n - 2):
        first, second, ids = halves(pair, options, first_n)
        assert first + second == whole
        pair.inspector.inspect(QUESTION, options, ids, len(ids) - 2)


def test_what_does_not_fit_the_grammar_is_not_gone_on_with(pair: InspectablePair) -> None:
    """Before anything is said, with what can be done about it."""
    with pytest.raises(UsageError, match=r"does not fit the grammar: 'Once and'.*without --grammar"):
        next(iter(pair.reply(QUESTION, ReplyOptions(IN_FULL), "Once and")))


def test_text_that_the_grammar_does_not_allow_can_be_looked_into(pair: InspectablePair) -> None:
    """As in conversations of versions that let it start over: what the models think, without the grammar's part."""
    options = ReplyOptions(IN_FULL, depth=0)
    first, _, ids = halves(pair, options, 2)
    seen = pair.inspector.inspect(QUESTION, options, [*ids[:2], *ids[:2]], 3)
    assert first
    assert seen.target.filtered is None


def test_a_stop_while_the_prompt_is_made_is_an_end_like_any_other(pair: InspectablePair, cancel: Cancellation) -> None:
    """Templates and tokenizing take their time with long texts; a stop that comes then ends the reply, in no error."""
    cancel.set()
    assert follow(pair, (Message(Role.USER, "word " * 100_000),), GREEDY).finished is FinishReason.CANCELLED
