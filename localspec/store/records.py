"""The figures of all replies in one pass, a few hundred rows at a time, for whoever counts them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from localspec.engine.events import FinishReason, Round
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings
from localspec.store import provenance
from localspec.store.database import Database, Row
from localspec.store.replies import ReplyMetadata
from localspec.store.replies_json import about_from_dict, finished_from_dict, started_from_dict
from localspec.store.timestamps import from_micros, to_micros
from localspec.store.tree import ReplyState

PAGE_N = 500
"""Rows held at a time; between pages others may use the database."""

# A run is inserted when it begins, so the order of rows is that of time.
_PAGE = """
    SELECT reply.rowid, message.id, message.created, state, about, started, rounds, finished,
        CASE WHEN ? THEN substr(content, begin + 1) ELSE '' END, message.parent, message.conversation
    FROM reply CROSS JOIN message ON message.id = reply.message
        CROSS JOIN conversation ON conversation.id = message.conversation
    WHERE reply.rowid > ? AND (? IS NULL OR instr(about, ?)) AND message.created >= ?
        AND message.deleted IS NULL AND conversation.deleted IS NULL
    ORDER BY reply.rowid LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """What is read besides the figures, which takes time, and where to stop."""

    texts: bool = False
    rounds: bool = False
    settled: bool = False
    """End before the first run that is still going on, so that a later pass from there misses none."""
    trial: str | None = None
    """The runs that count for the trial of this id alone, those that broke off before their first round included."""


FIGURES = RecordFilter()
"""The figures alone."""


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """One run of the engine: a reply, or what was added to one."""

    place: int
    """Where a pass has come to with it."""
    message: str
    """Id of the message."""
    at: datetime
    """When the message was begun, in UTC."""
    state: ReplyState
    about: ReplyMetadata
    timings: Timings
    prompt_n: int | None = None
    """Tokens of the whole prompt; None if it never was tokenized, or figures were not kept."""
    ttft_s: float | None = None
    """From the request until there was a first token: reading the prompt, and the first round."""
    reason: FinishReason | None = None
    text: str = ""
    """What was said, if asked for."""
    rounds: tuple[Round, ...] = ()
    """If asked for; the texts of their tokens only if texts were too."""
    question: str | None = None
    """Id of the message above."""
    conversation: str = ""
    """Id of the conversation."""


def survey(database: Database, after: int, since: datetime | None, asked: RecordFilter) -> Iterator[ReplyRecord]:
    """All runs begun after the one at the place ``after`` that have ended and left figures, oldest first.

    What is deleted no longer counts. Figures of a run that did not finish are added up from its rounds. Records
    that cannot be read are passed over. Raises StoreError.
    """
    since_micros = 0 if since is None else to_micros(since)
    while page := database.query(_PAGE, (asked.texts, after, asked.trial, asked.trial, since_micros, PAGE_N)):
        for row in page:
            after, state = row[0], row[3]
            if state == ReplyState.WRITING:
                if asked.settled:
                    return
                continue
            run = _readable(row, rounds=asked.rounds)
            if run is not None and _counts(run, asked.trial):
                yield run


def _counts(run: ReplyRecord, trial: str | None) -> bool:
    """Whether there is something to say of it: figures, or for its trial that it failed."""
    if trial is None:
        return run.timings.rounds_n > 0
    return run.about.trial == trial and (run.timings.rounds_n > 0 or run.state is ReplyState.FAILED)


def _readable(row: Row, *, rounds: bool) -> ReplyRecord | None:
    try:
        return _run(row, rounds=rounds)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _run(row: Row, *, rounds: bool) -> ReplyRecord:
    place, message, created, state, about_json, started_json, stored, finished_json, text, question, conversation = row
    about = _about(about_json)
    started = started_from_dict(_loaded(started_json))
    finished = finished_from_dict(_loaded(finished_json))
    decoded = provenance.rounds_of(stored, text) if stored and (rounds or finished is None) else ()
    timings = finished.timings if finished is not None else _added_up(decoded, about)
    first = decoded[0] if decoded else provenance.first_round_of(stored) if stored else None
    return ReplyRecord(
        place=place,
        message=message,
        at=from_micros(created),
        state=ReplyState(state),
        about=about,
        timings=timings,
        prompt_n=started.prompt_n if started is not None else None,
        # How long the prompt took is known from the end of a reply alone.
        ttft_s=timings.prompt_ms / 1e3 + first.total_s if finished is not None and first is not None else None,
        reason=finished.reason if finished is not None else None,
        text=text,
        rounds=decoded if rounds else (),
        question=question,
        conversation=conversation,
    )


def _added_up(rounds: tuple[Round, ...], about: ReplyMetadata) -> Timings:
    tally = Tally(plain_per_second=about.plain_per_second)
    for round_ in rounds:
        tally.add(round_)
    return tally.timings()


@lru_cache(maxsize=256)
def _about(text: str) -> ReplyMetadata:
    """Replies in a row are mostly made with the same."""
    return about_from_dict(json.loads(text))


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
