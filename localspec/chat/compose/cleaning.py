"""Pasted and edited text made harmless before it is put into the prompt."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

_LINE_ENDS = re.compile("\r\n?")
_TERMINAL_CODES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")
"""Colours, cursor movements and titles, as copied from a terminal's log (ECMA-48)."""
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of the text around them, and halves of characters."""


def cleaned(text: str) -> tuple[str, int]:
    """``text`` with plain line ends and nothing that steers a terminal, and how many characters were replaced.

    Terminal codes are taken out whole and count once; other control characters and what was not UTF-8 become U+FFFD.
    """
    undecodable_n = text.count(REPLACEMENT)
    text, code_n = _TERMINAL_CODES.subn("", _LINE_ENDS.sub("\n", text))
    text, harmful_n = _HARMFUL.subn(REPLACEMENT, text)
    return text, undecodable_n + code_n + harmful_n


def cleaning_note(n: int) -> str:
    """A note about replaced characters; empty if there were none."""
    if not n:
        return ""
    if n == 1:
        return f"One character that is not text was taken out or replaced by {REPLACEMENT}."
    return f"{n:,} characters that are not text were taken out or replaced by {REPLACEMENT}."
