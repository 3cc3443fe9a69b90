"""The calls of one reply, read from its committed tokens when it is complete."""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from localspec.base.errors import UsageError
from localspec.engine.events import Event, Finished, FinishReason, Round, Token, ToolCall
from localspec.engine.settings import Sampling
from localspec.runtime.calls.constraint import held
from localspec.runtime.calls.form import CallForm
from localspec.runtime.calls.held_back import HeldBack
from localspec.runtime.calls.reading import CallReader, CallsRead
from localspec.runtime.calls.syntax import Markers
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool

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
    or failed makes no call. A call that was cut off is not said.
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
    _markers: dict[int, str] = field(init=False)
    _written: dict[int, bytes] = field(init=False)
    """The texts of their tokens."""
    _stand_ins: Markers = field(init=False)
    _reader: CallReader = field(init=False)
    _held_back: HeldBack = field(init=False)
    _text: str = field(init=False)
    """The reply as it is read, with stand-ins for markers that are control tokens."""
    _ends: list[tuple[int, int]] = field(default_factory=list)
    """The ends of the tokens, in that text and in the one that is shown."""

    def __post_init__(self) -> None:
        syntax = self.form.syntax
        # In some vocabularies the line end behind a marker is part of its token.
        exact = {text: (token, text) for text, token in self.vocab.written_controls.items()}
        controls = {text.strip(): named for text, named in exact.items()} | exact
        found = {marker: controls[written] for marker in syntax.markers if (written := marker.encode()) in controls}
        self._markers = {token: marker for marker, (token, _) in found.items()}
        self._written = dict(found.values())
        self._stand_ins = Markers(self._markers.values())
        self._reader = CallReader(syntax, self.tools, self._stand_ins)
        self._held_back = HeldBack(self._reader, bare=syntax.bare, reasons=self.reasons)
        self._text = self.prefix

    @property
    def written_out(self) -> Mapping[int, bytes]:
        """Control tokens that are shown in the reply, since they are part of calls."""
        return {token: text for token, text in self._written.items() if not self.vocab.is_end(token)}

    def sampling(self, options: ReplyOptions) -> Sampling:
        """The sampling with the arguments of calls held to the tools' schemas, as far as they can be.

        Raises UsageError where a call is to be made, and cannot be required.
        """
        asked = options.sampling
        if self.prefix:  # it may be in the middle of a call, and may not fit
            if options.must_call:
                raise UsageError(
                    "A call of a tool cannot be required of a reply that has begun.",
                    "Leave out its beginning, or leave the choice to the model.",
                )
            return asked
        controls = {marker: token for token, marker in self._markers.items()}
        choice = {"must_call": options.must_call, "one_call": options.one_call}
        return held(asked, self.form.syntax, self.tools, controls, reasons=self.reasons, **choice)

    def follow(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events, which say what may be a call, and the last one which calls there are."""
        for event in events:
            if isinstance(event, Round):
                self._take(event.tokens)
                event = replace(event, held_n=self._shown_n - self._shown(self._held_back.start(self._text)))
            elif isinstance(event, Finished) and event.reason is FinishReason.STOP:
                event = self._finished(event)
            elif isinstance(event, Finished) and event.reason is FinishReason.LENGTH:
                event = replace(event, said_n=self._cut_n())
            yield event

    def _take(self, tokens: Sequence[Token]) -> None:
        shown_n = self._shown_n
        for token in tokens:
            marked = token.id in self._markers and (token.text or self.vocab.is_end(token.id))
            self._text += self._stand_ins.written(self._markers[token.id]) if marked else token.text
            shown_n += len(token.text)
            self._ends.append((len(self._text), shown_n))

    @property
    def _shown_n(self) -> int:
        return self._ends[-1][1] if self._ends else 0

    def _shown(self, index: int) -> int:
        """The index in the shown text of an index in the text that is read, at the beginning of a marker or beside."""
        at = bisect_left(self._ends, index, key=lambda ends: ends[0])
        if at < len(self._ends) and index == self._ends[at][0]:
            return self._ends[at][1]
        read_end, shown_end = self._ends[at - 1] if at else (len(self.prefix), 0)
        return max(0, shown_end + index - read_end)

    def _finished(self, event: Finished) -> Finished:
        read = self._read()
        calls = tuple(ToolCall(_new_id(), call.name, call.arguments_text) for call in read.calls)
        said_n = self._said_n(read) if calls or event.stop is None else self._cut_n()
        return replace(event, calls=calls, call_error=read.error, said_n=said_n)

    def _cut_n(self) -> int | None:
        """The characters before a call in which the reply was cut off; None for all."""
        begun = self._held_back.has_begun(self._text)
        return self._shown(self._held_back.start(self._text)) if begun else None

    def _said_n(self, read: CallsRead) -> int | None:
        """The characters before the calls, or before control tokens at the end that begin none; None for all."""
        if not read.calls and read.error:
            return None
        start = read.calls[0].start if read.calls else self._held_back.start(self._text)
        rest = self._text[start:]
        if read.calls or (self._stand_ins.has_stand_in(rest) and not self._stand_ins.without(rest).strip()):
            return self._shown(len(self._text[:start].rstrip()))
        return None

    def _read(self) -> CallsRead:
        others = [message.content for message in self.messages if message.role in (Role.USER, Role.TOOL)]
        read = self._reader.read(self._text, reasons=self.reasons, messages=others)
        if any(call.start < len(self.prefix) for call in read.calls):
            return CallsRead(error=_IN_PARTS)
        return read


def _new_id() -> str:
    return secrets.token_hex(_ID_CHARS)[:_ID_CHARS]
