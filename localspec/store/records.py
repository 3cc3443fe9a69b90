"""The figures of all replies, read in one pass of a few hundred rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from localspec.engine.events import FinishReason, Round
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings
from localspec.store import provenance
from localspec.store.database import Database, Row, loaded
from localspec.store.replies import ReplyMetadata
from localspec.store.replies_json import MALFORMED, about_from_json, finished_from_dict, fitting, started_from_dict
from localspec.store.timestamps import from_micros, to_micros
from localspec.store.tree import ReplyState

PAGE_N = 500
"""Rows read at a time; between pages others may use the database."""

# A row is inserted when its reply begins, so rows are in the order of time.
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
    """The choice of records, and of fields that take time to read."""

    texts: bool = False
    rounds: bool = False
    settled: bool = False
    """True to end before the first reply that is being written, so that a later pass from there misses none."""
    trial: str | None = None
    """The id of a trial: only its replies, including those that failed before their first round."""


FIGURES = RecordFilter()
"""The filter for all records, with figures only."""


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """The figures of one run of the engine: a reply, or a continuation of one."""

    place: int
    """The position in the order of records, to continue a pass after it."""
    message: str
    """The id of the message."""
    at: datetime
    """The time at which the message was begun, in UTC."""
    state: ReplyState
    about: ReplyMetadata
    timings: Timings
    prompt_n: int | None = None
    """Tokens of the whole prompt; None if it was never tokenized, or figures were not kept."""
    ttft_s: float | None = None
    """The time to first token: the prompt and the first round."""
    reason: FinishReason | None = None
    text: str = ""
    """The text, if the filter has ``texts``."""
    rounds: tuple[Round, ...] = ()
    """The rounds, if the filter has ``rounds``; the texts of their tokens only with ``texts``."""
    question: str | None = None
    """The id of the parent message."""
    conversation: str = ""
    """The id of the conversation."""


def read_records(database: Database, after: int, since: datetime | None, where: RecordFilter) -> Iterator[ReplyRecord]:
    """The records after the place ``after`` of replies that have ended and left figures, oldest first.

    Deleted and copied replies do not count. Figures of an unfinished reply are added up from its rounds. Unreadable
    records are skipped. Raises StoreError.
    """
    since_micros = 0 if since is None else to_micros(since)
    while page := database.query(_PAGE, (where.texts, after, where.trial, where.trial, since_micros, PAGE_N)):
        for row in page:
            after, state = row[0], row[3]
            if state == ReplyState.WRITING:
                if where.settled:
                    return
                continue
            run = _readable(row, where)
            if run is not None:
                yield run


def _counts(run: ReplyRecord, trial: str | None) -> bool:
    """True if the record has figures and is no copy, or with a trial if it failed in that."""
    if trial is None:
        return run.timings.rounds_n > 0 and not run.about.copied
    return run.about.trial == trial and (run.timings.rounds_n > 0 or run.state is ReplyState.FAILED)


def _readable(row: Row, where: RecordFilter) -> ReplyRecord | None:
    """The record of a row; None if it does not count or is damaged."""
    try:
        run = _run(row, rounds=where.rounds)
        return run if _counts(run, where.trial) else None
    except MALFORMED:
        return None


def _run(row: Row, *, rounds: bool) -> ReplyRecord:
    place, message, created, state, about_json, started_json, stored, finished_json, text, question, conversation = row
    about = about_from_json(about_json)
    started = fitting(started_from_dict(loaded(started_json)))
    finished = finished_from_dict(loaded(finished_json))
    decoded = provenance.rounds_of(stored, text) if stored and (rounds or finished is None) else ()
    timings = fitting(finished.timings) if finished is not None else _added_up(decoded, about)
    first_s = decoded[0].total_s if decoded else provenance.first_round_s(stored) if stored else None
    return ReplyRecord(
        place=place,
        message=message,
        at=from_micros(created),
        state=ReplyState(state),
        about=about,
        timings=timings,
        prompt_n=started.prompt_n if started is not None else None,
        # The time of the prompt is known only from the end of a reply.
        ttft_s=timings.prompt_ms / 1e3 + first_s if finished is not None and first_s is not None else None,
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
