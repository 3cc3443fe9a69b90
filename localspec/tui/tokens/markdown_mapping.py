"""The place in the source of each character that rendered Markdown shows.

Nothing is guessed: the parser's tokens are followed through the source step by step, past the characters that the
parser drops (marks of emphasis, fences, bullets, targets of links, backslashes). Characters that the parser makes
(entities, line breaks that became spaces, pictures) have no place. Where source and tokens disagree, characters have
no place until words come that occur exactly once in the rest of the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from html.entities import html5

from markdown_it.common.normalize_url import normalizeLink
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.token import Token

NOWHERE = -1
"""The place of a character that the parser made."""

_LINE_END = re.compile(r"\r\n?|\n")
_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_ENTITY = re.compile(r"&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_BREAK = re.compile(r" *\\?\n[ \t]*")
_SPACES = re.compile(r"[ \t\n]*")
_SPACE = re.compile(r"\s+")
_RUN_OF_SPACE = re.compile(r"\s\s+|[^\S ]")
_LABEL = re.compile(r"\[[^\[\]]*\]")
_LEAST_TO_RESUME = 4
"""The fewest characters that are enough to find the place again."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A text and the place of each of its characters in the source."""

    text: str
    at: tuple[int, ...]

    @staticmethod
    def joined(parts: Sequence[Mapped], between: str = "") -> Mapped:
        """The parts one after the other, with made text between them."""
        at: list[int] = []
        for number, part in enumerate(parts):
            at += [NOWHERE] * len(between) if number else []
            at += part.at
        return Mapped(between.join(part.text for part in parts), tuple(at))

    @staticmethod
    def made(text: str) -> Mapped:
        """A text without places."""
        return Mapped(text, (NOWHERE,) * len(text))

    @staticmethod
    def copied(text: str, start: int) -> Mapped:
        """A text copied from the source at ``start``."""
        return Mapped(text, tuple(range(start, start + len(text))))

    def part(self, start: int, end: int) -> Mapped:
        return Mapped(self.text[start:end], self.at[start:end])


class MarkdownSource:
    """The source of parsed Markdown, by lines as the parser counts them."""

    def __init__(self, text: str) -> None:
        ends = [match.span() for match in _LINE_END.finditer(text)]
        starts = [0, *(end for _, end in ends)]
        stops = [*(start for start, _ in ends), len(text)]
        self._lines = [(start, text[start:stop]) for start, stop in zip(starts, stops, strict=True)]

    def inline(self, opening: Token, token: Token) -> Mapped:
        """The shown text of a heading or paragraph with the content ``token``."""
        first, lines = _first_line(token), token.content.split("\n")
        if opening.markup.startswith("#"):
            raw = self._after_hashes(first, token.content, len(opening.markup))
        else:
            raw = Mapped.joined([self._end_of(first + n, line) for n, line in enumerate(lines)], "\n")
        return _Walk(raw).through(token)

    def code(self, token: Token) -> Mapped:
        """The shown text of a block of code."""
        first = _first_line(token) + (token.type == "fence")
        lines = token.content.rstrip().split("\n")
        return Mapped.joined([self._end_of(first + n, line) for n, line in enumerate(lines)], "\n")

    def row(self, cells: Sequence[Token]) -> list[Mapped]:
        """The shown texts of the cells of a row, as far as the row has them."""
        found = _cells(Mapped.copied(self._line(_first_line(cells[0]))[1], self._line(_first_line(cells[0]))[0]))
        for skipped in (0, 1):
            raws = _matching(found[skipped:], [cell.content for cell in cells], in_container=not skipped)
            if raws:
                return [_Walk(raw).through(cell) for raw, cell in zip(raws, cells, strict=True)]
        return [_Walk(Mapped.made(cell.content)).through(cell) for cell in cells]

    def _line(self, number: int) -> tuple[int, str]:
        return self._lines[number] if 0 <= number < len(self._lines) else (0, "")

    def _end_of(self, number: int, text: str) -> Mapped:
        """Text at the end of a line: the parser drops indentation and signs of lists and quotes at the front alone."""
        start, line = self._line(number)
        stop = len(line) if line.endswith(text) else len(line.rstrip())
        copied = text.lstrip(" ")
        if not line.endswith(copied, 0, stop):
            return Mapped.made(text)
        if line.endswith(text, 0, stop):
            copied = text
        made = Mapped.made(text[: len(text) - len(copied)])
        return Mapped.joined([made, Mapped.copied(copied, start + stop - len(copied))])

    def _after_hashes(self, number: int, text: str, level: int) -> Mapped:
        start, line = self._line(number)
        after = line.find("#") + level
        at = after + len(line[after:]) - len(line[after:].lstrip())
        return Mapped.copied(text, start + at) if line.startswith(text, at) else Mapped.made(text)


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else -1


