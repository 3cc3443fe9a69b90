"""The built-in pair going on with a reply that was stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat import Message, ReplyOptions, Role
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Round, Started
from localspec.engine.settings import Sampling
from localspec.load import LoadOptions, OpenPair, open_pair
from tests.builtin import DRAFT, TARGET

QUESTION = (Message(Role.USER, "Tell me a story about a fox."),)
GREEDY = ReplyOptions(Sampling(temperature=0), depth=3)


@pytest.fixture
def pair(own_home: Path) -> Iterator[OpenPair]:
    pair = open_pair(LoadOptions(TARGET, DRAFT, n_ctx=512, threads=1), Cancellation())
    yield pair
    pair.close()


def ask(pair: OpenPair, tokens_n: int, prefix: str = "") -> tuple[int, str]:
    """Prompt tokens that had to be read, and the reply's text."""
    read_n, text = 0, ""
    for event in pair.reply(QUESTION, replace(GREEDY, max_tokens=tokens_n), prefix):
        match event:
            case Started():
                read_n = event.prompt_n - event.cache_n
            case Round():
                text += "".join(token.text for token in event.tokens)
    return read_n, text


@pytest.mark.parametrize("tokens_n", [1, 7, 24])
def test_two_halves_are_the_whole(pair: OpenPair, tokens_n: int) -> None:
    """A greedy reply that is gone on with says what it would have said, and nothing of it is read again."""
    _, whole = ask(pair, 40)
    _, first = ask(pair, tokens_n)
    read_n, second = ask(pair, 40 - tokens_n, first)
    assert first + second == whole
    assert read_n == 1


def test_words_put_into_its_mouth_are_gone_on_with(pair: OpenPair) -> None:
    _, text = ask(pair, 10, "Once upon a time there was a fox whose name was")
    assert text.startswith(" ")
