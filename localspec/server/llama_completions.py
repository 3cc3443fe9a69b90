"""llama-server's own completions: ``POST /completion`` and ``/infill``, in one piece and streamed."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Round, Started, Token
from localspec.engine.settings import BANNED, Sampling
from localspec.runtime.messages import Infill, ReplyOptions, TokenIds
from localspec.runtime.worker.messages import Tokenize, Tokenized
from localspec.server.fields import Fields
from localspec.server.openai.figures import TextTokens, chat_logprobs, llama_timings
from localspec.server.openai.options import (
    MOST_PROMPTS,
    alternatives,
    check_length,
    options_of,
    pair_of,
    reply_count,
    seeded,
)
from localspec.server.service import ReplyRequest, Service
from localspec.server.streaming import StreamResponse, merged, openai_failure, server_sent

_HIDDEN = ("grammar", "grammar_triggers", "logit_bias")


async def complete(service: Service, request: Request) -> Response:
    """Answer a completion. Raises LocalSpecError."""
    fields = await Fields.of(request)
    model = pair_of(service, fields)
    options = await _options(service, fields)
    copies_n = reply_count(fields, "n_cmpl" if fields.has("n_cmpl") else "n")
    prompts = await _prompts(service, fields, MOST_PROMPTS // copies_n)
    lines_s = _lines_s(fields)
    asked = [
        ReplyRequest(model, prompt, seeded(options, i), lines_s=lines_s) for prompt in prompts for i in range(copies_n)
    ]
    return await _answered(service, fields, asked, listed=_is_list_of_prompts(fields.raw("prompt")) or copies_n > 1)


async def fill_in(service: Service, request: Request) -> Response:
    """Answer an infill: the reply stands between ``input_prefix`` and ``input_suffix``. Raises LocalSpecError."""
    fields = await Fields.of(request)
    files = tuple((each.text("filename", "tmp"), each.text("text")) for each in fields.objects("input_extra"))
    gap = Infill(fields.text("input_prefix"), fields.text("input_suffix"), files)
    model, options, begun = pair_of(service, fields), await _options(service, fields), fields.text("prompt", "")
    asked = ReplyRequest(model, gap, options, begun, _lines_s(fields))
    return await _answered(service, fields, [asked], listed=False)


async def _answered(service: Service, fields: Fields, asked: list[ReplyRequest], *, listed: bool) -> Response:
    name = asked[0].model
    texts = _texts(fields.raw("prompt"), len(asked))
    answers = [
        _Answer(i, name, each, prompt, with_tokens=fields.flag("return_tokens"), mute=_only_reads(fields))
        for i, (each, prompt) in enumerate(zip(asked, texts, strict=True))
    ]
    if fields.flag("stream"):
        pieces = _stream(service, asked, answers, with_progress=fields.flag("return_progress"))
        return StreamResponse(pieces, openai_failure)
    async with aclosing(merged(service, asked)) as events:
        async for i, event in events:
            for _ in answers[i].receive(event):
                pass
    wanted = fields.texts("response_fields")
    whole = [_chosen(answer.whole(), wanted) for answer in answers]
    return JSONResponse(whole if listed else whole[0])


async def _stream(
    service: Service, asked: list[ReplyRequest], answers: list[_Answer], *, with_progress: bool
) -> AsyncGenerator[bytes]:
    """The pieces as server-sent events. Raises LocalSpecError."""
    async with aclosing(merged(service, asked)) as events:
        async for i, event in events:
            for piece in answers[i].receive(event):
                if with_progress or "prompt_progress" not in piece:
                    yield server_sent(piece)


async def _options(service: Service, fields: Fields) -> ReplyOptions:
    if fields.flag("post_sampling_probs"):
        fields.refuse("post_sampling_probs", "false: probabilities are the model's own, before any sampler")
    if any(adapter.number("scale") for adapter in fields.objects("lora")):
        fields.refuse("lora", "empty: there are no adapters here")
    model = pair_of(service, fields)
    base = service.settings(model).reply
    fields = await _with_token_biases(service, model, fields)
    if _only_reads(fields):
        fields = Fields({**fields.values, "n_predict": 1}, fields.place)
    options = await options_of(fields, base, "n_predict", "max_tokens")
    return replace(options, logprobs=alternatives(fields, "n_probs") or None)


def _lines_s(fields: Fields) -> float | None:
    """The time after which a reply ends once it has a line break; llama-server has none for 0 and less."""
    most_ms = fields.number("t_max_predict_ms") or 0
    return most_ms / 1e3 if most_ms > 0 else None


def _only_reads(fields: Fields) -> bool:
    """True if the prompt is only to be read, as editors ask ahead of a request. The reply's one token is hidden."""
    return fields.whole("n_predict") == 0


