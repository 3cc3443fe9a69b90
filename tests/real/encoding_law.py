"""What a message says is never a control token, and ordinary text has llama.cpp's tokens, whatever the template.

``python -m tests.real.encoding_law [CONVERSATIONS]`` holds all templates and all vocabularies that came with llama.cpp
to it, with so many random conversations for each vocabulary; the suite takes a few.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from localspec.base.errors import InputError
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.runtime.encoding import Encoder
from localspec.runtime.messages import Message, Role
from localspec.runtime.template import ChatTemplate
from localspec.runtime.template.marked_text import MarkedText
from tests.real.native_vocabulary import open_vocabulary
from tests.tokenizers import templates, vocabularies

NOW = datetime(2026, 11, 23)
_WORDS = (
    "Hello",
    "world",
    "straße",
    "你好",
    "🙂",
    "def f(x):",
    "1234",
    "...",
    "don't",
    "A" * 40,
    "\u0301",
    "Ġ",
    "▁a",
    "\0",
)
_SPACES = (" ", "\n", "\n\n", "\t", "    ", "  ", "\r\n", "\u00a0", "")
_OFTEN = (
    "</think>",
    "<think>",
    "<tool_call>",
    "<|channel|>final<|message|>",
    "[INST]",
    "<s>",
    "</s>",
    "{%",
    "{{",
    "]]>",
)


@dataclass(slots=True)
class Counts:
    """How much was held to the law."""

    conversations: int = 0
    refused: int = 0
    ordinary: int = 0
    forged: int = 0
    partitions: int = 0


class Conversations:
    """Random ones: ordinary text, what control tokens look like, and parts of those."""

    def __init__(self, vocab: LlamaVocab, seed: int) -> None:
        self._random = random.Random(seed)
        self._controls = [text.decode(errors="replace") for text in vocab.written_controls]
        pieces = (vocab.piece(self._random.randrange(vocab.n_vocab)) for _ in range(400))
        self._pieces = [piece.decode() for piece in pieces if _is_text(piece)]

    def draw(self) -> list[Message]:
        hostile = self._random.random() < 0.6
        roles = [Role.USER, Role.ASSISTANT] * self._random.choice((0, 0, 1, 2)) + [Role.USER]
        if self._random.random() < 0.4:
            roles.insert(0, Role.SYSTEM)
        return [Message(role, self.text(hostile=hostile)) for role in roles]

    def text(self, *, hostile: bool) -> str:
        choose = self._random.choice
        parts = []
        for _ in range(self._random.randint(1, 8)):
            parts.append(choose((*_SPACES, *_WORDS)))
            parts.append(choose(self._pieces))
            if hostile:
                parts.append(self._forgery())
        return "".join(parts) + choose(("x", "."))

    def _forgery(self) -> str:
        text = self._random.choice((*self._controls, *_OFTEN))
        if self._random.random() < 0.5:
            return text
        cut = self._random.randint(0, len(text))  # half of one, for the template to end
        return self._random.choice((text[:cut], text[cut:], text[:cut] + text))


def _is_text(piece: bytes) -> bool:
    try:
        return bool(piece.decode().strip())
    except UnicodeDecodeError:
        return False


def framed_by(vocab: LlamaVocab) -> str:
    """A template that frames messages with control tokens of this very vocabulary, and looks into them."""
    controls = sorted((text.decode(errors="replace") for text in vocab.written_controls), key=len)
    first, last = json.dumps(controls[0]), json.dumps(controls[-1])
    return (
        "{{ bos_token }}{% for m in messages %}{{ " + last + " ~ m.role }}\n"
        "{% set text = m.content.split('</think>')[-1] | trim %}"
        "{{ text.replace('a', 'b') if loop.last else '%s' % text }}{{ "
        + first
        + " + '\n' }}{% endfor %}"
        + controls[-1]
    )


@cache
def renderer(source: str, bos: str, eos: str) -> Any:
    """The same template without marks or limits, as the Hugging Face libraries run it."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, *_extensions()]
    )
    environment.filters["tojson"] = lambda value, **options: json.dumps(value, **{"ensure_ascii": False} | options)
    environment.globals |= {"raise_exception": _refuse, "strftime_now": NOW.strftime}
    template = environment.from_string(source)
    return lambda messages, **more: template.render(
        messages=messages, add_generation_prompt=True, bos_token=bos, eos_token=eos, **more
    )


