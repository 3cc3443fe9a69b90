"""From a conversation to token ids, so that a follow-up evaluates only what is new.

The model's cache is reused as far as the token ids agree. Tokenizing a reply's text again can split it
otherwise than it was generated, so the ids of the latest context are kept and used again wherever the
new text says the same. Knows nothing of models: a vocabulary is enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from localspec.base.errors import CapacityError, InputError
from localspec.engine.model import common_prefix
from localspec.runtime.calls.form import CallForm, call_form, tool_template
from localspec.runtime.calls.prompt import ToolPrompts, speaks_of_calls
from localspec.runtime.encoding import Encoder, TextVocab
from localspec.runtime.infilling import infill_prompt
from localspec.runtime.messages import Infill, Message, Prompt, ReplyOptions, Role, TokenIds, Tool
from localspec.runtime.prompt_images import PromptImages, in_words, split_by_images
from localspec.runtime.reasoning import begun_by
from localspec.runtime.template import ChatTemplate
from localspec.runtime.template.marked_text import MarkedText

COMFORTABLE_REPLY_N = 512
"""Tokens kept free for a reply, as long as that is no more than a quarter of the context."""
SHORTEST_REPLY_N = 16
"""Tokens a reply must at least have, likewise."""
_LONG = 8
"""Characters for each token of the context, from which on a text is looked at in pieces before it is tokenized."""
_PIECE_N = 32_768
_MORE = ("a", "\n\n1")
"""Two ways for a message to go on; what the tokens of both begin with is there in every other way, but rarely."""
_END_CHARS = 64
_CUTS = (2, 4, 8, 16, 32, 64)
"""The parts of the context that results of tools are cut to, one after the other, until the last turn fits."""
_FAR = 2
"""Times the context: what is longer is not tokenized to the end."""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt as tokens, which the model continues."""

    tokens: list[int]
    dropped_n: int = 0
    """Messages left out, oldest first, because the context is too small for all."""
    cut_n: int = 0
    """Results of tools that were cut short, likewise."""
    end: str = field(default="", compare=False)
    """The last characters of the template's text, before ``prefix``."""

    @property
    def reasons(self) -> bool:
        """True if the prompt has begun the reasoning."""
        return begun_by(self.end)


