"""``POST /v1/completions``: texts that are continued, or have a gap filled, without a chat template."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.engine.events import Event, Finished, Round, Started, TokenLogprobs
from localspec.runtime.messages import Infill, ReplyOptions, TokenIds
from localspec.runtime.worker.messages import Detokenize, Detokenized, Score, Scored, Tokenize, Tokenized
from localspec.server.failures import InvalidFieldError
from localspec.server.fields import Fields, is_token_id
from localspec.server.openai.figures import (
    FINGERPRINT,
    REASONS,
    ReplyFigures,
    TextTokens,
    finite,
    new_id,
    origins,
    spelled,
    timings_of,
    usage,
)
from localspec.server.openai.options import (
    MOST_PROMPTS,
    alternatives,
    check_length,
    options_of,
    pair_of,
    reply_count,
    seeded,
    wants_origins,
    wants_usage,
)
from localspec.server.service import ReplyRequest, Service
from localspec.server.streaming import DONE, StreamResponse, merged, openai_failure, server_sent

_USUAL_N = 16
"""OpenAI's limit of tokens where neither request nor settings have one: a text has no end of its own."""
_SCORED_N = 512
"""Tokens of a prompt that are asked about at once, so that other replies come in between."""

Prompts = list[str] | list[TokenIds] | list[Infill]