def _cells(line: Mapped) -> list[Mapped]:
    """The parts of a line between bars; the backslash before an escaped bar is dropped."""
    cells: list[Mapped] = []
    parts: list[Mapped] = []
    begin, escaped = 0, False
    for place, character in enumerate(line.text):
        if character == "|":
            parts.append(line.part(begin, place - 1 if escaped else place))
            begin = place
            if not escaped:
                cells.append(Mapped.joined(parts))
                parts, begin = [], place + 1
        escaped = character == "\\"
    return [*cells, Mapped.joined([*parts, line.part(begin, len(line.text))])]


def _matching(found: Sequence[Mapped], contents: Sequence[str], *, in_container: bool) -> list[Mapped]:
    """The cells with these contents, trimmed; empty unless all match. The first may follow the sign of a quote."""
    cells: list[Mapped] = []
    for number, content in enumerate(contents):
        cell = found[number] if number < len(found) else Mapped.made("")
        stop = len(cell.text.rstrip())
        begin = stop - len(content)
        lead = cell.text[: max(begin, 0)]
        if not cell.text.endswith(content, 0, stop) or (lead.strip() and (number or not in_container)):
            return []
        cells.append(cell.part(begin, stop))
    return cells


class _Lost(Exception):
    """The tokens do not agree with the source."""