class Prompter:
    """Makes the prompts of one session, and implements ``load.PairPrompter``.

    Its memory changes token ids only where the text stays the same.
    """

    def __init__(
        self,
        vocab: TextVocab,
        n_ctx: int,
        check: Callable[[], None] = lambda: None,
        images: PromptImages | None = None,
    ) -> None:
        """``check`` is called now and then while a prompt is made, and may raise; without ``images`` none are read."""
        self._vocab = vocab
        self._encoder = Encoder(vocab)
        self._n_ctx = n_ctx
        self._check = check
        self._images = images or PromptImages(None)
        self._templates: dict[str, ChatTemplate] = {}
        """The templates by their sources."""
        self._latest: list[int] = []
        self._left_out: list[Message] = []

    def remember(self, tokens: Sequence[int]) -> None:
        """The latest context: a prompt and what was generated after it."""
        self._latest = list(tokens)

    def count(self, text: str) -> int:
        """The number of tokens that ``text`` has in a message."""
        tokens = (
            self._images.tokens(part) if isinstance(part, int) else self._encoder.tokenize(part)
            for part in split_by_images(self._images.in_place(text))
        )
        return sum(map(len, tokens))

    def tokenize(
        self, text: str, *, special: bool = False, bos: bool = False
    ) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        tokens = self._encoder.tokenize(MarkedText.own(text) if special else MarkedText.given(text))
        if bos and self._vocab.adds_bos and self._vocab.bos is not None:
            tokens = [self._vocab.bos, *tokens]
        return tuple(tokens), tuple(map(self._vocab.source, tokens))

    def detokenize(self, ids: Sequence[int]) -> str:
        check_ids(ids, self._vocab.n_vocab)
        return b"".join(map(self._vocab.source, ids)).decode("utf-8", errors="replace")

    def rendered(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), prefix: str = "", reasoning: str | None = None
    ) -> tuple[str, int]:
        if not messages:
            raise _empty()
        prompts = self._tool_prompts(messages, tools)
        text = self._render(prompts, reasoning)(self._prepared(messages, prompts)) + MarkedText.given(prefix)
        return in_words(text), len(self._encode(text, []))

    def prompt(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> RenderedPrompt:
        """The prompt of a reply, of any kind, as far as ``prefix``, the beginning of the reply.

        Raises InputError or CapacityError.
        """
        match prompt:
            case str():
                return self.raw(prompt, prefix)
            case TokenIds(ids):
                return self._given(ids, prefix)
            case Infill():
                room = self._n_ctx - self._reserve(options.max_tokens)
                begun = self._encoder.tokenize(MarkedText.given(prefix))
                return RenderedPrompt([*infill_prompt(prompt, self._vocab, self._encoder, room - len(begun)), *begun])
            case _:
                return self.chat(prompt, options.max_tokens, prefix, options.tools, options.reasoning)

    def _given(self, ids: Sequence[int], prefix: str) -> RenderedPrompt:
        if not ids:
            raise _empty()
        check_ids(ids, self._vocab.n_vocab)
        tokens = [*ids, *self._encoder.tokenize(MarkedText.given(prefix))]
        if len(tokens) > self._n_ctx:
            raise self._too_long(tokens)
        return RenderedPrompt(tokens)

    def _reserve(self, max_tokens: int | None) -> int:
        """Tokens to keep free for a reply."""
        return min(COMFORTABLE_REPLY_N, self._n_ctx // 4, max_tokens or COMFORTABLE_REPLY_N)

    def raw(self, text: str, prefix: str = "") -> RenderedPrompt:
        """The prompt for plain text: no template, but control tokens written in it count.

        They do not in ``prefix``, the beginning of the reply. Raises InputError or CapacityError.
        """
        if not text:
            raise _empty()
        whole = MarkedText.own(text) + MarkedText.given(prefix)
        tokens = None if self._is_far_too_long(whole) else self._encode(whole, [])
        if tokens is None or len(tokens) > self._n_ctx:
            raise self._too_long(tokens)
        return RenderedPrompt(tokens)

    def chat(
        self,
        messages: Sequence[Message],
        max_tokens: int | None = None,
        prefix: str = "",
        tools: Sequence[Tool] = (),
        reasoning: str | None = None,
    ) -> RenderedPrompt:
        """The prompt for a conversation, its oldest turns left out if the context is too small for all.

        Before that, results of tools are cut: nobody chose their length. The system message and the last turn always
        stay, and so does ``prefix``, the beginning of the reply. Raises InputError or CapacityError.
        """
        if not messages or not (messages[-1].content.strip() or messages[-1].role is Role.TOOL):
            if messages and messages[-1].calls:
                raise InputError("The last message is a call of a tool.", "Send the result of the call after it.")
            raise _empty()
        prompts = self._tool_prompts(messages, tools)
        with_images = self._with_images(messages)
        self._images.check(messages[-1])
        try:
            return self._fitting(self._render(prompts, reasoning), prompts, with_images, max_tokens, prefix)
        except CapacityError as error:
            if not tools:
                raise
            try:
                self.chat(messages, max_tokens, prefix, reasoning=reasoning)
            except CapacityError:  # without tools it is too long, too
                raise error from None
            n = f"{len(tools)} tool{'s' if len(tools) > 1 else ''}"
            less = f"{n} described in it can be switched off, in the chat with /tools. {error.hint}"
            raise CapacityError(error.message, less) from None

    @property
    def call_form(self) -> CallForm:
        """The form of calls in the template for conversations with tools."""
        return call_form(self._source(tools=True), *self._words)

    def beginning(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None
    ) -> list[int]:
        """The tokens that the prompt of these messages begins with however the last one goes on.

        Empty if there are none, or the context is too small for all of them. Raises InputError.
        """
        if not messages:
            return []
        *above, last = messages
        prompts = self._tool_prompts(messages, tools)
        render = self._render(prompts, reasoning)
        ways = []
        for more in _MORE:
            text = render(self._prepared([*above, replace(last, content=last.content + more)], prompts))
            if self._is_far_too_long(text):
                return []
            ways.append(self._encode(text, self._latest))
        room = self._n_ctx - min(COMFORTABLE_REPLY_N, self._n_ctx // 4)
        return ways[0][: common_prefix(*ways)] if len(ways[0]) <= room else []

    def _tool_prompts(self, messages: Sequence[Message], tools: Sequence[Tool]) -> ToolPrompts | None:
        """None for a conversation that tools have no part in."""
        return ToolPrompts(self.call_form, tuple(tools)) if tools or any(map(speaks_of_calls, messages)) else None

    def _prepared(self, messages: Sequence[Message], prompts: ToolPrompts | None) -> list[Message]:
        # Images first: only those of messages count, never what a tool's result says.
        with_images = self._with_images(messages)
        return prompts.prepared(with_images) if prompts else with_images

    def _with_images(self, messages: Sequence[Message]) -> list[Message]:
        self._images.forget_old()
        return [self._images.prepared(each) for each in messages]

    def _render(self, prompts: ToolPrompts | None, reasoning: str | None) -> Callable[[Sequence[Message]], MarkedText]:
        source = self._source(tools=prompts is not None)
        if not source:
            raise InputError(
                "This model has no chat template, so it does not know what a conversation looks like.",
                "Use --raw to have it continue a text, or choose a chat model.",
            )
        if source not in self._templates:
            bos, eos = self._words
            self._templates[source] = ChatTemplate(source, bos=bos, eos=eos)
        render = partial(self._templates[source].render, check=self._check, reasoning=reasoning)
        return render if prompts is None else partial(render, tools=prompts.listed, shape=prompts.form.shape)

    def _source(self, *, tools: bool) -> str:
        """The template for conversations with tools or without; empty if there is none."""
        default = self._vocab.chat_template or ""
        return tool_template(default, self._vocab.tool_template, *self._words) if default and tools else default

    @property
    def _words(self) -> tuple[str, str]:
        """The tokens that begin and end a text, as they are written."""
        return self._written(self._vocab.bos), self._written(self._vocab.eos)

    def _written(self, token: int | None) -> str:
        return "" if token is None else self._vocab.source(token).decode("utf-8", errors="replace")

    def _fitting(
        self,
        written: Callable[[Sequence[Message]], MarkedText],
        prompts: ToolPrompts | None,
        messages: list[Message],
        max_tokens: int | None,
        prefix: str,
    ) -> RenderedPrompt:
        """The prompt of all messages, or of as much of them as leaves room to reply. Raises CapacityError."""
        reserve = self._reserve(max_tokens)
        room = self._n_ctx - reserve
        render = partial(self._rendered, written, prompts, MarkedText.given(prefix))
        if whole := render(messages, room):
            self._left_out = []
            return whole
        head_n = sum(message.role is Role.SYSTEM for message in messages[:1])
        for shorter in self._shortened(messages):
            found = render(shorter, room) if shorter != messages else None
            if found := found or self._latest_turns(render, shorter, head_n, room):
                break
        else:
            start = _starts_of_turns(shorter[head_n:])[-1]
            found = render(shorter[:head_n] + shorter[head_n + start :], _FAR * self._n_ctx)
            if found is None or len(found.tokens) > self._n_ctx - min(SHORTEST_REPLY_N, reserve):
                raise self._too_long(found.tokens if found else None)
            found = replace(found, dropped_n=start)
        start = head_n + found.dropped_n
        self._left_out = shorter[head_n:start]
        cut_n = sum(one is not other for one, other in zip(shorter[start:], messages[start:], strict=True))
        return replace(found, cut_n=cut_n)

    def _shortened(self, messages: list[Message]) -> Iterator[list[Message]]:
        """The messages, with results of tools cut shorter and shorter."""
        before = messages
        if not any(message.role is Role.TOOL for message in messages):
            yield messages
            return
        for part in _CUTS:
            shorter = [self._cut(message, self._n_ctx // part) for message in messages]
            if part == _CUTS[0] or shorter != before:
                yield shorter
            before = shorter

    def _cut(self, message: Message, most: int) -> Message:
        """The message; if it is the result of a tool, the first tokens of it, so many at most, and no images."""
        if message.role is not Role.TOOL or len(message.content.encode(errors="replace")) <= most:
            return message
        whole = in_words(message.content)
        text = whole[: _LONG * most]
        while (n := len(self._encoder.tokenize(MarkedText.given(text)))) > most:
            text = text[: len(text) * most // n]
        left_n = len(whole) - len(text)
        return replace(message, content=f"{text}\n[{left_n} more characters were cut off]") if left_n else message

    def _latest_turns(
        self,
        render: Callable[[Sequence[Message], int], RenderedPrompt | None],
        messages: list[Message],
        head_n: int,
        most: int,
    ) -> RenderedPrompt | None:
        """The longest end of the conversation that has ``most`` tokens at most; None if the last turn has more.

        It does not move with every question: what was left out before stays out if that still fits, since another
        beginning would have the whole conversation read again. When more has to go, a quarter of the room is freed
        at once. The first ``head_n`` messages stay.
        """
        head, turns = messages[:head_n], messages[head_n:]

        def from_turn(start: int, at_most: int) -> RenderedPrompt | None:
            found = render(head + turns[start:], at_most)
            return found and replace(found, dropped_n=start)

        before = len(self._left_out)
        if before and before < len(turns) and turns[:before] == self._left_out and (kept := from_turn(before, most)):
            return kept
        starts = _starts_of_turns(turns)
        first_fit = bisect_left(starts, True, key=lambda start: from_turn(start, most * 3 // 4) is not None)
        return from_turn(starts[min(first_fit, len(starts) - 1)], most)

    def _rendered(
        self,
        render: Callable[[Sequence[Message]], MarkedText],
        prompts: ToolPrompts | None,
        begun: MarkedText,
        messages: Sequence[Message],
        most: int,
    ) -> RenderedPrompt | None:
        """The prompt of these messages; None if it has more than ``most`` tokens, or far more than fit."""
        if prompts:
            messages = prompts.prepared(messages)
        if len(messages) > _FAR * self._n_ctx:  # each has a token at least
            return None
        # Templates may strip what a message says. To render megabytes would keep other replies waiting.
        if any(self._is_far_too_long(str.strip(message.content)) for message in messages):
            return None
        text = render(messages)
        end = str(text[-_END_CHARS:])
        text += begun
        tokens = None if self._is_far_too_long(text) else self._encode(text, self._latest)
        return RenderedPrompt(tokens, end=end) if tokens is not None and len(tokens) <= most else None

    def _encode(self, text: MarkedText, earlier: Sequence[int]) -> list[int]:
        """Tokens of ``text``, with exactly one ``bos`` in front if the model wants it."""
        self._check()
        vocab = self._vocab
        if not vocab.adds_bos or vocab.bos is None:
            return self._encode_parts(text, earlier)
        # Many templates write it out, too.
        bos = vocab.source(vocab.bos).decode("utf-8", errors="replace")
        if text[: len(bos)].is_own:
            text = text.removeprefix(bos)
        return [vocab.bos, *self._encode_parts(text, earlier[1:])]

    def _encode_parts(self, text: MarkedText, earlier: Sequence[int]) -> list[int]:
        """Tokens of the texts between images, and the numbers of the images."""
        tokens: list[int] = []
        for part in split_by_images(text):
            if isinstance(part, int):
                tokens += self._images.tokens(part)
            else:
                same = earlier[len(tokens) :] if list(earlier[: len(tokens)]) == tokens else []
                end = next((i for i, token in enumerate(same) if token < 0), len(same))
                tokens += self._encoder.encode(part, same[:end])
        return tokens

    def _is_far_too_long(self, text: str) -> bool:
        """True if a text has several times more tokens than fit, found without tokenizing all of it at once."""
        if len(text) <= _LONG * self._n_ctx:
            return False
        tokens_n = 0
        for start in range(0, len(text), _PIECE_N):
            self._check()
            tokens_n += len(self._vocab.tokenize(str.__getitem__(text, slice(start, start + _PIECE_N)), special=True))
            if tokens_n > _FAR * self._n_ctx:
                return True
        return False

    def _too_long(self, tokens: Sequence[int] | None) -> CapacityError:
        n = f"more than {_FAR * self._n_ctx:,}" if tokens is None else f"{len(tokens):,}"
        example = f", for example --ctx {len(tokens) + COMFORTABLE_REPLY_N}" if tokens else ""
        # Agents shorten a conversation where a server says this in the words of Anthropic's or of llama.cpp's.
        return CapacityError(
            f"The prompt is too long: it has {n} tokens, and with room for a reply it exceeds the available context "
            f"size of {self._n_ctx:,}.",
            f"Shorten it, or choose a larger context{example}.",
        )


def check_ids(ids: Sequence[int], n_vocab: int) -> None:
    """Raise InputError for a token that a vocabulary of this size lacks."""
    wrong = next((token for token in ids if not 0 <= token < n_vocab), None)
    if wrong is not None:
        raise InputError(
            f"There is no token {wrong} in the model's vocabulary.", f"Its tokens have the ids 0 to {n_vocab - 1}."
        )


def _starts_of_turns(turns: Sequence[Message]) -> list[int]:
    """The messages that a shortened conversation may begin with: a user's."""
    return [i for i, message in enumerate(turns) if i and message.role is Role.USER] or [0]


def _empty() -> InputError:
    return InputError("The prompt is empty.", "Type something for the model to answer.")
