"""Titles of conversations, made from the first question or from the words of a model."""

from __future__ import annotations

import re

from localspec.store.file_blocks import split_files

UNTITLED = "New conversation"
MAX_TITLE_LENGTH = 60
"""The longest title that is made here."""
MAX_GIVEN_LENGTH = 500
"""Characters that are kept of a title that a person or a file gives: lists show and search all titles at once."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|(?<=[。！？])")
_SIGNS = re.compile(r"^(?:[#>*+\-\s]|\d+[.)]\s)+")


def title_of(question: str) -> str:
    """The first sentence of a question on one line, cut at a word, without attached files.

    >>> title_of("## Why is the sky blue? I always wondered.")
    'Why is the sky blue?'
    """
    text = split_files(question)[1][:10_000]
    lines = (_SIGNS.sub("", line).strip() for line in text.splitlines())
    first = next((line for line in lines if any(map(str.isalnum, line)) and not line.startswith("```")), "")
    return _cut(_printable(_SENTENCE_END.split(first, maxsplit=1)[0])) or UNTITLED


def title_from(words: str) -> str:
    """The title in the words of a model, on one line, cut at a word; empty if there is none in them.

    >>> title_from("  The colour of the sky.")
    'The colour of the sky'
    """
    title = _cut(_printable(_SIGNS.sub("", words)).rstrip(" .:;,"))
    return title if any(map(str.isalnum, title)) else ""


def _printable(text: str) -> str:
    """``text`` on one line, with a space in place of what cannot be shown."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _cut(text: str) -> str:
    """``text`` cut to ``MAX_TITLE_LENGTH`` characters, between words if possible."""
    if len(text) <= MAX_TITLE_LENGTH:
        return text
    head = text[:MAX_TITLE_LENGTH]
    words = head.rpartition(" ")[0] if text[MAX_TITLE_LENGTH - 1] != " " else head
    return (words.rstrip(" ,;:") or head[:-1]) + "…"
