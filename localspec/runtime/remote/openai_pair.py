"""A model of another server with OpenAI's API: its text, its reasoning, its calls of tools, and the figures it tells.

Such a server tells neither tokens nor where they came from. A token here is a piece of text as it arrived, and plain.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from localspec.base.errors import EngineError, UsageError
from localspec.base.visible import visible_line
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    Round,
    Started,
    Token,
    ToolCall,
)
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings
from localspec.runtime.messages import Infill, Message, Prompt, ReplyOptions, TokenIds, Tool
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.remote.connection import Connection, RefusedFieldError, because
from localspec.runtime.remote.openai_requests import adapted, can_adapt, reply_body

SILENCE_S = 300.0
"""A server that says nothing while it loads a model or reads a prompt may do so for this long."""
_MOST_CALLS = 64
_NO_TOKENS = ("This server sends text only, and no tokens.", "Connect to a LocalSpec, or use a pair of this machine.")


class OpenAIPair:
    """Implements ``load.InspectablePair`` over a connection that it owns; questions about tokens are refused."""

    def __init__(self, connection: Connection, info: PairInfo, kind: str, model: str, base: str) -> None:
        """The paths of the API begin with ``base``."""
        self.info = info
        self._connection = connection
        self._kind = kind
        self._model = model
        self._base = base
        self._refused: set[str] = set()
        """Fields of requests that the model has been found not to take."""

    @property
    def inspector(self) -> OpenAIPair:
        return self

    @property
    def prompter(self) -> OpenAIPair:
        return self

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """As ``InspectablePair.reply``. Raises UsageError for a prompt of tokens or with a gap."""
        if isinstance(prompt, TokenIds | Infill):
            raise UsageError(*_NO_TOKENS)
        body = reply_body(self._kind, self._model, prompt, options, prefix)
        path = f"{self._base}/completions" if isinstance(prompt, str) else f"{self._base}/chat/completions"
        streamed = _StreamedReply(self._connection)
        yield Started(0, 0, options.seed or 0)
        try:
            for line in self._lines(path, body):
                if line.startswith(b"<"):
                    raise self._connection.confused("a web page")
                # Bare JSON is the answer, or the error, of a server that does not stream.
                data = line.removeprefix(b"data:").strip() if line.startswith((b"data:", b"{")) else b""
                if data == b"[DONE]":
                    streamed.done = True
                    break
                if data:
                    yield from streamed.receive(data)
        except Cancelled:
            yield streamed.finished(FinishReason.CANCELLED)
            return
        yield from streamed.end()

    def _lines(self, path: str, body: Mapping[str, Any]) -> Iterator[bytes]:
        """The lines of the answer; it is asked for again where the server names a field that can be done without."""
        while True:
            try:
                sent = json.dumps(adapted(body, self._refused)).encode()
                yield from self._connection.lines(path, sent, silence_s=SILENCE_S)
            except RefusedFieldError as error:
                if error.field in self._refused or not can_adapt(body, error.field):
                    raise
                self._refused.add(error.field)
            else:
                return

    def _refuse(self, *asked: object, **how: object) -> NoReturn:
        raise UsageError(*_NO_TOKENS)

    inspect = probs = logprobs = tokenize = detokenize = rendered = count_tokens = _refuse

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        """0: no server with this API reads ahead."""
        return 0

    def close(self, cancel: Cancellation | None = None) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass(slots=True)
class _Call:
    """A call while its pieces arrive."""

    index: int
    """As the server numbers it; with some servers all calls have the same."""
    id: str = ""
    name: str = ""
    arguments: str = ""

    def ends_before(self, own_id: str, name: str) -> bool:
        """True if a piece with this index, id and name begins another call.

        An id alone begins none: some servers give each piece another.
        """
        if not name or not self.name:
            return False
        return own_id != self.id if own_id and self.id else _is_object(self.arguments)


@dataclass(slots=True)
class _StreamedReply:
    """The chunks of one reply, and the events they make."""

    connection: Connection
    tally: Tally = field(default_factory=Tally)
    text: str = ""
    calls: list[_Call] = field(default_factory=list)
    reason: str | None = None
    done: bool = False
    """True if the server has said that nothing follows; some tell no reason."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    _thinking: bool = False
    _began: float = field(default_factory=time.perf_counter)
    _before: float | None = None
    """The time of the piece before."""

    def receive(self, data: bytes) -> Iterator[Event]:
        """Take in a chunk. Raises EngineError."""
        chunk = self._parsed(data)
        if error := chunk.get("error") or (chunk if chunk.get("object") == "error" else None):
            raise self._failed(error)
        self.usage = mapping(chunk.get("usage")) or self.usage
        self.timings = mapping(chunk.get("timings")) or self.timings
        for choice in _list(chunk.get("choices"))[:1]:
            choice = mapping(choice)
            reason = choice.get("finish_reason")
            # With some servers it is empty before the end.
            self.reason = reason if isinstance(reason, str) and reason else self.reason
            delta = mapping(choice.get("delta")) or mapping(choice.get("message"))
            thought, said = _told(delta)
            piece = self._marked(thought, said or _text(choice.get("text")))
            self._call(_list(delta.get("tool_calls")))
            if piece:
                yield self._round(piece)

    def end(self) -> Iterator[Event]:
        """The last events. Raises EngineError if the server broke off."""
        if self.reason is None and not (self.done and (self.text or self.calls)):
            raise self.connection.broken_off()
        if self._thinking:
            self._thinking = False
            yield self._round("\n</think>\n\n")
        yield self.finished(FinishReason.LENGTH if self.reason == "length" else FinishReason.STOP)

    def finished(self, reason: FinishReason) -> Finished:
        """The last event, with the server's own figures where it tells them."""
        calls = tuple(
            ToolCall(call.id or f"call_{at}", call.name, call.arguments or "{}") for at, call in enumerate(self.calls)
        )
        unread = next((call.name for call in calls if not _is_object(call.arguments) or not call.name), None)
        if reason is not FinishReason.STOP or not calls:
            return Finished(reason, self.text, self._figures())
        if unread is not None:
            error = f"The arguments of the call of {visible_line(unread) or 'a tool'} are no JSON object."
            return Finished(reason, self.text, self._figures(), call_error=error)
        return Finished(reason, self.text, self._figures(), calls)

    def _parsed(self, data: bytes) -> Mapping[str, Any]:
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise self.connection.confused("a piece that is no JSON") from None
        if not isinstance(chunk, dict):
            raise self.connection.confused("a piece that is no object")
        return chunk

    def _failed(self, error: object) -> EngineError:
        said = _text(mapping(error).get("message")) or _text(error)
        place = self.connection.address.place
        return EngineError(f"{place} ended the reply with an error{because(said)}", "Try again.")

    def _marked(self, thought: str, said: str) -> str:
        """The piece as a reply has it: reasoning in the tags that ``reasoning.Reasoning`` finds."""
        piece = ""
        if thought:
            piece += thought if self._thinking or self.text.strip() else f"<think>\n{thought}"
            self._thinking = self._thinking or not self.text.strip()
        if said:
            piece += f"\n</think>\n\n{said}" if self._thinking else said
            self._thinking = False
        return piece

    def _call(self, pieces: Sequence[Any]) -> None:
        for at, piece in enumerate(map(mapping, pieces)):
            index = at if piece.get("index") is None else piece["index"]
            function, own_id = mapping(piece.get("function")), _text(piece.get("id"))
            name = _text(function.get("name"))
            call = next((call for call in reversed(self.calls) if call.index == index), None)
            if call is None or call.ends_before(own_id, name):
                if not isinstance(index, int) or len(self.calls) >= _MOST_CALLS:
                    raise self.connection.confused("calls of tools")
                call = _Call(index)
                self.calls.append(call)
            call.id = call.id or own_id
            call.name += name
            arguments = function.get("arguments")
            call.arguments += json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)

    def _round(self, piece: str) -> Round:
        now = time.perf_counter()
        if self._before is None:
            self.tally.prompt_s = now - self._began
        took_s, self._before = now - (self._before or now), now
        token = Token(0, piece, Origin.PLAIN)
        self.text += piece
        round_ = Round(self.tally.rounds_n, None, 0, (token,), (), (), draft_s=0.0, verify_s=took_s, total_s=took_s)
        self.tally.add(round_)
        return round_

    def _figures(self) -> Timings:
        """The figures as measured here, and in their place those that the server tells."""
        here, usage, told = self.tally.timings(), self.usage, self.timings
        predicted_n = _count(told.get("predicted_n")) or _count(usage.get("completion_tokens")) or here.predicted_n
        predicted_ms = _milliseconds(told.get("predicted_ms")) or here.predicted_ms
        details = mapping(usage.get("completion_tokens_details"))
        accepted_n = _count(told.get("draft_n_accepted")) or _count(details.get("accepted_prediction_tokens"))
        rejected_n = _count(details.get("rejected_prediction_tokens"))
        draft_n = max(_count(told.get("draft_n")) or accepted_n + rejected_n, accepted_n)
        cached_n = _count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
        cache_n = _count(told.get("cache_n")) or cached_n
        prompt_n = _count(told.get("prompt_n")) or max(0, _count(usage.get("prompt_tokens")) - cache_n)
        return replace(
            here,
            prompt_n=prompt_n,
            prompt_ms=_milliseconds(told.get("prompt_ms")) or here.prompt_ms,
            cache_n=cache_n,
            predicted_n=predicted_n,
            predicted_ms=predicted_ms,
            predicted_per_second=predicted_n / predicted_ms * 1e3 if predicted_ms > 0 else None,
            rounds_n=0,
            draft_n=draft_n,
            draft_n_accepted=accepted_n,
            draft_acceptance_rate=accepted_n / draft_n if draft_n else None,
            mean_acceptance_length=None,
            origins={str(Origin.PLAIN): predicted_n} if predicted_n else {},
        )


def _told(delta: Mapping[str, Any]) -> tuple[str, str]:
    """The reasoning and the text of a piece; Mistral's server has a list of parts for both."""
    content = delta.get("content")
    parts = [mapping(part) for part in _list(content)]
    thoughts = [delta.get("reasoning_content") or delta.get("reasoning")]
    thoughts += [mapping(thought).get("text") for part in parts for thought in _list(part.get("thinking"))]
    said = [content, *(part.get("text") for part in parts)]
    return "".join(map(_text, thoughts)), "".join(map(_text, said))


def mapping(value: object) -> Mapping[str, Any]:
    """An object of JSON; empty in place of anything else."""
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _text(value: object) -> str:
    """Characters that can be stored and shown: a lone surrogate is none."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _count(value: object) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**40 else 0  # type: ignore[operator, return-value]


def _milliseconds(value: object) -> float:
    """A time that can be, 0 in place of any other: llama-server says that a single token takes a microsecond."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0.01 <= value < 1e12 else 0.0  # type: ignore[operator, arg-type]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