async def _with_token_biases(service: Service, model: str, fields: Fields) -> Fields:
    """The fields with biases of texts as biases of each of their tokens. Raises LocalSpecError."""
    value = fields.raw("logit_bias")
    if not value:
        return fields
    pairs = list(value.items()) if isinstance(value, dict) else value
    resolved: dict[Any, Any] = {}
    for pair in pairs if isinstance(pairs, list) else [None]:
        match pair:
            case [str(text), bias] if not (isinstance(value, dict) and text.isdecimal()):
                resolved |= dict.fromkeys(await _tokens(service, model, text), bias)
            case [int(token) | str(token), bias]:
                resolved[token] = bias
            case _:
                fields.refuse("logit_bias", "a list of pairs, each a token and a number")
    return Fields({**fields.values, "logit_bias": list(resolved.items())}, fields.place)


async def _tokens(
    service: Service, model: str, text: str, *, bos: bool = False, special: bool = False
) -> tuple[int, ...]:
    check_length(text)
    answer = await service.ask(model, Tokenize(0, text, special, bos))
    assert isinstance(answer, Tokenized)
    return answer.ids


def _is_list_of_prompts(value: Any) -> bool:
    """True for several prompts; a list with a number in it is one prompt of tokens."""
    return isinstance(value, list) and not any(isinstance(each, int) for each in value)


async def _prompts(service: Service, fields: Fields, most_n: int) -> list[str | TokenIds]:
    """The prompts of a request: texts, tokens, or texts and tokens in turn. Raises LocalSpecError."""
    value = fields.raw("prompt")
    values = value if _is_list_of_prompts(value) and value else [value]
    if len(values) > most_n:
        fields.refuse("prompt", f"a list of at most {most_n}")
    return [await _prompt(service, fields, each) for each in values]


async def _prompt(service: Service, fields: Fields, value: Any) -> str | TokenIds:
    if isinstance(value, dict):
        if value.get("multimodal_data"):
            fields.refuse("prompt", "without multimodal_data: images are read in chats")
        value = value.get("prompt_string")
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        fields.refuse("prompt", "a text or a list of tokens")
    ids: list[int] = []
    for i, each in enumerate(value):
        if isinstance(each, str):
            ids += await _tokens(service, pair_of(service, fields), each, bos=i == 0, special=True)
        elif isinstance(each, int) and not isinstance(each, bool):
            ids.append(each)
        else:
            fields.refuse("prompt", "a text or a list of tokens")
    return TokenIds(tuple(ids))


