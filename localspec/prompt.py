"""From a conversation to token ids, so that a follow-up evaluates only what is new.

The model's cache is reused as far as the token ids agree. Tokenizing a reply's text again can split it
otherwise than it was generated, so the ids of the latest context are kept and used again wherever the
new text says the same. Knows nothing of models: a vocabulary is enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.chat import Message, Role
from localspec.errors import CapacityError, InputError
from localspec.template import ChatTemplate

COMFORTABLE_REPLY_N = 512
"""Tokens kept free for a reply, as long as that is no more than a quarter of the context."""
SHORTEST_REPLY_N = 16
"""Tokens a reply must at least have, likewise."""


class TextVocab(Protocol):
    """What turning text into tokens takes; ``backends.llama_vocab.LlamaVocab`` has it."""

    @property
    def chat_template(self) -> str | None: ...

    @property
    def bos(self) -> int | None: ...

    @property
    def eos(self) -> int | None: ...

    @property
    def adds_bos(self) -> bool:
        """Whether every text has to begin with ``bos``."""
        ...

    @property
    def prefixes_space(self) -> bool:
        """Whether a space is put in front of text at the start and after control tokens."""
        ...

    def source(self, token: int) -> bytes:
        """The bytes a token stands for in a prompt, control tokens written out."""
        ...

    def is_control(self, token: int) -> bool:
        """Whether text before and after the token is always tokenized apart."""
        ...

    def strips_before(self, token: int) -> bool:
        """Whether tokenizing drops white space in front of the token."""
        ...

    def strips_after(self, token: int) -> bool:
        """Whether tokenizing drops white space behind the token."""
        ...

    def tokenize(self, text: str, *, special: bool) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is to continue."""

    tokens: list[int]
    dropped_n: int = 0
    """Messages left out, oldest first, because the context is too small for all."""