class _Walk:
    """A walk through the source of a paragraph, along the parser's tokens."""

    def __init__(self, raw: Mapped) -> None:
        self._raw = raw
        self._text = raw.text
        self._at = 0
        self._lost = False
        self._links: list[Token] = []

    def through(self, token: Token) -> Mapped:
        return Mapped.joined([self._step(child) for child in token.children or ()])

    def _step(self, child: Token) -> Mapped:
        if child.type == "link_open":
            self._links.append(child)
        link = self._links.pop() if child.type == "link_close" and self._links else child
        if self._lost and not self._found_again(child):
            return Mapped.made(_on_screen(child))
        try:
            return self._follow(child, link)
        except _Lost:
            self._lost = True
            return Mapped.made(_on_screen(child))

    def _found_again(self, child: Token) -> bool:
        words = child.content
        if child.type != "text" or len(words.strip()) < _LEAST_TO_RESUME or self._text.count(words, self._at) != 1:
            return False
        self._at, self._lost = self._text.index(words, self._at), False
        return True

    def _follow(self, child: Token, link: Token) -> Mapped:
        match child.type:
            case "text":
                return _one_space(self._words(child.content))
            case "code_inline":
                return self._code(child)
            case "softbreak" | "hardbreak":
                self._at = self._end(_BREAK.match(self._text, self._at))
            case "image":
                self._image(child)
            case "link_open":
                self._pass({"autolink": "<", "linkify": ""}.get(child.markup, "["))
            case "link_close":
                self._end_link(link)
            case _:
                self._pass(child.markup)
        return Mapped.made(_on_screen(child))

    def _pass(self, text: str) -> None:
        if not self._text.startswith(text, self._at):
            raise _Lost
        self._at += len(text)

    @staticmethod
    def _end(match: re.Match[str] | None) -> int:
        if match is None:
            raise _Lost
        return match.end()

    def _words(self, words: str) -> Mapped:
        """The shown text of words that may have backslashes and entities in the source."""
        places: list[int] = []
        while len(places) < len(words):
            if self._text[self._at : self._at + 1] == "&" and (entity := self._entity()):
                self._at += len(entity)
                made = unescape(entity)
                if not words.startswith(made, len(places)):
                    raise _Lost
                places += [NOWHERE] * len(made)
                continue
            self._at += _ESCAPED.match(self._text, self._at) is not None
            if not self._text.startswith(words[len(places)], self._at):
                raise _Lost
            places.append(self._raw.at[self._at])
            self._at += 1
        return Mapped(words, tuple(places))

    def _entity(self) -> str:
        match = _ENTITY.match(self._text, self._at)
        return match[0] if match is not None and (match[0][1] == "#" or match[0][1:] in html5) else ""

    def _code(self, child: Token) -> Mapped:
        self._pass(child.markup)
        start = self._at
        close = re.compile(rf"(?<!`){child.markup}(?!`)").search(self._text, start)
        if close is None:
            raise _Lost
        inner = self._raw.part(start, close.start())
        shift = inner.text.replace("\n", " ").find(child.content)
        if shift not in (0, 1):
            raise _Lost
        self._at = close.end()
        inner = inner.part(shift, shift + len(child.content))
        pairs = zip(inner.text, inner.at, strict=True)
        return Mapped(child.content, tuple(NOWHERE if character == "\n" else at for character, at in pairs))

    def _image(self, child: Token) -> None:
        self._pass("![")
        for inner in child.children or ():
            self._step(inner)
        if self._lost:
            raise _Lost
        self._end_link(child)

    def _end_link(self, link: Token) -> None:
        if link.markup == "linkify":
            return
        self._pass(">" if link.markup == "autolink" else "]")
        if link.markup != "autolink":
            self._at = self._after_target(str(link.attrGet("href") or link.attrGet("src") or ""))

    def _after_target(self, href: str) -> int:
        """The place after "(target)", or after the label of a target that is defined elsewhere."""
        text, stop = self._text, len(self._text)
        if text.startswith("(", self._at):
            at = self._end(_SPACES.match(text, self._at + 1))
            target = parseLinkDestination(text, at, stop)
            at = self._end(_SPACES.match(text, target.pos if target.ok else at))
            title = parseLinkTitle(text, at, stop) if at < stop else None
            at = self._end(_SPACES.match(text, title.pos)) if title is not None and title.ok else at
            if text.startswith(")", at) and normalizeLink(target.str) == href:
                return at + 1
        label = _LABEL.match(text, self._at)
        return label.end() if label else self._at


def _one_space(text: Mapped) -> Mapped:
    """The text with each run of white space as one space, as it is drawn."""
    if not _RUN_OF_SPACE.search(text.text):
        return text
    parts, at = [], 0
    for match in _RUN_OF_SPACE.finditer(text.text):
        parts.append(text.part(at, match.start()))
        parts.append(
            Mapped(" ", text.at[match.start() : match.start() + 1]) if match[0][0] == " " else Mapped.made(" ")
        )
        at = match.end()
    return Mapped.joined([*parts, text.part(at, len(text.text))])


def _on_screen(child: Token) -> str:
    """The text that Textual draws for a piece of a paragraph."""
    match child.type:
        case "text":
            return _SPACE.sub(" ", child.content)
        case "code_inline":
            return child.content
        case "hardbreak":
            return "\n"
        case "softbreak":
            return " "
        case "image":
            alt = child.attrGet("alt")
            return "🖼  " + (f"({alt})" if alt else "") + "".join(inner.content for inner in child.children or ())
        case _:
            return ""
