"""Finding what was said: words anywhere in messages and titles, whatever characters they are made of.

A query is words, all of which must be there, in any order; a word finds those that begin with it.
What stands in double quotes is found as it stands. Case and accents make no difference. What full-text search
cannot see, signs and scripts without spaces between words, is looked for in the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from localspec.store.database import Database, Row, storable
from localspec.store.snippets import Snippet, literal, pattern, snippet
from localspec.store.timestamps import from_micros, to_micros

CANDIDATES_N = 2000
"""So many of the latest hits are ranked; older ones of a word that frequent are not shown."""
RECENT_DAYS = 30.0
"""A hit of today weighs twice one of long ago, and a third more than one this old."""
_PARTS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORDS_OF_MANY_LETTERS = re.compile(r"\w+")
_TELLING_SIGNS = re.compile(r"^[-+#@$%&=<>/\\|~^]|[-+#@$%&=<>/\\|~^]$")
"""C++ is not C, and --seed is not seed."""
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, slots=True)
class Hit:
    """Where the words are."""

    conversation: str
    message: str | None
    """None if they are in the title."""
    title: str
    role: str | None
    at: datetime
    """When it was said."""
    snippet: Snippet
    """The text around, in pieces, and which of them are the hit itself."""

    @property
    def text(self) -> str:
        """The snippet without marks."""
        return "".join(piece for piece, _ in self.snippet)


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for."""

    match: str
    """In FTS5's language; empty if nothing is left for it."""
    fragments: tuple[str, ...]
    """To be found in the text as they are."""
    patterns: tuple[re.Pattern[str], ...]
    """What is marked."""

    @staticmethod
    def parse(text: str) -> Query:
        """Any text is a query."""
        phrases, fragments, patterns = [], [], []
        for part in _PARTS.finditer(storable(text).replace("\0", " ")):
            quoted, word = part[1], part[2]
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
        return Query(" ".join(phrases), tuple(fragments), tuple(patterns))

    def __bool__(self) -> bool:
        return bool(self.match or self.fragments)


def search(database: Database, text: str, limit: int, now: datetime) -> list[Hit]:
    """The best hits first, by rank (BM25) and by how recent they are; titles count as much as messages.

    Raises StoreError.
    """
    query = Query.parse(text)
    if not query or limit <= 0:
        return []
    found = [
        (_weight(row, now), table, row)
        for table in ("message", "conversation")
        for row in database.query(*_candidates(table, query))
    ]
    best = sorted(found, key=lambda each: each[0])[:limit]
    numbers = {table: [row[0] for _, kind, row in best if kind == table] for table in ("message", "conversation")}
    texts = {place: text for table, rows in numbers.items() for place, text in _texts(database, table, rows).items()}
    return [
        _hit(row, snippet(texts[table, row[0]], query.patterns)) for _, table, row in best if (table, row[0]) in texts
    ]


def _candidates(table: str, query: Query) -> tuple[str, list[object]]:
    """The statement that finds (number, rank, conversation, message, title, role, time), the latest first."""
    messages = table == "message"
    column = "t.content" if messages else "t.title"
    joined = (
        "JOIN conversation c ON c.id = t.conversation" if messages else "JOIN conversation c ON c.number = t.number"
    )
    # A title that was made from a question is found in the question.
    # What a summary says was said before.
    shown = "c.deleted IS NULL AND " + ("t.deleted IS NULL AND t.role <> 'system'" if messages else "t.title_given")
    columns = "c.id, t.id, c.title, t.role, t.created" if messages else "c.id, NULL, c.title, NULL, t.updated"
    words = f"{table}_words"
    fragments = f" AND instr(lower({column}), lower(?))" * len(query.fragments)
    if query.match:
        source = f"FROM {words} JOIN {table} t ON t.number = {words}.rowid {joined} WHERE {words} MATCH ? AND {shown}"
        rank, order, values = f"bm25({words})", f"{words}.rowid", [query.match, *query.fragments]
    else:
        source = f"FROM {table} t {joined} WHERE {shown}"
        rank, order, values = "-1.0", "t.number", [*query.fragments]
    sql = f"SELECT t.number, {rank}, {columns} {source}{fragments} ORDER BY {order} DESC LIMIT {CANDIDATES_N}"
    return sql, list(values)


def _weight(row: Row, now: datetime) -> float:
    """BM25 is less than 0, and less is better."""
    age_days: float = max(0.0, (to_micros(now) - row[6]) / 86_400e6)
    return float(row[1]) * (1.0 + 1.0 / (1.0 + float(age_days) / RECENT_DAYS))


def _texts(database: Database, table: str, numbers: Sequence[int]) -> dict[tuple[str, int], str]:
    """Of the rows to be shown."""
    column = "content" if table == "message" else "title"
    sql = f"SELECT number, {column} FROM {table} WHERE number IN ({', '.join('?' * len(numbers))})"
    return {(table, number): text for number, text in database.query(sql, numbers)}


def _hit(row: Row, around: Snippet) -> Hit:
    _, _, conversation, message, title, role, at = row
    return Hit(conversation, message, title, role, from_micros(at), around)


def _is_for_words(piece: str) -> bool:
    """Whether FTS5 sees it: letters and digits of scripts that put spaces between words."""
    return bool(_WORDS_OF_MANY_LETTERS.search(piece.replace("_", ""))) and not any(map(_is_unspaced, piece))


def _is_unspaced(sign: str) -> bool:
    """Signs FTS5 does not index count too, for a word with one is not the word without."""
    if sign < "\u0080":
        return False
    return unicodedata.category(sign) in ("So", "Sk", "Cn") or unicodedata.name(sign, "").startswith(_UNSPACED)