async def complete_text(service: Service, request: Request) -> Response:
    """Answer one request. Raises LocalSpecError."""
    fields = await Fields.of(request)
    model = pair_of(service, fields)
    base = service.settings(model).reply
    if base.max_tokens is None:
        base = replace(base, max_tokens=_USUAL_N)
    prompts = _prompts(fields)
    n = _replies_each(fields, len(prompts))
    echo = fields.flag("echo")
    mute = echo and fields.whole("max_tokens") == 0
    limits = () if mute else ("max_tokens", "n_predict")
    options = replace(await options_of(fields, base, *limits), logprobs=_alternatives(fields))
    shown = (
        [await _echoed(service, model, prompt, options) for prompt in prompts] if echo else [_Shown() for _ in prompts]
    )
    texts = [_Text(shown[i // n], options.logprobs is not None) for i in range(n * len(prompts))]
    asked = [ReplyRequest(model, prompts[i // n], seeded(options, i % n)) for i in range(n * len(prompts))]
    completion = _Completion(service, asked, texts, n, mute=mute, origins=wants_origins(fields))
    with_usage = wants_usage(fields)
    if fields.flag("stream"):
        return StreamResponse(completion.stream(with_usage=with_usage), openai_failure)
    return JSONResponse(await completion.whole())


def _prompts(fields: Fields) -> Prompts:
    """The texts, or tokens, of a request."""
    value = fields.raw("prompt")
    if fields.has("suffix") and fields.text("suffix"):
        if fields.flag("echo"):
            raise InvalidFieldError("echo cannot be used with suffix.", "Leave one of them out.", param="echo")
        return [Infill(fields.text("prompt", ""), fields.text("suffix"))]
    if value == "" or (isinstance(value, list) and "" in value):
        fields.refuse("prompt", "a text with something in it, or a list of such texts")
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and len(value) > MOST_PROMPTS and not is_token_id(value[0]):
        fields.refuse("prompt", f"a list of at most {MOST_PROMPTS}")
    if isinstance(value, list) and value:
        if all(isinstance(each, str) for each in value):
            return value
        listed = value if isinstance(value[0], list) else [value]
        if all(isinstance(ids, list) and ids and all(map(is_token_id, ids)) for ids in listed):
            return [TokenIds(tuple(ids)) for ids in listed]
    return fields.refuse("prompt", "a text, a list of texts, a list of token ids, or a list of such lists")


def _replies_each(fields: Fields, prompts_n: int) -> int:
    n = reply_count(fields)
    if fields.has("best_of") and fields.whole("best_of") != n:
        fields.refuse("best_of", "n: every reply is shown")
    return n if n * prompts_n <= MOST_PROMPTS else fields.refuse("n", f"a number with at most {MOST_PROMPTS} replies")


def _alternatives(fields: Fields) -> int | None:
    return None if fields.raw("logprobs") is False else alternatives(fields, "logprobs")


@dataclass(frozen=True, slots=True)
class _Shown:
    """The beginning of a text that is its prompt, where that is to be shown."""

    text: str = ""
    token_n: int = 0
    pieces: tuple[bytes, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()
    """The log probabilities of all tokens but the first, which follows nothing; empty if they are not asked for."""


async def _echoed(service: Service, model: str, prompt: str | TokenIds | Infill, options: ReplyOptions) -> _Shown:
    assert not isinstance(prompt, Infill)
    if isinstance(prompt, str):
        check_length(prompt)
        split = await service.ask(model, Tokenize(0, prompt, special=True, bos=True))
        assert isinstance(split, Tokenized)
        text, ids, pieces = prompt, split.ids, split.pieces
    else:
        joined = await service.ask(model, Detokenize(0, prompt.ids))
        assert isinstance(joined, Detokenized)
        text, ids, pieces = joined.text, prompt.ids, ()
    if options.logprobs is None:
        return _Shown(text, len(ids))
    logprobs: list[TokenLogprobs] = []
    for start in range(1, len(ids), _SCORED_N):
        stop = min(len(ids), start + _SCORED_N)
        scored = await service.ask(model, Score(0, ids, start, stop, options.logprobs))
        assert isinstance(scored, Scored)
        logprobs += scored.logprobs
    first = pieces[:1] or ((await _piece(service, model, ids[0])),)
    return _Shown(text, len(ids), (*first, *(each.piece for each in logprobs)), tuple(logprobs))


async def _piece(service: Service, model: str, token: int) -> bytes:
    found = await service.ask(model, Detokenize(0, (token,)))
    assert isinstance(found, Detokenized)
    return found.text.encode()


@dataclass(slots=True)
class _Text:
    """One text as its JSON grows."""

    shown: _Shown
    with_logprobs: bool
    reply: ReplyFigures = field(default_factory=ReplyFigures)
    said: TextTokens = field(default_factory=TextTokens)
    length: int = 0

    def pieces(self, event: Event) -> Iterator[dict[str, Any]]:
        """The pieces that an event adds."""
        self.reply.receive(event)
        match event:
            case Started() if self.shown.text:
                yield self.begin()
            case Round():
                tokens = list(self.said.of(event.tokens))
                listed = [(each.text, each.logprobs) for each in tokens]
                text = "".join(each.text for each in event.tokens)
                if text:
                    yield {"text": text, "logprobs": self.logprobs_of(listed)}
            case Finished():
                yield {"text": "", "finish_reason": self.reason}

    def begin(self) -> dict[str, Any]:
        """The piece that is the prompt."""
        told: list[tuple[str, TokenLogprobs | None]] = []
        if self.with_logprobs and self.shown.pieces:
            first = TokenLogprobs(self.shown.pieces[0], 0.0)
            told = [(spelled(each.piece), each) for each in (first, *self.shown.logprobs)]
        logprobs = self.logprobs_of(told)
        if logprobs and told:
            logprobs["token_logprobs"][0] = logprobs["top_logprobs"][0] = None
        self.length = len(self.shown.text)
        return {"text": self.shown.text, "logprobs": logprobs}

    @property
    def reason(self) -> str:
        """The reason of its end, in OpenAI's words."""
        return REASONS[self.reply.finished.reason] if self.reply.finished else "length"

    def logprobs_of(self, told: Sequence[tuple[str, TokenLogprobs | None]]) -> dict[str, list[Any]] | None:
        """The log probabilities of tokens, each with its text, in the shape of completions."""
        if not self.with_logprobs:
            return None
        found: dict[str, list[Any]] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        for text, logprobs in told:
            if logprobs is not None:
                found["tokens"].append(spelled(logprobs.piece))
                found["token_logprobs"].append(finite(logprobs.logprob))
                found["top_logprobs"].append({spelled(each.piece): finite(each.logprob) for each in logprobs.top})
                found["text_offset"].append(self.length)
            self.length += len(text)
        return found


class _Completion:
    """The answer to one request."""

    def __init__(
        self, service: Service, asked: list[ReplyRequest], texts: list[_Text], n: int, *, mute: bool, origins: bool
    ) -> None:
        """``n`` replies to each prompt; ``mute`` shows the prompts alone."""
        self._service = service
        self._asked = asked
        self._texts = texts
        self._n = n
        self._mute = mute
        self._origins = origins
        self._head = {
            "id": new_id("cmpl-"),
            "object": "text_completion",
            "created": int(time.time()),
            "model": asked[0].model,
            "system_fingerprint": FINGERPRINT,
        }

    async def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        choices = [
            {"index": i, "text": "", "logprobs": text.logprobs_of(()), "finish_reason": "length"}
            for i, text in enumerate(self._texts)
        ]
        async with aclosing(self._pieces()) as pieces:
            async for i, piece in pieces:
                _add(choices[i], piece)
        return {**self._head, "choices": choices, "usage": self._usage(), "timings": self._timings()}

    async def stream(self, *, with_usage: bool) -> AsyncGenerator[bytes]:
        """The answer as server-sent events. Raises LocalSpecError."""
        async with aclosing(self._pieces()) as pieces:
            async for i, piece in pieces:
                choice = {"index": i, "logprobs": None, "finish_reason": None, **piece}
                yield server_sent({**self._head, "choices": [choice], **({"usage": None} if with_usage else {})})
        if with_usage:
            yield server_sent({**self._head, "choices": [], "usage": self._usage(), "timings": self._timings()})
        yield DONE

    async def _pieces(self) -> AsyncGenerator[tuple[int, dict[str, Any]]]:
        if self._mute:
            for i, text in enumerate(self._texts):
                yield i, {**text.begin(), "finish_reason": text.reason}
            return
        async with aclosing(merged(self._service, self._asked)) as events:
            async for i, event in events:
                own = {"localspec": origins(event)} if self._origins and isinstance(event, Round) else {}
                for piece in list(self._texts[i].pieces(event)) or ([{"text": ""}] if own else []):
                    yield i, {**piece, **own}

    def _usage(self) -> dict[str, Any]:
        if self._mute:
            read_n = sum(text.shown.token_n for text in self._texts)
            return {"prompt_tokens": read_n, "completion_tokens": 0, "total_tokens": read_n}
        starts = range(0, len(self._texts), self._n)
        parts = [usage(text.reply for text in self._texts[start : start + self._n]) for start in starts]
        return summed(parts)

    def _timings(self) -> dict[str, Any] | None:
        return timings_of([text.reply for text in self._texts])


def summed(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Objects of numbers, and of such objects, added up."""
    return {
        name: summed([part[name] for part in parts]) if isinstance(first, dict) else sum(part[name] for part in parts)
        for name, first in parts[0].items()
    }


def _add(choice: dict[str, Any], piece: dict[str, Any]) -> None:
    """Add a piece to a choice."""
    choice["text"] += piece["text"]
    choice["finish_reason"] = piece.get("finish_reason", choice["finish_reason"])
    if logprobs := piece.get("logprobs"):
        known = choice["logprobs"]
        choice["logprobs"] = {name: known[name] + told for name, told in logprobs.items()} if known else logprobs
    if own := piece.get("localspec"):
        choice.setdefault("localspec", {"rounds": []})["rounds"].append(own)
