"""An engine without models, to be opened in the child process: the prompt tells it what to do.

``count N`` replies with N tokens; ``count N then DO`` does something after them, and so does the
name of the target file when it is loaded; DO alone is done before the reply begins. ``drop N``
is ``count N`` after a message that did not fit. DO is one of

- ``wait``: until it is cancelled (a reply then ends, a load raises)
- ``abort``: as llama.cpp's asserts do, with a line on standard error first
- ``hang``: for ever, deaf to everything
- ``refuse``: raise a LocalSpecError
- ``break``: raise something else
- ``stumble``: raise something else once the reply has ended
- ``chatter``: print to every stream there is, and log
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localspec.base.errors import InputError
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Round,
    Started,
    Token,
    TokenLogprobs,
)
from localspec.engine.inspection import Candidate, Inspection, Opinion
from localspec.engine.tally import Tally
from localspec.runtime.load import InspectablePair
from localspec.runtime.messages import Infill, Listener, Message, Prompt, ReplyOptions, TokenIds, Tool
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo

LAST_WORDS = "scripted.cpp:1: GGML_ASSERT(n_tokens <= n_batch) failed"
STOPPED = "stopped with all others"
NOISE = "llama_model_loader: loaded meta data with 21 key-value pairs"


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> InspectablePair:
    """As ``load.open_pair``."""
    assert progress is not None
    progress("loading target", 0.0)
    do(options.target.stem, cancel)
    if cancel.is_set():
        raise Cancelled
    progress("loading target", 1.0)
    return ScriptedPair(options, cancel) if options.replies == 1 else ScriptedPairs(options, cancel)


def do(what: str, cancel: Cancellation) -> None:
    match what:
        case "wait":
            while not cancel.is_set():
                threading.Event().wait(0.001)  # a step of the graph
        case "abort":
            os.write(2, f"{LAST_WORDS}\n".encode())
            os.abort()
        case "hang":
            threading.Event().wait()
        case "refuse":
            raise InputError("That cannot be read.", "Ask for something else.")
        case "break":
            raise RuntimeError("scripted break")
        case "chatter":
            print(NOISE)
            print(NOISE, file=sys.stderr)
            logging.getLogger("localspec.llama").info(NOISE)
            os.write(1, f"{NOISE}\n".encode())
            os.write(2, f"{NOISE} without an end".encode())


def text_of(prompt: Prompt) -> str:
    """A raw prompt or a last message; tokens are characters, and a gap is filled like any text before it."""
    match prompt:
        case str():
            return prompt
        case TokenIds(ids):
            return "".join(map(chr, ids))
        case Infill(prefix):
            return prefix
        case _:
            return prompt[-1].content


def paper_info(options: LoadOptions) -> PairInfo:
    """What there is to say about a pair that is no model."""
    return PairInfo(
        target=options.target,
        draft=options.draft,
        target_name=options.target.stem,
        draft_name=None,
        target_size_bytes=1,
        draft_size_bytes=0,
        n_vocab=26,
        n_ctx=options.n_ctx or 512,
        threads=1,
        device="paper",
        plain_per_second=None,
        load_s=0.0,
        replies=options.replies,
    )


@dataclass(frozen=True)
class ScriptedPair:
    options: LoadOptions
    cancel: Cancellation

    @property
    def info(self) -> PairInfo:
        return paper_info(self.options)

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        words = text_of(prompt).split()
        if len(words) == 1:
            do(words[0], self.cancel)
        tally, text = Tally(), ""
        yield Started(len(words), cache_n=0, seed=options.seed or 0, dropped_n=int(words[0] == "drop"))
        yield PromptProgress(len(words), len(words))
        for index in range(int(words[1])):
            round_ = token_round(index)
            tally.add(round_)
            text += round_.tokens[0].text
            yield round_
        do(words[-1], self.cancel)
        reason = FinishReason.CANCELLED if self.cancel.is_set() else FinishReason.STOP
        yield Finished(reason, text, tally.timings())
        if words[-1] == "stumble":
            raise RuntimeError("scripted stumble")

    def count_tokens(self, text: str) -> int:
        """One a word; a word of the script is done first."""
        do(text, self.cancel)
        return len(text.split())

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        """As many pieces as it has words; the last word of the script is done first."""
        words = messages[-1].content.split()
        do(words[-1], self.cancel)
        if self.cancel.is_set():
            raise Cancelled
        return len(words)

    @property
    def prompter(self) -> ScriptedPrompter:
        return ScriptedPrompter(self.cancel)

    @property
    def inspector(self) -> ScriptedInspector:
        return ScriptedInspector(self.cancel)

    def close(self, cancel: Cancellation | None = None) -> None:
        """Nothing to free; with ``keep_caches`` a file beside the target is kept."""
        if self.options.keep_caches:
            self.options.target.with_suffix(".kept").touch()


class ScriptedPairs(ScriptedPair):
    """Makes several replies at once, an event of each a step."""

    def __init__(self, options: LoadOptions, cancel: Cancellation) -> None:
        super().__init__(options, cancel)
        self.under_way: list[tuple[Iterator[Event], Listener]] = []

    @property
    def room_n(self) -> int:
        return self.options.replies - len(self.under_way)

    def begin(
        self,
        prompt: Prompt,
        options: ReplyOptions,
        prefix: str,
        listener: Listener,
        cancel: Cancellation,
    ) -> None:
        words = str(prompt).split()
        reply = ScriptedPair(self.options, cancel).reply(prompt, options)
        self.under_way.append((self._until(reply, cancel) if words[-1] == "wait" else reply, listener))

    @staticmethod
    def _until(reply: Iterator[Event], cancel: Cancellation) -> Iterator[Event]:
        """A reply that waits without stopping the others."""
        for event in reply:
            yield event
            if isinstance(event, Round):
                break
        while not cancel.is_set():
            yield PromptProgress(1, 1)
        yield Finished(FinishReason.CANCELLED, counted(1), Tally().timings())

    def step(self) -> bool:
        for entry in list(self.under_way):
            reply, listener = entry
            if self.cancel.is_set():  # evaluations are shared: this one is stopped for all
                listener.event(Finished(FinishReason.CANCELLED, STOPPED, Tally().timings()))
                self.under_way.remove(entry)
                continue
            try:
                event = next(reply)
            except Exception as error:  # noqa: BLE001 -- told
                listener.failed(error)
                self.under_way.remove(entry)
                continue
            listener.event(event)
            if isinstance(event, Finished):
                self.under_way.remove(entry)
        return bool(self.under_way)

    def close(self, cancel: Cancellation | None = None) -> None:
        for _, listener in self.under_way:
            listener.event(Finished(FinishReason.CANCELLED, "", Tally().timings()))


@dataclass(frozen=True, slots=True)
class ScriptedInspector:
    """The target gives token n the probability 1 / (n + 1); what else it does stands in the prompt, as for replies."""

    cancel: Cancellation

    def inspect(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], position: int
    ) -> Inspection:
        (prob,) = self.probs(prompt, options, reply, position, position + 1)
        return Inspection(reply[position], Opinion(prob, 1, prob, (Candidate(reply[position], "x", prob),)), None)

    def probs(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], start: int, stop: int
    ) -> tuple[float, ...]:
        words = (prompt if isinstance(prompt, str) else prompt[-1].content).split()
        do(words[-1], self.cancel)
        if self.cancel.is_set():
            raise Cancelled
        return tuple(1 / (token + 1) for token in reply[start:stop])

    def logprobs(self, ids: Sequence[int], start: int, stop: int, top_n: int) -> tuple[TokenLogprobs, ...]:
        """Each token is as likely as its id is low, and has no alternatives."""
        if self.cancel.is_set():
            raise Cancelled
        return tuple(TokenLogprobs(chr(token).encode(), -float(token)) for token in ids[start:stop])


@dataclass(frozen=True, slots=True)
class ScriptedPrompter:
    """A token is a character; a text whose last word is of the script has it done first."""

    cancel: Cancellation

    def tokenize(
        self, text: str, *, special: bool = False, bos: bool = False
    ) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        text = bos * "^" + text
        do(text.split()[-1] if text else "", self.cancel)
        if self.cancel.is_set():
            raise Cancelled
        return tuple(map(ord, text)), tuple(letter.encode() for letter in text)

    def detokenize(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))

    def rendered(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), prefix: str = "", reasoning: str | None = None
    ) -> tuple[str, int]:
        text = "".join(f"{message.role}: {message.content}\n" for message in messages) + prefix
        return text, len(text)


def token_round(index: int) -> Round:
    """The ``index``-th round of every scripted reply: one token, its text the number and a space."""
    return Round(index, None, 0, (Token(index, f"{index} ", Origin.PLAIN),), (), (), 0.0, 0.0, 0.001)


def counted(n: int) -> str:
    """The text of ``count n``."""
    return "".join(token_round(index).tokens[0].text for index in range(n))
