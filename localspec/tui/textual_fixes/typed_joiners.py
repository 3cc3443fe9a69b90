"""Invisible characters that a keyboard types inside words and emoji, taken as text.

Needed with Textual 8.2.8. Corrects: a key counts as printable if ``str.isprintable`` says so, which it does not of
joiners, so that text areas and fields drop them: Persian and Indic words fall apart, and a family becomes four people.
Not reported upstream yet.
"""

from __future__ import annotations

from textual.events import Key

_JOINERS = frozenset({"\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))})
"""The zero-width non-joiner and joiner, and the tags of flags."""


def take_joiners() -> None:
    """Patch Textual, once a process: from now on a key that types one of these is printable."""
    setattr(Key, "is_printable", property(_is_printable))  # noqa: B010 -- a property


def _is_printable(key: Key) -> bool:
    return key.character is not None and (key.character.isprintable() or key.character in _JOINERS)
