"""The token count of the message being written, updated while the engine is free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from localspec.base.errors import CapacityError
from localspec.chat.compose.attachment import Attachment, over_context
from localspec.chat.compose.message import WrittenMessage, marks_in
from localspec.chat.compose.token_counts import TokenCount, TokenCounter


class Weighing:
    """Counts the parts of a message, one at a time."""

    def __init__(self, ask: Callable[[str], bool]) -> None:
        """``ask`` has the engine count a text, or says that it has something else to do."""
        self.n_ctx: int | None = None
        """The size of the context in tokens; None while no pair is loaded."""
        self._ask = ask
        self._counter = TokenCounter()
        self._asked: str | None = None
        self._parts: tuple[str, ...] = ()

    def write(self, written: WrittenMessage) -> None:
        """Count another text."""
        self._parts = _parts(written)
        self._counter.want(sorted(self._parts, key=len))
        self.go_on()

    def go_on(self) -> None:
        """Ask for the next count, if the engine is free for it."""
        if self._asked is None and (piece := self._counter.next_piece()) is not None and self._ask(piece):
            self._asked = piece

    def counted(self, n: int | None) -> None:
        """The engine's answer to the piece it had."""
        piece, self._asked = self._asked, None
        if piece is not None:
            self._counter.counted(piece, n)
            self.go_on()

    def fit(self, n_ctx: int | None) -> None:
        """Set the context of another pair, or of none; the pending question gets no answer."""
        self.n_ctx = n_ctx
        self._asked = None
        self._counter.forget()

    @property
    def total(self) -> TokenCount:
        """The count of the whole message."""
        return sum(map(self._counter.count, self._parts), TokenCount(0, exact=True))

    def of(self, attachment: Attachment) -> TokenCount:
        return self._counter.count(attachment.block)

    def too_large(self, attachments: Iterable[Attachment]) -> Iterator[tuple[Attachment, CapacityError]]:
        """The attachments that are read whole and do not fit into the context, each with its error."""
        for attachment in attachments:
            count = self.of(attachment)
            if count.exact and self.n_ctx and count.n > self.n_ctx:
                yield attachment, over_context(attachment.path, count.n, self.n_ctx)


def _parts(written: WrittenMessage) -> tuple[str, ...]:
    """The parts of the message, so that a long part is counted once and not at every letter typed beside it."""
    own, at = [], 0
    for mark in marks_in(written.text):
        if mark[0] in written.pasted:
            own.append(written.text[at : mark.start()])
            at = mark.end()
    typed = "".join([*own, written.text[at:]]).strip()
    parts: Sequence[str] = (typed, *written.pasted.values(), *(attached.block for attached in written.as_read))
    return tuple(part for part in parts if part)
