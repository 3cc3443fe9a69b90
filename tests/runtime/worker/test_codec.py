"""Every message survives the pipe."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import EngineError
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.worker.codec import decode_answer, decode_request, encode
from localspec.runtime.worker.messages import Answer, Cancel, Generate, Request, Unloaded

BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    # With lone surrogates: a file name that is not UTF-8 reaches Python with them, and so may pasted text.
    str: st.text(st.characters(codec=None), max_size=20),
    Path: st.text(st.characters(exclude_characters="\0/", codec=None), min_size=1, max_size=20).map(Path("/").joinpath),
    bytes: st.binary(max_size=4),
    int: st.integers(0, 2**40),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
}
SECONDS = st.integers(0, 2**20).map(lambda ticks: ticks / 1024)
"""Seconds that are exact in milliseconds too."""


@cache
def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type, every field of a dataclass among them."""
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    of = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(*map(values, of))
    if get_origin(kind) is tuple:
        return st.lists(values(of[0]), max_size=4).map(tuple) if of[-1] is ... else st.tuples(*map(values, of))
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        named = {field.name: hints[field.name] for field in fields(kind) if field.init}
        return st.builds(
            kind,
            **{
                name: SECONDS if name.endswith("_s") and hint is float else values(hint) for name, hint in named.items()
            },
        )
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    return st.dictionaries(*map(values, of), max_size=4)


requests, answers = values(Request), values(Answer)


@settings(deadline=None)
@given(requests)
def test_a_request_is_read_as_it_was_written(request: Request) -> None:
    """Decoding undoes encoding, whatever the texts and paths contain."""
    again = decode_request(encode(request))
    assert again == request
    assert type(again) is type(request)


@settings(deadline=None)
@given(answers)
def test_an_answer_is_read_as_it_was_written(answer: Answer) -> None:
    """Decoding undoes encoding, whatever the texts contain."""
    again = decode_answer(encode(answer))
    assert again == answer
    assert type(again) is type(answer)


@settings(deadline=None)
@given(requests | answers)
def test_a_message_is_one_line(message: Request | Answer) -> None:
    """No message contains the end of a line except at its end, and none is empty."""
    line = encode(message)
    assert line.endswith(b"\n")
    assert len(line.splitlines()) == 1


def test_enums_come_back_as_enums() -> None:
    """Equality of StrEnum and str must not hide that a kind was lost on the way."""
    said = Generate(1, (Message(Role.USER, "hi"),), ReplyOptions())
    again = decode_request(encode(said))
    assert isinstance(again, Generate)
    assert isinstance(again.prompt[0], Message)
    assert isinstance(again.prompt[0].role, Role)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"llama_model_loader: loaded meta data\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"7\n",
        b"{}\n",
        b'{"kind":"Loaded"}\n',
        b'{"kind":["Load"]}\n',
        b'{"kind":"Emitted","request_id":1,"event":{"event":"surprise"}}\n',
        b'{"kind":"Loaded","info":{"target":"/t","draft":null}}\n',
    ],
)
def test_what_is_no_message_is_refused_in_one_way(line: bytes) -> None:
    """Garbage of any kind raises an EngineError, never something else."""
    with pytest.raises(EngineError):
        decode_answer(line)


def test_an_unknown_kind_is_named() -> None:
    """The error says which word was not understood."""
    with pytest.raises(EngineError, match="unknown kind 'Dance'"):
        decode_request(b'{"kind":"Dance"}\n')


def test_requests_and_answers_are_not_mistaken_for_each_other() -> None:
    """Each end refuses what only the other end may be told."""
    with pytest.raises(EngineError, match="Unloaded is no request"):
        decode_request(encode(Unloaded()))
    with pytest.raises(EngineError, match="Cancel is no answer"):
        decode_answer(encode(Cancel()))
