"""An append-only log of what was proposed and decided, for those who have to show it.

One JSON object a line: ``begin``, ``round``..., and ``end`` or ``error``, each with the time and an id of the reply;
fields are those that ``localspec run --json`` writes. Readable by its owner alone. What is to be redacted is gone
before a line is written; with rules a reply's rounds are therefore written at its end, for what matches may begin in
one round and end in a later one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

from localspec.base.errors import LocalSpecError, StoreError, refused
from localspec.engine.events import Event, Finished, Proposal, Round, Started, Token
from localspec.engine.wire import event_to_dict
from localspec.insight.stats.redaction import REPLACEMENT, Redaction, touches
from localspec.store.ids import new_id
from localspec.store.timestamps import Clock, now, to_iso

HIDDEN_ID = -1
"""In place of the id of a token that is redacted."""


class AuditLog:
    """May be used from any thread. A log that cannot be written says so in ``trouble`` and stops no reply."""

    def __init__(
        self,
        path: Path,
        redaction: Redaction | None = None,
        *,
        max_bytes: int = 16 * 2**20,
        keep_n: int = 10,
        keep_for: timedelta = timedelta(days=90),
        clock: Clock = now,
    ) -> None:
        """A file of ``max_bytes`` becomes ``path.1``, that one ``path.2``; ``keep_n`` of them are kept, for so long."""
        self.trouble: StoreError | None = None
        """Why the last write failed; its lines are lost."""
        self._path = path
        self._redaction = redaction
        self._max_bytes = max_bytes
        self._keep_n = keep_n
        self._keep_for = keep_for
        self._clock = clock
        self._lock = Lock()

    def begin(self, about: dict[str, Any], message: str = "") -> AuditedReply:
        """A reply begins; ``about`` is what it is made with, as ``store.replies_json.about_to_dict`` has it.

        ``message`` is its id in the history, if it is kept there. Raises nothing, as ``write``.
        """
        with self._lock, suppress(OSError):
            self._forget_old()
        return AuditedReply(self, about, self._redaction, message)

    def write(self, records: Sequence[dict[str, Any]]) -> None:
        """Append lines. Never raises for what is wrong with the disk."""
        at = to_iso(self._clock())
        lines = "".join(json.dumps({"at": at, **record}, ensure_ascii=False) + "\n" for record in records)
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._rotate(len(lines.encode(errors="replace")))
                handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as stream:
                    stream.write(lines)
                self.trouble = None
            except OSError as error:
                what = f"The audit log {self._path} cannot be written"
                self.trouble = StoreError(*refused(what, error, "name another file"))

    def _rotate(self, more_bytes: int) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        if size and size + more_bytes > self._max_bytes:
            self._old(self._keep_n).unlink(missing_ok=True)
            for number in reversed(range(self._keep_n)):
                with suppress(FileNotFoundError):
                    self._old(number).replace(self._old(number + 1))

    def _forget_old(self) -> None:
        oldest = (self._clock() - self._keep_for).timestamp()
        for number in range(1, self._keep_n + 1):
            with suppress(FileNotFoundError):
                if self._old(number).stat().st_mtime < oldest:
                    self._old(number).unlink()

    def _old(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


class AuditedReply:
    """Takes the events of one reply, where the ``Recorder`` takes them."""

    def __init__(self, log: AuditLog, about: dict[str, Any], redaction: Redaction | None, message: str = "") -> None:
        self.id = new_id()
        """Stands on each of its lines."""
        self._log = log
        self._redaction = redaction
        self._held: list[Round] = []
        self._ended = False
        # Sequences that end a reply, and grammars, are words of the person's.
        known = {"message": message} if message else {}
        self._write({"event": "begin", **known, "about": _cleaned(about, redaction)})

    def receive(self, event: Event) -> None:
        """Log what an event says; progress says nothing, and nothing counts after the end."""
        if self._ended:
            return
        match event:
            case Started():
                self._write(event_to_dict(event))
            case Round() if self._redaction is None:
                self._write(event_to_dict(event))
            case Round():
                self._held.append(event)
            case Finished():
                # The rounds have the text.
                self._end({**event_to_dict(replace(event, text="")), "event": "end"})

    def fail(self, error: LocalSpecError) -> None:
        """The reply broke off."""
        if not self._ended:
            message = _cleaned(error.message, self._redaction)
            self._end({"event": "error", "code": error.exit_code, "message": message})

    def _end(self, last: dict[str, Any]) -> None:
        rounds = self._held if self._redaction is None else redacted(self._held, self._redaction)
        self._write(*map(event_to_dict, rounds), last)
        self._held, self._ended = [], True

    def _write(self, *records: dict[str, Any]) -> None:
        self._log.write([{"reply": self.id, **record} for record in records])


def _cleaned(data: Any, redaction: Redaction | None) -> Any:
    """JSON data with every text in it redacted."""
    match data:
        case str() if redaction is not None:
            return redaction.clean(data)
        case dict():
            return {name: _cleaned(value, redaction) for name, value in data.items()}
        case list() | tuple():
            return [_cleaned(value, redaction) for value in data]
        case _:
            return data


def redacted(rounds: Sequence[Round], redaction: Redaction) -> list[Round]:
    """The rounds of a whole reply without the tokens that are part of a match, or would have been."""
    text = "".join(token.text for round_ in rounds for token in round_.tokens)
    spans = redaction.spans(text)
    clean, at = [], 0
    for round_ in rounds:
        ends = list(accumulate((len(token.text) for token in round_.tokens), initial=at))
        tokens = tuple(
            _hidden(token) if touches(spans, begin, end) else token
            for token, begin, end in zip(round_.tokens, ends, ends[1:], strict=False)
        )
        # Refused proposals stood where the target's own token stands, ignored ones behind the end.
        rejected = _proposals(redaction, text[: ends[-2]], round_.rejected)
        ignored = _proposals(redaction, text[: ends[-1]], round_.ignored)
        clean.append(replace(round_, tokens=tokens, rejected=rejected, ignored=ignored))
        at = ends[-1]
    return clean


def _proposals(redaction: Redaction, before: str, proposals: tuple[Proposal, ...]) -> tuple[Proposal, ...]:
    if not proposals:
        return proposals
    proposed = "".join(each.text for each in proposals)
    if not touches(redaction.spans(before + proposed), len(before), len(before) + len(proposed)):
        return proposals
    return tuple(replace(each, id=HIDDEN_ID, text=REPLACEMENT) for each in proposals)


def _hidden(token: Token) -> Token:
    return replace(token, id=HIDDEN_ID, text=REPLACEMENT)
