"""The search in messages and titles, in all scripts.

A query is words, all of which must occur, in any order; a word matches as a prefix, and text in double quotes as it
stands. Case and accents are ignored. Characters that the full-text index lacks, signs and scripts without spaces
between words, are searched in the text itself. ``tag:``, ``folder:`` and ``is:archived`` keep some conversations, see
``filing``; archived ones are found only with such a word.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from localspec.runtime.messages import Role
from localspec.store import rows
from localspec.store.database import Database, Row, loaded, storable
from localspec.store.filing import FilingFilter
from localspec.store.replies_json import MALFORMED, finished_from_dict, fitting
from localspec.store.snippets import Snippet, fold, literal, pattern, snippet
from localspec.store.timestamps import from_micros, to_micros

CANDIDATES_N = 2000
"""The number of the latest hits that are ranked; older ones are not shown."""
_FRAGMENTS_N = 500
"""The most texts that are found literally, those behind them are not looked for: SQLite takes no more than 1000."""
RECENT_DAYS = 30.0
"""The age at which a hit has lost half of its recency: weight 2 today, 1.5 at this age, 1 long ago."""
_PARTS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORDS_OF_MANY_LETTERS = re.compile(r"\w+")
_TELLING_SIGNS = re.compile(r"^[-+#@$%&=<>/\\|~^]|[-+#@$%&=<>/\\|~^]$")
"""Signs that matter at the ends of a word: C++ is not C, and --seed is not seed."""
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, slots=True)
class Hit:
    """A message or a title that matches a query."""

    conversation: str
    message: str | None
    """None for a hit in the title."""
    title: str
    role: str | None
    at: datetime
    """The time of the message."""
    snippet: Snippet
    """The text around the hit."""

    @property
    def text(self) -> str:
        """The snippet as plain text."""
        return "".join(piece for piece, _ in self.snippet)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    match: str
    """The FTS5 expression; empty without words for the index."""
    fragments: tuple[str, ...]
    """Texts to find literally."""
    patterns: tuple[re.Pattern[str], ...]
    """The patterns to mark in a snippet."""

    @staticmethod
    def parse(text: str) -> Query:
        """Parse a query; any text is valid."""
        phrases, fragments, patterns = [], [], []
        parts = (part.groups() for part in _PARTS.finditer(storable(text).replace("\0", " ")))
        for quoted, word in dict.fromkeys(parts):  # a pasted text has many a word often, which would take minutes
            piece = quoted if quoted is not None else word
            if not piece.strip():
                continue
            for_words = _is_for_words(piece)
            literally = not for_words or _TELLING_SIGNS.search(piece.strip())
            if for_words:
                phrases.append(f'"{piece}"' if quoted is not None else f'"{piece}"*')
            if literally:
                fragments.append(piece.strip())
            patterns.append(literal(piece.strip()) if literally else pattern(piece, whole=quoted is not None))
        return Query(" ".join(phrases), tuple(fragments[:_FRAGMENTS_N]), tuple(patterns))

    def __bool__(self) -> bool:
        return bool(self.match or self.fragments)


def search(database: Database, text: str, limit: int, now: datetime) -> list[Hit]:
    """The hits, best first by rank (BM25) and recency; titles count as much as messages. Raises StoreError."""
    filing, words = FilingFilter.parse(text)
    query = Query.parse(words)
    if not (query or filing) or limit <= 0:
        return []
    # Without words the conversations themselves are the hits.
    tables = ("message", "conversation") if query else ("conversation",)
    within = _within(database, filing)
    found = [
        (_weight(row, now), table, row)
        for table in tables
        for row in database.query(*_candidates(table, query, within))
    ]
    best = sorted(found, key=lambda each: each[0])[:limit]
    numbers = {table: [row[0] for _, kind, row in best if kind == table] for table in ("message", "conversation")}
    texts = {
        "message": _messages(database, numbers["message"], query.patterns),
        "conversation": _titles(database, numbers["conversation"]),
    }
    return [
        _hit(row, snippet(texts[table][row[0]], query.patterns)) for _, table, row in best if row[0] in texts[table]
    ]


def _within(database: Database, filing: FilingFilter) -> str | None:
    """The numbers of the conversations that a filter keeps, as a JSON array; None for all that are not archived."""
    if not filing:
        return None
    every = rows.numbered_headings(database)
    return json.dumps([number for number, heading in every if filing.holds(heading)])


def _candidates(table: str, query: Query, within: str | None) -> tuple[str, list[object]]:
    """The statement that selects (number, rank, conversation, message, title, role, time), the latest first."""
    messages = table == "message"
    column = "t.content" if messages else "t.title"
    joined = (
        "JOIN conversation c ON c.id = t.conversation" if messages else "JOIN conversation c ON c.number = t.number"
    )
    # A derived title is found in its question, and the content of a summary in the messages before it.
    titled = "t.title_given" if query else "TRUE"
    shown = "c.deleted IS NULL AND " + ("t.deleted IS NULL AND t.role <> 'system'" if messages else titled)
    # The plus keeps SQLite from trying all of the conversations for each hit in the index.
    number = "+c.number" if query.match else "c.number"
    shown += " AND c.archived = 0" if within is None else f" AND {number} IN (SELECT value FROM json_each(?))"
    places = [] if within is None else [within]
    columns = "c.id, t.id, c.title, t.role, t.created" if messages else "c.id, NULL, c.title, NULL, t.updated"
    words = f"{table}_words"
    fragments = f" AND instr(lower({column}), lower(?))" * len(query.fragments)
    if query.match:
        source = f"FROM {words} JOIN {table} t ON t.number = {words}.rowid {joined} WHERE {words} MATCH ? AND {shown}"
        rank, order, values = f"bm25({words})", f"{words}.rowid", [query.match, *places, *query.fragments]
    else:
        source = f"FROM {table} t {joined} WHERE {shown}"
        rank, order, values = "-1.0", "t.number", [*places, *query.fragments]
    sql = f"SELECT t.number, {rank}, {columns} {source}{fragments} ORDER BY {order} DESC LIMIT {CANDIDATES_N}"
    return sql, list(values)


def _weight(row: Row, now: datetime) -> float:
    """The rank weighted by recency. BM25 is negative, and less is better."""
    age_days: float = max(0.0, (to_micros(now) - row[6]) / 86_400e6)
    return float(row[1]) * (1.0 + 1.0 / (1.0 + float(age_days) / RECENT_DAYS))


def _titles(database: Database, numbers: Sequence[int]) -> dict[int, str]:
    return dict(database.query(f"SELECT number, title FROM conversation WHERE number IN ({_places(numbers)})", numbers))


def _messages(database: Database, numbers: Sequence[int], patterns: Sequence[re.Pattern[str]]) -> dict[int, str]:
    """The texts of messages, with the names and arguments of calls in place of the markup that a model wrote.

    A reply that has the words in its markup alone is left out.
    """
    sql = f"""SELECT number, content, begin, finished FROM message LEFT JOIN reply ON message = id
        AND part = (SELECT max(part) FROM reply WHERE message = id) WHERE number IN ({_places(numbers)})"""
    texts = {}
    for number, text, begin, finished in database.query(sql, numbers):
        try:
            reply = fitting(finished_from_dict(loaded(finished)))
        except MALFORMED:
            reply = None
        if reply is not None and reply.said_n is not None:
            text = text[: begin + max(0, reply.said_n)]
            text += "".join(f"\n{call.name} {call.arguments}" for call in reply.calls)
            if not any(each.search(fold(text)) for each in patterns):
                continue
        texts[number] = text
    return texts


def _places(numbers: Sequence[int]) -> str:
    return ", ".join("?" * len(numbers))


def _hit(row: Row, around: Snippet) -> Hit:
    _, _, conversation, message, title, role, at = row
    known = role is None or role in tuple(Role)
    return Hit(conversation, message, title, role if known else Role.USER, from_micros(at), around)


def _is_for_words(piece: str) -> bool:
    """True if the full-text index can find it: letters and digits of scripts with spaces between words."""
    return bool(_WORDS_OF_MANY_LETTERS.search(piece.replace("_", ""))) and not any(map(_is_unspaced, piece))


def _is_unspaced(sign: str) -> bool:
    """True for characters of scripts without spaces, and for symbols, which FTS5 does not index."""
    if sign < "\u0080":
        return False
    return unicodedata.category(sign) in ("So", "Sk", "Cn") or unicodedata.name(sign, "").startswith(_UNSPACED)
