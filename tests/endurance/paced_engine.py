"""An engine without models that writes at a steady pace, to be opened in the engine's process.

The message tells it what to write, always the same for the same message:

- ``count N NAME``: N words, numbered, beginning with NAME
- ``fence N``: a block of code of N tokens that is never closed
- anything else: a few hundred tokens of Markdown, drawn from the message

``PACED_ROUNDS_PER_S`` is how many rounds it makes a second, of one to four tokens; without it, 20.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
)
from localspec.engine.tally import Tally
from localspec.runtime.load import InspectablePair
from localspec.runtime.messages import Message, Prompt, ReplyOptions, Tool
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from tests.runtime.worker.scripted_engine import ScriptedInspector, ScriptedPair, paper_info, text_of

ROUNDS_PER_S = "PACED_ROUNDS_PER_S"
OPENER = f"{__name__}:open_pair"
PLAIN_PER_S = 20.0
ACCEPTED_N = (3, 3, 1, 3, 2, 0, 3, 3, 2, 3)
DEPTH = 3
WORDS = (
    "the",
    "a",
    "of",
    "fox",
    "river",
    "speculation",
    "draft",
    "keeps",
    "guesses",
    "東京",
    "naïve",
    "🎉",
    "שלום",
    "`code`",
)
BLOCKS = (
    "# {}\n\n",
    "{}.\n\n",
    "- {}\n- {}\n\n",
    "```python\n{} = [{}]\n```\n\n",
    "| {} | {} |\n| --- | --- |\n| 1 | 2 |\n\n",
)


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> InspectablePair:
    """As ``load.open_pair``."""
    return PacedPair(options, cancel, 1 / float(os.environ.get(ROUNDS_PER_S, "20")))


@dataclass(frozen=True, slots=True)
class PacedPair(ScriptedPair):
    """As the scripted one, but for what and when it writes."""

    round_s: float

    @property
    def info(self) -> PairInfo:
        return replace(
            paper_info(self.options),
            target_name="paced",
            draft_name="paced draft",
            draft_size_bytes=1,
            n_vocab=1000,
            n_ctx=self.options.n_ctx or 300_000,
            plain_per_second=PLAIN_PER_S,
        )

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        message = text_of(prompt)
        pieces = after(pieces_of(message), prefix)
        prompt_n = len(message) // 4 + 1
        tally, text, reason = Tally(plain_per_second=PLAIN_PER_S), "", FinishReason.STOP
        yield Started(prompt_n, 0, options.seed or 1)
        yield PromptProgress(prompt_n, prompt_n)
        limit = options.max_tokens or len(pieces)
        for round_ in rounds_of(pieces[:limit]):
            self._wait()
            if self.cancel.is_set():
                reason = FinishReason.CANCELLED
                break
            tally.add(round_)
            text += "".join(token.text for token in round_.tokens)
            yield round_
        yield Finished(reason, text, tally.timings())

    def _wait(self) -> None:
        threading.Event().wait(self.round_s)

    def count_tokens(self, text: str) -> int:
        return len(text) // 4 + 1

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        """It has nothing to read."""
        return 0

    @property
    def inspector(self) -> PacedInspector:
        return PacedInspector(self.cancel)


@dataclass(frozen=True, slots=True)
class PacedInspector(ScriptedInspector):
    """The target thinks the less of a token the higher its id; the prompt holds no orders."""

    def probs(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], start: int, stop: int
    ) -> tuple[float, ...]:
        if self.cancel.is_set():
            raise Cancelled
        return tuple(1 / (token % 10 + 1) for token in reply[start:stop])


def pieces_of(message: str) -> list[str]:
    """The tokens of the whole reply, as texts."""
    match message.split():
        case ["count", n, name]:
            return [f"{name}{number:04} " for number in range(int(n))]
        case ["fence", n]:
            ends = ("+ ", "+ ", "+ ", "+ ", "+ ", "+ ", "+ ", "\n")
            return ["```", "python\n", *(f"x{number:05} {ends[number % 8]}" for number in range(int(n)))]
        case _:
            return markdown(random.Random(crc32(message.encode())))


def markdown(rng: random.Random) -> list[str]:
    """Blocks of all kinds, a thought before them now and then."""
    blocks = [f"<think>\n{_words(rng)}\n</think>\n\n"] if rng.random() < 0.2 else []
    for _ in range(rng.randrange(2, 12)):
        block = rng.choice(BLOCKS)
        blocks.append(block.format(*(_words(rng) for _ in range(block.count("{}")))))
    text = "".join(blocks)
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def _words(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, 25)))


def after(pieces: Sequence[str], prefix: str) -> list[str]:
    """What is still to be written after ``prefix``; all of it if the reply does not begin so."""
    length = 0
    for number, piece in enumerate(pieces):
        if length == len(prefix):
            return list(pieces[number:])
        length += len(piece)
    return [] if length == len(prefix) else list(pieces)


def rounds_of(pieces: Sequence[str]) -> Iterator[Round]:
    """At depth 3, a fixed pattern of acceptance, an end-of-turn token last."""
    at = index = 0
    texts = [*pieces, ""]
    while at < len(texts):
        accepted_n = ACCEPTED_N[index % len(ACCEPTED_N)]
        now = texts[at : at + accepted_n + 1]
        rejected_n = DEPTH - (len(now) - 1)
        own = Origin.CORRECTED if rejected_n else Origin.BONUS
        tokens = [Token(at + n, text, Origin.ACCEPTED, "draft") for n, text in enumerate(now[:-1])]
        tokens.append(Token(at + len(now) - 1, now[-1], own))
        rejected = tuple(Proposal(n, " other", "draft") for n in range(rejected_n))
        yield Round(index, "draft", DEPTH, tuple(tokens), rejected, (), 0.004, 0.04, 0.045)
        at, index = at + len(now), index + 1
