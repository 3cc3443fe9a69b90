"""Untrusted text made safe to show: one visible character in place of each that controls a terminal or deceives.

A model, a file, a server or an imported conversation may contain any character. Control characters control the
terminal, bidirectional controls reorder words, and some format characters hide them. Each becomes one character of one
cell, so that positions and widths stay. Ordinary text of every script stays as it is, and so do emoji that are joined
from several characters.
"""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Control characters except newline and tab."""
_BIDIRECTIONAL = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Bidirectional controls, and separators of lines and paragraphs, which terminals show differently."""
_FORMAT = "\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
"""Invisible format characters: tags and selectors can carry whole sentences."""
_SURROGATES = "\ud800-\udfff"
"""Half characters, as from file names that are not UTF-8; no terminal can show them."""
_NATIONS = ("gbeng", "gbsct", "gbwls")
_TAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in nation) for nation in _NATIONS)
_FLAG = f"\U0001f3f4(?:{_TAGS})\U000e007f"
"""The flags of England, Scotland and Wales, the only emoji that are made of tags."""
_IDEOGRAPH = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af][\U000e0100-\U000e01ef]"
"""A Chinese character with a selector of its variant."""

_SURROGATE = re.compile(f"[{_SURROGATES}]")
_ANY = re.compile(f"[{_CONTROL}{_BIDIRECTIONAL}{_FORMAT}{_SURROGATES}]")
_REPLACED = re.compile(f"{_FLAG}|{_IDEOGRAPH}|{_ANY.pattern}")
_LINE_SIGNS = str.maketrans("\n\t", "\u240a ")


def visible(text: str) -> str:
    r"""``text`` safe to show on several lines; its length stays.

    >>> visible("a\x1b]0;title\x07 b\u202ec")
    'a␛]0;title␇ b�c'
    """
    if (text.isascii() and text.isprintable()) or not _ANY.search(text):
        return text
    return _REPLACED.sub(_sign, text.replace("\r\n", " \n"))


def visible_line(text: str) -> str:
    r"""``text`` safe to show on one line, as a name, a title or an error; its length stays.

    >>> visible_line("a\nlocalspec: b")
    'a␊localspec: b'
    """
    return text if text.isprintable() and text.isascii() else visible(text).translate(_LINE_SIGNS)


def shortened(text: str, most: int) -> str:
    """``text``, or if it has more than ``most`` characters its beginning with an ellipsis.

    >>> shortened("abc", 3), shortened("abcd", 3)
    ('abc', 'ab…')
    """
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"


def capitalised(text: str) -> str:
    """``text`` with a capital letter at its beginning; all others stay as they are.

    >>> capitalised("the JSON"), capitalised("")
    ('The JSON', '')
    """
    return text[:1].upper() + text[1:]


def is_text(text: str) -> bool:
    """True for text that can be written as UTF-8: half a character cannot."""
    return _SURROGATE.search(text) is None


def is_visible(name: str) -> bool:
    """True if ``visible_line`` leaves the name as it is."""
    return visible_line(name) == name


def _sign(match: re.Match[str]) -> str:
    character = match[0]
    if len(character) > 1:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