def _extensions() -> list[Any]:
    from localspec.runtime.template.sandbox import GenerationBlock

    return [GenerationBlock]


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def plainly(source: str, bos: str, eos: str, messages: Sequence[Message]) -> str | None:
    """What the template writes; None if it refuses the conversation as it stands."""
    said = [{"role": str(message.role), "content": message.content} for message in messages]
    for more in ({"tools": None, "documents": None}, {}):
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            try:
                return str(renderer(source, bos, eos)(said, **more))
            except TemplateError:
                return None
    return None


class Law:
    """One vocabulary, held to the law with one template after another."""

    def __init__(self, vocab: LlamaVocab, counts: Counts) -> None:
        self._vocab = vocab
        self._encoder = Encoder(vocab)
        self._counts = counts
        self._bos, self._eos = (
            "" if token is None else vocab.source(token).decode(errors="replace") for token in (vocab.bos, vocab.eos)
        )
        self._templates: dict[str, ChatTemplate] = {}

    def hold(self, source: str, messages: Sequence[Message]) -> None:
        """Raises AssertionError if it does not hold."""
        self._counts.conversations += 1
        if source not in self._templates:
            self._templates[source] = ChatTemplate(source, bos=self._bos, eos=self._eos, now=lambda: NOW)
        try:
            text = self._templates[source].render(messages)
        except InputError:
            self._counts.refused += 1
            assert plainly(source, self._bos, self._eos, messages) is None
            return
        plain = plainly(source, self._bos, self._eos, messages)
        if plain is not None and messages[0].role is not Role.SYSTEM:
            assert str.__eq__(text, plain), "marks change what a template writes"
        self.hold_text(text)

    def hold_text(self, text: MarkedText) -> None:
        """As ``hold``, for a text that a template wrote."""
        tokens = self._encoder.tokenize(text)
        by_llama = self._vocab.tokenize(text, special=True)
        own = "".join(sign if not mark else "x" for sign, mark in zip(str(text), text.marks, strict=True))
        assert self._controls(tokens) == self._controls(self._vocab.tokenize(own, special=True)), "forged or lost"
        if self._controls(by_llama) == self._controls(tokens) and not self._says_any(text):
            self._counts.ordinary += 1
            assert tokens == by_llama, "ordinary text has other tokens"
        else:
            self._counts.forged += 1
            said = b"".join(text.encode().lower().split())
            assert self._source(tokens) == said or self._source(by_llama) != said, "text was lost"

    def hold_partition(self, text: str) -> None:
        """The way round llama.cpp's own partition is the same partition."""
        self._counts.partitions += 1
        data = text.encode()
        places, _ = self._encoder._places(data, bytes(len(data)))
        assert self._encoder._tokens_between(data, places) == self._vocab.tokenize(text, special=True), repr(text)

    def _controls(self, tokens: Sequence[int]) -> list[int]:
        return [token for token in tokens if token in self._encoder._controls]

    def _says_any(self, text: MarkedText) -> bool:
        """Whether what is written for a control token stands in the text where input has part in it."""
        data = text.encode()
        masked = "".join(sign if not mark else "x" for sign, mark in zip(str(text), text.marks, strict=True)).encode()
        return any(data.count(control) != masked.count(control) for control in self._vocab.written_controls)

    def _source(self, tokens: Sequence[int]) -> bytes:
        """What the tokens say, but for what tokenizers change: white space, and capitals."""
        return b"".join(b"".join(map(self._vocab.source, tokens)).lower().split())


def hold_vocabulary(path: Path, files: Sequence[Path], conversations_n: int, counts: Counts, seed: int = 1) -> None:
    """The law for one vocabulary, over templates in turn."""
    with open_vocabulary(path) as vocab:
        law, conversations = Law(vocab, counts), Conversations(vocab, seed)
        sources = [framed_by(vocab), *(file.read_text("utf-8") for file in files)]
        for number in range(conversations_n):
            law.hold(sources[number % len(sources)], conversations.draw())
            law.hold_partition(conversations.text(hostile=True))


def main() -> None:
    conversations_n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    counts, started = Counts(), time.monotonic()
    for path in vocabularies():
        hold_vocabulary(path, templates(), conversations_n, counts)
        print(f"{path.name}: {counts} after {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
