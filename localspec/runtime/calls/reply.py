"""The calls of one reply, read from its committed tokens when it is complete."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from localspec.engine.events import Event, Finished, FinishReason, Round, Token, ToolCall
from localspec.engine.settings import Sampling
from localspec.runtime.calls.constraint import held
from localspec.runtime.calls.form import CallForm
from localspec.runtime.calls.reading import CallReader, CallsRead
from localspec.runtime.calls.syntax import Markers
from localspec.runtime.messages import Message, Role, Tool

_ID_CHARS = 9
"""Mistral's templates take no other number of letters and digits."""
_IN_PARTS = "A call of a tool was begun before the reply was continued. Write the whole call again."


class CallVocab(Protocol):
    """A vocabulary, as far as calls need it; ``backends.llama.vocab.LlamaVocab`` is one."""

    @property
    def written_controls(self) -> Mapping[bytes, int]:
        """Control tokens by what is written for them."""
        ...

    def is_end(self, token: int) -> bool:
        """True if the token ends a turn."""
        ...


@dataclass(slots=True)
class ReplyCalls:
    """Follows the events of a reply that may call ``tools``, and has its last one name the calls.

    Only what the target has committed is read, and only if the reply ended by itself: one that was cut off, cancelled
    or failed makes no call.
    """

    form: CallForm
    tools: Sequence[Tool]
    vocab: CallVocab
    reasons: bool
    """True if the prompt has begun the reasoning."""
    prefix: str = ""
    """The beginning of the reply, which was not written now."""
    messages: Sequence[Message] = ()
    """Those of the conversation."""
    _tokens: list[Token] = field(default_factory=list)
    _markers: dict[int, str] = field(init=False)

    def __post_init__(self) -> None:
        controls = self.vocab.written_controls
        named = ((controls.get(marker.encode()), marker) for marker in self.form.syntax.markers)
        self._markers = {token: marker for token, marker in named if token is not None}

    @staticmethod
    def of(
        form: CallForm,
        tools: Sequence[Tool],
        vocab: CallVocab,
        prompt_end: str,
        prefix: str = "",
        messages: Sequence[Message] = (),
    ) -> ReplyCalls:
        """``prompt_end`` is the end of the prompt's text."""
        reasons = prompt_end.rstrip().endswith(form.syntax.reasoning[0])
        return ReplyCalls(form, tools, vocab, reasons, prefix, messages)

    @property
    def written_out(self) -> Mapping[int, bytes]:
        """Control tokens that are shown in the reply, since they are part of calls."""
        return {token: marker.encode() for token, marker in self._markers.items() if not self.vocab.is_end(token)}

    def sampling(self, asked: Sampling) -> Sampling:
        """The sampling with the arguments of calls held to the tools' schemas, as far as they can be."""
        if self.prefix:  # it may be in the middle of a call, and may not fit
            return asked
        controls = {marker: token for token, marker in self._markers.items()}
        return held(asked, self.form.syntax, self.tools, controls, reasons=self.reasons)

    def follow(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events."""
        for event in events:
            if isinstance(event, Round):
                self._tokens += event.tokens
            elif isinstance(event, Finished) and event.reason is FinishReason.STOP:
                event = self._finished(event)
            yield event

    def _finished(self, event: Finished) -> Finished:
        read = self._read()
        calls = (ToolCall(_new_id(), call.name, call.arguments_text) for call in read.calls)
        return replace(event, calls=tuple(calls), call_error=read.error)

    def _read(self) -> CallsRead:
        markers = Markers(self._markers.values())
        written = (
            markers.written(self._markers[token.id])
            if token.id in self._markers and (token.text or self.vocab.is_end(token.id))
            else token.text
            for token in self._tokens
        )
        others = [message.content for message in self.messages if message.role in (Role.USER, Role.TOOL)]
        text = self.prefix + "".join(written)
        read = CallReader(self.form.syntax, self.tools, markers).read(text, reasons=self.reasons, messages=others)
        if any(call.start < len(self.prefix) for call in read.calls):
            return CallsRead(error=_IN_PARTS)
        return read


def _new_id() -> str:
    return secrets.token_hex(_ID_CHARS)[:_ID_CHARS]
