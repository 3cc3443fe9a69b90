"""Every message survives the pipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import EngineError
from localspec.engine.events import (
    Alternative,
    DrafterFailure,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
    TokenLogprobs,
)
from localspec.engine.inspection import Candidate, Inspection, Opinion
from localspec.engine.settings import Sampling
from localspec.engine.timings import Timings
from localspec.runtime.messages import Infill, Message, ReplyOptions, Role, TokenIds, Tool, ToolCall
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.codec import decode_answer, decode_request, encode
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    Complete,
    CountTokens,
    Detokenize,
    Detokenized,
    Dropped,
    Emitted,
    Failed,
    Generate,
    HasRead,
    Inspect,
    Inspected,
    Load,
    Loaded,
    LoadProgress,
    ReadAhead,
    Render,
    Rendered,
    Request,
    Score,
    Scored,
    Silence,
    Tokenize,
    Tokenized,
    TokensCounted,
    Unload,
    Unloaded,
    Weigh,
    Weighed,
)

# With lone surrogates: a file name that is not UTF-8 reaches Python with them, and so may pasted text.
text = st.text(st.characters(codec=None), max_size=20)
count = st.integers(0, 2**40)
ratio = st.floats(allow_nan=False)
seconds = st.integers(0, 2**20).map(lambda ticks: ticks / 1024)  # exact in milliseconds too
name = st.text(st.characters(exclude_characters="\0/", codec=None), min_size=1, max_size=20)
path = name.map(lambda name: Path("/") / name)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy[Any], max_size: int = 4) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=max_size).map(tuple)


load_options = st.builds(LoadOptions, path, maybe(path), maybe(path), n_ctx=maybe(count), threads=maybe(count))
sampling = st.builds(
    Sampling,
    **dict.fromkeys(("temperature", "top_p", "min_p", "typical_p", "top_n_sigma", "dry_base", "mirostat_tau"), ratio),
    **dict.fromkeys(("top_k", "repeat_last_n", "dry_allowed_length", "mirostat"), count),
    dry_sequence_breakers=tuples(text),
    logit_bias=tuples(st.tuples(count, ratio)),
    grammar=maybe(text),
    grammar_triggers=tuples(text),
)
tool = st.builds(Tool, text, text, text)
call = st.builds(ToolCall, text, text, text)
reply_options = st.builds(
    ReplyOptions,
    sampling=sampling,
    spec=maybe(tuples(text)),
    depth=maybe(count),
    seed=maybe(count),
    max_tokens=maybe(count),
    stop=tuples(text),
    tools=tuples(tool),
    logprobs=maybe(count),
)
message = st.builds(Message, st.sampled_from(Role), text, tuples(call), maybe(text), maybe(text))
crafted = st.builds(TokenIds, tuples(count)) | st.builds(Infill, text, text, tuples(st.tuples(text, text)))
requests: st.SearchStrategy[Request] = st.one_of(
    st.builds(Load, load_options),
    st.builds(Generate, count, text | tuples(message), reply_options, text),
    st.builds(Complete, count, crafted, reply_options, text),
    st.builds(CountTokens, text),
    st.builds(ReadAhead, tuples(message), tuples(tool)),
    st.builds(Inspect, count, text | tuples(message), reply_options, tuples(count), count),
    st.builds(Weigh, count, text | tuples(message), reply_options, tuples(count), count, count),
    st.builds(Score, count, tuples(count), count, count, count),
    st.builds(Tokenize, count, text, st.booleans(), st.booleans()),
    st.builds(Detokenize, count, tuples(count)),
    st.builds(Render, count, tuples(message), tuples(tool), text),
    st.just(Cancel()),
    st.just(Unload()),
)

timings = st.builds(
    Timings,
    prompt_ms=ratio,
    predicted_ms=ratio,
    predicted_per_second=maybe(ratio),
    draft_ms=ratio,
    verify_ms=ratio,
    draft_acceptance_rate=maybe(ratio),
    mean_acceptance_length=maybe(ratio),
    plain_per_second=maybe(ratio),
    speedup_vs_plain=maybe(ratio),
    divergence=maybe(ratio),
    accepted_per_pos=tuples(count),
    origins=st.dictionaries(st.sampled_from([str(origin) for origin in Origin]), count),
)
piece, logprob = st.binary(max_size=4), st.floats(max_value=0)
logprobs = st.builds(TokenLogprobs, piece, logprob, tuples(st.builds(Alternative, count, piece, logprob)))
token = st.builds(Token, count, text, st.sampled_from(Origin), maybe(text), maybe(logprobs))
proposals = tuples(st.builds(Proposal, count, text))
rounds = st.builds(
    Round,
    count,
    maybe(text),
    count,
    tuples(token),
    proposals,
    proposals,
    seconds,
    seconds,
    seconds,
    text,
    tuples(st.builds(DrafterFailure, text, text)),
    maybe(ratio),
    maybe(ratio),
)
events = st.one_of(
    st.builds(Started, count, count, count, count),
    st.builds(PromptProgress, count, count),
    rounds,
    st.builds(Finished, st.sampled_from(FinishReason), text, timings, tuples(call), maybe(text)),
)
pair_info = st.builds(PairInfo, target=path, draft=maybe(path), plain_per_second=maybe(ratio), load_s=ratio)
opinion = st.builds(Opinion, ratio, count, maybe(ratio), tuples(st.builds(Candidate, count, text, ratio)))
inspection = st.builds(Inspection, count, opinion, maybe(opinion), st.booleans(), st.booleans())
answers: st.SearchStrategy[Answer] = st.one_of(
    st.builds(Silence, text),
    st.builds(LoadProgress, text, ratio),
    st.builds(Loaded, pair_info),
    st.just(Unloaded()),
    st.builds(TokensCounted, maybe(count)),
    st.builds(HasRead, count),
    st.builds(Emitted, count, events),
    st.builds(Inspected, count, inspection),
    st.builds(Weighed, count, tuples(ratio)),
    st.builds(Scored, count, tuples(logprobs)),
    st.builds(Tokenized, count, tuples(count), tuples(st.binary(max_size=4))),
    st.builds(Detokenized, count, text),
    st.builds(Rendered, count, text, count),
    st.builds(Dropped, count),
    st.builds(Failed, maybe(count), count, text, text, st.booleans()),
)


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
    with pytest.raises(EngineError, match="Unload is no answer"):
        decode_answer(encode(Unload()))
