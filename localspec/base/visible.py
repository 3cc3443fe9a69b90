"""Text of strangers with signs in place of what would steer a terminal or deceive its reader.

A model, a file, a server or a conversation from elsewhere may hold any character. Control characters steer the
terminal, bidirectional controls show other words than there are, and some format characters hide words. Each becomes
one sign of one cell, so that places and widths stay. Ordinary text stays as it is in every script, and so do emoji
that are joined from several characters.
"""

from __future__ import annotations

import re

_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Control characters, but newline and tab."""
_TURNING = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Bidirectional controls, and separators of lines and paragraphs, which not every terminal shows as such."""
_HIDING = "\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
"""Format characters without a shape of their own: tags and selectors can carry whole sentences."""
_HALVES = "\ud800-\udfff"
"""Halves of characters, as bytes in file names that are not UTF-8; no terminal can be told of them."""
_LANDS = ("gbeng", "gbsct", "gbwls")
_FLAG = f"\U0001f3f4(?:{'|'.join(''.join(chr(0xE0000 + ord(letter)) for letter in land) for land in _LANDS)})\U000e007f"
"""The flags of England, Scotland and Wales, the only emoji that are made of tags."""
_IDEOGRAPH = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af][\U000e0100-\U000e01ef]"
"""A Chinese character and which of its shapes is meant."""

_ANY = re.compile(f"[{_STEERING}{_TURNING}{_HIDING}{_HALVES}]")
_REPLACED = re.compile(f"{_FLAG}|{_IDEOGRAPH}|{_ANY.pattern}")
_LINE_SIGNS = str.maketrans("\n\t", "\u240a ")


def visible(text: str) -> str:
    r"""``text``, as long as before, for a place of several lines.

    >>> visible("a\x1b]0;title\x07 b\u202ec")
    'a␛]0;title␇ b�c'
    """
    if (text.isascii() and text.isprintable()) or not _ANY.search(text):
        return text
    return _REPLACED.sub(_sign, text.replace("\r\n", " \n"))


def visible_line(text: str) -> str:
    r"""``text``, as long as before, for a place of one line: a name, a title, an error.

    >>> visible_line("a\nlocalspec: b")
    'a␊localspec: b'
    """
    return text if text.isprintable() and text.isascii() else visible(text).translate(_LINE_SIGNS)


def is_visible(name: str) -> bool:
    """Whether a name is shown as it is in a place of one line."""
    return visible_line(name) == name


def _sign(match: re.Match[str]) -> str:
    character = match[0]
    if len(character) > 1:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
