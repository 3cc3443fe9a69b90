"""The audit log: an append-only file of all proposals and decisions.

One JSON object a line: ``begin``, ``round``..., and ``end`` or ``error``, each with the time and an id of the reply,
with the fields of ``localspec run --json``. Only its owner can read it. Text is redacted before a line is written. With
rules, a reply's rounds are written at its end, because a match may span several rounds.
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
from typing import Any, TypeVar

from localspec.base.errors import LocalSpecError, OutputError, refused
from localspec.base.file_lock import file_lock
from localspec.base.shared_file import is_stream
from localspec.engine.events import Event, Finished, Proposal, Round, Started, Token
from localspec.engine.wire import event_to_dict
from localspec.insight.stats.redaction import REPLACEMENT, Redaction, touches
from localspec.store.ids import new_id
from localspec.store.timestamps import Clock, now, to_iso

_Shown = TypeVar("_Shown", Token, Proposal)

HIDDEN_ID = -1
"""Replaces the id of a redacted token."""
MAX_BYTES, KEEP_N, KEEP_FOR = 16_000_000, 10, timedelta(days=90)
"""The limits where the settings name none."""


class AuditLog:
    """The log file. Thread-safe. A failed write is reported in ``trouble`` and stops no reply."""

    def __init__(
        self,
        path: Path,
        redaction: Redaction | None = None,
        *,
        max_bytes: int = MAX_BYTES,
        keep_n: int = KEEP_N,
        keep_for: timedelta = KEEP_FOR,
        clock: Clock = now,
    ) -> None:
        """A full file becomes ``path.1``, that one ``path.2`` and so on; ``keep_n`` are kept, for ``keep_for``."""
        self.trouble: OutputError | None = None
        """The reason why the last write failed; its lines are lost."""
        self._path = path
        self._redaction = redaction
        self._max_bytes = max_bytes
        self._keep_n = keep_n
        self._keep_for = keep_for
        self._clock = clock
        self._lock = Lock()
        self._may_be_cut = True
        """True until a write succeeds: the last line may lack its end, for want of room or with its program."""

    def begin(self, about: dict[str, Any], message: str = "") -> AuditedReply:
        """Begin a reply; ``about`` is its metadata as in ``store.replies_json.about_to_dict``.

        ``message`` is its id in the history, if it is stored. Never raises for a fault of the disk.
        """
        with self._lock, suppress(OSError):
            self._forget_old()
        return AuditedReply(self, about, self._redaction, message)

    def write(self, records: Sequence[dict[str, Any]]) -> None:
        """Append lines. Never raises for a fault of the disk."""
        at = to_iso(self._clock())
        lines = "".join(json.dumps({"at": at, **record}, ensure_ascii=False) + "\n" for record in records)
        with self._lock:
            try:
                if self._may_be_cut and self._is_cut():
                    lines = f"\n{lines}"
                self._rotate(len(lines.encode(errors="replace")))
                # A pipe that nobody reads is not waited for.
                handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
                os.set_blocking(handle, True)
                with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as stream:
                    stream.write(lines)
                self.trouble, self._may_be_cut = None, False
            except OSError as error:
                self._may_be_cut = True
                what = f"The audit log {self._path} cannot be written"
                self.trouble = OutputError(*refused(what, error, "name another file"))

    def _rotate(self, more_bytes: int) -> None:
        """Begin a new file if this one is full. Several programs may write it: one of them renames files."""
        if not self._is_full(more_bytes):
            return
        with file_lock(self._path.parent):
            if self._is_full(more_bytes):  # no other program has begun a new one meanwhile
                self._old(self._keep_n).unlink(missing_ok=True)
                for number in reversed(range(self._keep_n)):
                    with suppress(FileNotFoundError):
                        self._old(number).replace(self._old(number + 1))

    def _is_full(self, more_bytes: int) -> bool:
        size = self._path.stat().st_size if self._path.exists() and not is_stream(self._path) else 0
        return size > 0 and size + more_bytes > self._max_bytes

    def _is_cut(self) -> bool:
        """True if the last line of the file lacks its end: the next one would be lost with it."""
        if is_stream(self._path):
            return False
        with suppress(OSError), self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                return file.read() != b"\n"
        return False

    def _forget_old(self) -> None:
        if is_stream(self._path):
            return  # what stands beside a folder or a device is not of the log
        oldest = (self._clock() - self._keep_for).timestamp()
        number = 1
        # Files past the last to keep are from a time when more were kept.
        while number <= self._keep_n or self._old(number).exists():
            with suppress(FileNotFoundError):
                if number > self._keep_n or self._old(number).stat().st_mtime < oldest:
                    self._old(number).unlink()
            number += 1

    def _old(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


class AuditedReply:
    """Logs the events of one reply."""

    def __init__(self, log: AuditLog, about: dict[str, Any], redaction: Redaction | None, message: str = "") -> None:
        self.id = new_id()
        """The id on each of its lines."""
        self._log = log
        self._redaction = redaction
        self._held: list[Round] = []
        self._ended = False
        # The metadata has text of the user too: stop sequences and grammars.
        known = {"message": message} if message else {}
        self._write({"event": "begin", **known, "about": _cleaned(about, redaction)})

    def receive(self, event: Event) -> None:
        """Log an event; progress, and events after the end, are ignored."""
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
                self._end(_cleaned({**event_to_dict(replace(event, text="")), "event": "end"}, self._redaction))

    def fail(self, error: LocalSpecError) -> None:
        """Log the end by an error."""
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
    """The rounds of a whole reply with all tokens and proposals redacted that are, or would be, part of a match."""
    text = "".join(token.text for round_ in rounds for token in round_.tokens)
    spans = redaction.spans(text)
    clean, at = [], 0
    for round_ in rounds:
        ends = list(accumulate((len(token.text) for token in round_.tokens), initial=at))
        tokens = tuple(
            _hidden(token) if touches(spans, begin, end) else token
            for token, begin, end in zip(map(_alone, round_.tokens), ends, ends[1:], strict=False)
        )
        # A rejected proposal stood at the position of the target's own token, an ignored one after the end.
        rejected = _proposals(redaction, text[: ends[-2]], round_.rejected)
        ignored = _proposals(redaction, text[: ends[-1]], round_.ignored)
        clean.append(replace(round_, tokens=tokens, rejected=rejected, ignored=ignored))
        at = ends[-1]
    return clean


def _proposals(redaction: Redaction, before: str, proposals: tuple[Proposal, ...]) -> tuple[Proposal, ...]:
    if proposals and redaction.completes(before, "".join(each.text for each in proposals)):
        return tuple(map(_hidden, proposals))
    return proposals


def _alone(token: Token) -> Token:
    """The token without its probability and its alternatives, which have texts, too."""
    return token if token.logprobs is None else replace(token, logprobs=None)


def _hidden(token: _Shown) -> _Shown:
    return replace(token, id=HIDDEN_ID, text=REPLACEMENT)
