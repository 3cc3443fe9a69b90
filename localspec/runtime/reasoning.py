"""The reasoning at the beginning of a reply, told apart from the answer."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from localspec.engine.events import Token

NAMES = "think|thinking|thought|reasoning|reason|seed:think|mm:think|think:opensource"
"""The tags around reasoning, as a regular expression."""
TAGS: Mapping[str, str] = {
    **{f"<{name}>": f"</{name}>" for name in NAMES.split("|")},
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|channel>thought": "<channel|>",
    "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>": "",
    "to=self<|message|>": "<|eom|><|start|>assistant to=user<|message|>",
    "to=user<|message|>": "",
    "<|think|>": "<|end|><|begin|>assistant<|content|>",
    "<|content|>": "",
}
"""The tags that open reasoning, each with the one that closes it. Where reasoning and answer are messages of their own,
as of gpt-oss, Muse and Solar, an answer without reasoning has a tag, too, which nothing closes."""
_OPENINGS = {closing: opening for opening, closing in TAGS.items()}
_MARKERS = frozenset(re.findall(rb"<[^<>]+>|\[[^][]+\]", "".join(chain.from_iterable(TAGS.items())).encode()))
"""The parts of tags that may be control tokens."""
_OPENED = re.compile(rf"\s*({'|'.join(map(re.escape, TAGS))})")
_BEGUN = re.compile(rf"({'|'.join(re.escape(tag) for tag, closing in TAGS.items() if closing)})(\s*)\Z")
_CLOSED_ALONE = re.compile(
    r"(?:^[^\S\n]*|(?<=[^\s`\"'(]))(</think(?::opensource)?>|<\|END_THINKING\|>)(?:[ \t]*$|(?=[^\s`\"')]))",
    re.MULTILINE,
)
"""A closing tag, not quoted, that some templates, as that of DeepSeek-R1, write the opening one of into the prompt."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning of a reply. Only at its beginning: tags further on are part of the answer."""

    text: str
    """The reasoning, without its tags."""
    end: int
    """The index of the answer's first character."""
    closed: bool
    """True once the answer has begun."""

    @staticmethod
    def find(reply: str) -> Reasoning | None:
        """None if the reply begins with its answer.

        >>> Reasoning.find("<think>Hm.</think>Yes.").text
        'Hm.'
        """
        if opened := Reasoning.opened(reply):
            return opened
        alone = _CLOSED_ALONE.search(reply)
        if alone is None or _OPENINGS[alone[1]] in reply[: alone.start()]:
            return None
        return Reasoning(reply[: alone.start()].strip(), alone.end(), True)

    @staticmethod
    def opened(reply: str) -> Reasoning | None:
        """The reasoning only if the reply itself opens it: where a closing tag alone may be part of an argument."""
        opened = _OPENED.match(reply)
        if opened is None:
            return None
        tag = TAGS[opened[1]]
        close = reply.find(tag, opened.end())
        if close < 0:
            return Reasoning(reply[opened.end() :].strip(), len(reply), False)
        return Reasoning(reply[opened.end() : close].strip(), close + len(tag), True)


def begun_by(prompt: str) -> bool:
    r"""True if a prompt ends with the tag that begins reasoning, so that the reply goes on with it.

    >>> begun_by("<|im_start|>assistant\n<think>\n")
    True
    """
    return _BEGUN.search(prompt) is not None


def ending(prompt: str) -> str:
    r"""The text that ends the reasoning which a prompt has begun; empty if it has begun none.

    >>> ending("<|im_start|>assistant\n<think>\n")
    '\n</think>\n\n'
    """
    begun = _BEGUN.search(prompt)
    return begun[2] + TAGS[begun[1]] + 2 * begun[2] if begun else ""


def tags_in(controls: Mapping[bytes, int], ends: Container[int]) -> dict[int, bytes]:
    """Control tokens that are in tags around reasoning, which a reply shows, so that its answer can be told apart.

    Those that end a turn, as ``<|end|>`` of Phi, are none.
    """
    return {token: text for text, token in controls.items() if token not in ends and text in _MARKERS}


def tokens_before(tokens: Sequence[Token], end: int) -> int:
    """The number of tokens that make up the first ``end`` characters."""
    length = 0
    for number, token in enumerate(tokens):
        if length >= end:
            return number
        length += len(token.text)
    return len(tokens)
