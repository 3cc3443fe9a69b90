"""A suffix automaton over tokens (Blumer et al. 1985), built online: it finds what followed the last time.

A state stands for all strings that end at the same places of the text; its suffix link leads to the longest
of their suffixes that ends at more places. Beside the automaton proper, every state knows how often its
strings occur, where they occurred last, and which token followed them most often. Adding a token
changes that for each suffix of the text, so the suffixes counted are bounded: a match has at most ``longest``
tokens. That bound is what a text of one token repeated costs per token; ordinary text has a chain of
about four states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.engine.model import common_prefix

_BOTTOM = 0
"""The state before the root, from which every token leads to the root: it saves the root its special cases."""
_ROOT = 1
"""The state of the empty string."""
_SEPARATOR = -1
"""The token between two texts; no token id is negative."""


@dataclass(slots=True)
class Guess:
    """A token, and the match it followed. Not frozen, which would double the time that a guess takes."""

    token: int
    match_length: int
    """Tokens before it that occurred in the text, right before this token."""
    count: int
    """Times that this token followed the match in the text."""
    occurrences: int
    """Times that the match occurs in the text, its very end left out, where nothing follows yet."""
    position: int
    """The index in the text of this token after the latest match; separators count as one each."""

    @property
    def share(self) -> float:
        """The share of the matches that this token followed: above 0, at most 1."""
        return self.count / self.occurrences


class SuffixAutomaton:
    """Every substring of a growing text, with what followed it.

    The text may consist of several texts, which no match spans. Token ids are never negative.
    """

    def __init__(self, longest: int = 32) -> None:
        """``longest``: the most tokens of a match. The occurrences of longer ones are not counted."""
        assert longest > 0
        self._longest = longest
        self._clear()

    def _clear(self) -> None:
        self._text: list[int] = []
        self._start = 0  # where the last of the texts begins
        # One entry per state, in columns: an object per state would cost more than all the rest.
        self._next: list[dict[int, int]] = [{}, {}]
        self._link = [_BOTTOM, _BOTTOM]
        self._length = [-1, 0]  # of the longest string of the state
        self._count = [0, 0]  # occurrences
        self._last = [0, 0]  # the end of the latest occurrence
        self._best = [_BOTTOM, _BOTTOM]  # where the most frequent token leads, bottom if none follows
        self._whole = _ROOT  # the state of the whole text
        self._end = (_ROOT, 0)  # the state of the longest suffix that may be a match, and its length

    def __len__(self) -> int:
        """Tokens and separators in the text."""
        return len(self._text)

    def follow(self, context: Sequence[int]) -> None:
        """Make ``context`` the last text, by extending the one there is, after cutting it back to the common prefix.

        A cut builds the whole automaton anew, so texts that stay are better kept in one of their own.
        """
        held = self._text[self._start :] if self._start else self._text
        common_n = common_prefix(held, context)
        if common_n < len(held):
            self._rebuild(self._text[: self._start + common_n])
        self.extend(context[common_n:])

    def keep_latest(self, n: int) -> None:
        """Forget all but the latest ``n`` tokens and separators. Cursors find no match until their next step."""
        self._rebuild(self._text[-n:])

    def _rebuild(self, text: list[int]) -> None:
        self._clear()
        begin = 0
        for at, token in enumerate(text):
            if token == _SEPARATOR:
                self.extend(text[begin:at])
                self._separate()
                begin = at + 1
        self.extend(text[begin:])

    def extend_apart(self, tokens: Sequence[int]) -> None:
        """Begin a new text. ``extend`` and ``follow`` go on with this one."""
        if self._text:
            self._separate()
        self.extend(tokens)

    def _separate(self) -> None:
        """Add a separator, and start the match over: none has a separator in it or counts it as what follows."""
        self._append(_SEPARATOR)
        self._text.append(_SEPARATOR)
        self._start = len(self._text)
        self._end = (_ROOT, 0)

    def extend(self, tokens: Sequence[int]) -> None:
        """Add ``tokens`` to the end of the last text."""
        text, next_, link, length = self._text, self._next, self._link, self._length
        count, last, best, longest = self._count, self._last, self._best, self._longest
        append = self._append
        state, size = self._end
        for token in tokens:
            append(token)
            text.append(token)
            place = len(text)
            at, seen = state, _BOTTOM
            # All matches that end here, from the longest to the empty one: the token has followed them once more.
            # (A split leaves ``state`` the longer strings only if all tokens are one; those lead to the same place.)
            while at:
                to = next_[at][token]
                if to != seen:
                    count[to] += 1
                    last[to] = place
                    seen = to
                if count[to] >= count[best[at]]:
                    best[at] = to
                at = link[at]
            state = next_[state][token]
            if size < longest:
                size += 1
            elif length[link[state]] >= size:
                state = link[state]
        self._end = (state, size)

    def _append(self, token: int) -> None:
        """One step of the construction. The occurrences are left to the caller."""
        next_, link, length = self._next, self._link, self._length
        whole = self._whole
        new = self._whole = len(link)
        next_.append({})
        length.append(length[whole] + 1)
        self._count.append(0)
        self._last.append(0)
        self._best.append(_BOTTOM)
        next_[_BOTTOM][token] = _ROOT
        at = whole
        while token not in next_[at]:
            next_[at][token] = new
            at = link[at]
        to = next_[at][token]
        link.append(to)
        if length[to] != length[at] + 1:
            link[new] = self._split(at, to, token)

    def _split(self, at: int, to: int, token: int) -> int:
        """Give the strings of ``to`` that are one longer than those up to ``at`` a state of their own."""
        next_, link = self._next, self._link
        short = len(link)
        next_.append(next_[to].copy())
        link.append(link[to])
        self._length.append(self._length[at] + 1)
        self._count.append(self._count[to])
        self._last.append(self._last[to])
        self._best.append(self._best[to])
        link[to] = short
        while next_[at].get(token) == to:
            next_[at][token] = short
            at = link[at]
        return short

    def cursor(self) -> SuffixCursor:
        """A cursor at the end of the text."""
        state, size = self._end
        return SuffixCursor(self, state, size)

    def cursor_after(self, context: Sequence[int]) -> SuffixCursor:
        """A cursor at the end of ``context``, which need not be in the text."""
        cursor = SuffixCursor(self, _ROOT, 0)
        for token in context[-self._longest :]:
            cursor.step(token)
        return cursor


class SuffixCursor:
    """A place after the text, or after any other tokens, and the match that ends there.

    The match is the longest suffix of the tokens before it that occurs in the text with a token after it. Steps do
    not become part of the text: nothing they contain is counted. A text that repeats itself up to its end is
    continued all the same, since a match that runs into the end shortens to one that does not.
    A text that has grown meanwhile may cost it a match; one that was built anew has it start over.
    """

    __slots__ = ("_automaton", "_built", "_state", "match_length")

    def __init__(self, automaton: SuffixAutomaton, state: int, match_length: int) -> None:
        self._automaton = automaton
        self._built = automaton._next
        self._state = state
        self.match_length = match_length
        """0 if nothing matches."""
        self._shorten()

    def guess(self) -> Guess | None:
        """The token that followed the match most often, of several the one that did so last; None without a match."""
        if not self.match_length or self._built is not self._automaton._next:
            return None
        automaton, state = self._automaton, self._state
        last, count, text = automaton._last, automaton._count, automaton._text
        best = automaton._best[state]
        position = last[best] - 1
        occurrences = count[state] - (last[state] == len(text))
        return Guess(text[position], self.match_length, count[best], occurrences, position)

    def step(self, token: int) -> None:
        """Move on by ``token``."""
        automaton, state = self._automaton, self._state
        next_, link, length = automaton._next, automaton._link, automaton._length
        if self._built is not next_:
            self._built, state, self.match_length = next_, _ROOT, 0
        while token not in next_[state]:
            state = link[state]
            if not state:
                self._state, self.match_length = _ROOT, 0
                return
            self.match_length = length[state]
        state = next_[state][token]
        if self.match_length < automaton._longest:
            self.match_length += 1
        elif length[link[state]] >= self.match_length:
            state = link[state]
        self._state = state
        if not automaton._best[state]:
            self._shorten()

    def _shorten(self) -> None:
        """Shorten the match until something follows it."""
        state, link, best = self._state, self._automaton._link, self._automaton._best
        while state > _ROOT and not best[state]:
            state = link[state]
            self.match_length = self._automaton._length[state]
        self._state = state
