"""Images on their way from messages into a prompt.

While a template writes the prompt, a mark stands for each image. The mark is the template's own text and no input, so
that nothing anybody writes can be taken for one.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from localspec.base.errors import InputError, LocalSpecError
from localspec.runtime.images import ImageReference, split_images
from localspec.runtime.messages import Message, Role
from localspec.runtime.template.marked_text import MarkedText

MOST_KEPT = 32
"""Images that are kept from one prompt to the next, a few megabytes each; older ones are read from the disk again."""
_MARK = re.compile("\ufffc(\\d{1,9})\ufffc")
"""U+FFFC is Unicode's object replacement character."""


class ImageReader(Protocol):
    """A projector, as far as prompts need it."""

    def tokens(self, image: bytes) -> list[int]:
        """The numbers that stand for an image in a context. Raises InputError or EngineError."""
        ...

    def forget(self, tokens: Sequence[int]) -> None:
        """Let go of the image with these numbers; ``tokens`` gives the same for it."""
        ...


class PromptImages:
    """The images of a pair's prompts, numbered as they come."""

    def __init__(self, reader: ImageReader | None) -> None:
        self._reader = reader
        self._numbers: OrderedDict[str, int] = OrderedDict()
        """The number of each image by its digest, the one that was used last at the end."""
        self._tokens: dict[int, list[int]] = {}
        """The tokens of each image by its number."""
        self._next = 0

    def forget_old(self) -> None:
        """Let go of all but the latest images; to be called between two prompts."""
        while self._reader is not None and len(self._numbers) > MOST_KEPT:
            _, number = self._numbers.popitem(last=False)
            self._reader.forget(self._tokens.pop(number))

    def check(self, message: Message) -> None:
        """Raise InputError or NotFoundError for an image in ``message`` that cannot be read."""
        for part in split_images(message.content) if message.role is Role.USER else ():
            if isinstance(part, str):
                continue
            name, reference = part
            if self._reader is None:
                raise InputError(
                    f"The model cannot see {name}: no projector is loaded with it.",
                    "Choose a model that reads images, or name its projector (mmproj-*.gguf) with --projector.",
                )
            self._number(reference)

    def prepared(self, message: Message) -> Message:
        """The message with marks for its images; what cannot be read stays a text about an image."""
        shows = message.role in (Role.USER, Role.TOOL)
        content = self.in_place(message.content) if shows else message.content
        return replace(message, content=content) if content is not message.content else message

    def in_place(self, content: str) -> str:
        """``content`` with marks for its images; itself if there is none."""
        if self._reader is None or "sha256:" not in content:
            return content
        marked = MarkedText.own("")
        for part in split_images(content):
            if isinstance(part, str):
                marked += MarkedText.given(part)
            else:
                name, reference = part
                try:
                    mark = MarkedText.own(f"\ufffc{self._number(reference)}\ufffc")
                except LocalSpecError:
                    mark = MarkedText.given(f"[{reference.note}, which is gone]")
                marked += MarkedText.given(f"File: {name}\n") + mark + MarkedText.given("\n")
        return marked

    def tokens(self, number: int) -> list[int]:
        """The numbers that stand for an image in a context; none for a number that no image has."""
        return self._tokens.get(number, [])

    def _number(self, reference: ImageReference) -> int:
        if reference.sha256 not in self._numbers:
            assert self._reader is not None
            self._tokens[self._next] = self._reader.tokens(reference.read())
            self._numbers[reference.sha256] = self._next
            self._next += 1
        self._numbers.move_to_end(reference.sha256)
        return self._numbers[reference.sha256]


def split_by_images(text: str) -> Iterator[MarkedText | int]:
    """The texts between images, and the images' numbers."""
    whole = text if isinstance(text, MarkedText) else MarkedText.given(text)
    at = 0
    for found in _MARK.finditer(whole):
        if whole[found.start() : found.end()].is_own:
            if found.start() > at:
                yield whole[at : found.start()]
            yield int(found[1])
            at = found.end()
    if at < len(whole) or not at:
        yield whole[at:]


def in_words(text: str) -> str:
    """``text`` with a word in place of each image."""
    return "".join("[image]" if isinstance(part, int) else part for part in split_by_images(text))
