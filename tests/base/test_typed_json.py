"""Messages of strangers: every one of ours fits, and none does with a value of another type in any place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from localspec.base.errors import EngineError
from localspec.base.typed_json import misfit
from localspec.engine.settings import BANNED, Sampling
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool, ToolCall
from localspec.runtime.worker.codec import decode_answer, decode_request, encode
from localspec.runtime.worker.messages import Emitted, Generate, Inspect, Loaded
from tests.server.fakes import INFO, said

SAMPLING = Sampling(logit_bias=((3, BANNED), (4, 1)), grammar="a")
OPTIONS = ReplyOptions(SAMPLING, spec=("draft",), depth=2, seed=1, stop=("x",), tools=(Tool("a", "b", "{}"),))
PROMPT = (Message(Role.ASSISTANT, "Hi", (ToolCall("1", "a", "{}"),)), Message(Role.TOOL, "b", (), "1", "a"))
REQUESTS = (Generate(1, PROMPT, OPTIONS), Generate(2, "raw", ReplyOptions()), Inspect(3, PROMPT, OPTIONS, (1, 2), 1))
ANSWERS = (*(Emitted(1, event) for event in said("Hi", "!", calls=[ToolCall("1", "a", "{}")])), Loaded(INFO))


@pytest.mark.parametrize("message", [*REQUESTS, *ANSWERS], ids=lambda message: type(message).__name__)
def test_what_we_write_fits(message: Any) -> None:
    decode = decode_request if message in REQUESTS else decode_answer
    assert misfit(decode(encode(message))) is None


@pytest.mark.parametrize("message", [*REQUESTS, *ANSWERS], ids=lambda message: type(message).__name__)
def test_no_place_takes_an_object_of_another_form(message: Any) -> None:
    """Each leaf in turn becomes what no field is: the codec refuses it, or it is found."""
    decode = decode_request if message in REQUESTS else decode_answer
    for spoiled in spoilt(json.loads(encode(message))):
        try:
            read = decode(json.dumps(spoiled).encode())
        except EngineError:
            continue
        assert misfit(read) is not None or read == message, spoiled


@pytest.mark.parametrize("value", [nan, inf, 10**400, True, "1", None, [], {}])
def test_a_number_can_be_reckoned_with(value: Any) -> None:
    assert misfit(replace(Sampling(), temperature=value)) == "temperature"


@pytest.mark.parametrize("value", [2**60, 1.5, True, "1"])
def test_a_whole_number_is_one(value: Any) -> None:
    assert misfit(replace(OPTIONS, seed=value)) == "seed"


def test_a_text_can_be_written() -> None:
    """A surrogate alone could be stored nowhere."""
    read = decode_request(encode(Generate(1, (Message(Role.USER, "\ud800"),), OPTIONS)))
    assert misfit(read) == "prompt[0].content"


def spoilt(data: Any) -> Iterator[Any]:
    """``data`` with one of its values spoiled, for each of them."""
    places = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in list(places):
        for bad in ([{}], *spoilt(value)):
            copy = data.copy()
            copy[key] = bad
            yield copy
