"""The recording of a reply in the database while it streams.

A few times a second a write appends what is new; earlier writes stay untouched until the reply ends. A killed program
loses only what came since the last write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, Round, Started
from localspec.engine.tally import Tally
from localspec.store import provenance
from localspec.store.database import Statement, storable
from localspec.store.rows import end_part, start_part, update_content
from localspec.store.tree import Node, ReplyState
from localspec.store.write_queue import WriteQueue

INTERVAL_S = 0.4
"""The longest that text waits to be written, while events or calls of ``tick`` come."""

Monotonic = Callable[[], float]
Ended = Callable[[Node], tuple[Statement, ...]]
"""Called with the final node; returns further statements to write with it."""


class Recorder:
    """Records the events of one reply. Never raises for a fault of the disk: see ``Store.trouble``."""

    def __init__(self, write_queue: WriteQueue, node: Node, part: int, monotonic: Monotonic, ended: Ended) -> None:
        """``node`` is the message before the reply; new text is appended to its content."""
        self.node = node
        """The message; its content and state are up to date once the reply has ended."""
        self.keeps_figures = True
        """True to store tokens, rounds and times with the text. To be set before the first event."""
        self._write_queue = write_queue
        self._part = part
        self._monotonic = monotonic
        self._ended = ended
        self._written_at_s = monotonic()
        self._unwritten: list[Round] = []
        self._texts: list[str] = [node.content]
        self._frames: list[bytes] = []

    @property
    def message(self) -> str:
        """The id of the message."""
        return self.node.id

    @property
    def ended(self) -> bool:
        return self.node.state is not ReplyState.WRITING

    def receive(self, event: Event) -> None:
        """Record the next event; events after the end are ignored."""
        if self.ended:
            return
        match event:
            case Started() if self.keeps_figures:
                self._write_queue.write(start_part(self.node.id, self._part, event), patient=False)
            case Round():
                self._unwritten.append(event)
                self.tick()
            case Finished():
                timings = event.timings if self.keeps_figures else Tally().timings()
                self._end(ReplyState.DONE, replace(event, text="", timings=timings), None)

    def fail(self, error: LocalSpecError) -> None:
        """End the reply with an error; its text stays."""
        if not self.ended:
            self._end(ReplyState.FAILED, None, error)

    def tick(self) -> None:
        """Write what is due. To be called now and then, because events may pause."""
        if self._unwritten and self._monotonic() - self._written_at_s >= INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Write what is new."""
        if not self._unwritten or self.ended:
            return
        text, frame = self._take()
        chunk = (self.node.id, len(self._frames) - 1, text, frame)
        self._write_queue.write(
            ("INSERT INTO chunk (message, number, content, rounds) VALUES (?, ?, ?, ?)", chunk), patient=False
        )
        self._written_at_s = self._monotonic()

    def _take(self) -> tuple[str, bytes]:
        """The text and the frame of the new rounds, which then count as written."""
        text = storable("".join(token.text for round_ in self._unwritten for token in round_.tokens))
        frame = provenance.frame(self._unwritten) if self.keeps_figures else b""
        self._texts.append(text)
        self._frames.append(frame)
        self._unwritten = []
        return text, frame

    def _end(self, state: ReplyState, finished: Finished | None, error: LocalSpecError | None) -> None:
        """Move text and rounds to their final place."""
        if self._unwritten:
            self._take()
        said_n = finished.said_n if finished is not None else None
        said_n = None if said_n is None else len(self._texts[0]) + said_n
        self.node = replace(self.node, content="".join(self._texts), state=state, said_n=said_n)
        rounds = provenance.record(self._frames)
        self._write_queue.write(
            update_content(self.node.id, self.node.content),
            end_part(self.node.id, self._part, state, rounds, finished, error),
            ("DELETE FROM chunk WHERE message = ?", (self.node.id,)),
            *self._ended(self.node),
        )
