"""A pair of a LocalSpec elsewhere: its events and its answers are those of the engine process there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from math import inf
from typing import TypeVar
from urllib.parse import quote

from localspec.base.errors import EngineError, error_from_code
from localspec.base.typed_json import misfit
from localspec.base.visible import visible_line
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import Event, Finished, FinishReason, Round, Started, TokenLogprobs
from localspec.engine.inspection import Inspection
from localspec.engine.tally import Tally
from localspec.runtime.images import images_in
from localspec.runtime.messages import Infill, Message, Prompt, ReplyOptions, TokenIds, Tool
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.remote.connection import Connection
from localspec.runtime.remote.protocol import ASK, HEARTBEAT_S, IMAGES, LOAD
from localspec.runtime.worker.codec import decode_answer, encode
from localspec.runtime.worker.messages import (
    Answer,
    Complete,
    Detokenize,
    Detokenized,
    Emitted,
    Failed,
    Generate,
    Inspect,
    Inspected,
    Loaded,
    Numbered,
    Render,
    Rendered,
    Score,
    Scored,
    Tokenize,
    Tokenized,
    Weigh,
    Weighed,
    Write,
)

T = TypeVar("T")
_SILENCE_S = 4 * HEARTBEAT_S
_IMAGE_S = 43_200.0
"""The time after which an image is sent again: the server keeps it for a day."""


class NativePair:
    """Implements ``load.InspectablePair``, and its inspector and prompter, over a connection that it owns."""

    def __init__(self, connection: Connection, pair_id: str, version: str) -> None:
        self._connection = connection
        self._pair_id = pair_id
        self._ids = count(1)
        self._images: dict[str, float] = {}
        """The time at which each was sent, by its digest."""
        loaded = self._only(LOAD, b"", Loaded)
        if loaded.info.n_ctx < 1:
            raise connection.confused("a pair without a context")
        server = f"LocalSpec {version} at {connection.address.place}"
        device = f"{visible_line(loaded.info.device)} at {connection.address.place}"
        self.info: PairInfo = replace(loaded.info, server=server, device=device)

    @property
    def inspector(self) -> NativePair:
        return self

    @property
    def prompter(self) -> NativePair:
        return self

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        asked: Write
        tally, text, begun = Tally(), "", False
        try:
            if isinstance(prompt, TokenIds | Infill):
                asked = Complete(next(self._ids), prompt, options, prefix)
            else:
                asked = Generate(next(self._ids), self._sent(prompt), options, prefix)
            for answer in self._answers(ASK, encode(asked)):
                if not isinstance(answer, Emitted):
                    raise self._connection.confused(f"a {type(answer).__name__}")
                event = answer.event
                if isinstance(event, Started) == begun:
                    raise self._connection.confused("events in another order")
                begun = True
                if isinstance(event, Finished):
                    yield replace(event, text=text)
                    return
                if isinstance(event, Round):
                    tally.add(event)
                    text += "".join(token.text for token in event.tokens)
                yield event
            raise self._connection.broken_off()
        except Cancelled:
            if not begun:
                yield Started(0, 0, options.seed or 0)
            yield Finished(FinishReason.CANCELLED, text, tally.timings())

    def inspect(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], position: int
    ) -> Inspection:
        asked = Inspect(next(self._ids), self._sent(prompt), options, tuple(reply), position)
        return self._ask(asked, Inspected).inspection

    def probs(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], start: int, stop: int
    ) -> tuple[float, ...]:
        asked = Weigh(next(self._ids), self._sent(prompt), options, tuple(reply), start, stop)
        probs = self._ask(asked, Weighed).probs
        if len(probs) != stop - start:
            raise self._connection.confused("the wrong number of probabilities")
        return probs

    def logprobs(self, ids: Sequence[int], start: int, stop: int, top_n: int) -> tuple[TokenLogprobs, ...]:
        return self._ask(Score(next(self._ids), tuple(ids), start, stop, top_n), Scored).logprobs

    def tokenize(
        self, text: str, *, special: bool = False, bos: bool = False
    ) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        answer = self._ask(Tokenize(next(self._ids), text, special, bos), Tokenized)
        return answer.ids, answer.pieces

    def detokenize(self, ids: Sequence[int]) -> str:
        return self._ask(Detokenize(next(self._ids), tuple(ids)), Detokenized).text

    def rendered(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), prefix: str = "", reasoning: str | None = None
    ) -> tuple[str, int]:
        answer = self._ask(Render(next(self._ids), tuple(messages), tuple(tools), prefix, reasoning), Rendered)
        return answer.text, answer.token_n

    def count_tokens(self, text: str) -> int:
        return len(self.tokenize(text)[0])

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        """0: the server is not to read for nothing what others wait for."""
        return 0

    def close(self, cancel: Cancellation | None = None) -> None:
        """Close the connection; the pair stays with its server."""
        self._connection.close()

    def _sent(self, prompt: Sequence[Message] | str) -> tuple[Message, ...] | str:
        """The prompt, once the images that it names are on the server. Raises LocalSpecError, Cancelled."""
        if isinstance(prompt, str):
            return prompt
        for image in (image for message in prompt for image in images_in(message.content)):
            if time.monotonic() > self._images.get(image.sha256, -inf) + _IMAGE_S:
                self._connection.send(IMAGES, image.read())
                self._images[image.sha256] = time.monotonic()
        return tuple(prompt)

    def _ask(self, asked: Numbered, kind: type[T]) -> T:
        return self._only(ASK, encode(asked), kind)

    def _only(self, path: str, body: bytes, kind: type[T]) -> T:
        """The one answer to a request, which is of this kind. Raises LocalSpecError, Cancelled."""
        for answer in self._answers(path, body):
            if isinstance(answer, kind):
                return answer
            raise self._connection.confused(f"a {type(answer).__name__}")
        raise self._connection.broken_off()

    def _answers(self, path: str, body: bytes) -> Iterator[Answer]:
        """The answers, held to their types. Raises LocalSpecError for ``Failed``."""
        where = f"{path}?pair={quote(self._pair_id, safe='', errors='replace')}"
        for line in self._connection.lines(where, body, silence_s=_SILENCE_S):
            try:
                answer = decode_answer(line)
            except EngineError:
                raise self._connection.confused("an answer") from None
            if misfit(answer) is not None:
                raise self._connection.confused("an answer of another form")
            if isinstance(answer, Failed):
                raise error_from_code(answer.exit_code, visible_line(answer.message), visible_line(answer.hint))
            yield answer
