"""The width of text with joiners, measured in one way.

Needed with Rich 15.0.0. Corrects: a zero-width joiner hides whatever follows it, be it a letter of a Hindi word or a
space, where terminals join emoji alone; and the length of a text is not the sum of its characters' where joiners stand
at its beginning, so that cutting it raises IndexError, which ends the app. Not reported upstream yet.
"""

from __future__ import annotations

from collections.abc import Callable

from rich import cells
from rich._unicode_data import load as load_cell_table

_JOINER, _SELECTOR = "\u200d", "\ufe0f"
_FIRST_EMOJI = 0x1F000
"""Before it emoji are those that a selector makes wide, digits apart."""
_measured: Callable[[str, str], int] = cells._cell_len


def measure_joiners() -> None:
    """Patch Rich, once a process."""
    if cells.split_graphemes is not split_graphemes:
        setattr(cells, "_cell_len", _cell_len)  # noqa: B010 -- a function of the module
        setattr(cells, "split_graphemes", split_graphemes)  # noqa: B010
        cells.cached_cell_len.cache_clear()


def _cell_len(text: str, unicode_version: str = "auto") -> int:
    if _JOINER not in text and _SELECTOR not in text:
        return _measured(text, unicode_version)
    return split_graphemes(text, unicode_version)[1]


def split_graphemes(text: str, unicode_version: str = "auto") -> tuple[list[tuple[int, int, int]], int]:
    """The first index, the end and the cells of each character as it is drawn; and the cells of all."""
    widened = load_cell_table(unicode_version).narrow_to_wide
    spans: list[tuple[int, int, int]] = []
    emoji = joined = False  # the latest character with a width is an emoji; a joiner follows it
    for index, character in enumerate(text):
        width = cells.get_character_cell_size(character, unicode_version)
        if character == _SELECTOR and spans and text[index - 1] in widened:
            start, _, before = spans[-1]
            spans[-1] = (start, index + 1, before + (before == 1))
            emoji = True
        elif character in (_JOINER, _SELECTOR) or not width:
            joined = character == _JOINER and emoji
            start, _, before = spans.pop() if spans else (index, index, 0)
            spans.append((start, index + 1, before))
        else:
            is_emoji = ord(character) >= _FIRST_EMOJI or (character in widened and not character.isascii())
            if joined and is_emoji:
                start, _, before = spans[-1]
                spans[-1] = (start, index + 1, before)
            else:
                spans.append((index, index + 1, width))
            emoji, joined = is_emoji, False
    return spans, sum(width for _, _, width in spans)