def _texts(value: Any, answers_n: int) -> list[str]:
    """The prompts that are texts, one for each answer; empty in place of tokens."""
    values = value if _is_list_of_prompts(value) and value else [value]
    texts = [each if isinstance(each, str) else "" for each in values]
    return [text for text in texts for _ in range(answers_n // len(texts))]


@dataclass(slots=True)
class _Answer:
    """One reply as the pieces of its completion, and as a whole."""

    index: int
    model: str
    asked: ReplyRequest
    prompt: str
    with_tokens: bool
    mute: bool
    """True if it has no text."""
    said: TextTokens = field(default_factory=TextTokens)
    tokens: list[Token] = field(default_factory=list)
    started: Started | None = None
    began: float = 0.0
    """The time of ``started``."""
    finished: Finished | None = None

    def receive(self, event: Event) -> Iterator[dict[str, Any]]:
        """The pieces for the next event: one for each token, and a last one."""
        match event:
            case Started():
                self.started, self.began = event, time.monotonic()
            case PromptProgress():
                yield {**self._piece([]), "prompt_progress": self._progress(event)}
            case Round():
                for token in self.said.of(() if self.mute else event.tokens):
                    self.tokens.append(token)
                    yield self._piece([token])
            case Finished():
                self.finished = event
                yield self._last()

    def _progress(self, event: PromptProgress) -> dict[str, int]:
        cache_n = self.started.cache_n if self.started else 0
        time_ms = round(1e3 * (time.monotonic() - self.began))
        return {"total": event.total_n, "cache": cache_n, "processed": event.done_n, "time_ms": time_ms}

    def _piece(self, tokens: list[Token]) -> dict[str, Any]:
        return {
            "index": self.index,
            "content": "".join(token.text for token in tokens),
            "tokens": [token.id for token in tokens],
            "stop": False,
            "id_slot": -1,
            "tokens_predicted": len(self.tokens),
            "tokens_evaluated": self.started.prompt_n if self.started else 0,
            **_probabilities(tokens),
        }

    def _last(self) -> dict[str, Any]:
        """The last piece, which has the figures."""
        assert self.finished is not None
        assert self.started is not None
        timings, options = self.finished.timings, replace(self.asked.options, seed=self.started.seed)
        return {
            **self._piece([]),
            "stop": True,
            "model": self.model,
            "tokens_predicted": timings.predicted_n,
            "generation_settings": generation_settings(options),
            "prompt": self.prompt,
            "has_new_line": "\n" in self.finished.text,
            "truncated": False,
            "stop_type": _stop_type(self.finished),
            "stopping_word": self.finished.stop or "",
            "tokens_cached": timings.cache_n,
            "timings": llama_timings(timings),
        }

    def whole(self) -> dict[str, Any]:
        """The completion in one piece."""
        assert self.finished is not None
        ids = [token.id for token in self.tokens] if self.with_tokens else []
        text = "" if self.mute else self.finished.text
        return {**self._last(), "content": text, "tokens": ids, **_probabilities(self.tokens)}


def _probabilities(tokens: list[Token]) -> dict[str, Any]:
    asked = [token for token in tokens if token.logprobs is not None]
    listed = chat_logprobs(asked)["content"]
    for token, each in zip(asked, listed, strict=True):
        each["id"] = token.id
        for other, shown in zip(token.logprobs.top if token.logprobs else (), each["top_logprobs"], strict=True):
            shown["id"] = other.id
    return {"completion_probabilities": listed} if listed else {}


def _stop_type(finished: Finished) -> str:
    if finished.reason is FinishReason.STOP:
        return "eos" if finished.stop is None else "word"
    return "limit" if finished.reason is FinishReason.LENGTH else "none"


def generation_settings(options: ReplyOptions) -> dict[str, Any]:
    """The options of a reply under llama-server's names."""
    sampling = options.sampling
    shown = {each.name: getattr(sampling, each.name) for each in dataclass_fields(Sampling) if each.name not in _HIDDEN}
    limit = -1 if options.max_tokens is None else options.max_tokens
    return {
        **shown,
        "dry_sequence_breakers": list(sampling.dry_sequence_breakers),
        # False rules a token out, as in requests: JSON has no infinity.
        "logit_bias": [
            {"token": token, "bias": False if bias == BANNED else bias} for token, bias in sampling.logit_bias
        ],
        "seed": -1 if options.seed is None else options.seed,
        "n_predict": limit,
        "max_tokens": limit,
        "stop": list(options.stop),
        "ignore_eos": options.ignore_end,
        "n_probs": options.logprobs or 0,
        "grammar": sampling.grammar or "",
    }


def _chosen(whole: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of an answer by name; "a/b" is the field b of the object a."""
    if not names:
        return whole
    found = {}
    for name in names:
        value: Any = whole
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value
    return found