class Prompter:
    """Makes the prompts of one session. Its memory changes token ids only where the text stays the same."""

    def __init__(self, vocab: TextVocab, n_ctx: int) -> None:
        self._vocab = vocab
        self._n_ctx = n_ctx
        self._template: ChatTemplate | None = None
        self._latest: list[int] = []
        self._left_out: list[Message] = []

    def remember(self, tokens: Sequence[int]) -> None:
        """The latest context: a prompt and what was generated after it."""
        self._latest = list(tokens)

    def raw(self, text: str) -> Prompt:
        """The prompt for plain text: no template, but control tokens written in it count.

        Raises InputError or CapacityError.
        """
        if not text:
            raise _empty()
        tokens = self._encode(text, [])
        if len(tokens) > self._n_ctx:
            raise self._too_long(len(tokens))
        return Prompt(tokens)

    def chat(self, messages: Sequence[Message], max_tokens: int | None = None, prefix: str = "") -> Prompt:
        """The prompt for a conversation, its oldest turns left out if the context is too small for all.

        The system message and the last message always stay, and so does ``prefix``, the beginning of the reply.
        Raises InputError or CapacityError.
        """
        if not messages or not messages[-1].content.strip():
            raise _empty()
        template = self._template = self._template or _template_of(self._vocab)
        head = [message for message in messages[:1] if message.role is Role.SYSTEM]
        return self._fitting(template, head, list(messages[len(head) :]), max_tokens, prefix)

    def _fitting(
        self, template: ChatTemplate, head: list[Message], turns: list[Message], max_tokens: int | None, prefix: str
    ) -> Prompt:
        """The longest end of ``turns`` that leaves room to reply, and does not move with every question.

        What was left out before stays out if that still fits: another beginning would have the whole
        conversation read again. When more has to go, a quarter of the room is freed at once.
        """
        reserve = min(COMFORTABLE_REPLY_N, self._n_ctx // 4, max_tokens or COMFORTABLE_REPLY_N)
        room = self._n_ctx - reserve

        def tokens_from(start: int) -> list[int]:
            return self._encode(template.render(head + turns[start:]) + prefix, self._latest)

        whole = tokens_from(0)
        if len(whole) <= room:
            self._left_out = []
            return Prompt(whole)
        before = len(self._left_out)
        if before and before < len(turns) and turns[:before] == self._left_out:
            tokens = tokens_from(before)
            if len(tokens) <= room:
                return Prompt(tokens, before)
        starts = _starts_of_turns(turns) or [0]
        first_fit = bisect_left(starts, True, key=lambda start: len(tokens_from(start)) <= room * 3 // 4)
        start = starts[min(first_fit, len(starts) - 1)]
        tokens = tokens_from(start)
        if len(tokens) > self._n_ctx - min(SHORTEST_REPLY_N, reserve):
            raise self._too_long(len(tokens))
        self._left_out = turns[:start]
        return Prompt(tokens, start)

    def _encode(self, text: str, earlier: Sequence[int]) -> list[int]:
        """Tokens of ``text``, with exactly one ``bos`` in front if the model wants it."""
        vocab = self._vocab
        if not vocab.adds_bos or vocab.bos is None:
            return encode(text, vocab, earlier)
        # Many templates write it out, too.
        text = text.removeprefix(vocab.source(vocab.bos).decode("utf-8", errors="replace"))
        return [vocab.bos, *encode(text, vocab, earlier[1:])]

    def _too_long(self, n: int) -> CapacityError:
        return CapacityError(
            f"The prompt has {n} tokens, and the context of {self._n_ctx} leaves no room to reply to it.",
            f"Shorten it, or choose a larger context, for example --ctx {n + COMFORTABLE_REPLY_N}.",
        )


def encode(text: str, vocab: TextVocab, earlier: Sequence[int]) -> list[int]:
    """The tokens of ``text``, beginning with as many of ``earlier`` as say the same.

    The result is a prefix of ``earlier`` followed by tokens of the rest. The cut lies right after a
    control token or right before one, where tokenizing cannot tell the difference.
    """
    data = text.encode("utf-8", errors="replace")
    ends = list(_ends(data, vocab, earlier, 0))
    anchor = next((i for i in reversed(range(len(ends))) if vocab.is_control(earlier[i])), 0)
    # The anchor itself is tokenized again, for it may swallow white space behind it.
    start = ends[anchor] - len(vocab.source(earlier[anchor])) if anchor else 0
    fresh = vocab.tokenize(data[start:].decode("utf-8", errors="replace"), special=True)
    # Generated tokens behind the anchor stay as well, up to where the new text goes on with a control token.
    kept_n = {end: i + 1 for i, end in enumerate(ends) if i >= anchor}
    if n := kept_n.get(len(data)):
        # A reply that is gone on with: its own tokens, to the very end.
        return list(earlier[:n])
    fresh_starts = [start, *_ends(data, vocab, fresh, start)]
    for j in reversed(range(min(len(fresh), len(fresh_starts)))):
        if vocab.is_control(fresh[j]) and (n := kept_n.get(fresh_starts[j])):
            return [*earlier[:n], *fresh[j:]]
    return [*earlier[:anchor], *fresh]


def _ends(data: bytes, vocab: TextVocab, tokens: Iterable[int], at: int) -> Iterator[int]:
    """Where in ``data`` each token ends, as far as the tokens say what stands there from ``at`` on."""
    before: int | None = None
    for token in tokens:
        end = _end(data, vocab, token, at, before)
        if end is None:
            return
        yield end
        at, before = end, token


def _end(data: bytes, vocab: TextVocab, token: int, at: int, before: int | None) -> int | None:
    """Where ``token`` ends if it says what stands at ``at``, tokenizing's own liberties with white space allowed."""
    source = vocab.source(token)
    starts = [at]
    if vocab.strips_before(token) or (before is not None and vocab.strips_after(before)):
        starts.append(len(data) - len(data[at:].lstrip()))
    framed = before is None or vocab.is_control(before)
    space_put_in_front = framed and vocab.prefixes_space and source.startswith(b" ")
    for start in starts:
        if data.startswith(source, start):
            return start + len(source)
        if space_put_in_front and data.startswith(source[1:], start):
            return start + len(source) - 1
    return None


def _starts_of_turns(turns: Sequence[Message]) -> list[int]:
    """Where a conversation may begin after leaving out what stands before: at what a user says."""
    return [i for i, message in enumerate(turns) if i and message.role is Role.USER]


def _template_of(vocab: TextVocab) -> ChatTemplate:
    def written(token: int | None) -> str:
        return "" if token is None else vocab.source(token).decode("utf-8", errors="replace")

    if not vocab.chat_template:
        raise InputError(
            "This model has no chat template, so it does not know what a conversation looks like.",
            "Use --raw to have it continue a text, or choose a chat model.",
        )
    return ChatTemplate(vocab.chat_template, bos=written(vocab.bos), eos=written(vocab.eos))


def _empty() -> InputError:
    return InputError("The prompt is empty.", "Type something for the model to answer.")
