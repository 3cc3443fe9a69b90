"""Replies with a draft beside replies without, from the first key to the last token, by length of prompt and reply.

    python -m tests.benchmarks.reading --target bench-target.gguf --draft bench-draft.gguf
        [--prompts 20 200 2000] [--replies 5 50 500] [--unbounded] [--threads 1 --cpu-time] [--repeats 3]

One loaded pair, plain decoding and ``auto`` in turns, every prompt another text, so that nothing of it is held already.
A reply does not end by itself; its length is asked for. With ``--unbounded`` it is not, and the reply is cancelled
there, so that the policy cannot know. With ``--cpu-time`` the whole engine measures the processor's time instead of the
clock's: with one thread that is what a quiet machine takes, whatever else runs. Contexts may be longer than the models
were trained for: that takes the same time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from math import inf
from pathlib import Path

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished, Round
from localspec.engine.settings import Sampling
from localspec.gguf import read_header
from localspec.runtime.load import OpenPair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions

SENTENCES = (
    "A fox lived at the edge of a forest.", "Every morning she went down to the river.",
    "One day a robot came out of the trees.", "It carried a letter with a blue seal.",
    "Nobody in the village could read it.", "The old owl looked at it for a long time.",
    "Then she said that it was a map of the sea.", "So they built a boat and went to see.",
)  # fmt: skip
ORDER = " Count from 1 to 400."
"""At the end of every prompt: something that the toy can do after a text it does not understand."""
FRAME_N = 8
"""About the number of tokens that a chat template adds."""
PLAIN: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """The time of one reply."""

    first_s: float
    """Until the first token."""
    all_s: float
    draft_s: float
    accepted_n: int


def main() -> None:
    """Measure in turns and print a table."""
    given = _given()
    if given.cpu_time:
        time.perf_counter = time.process_time
    cancel = Cancellation()
    n_ctx = max(given.prompts) + max(given.replies) + 64
    pair = open_pair(LoadOptions(given.target, given.draft, n_ctx=n_ctx, threads=given.threads), cancel)
    asker = _Asker(pair, cancel, _ends(given.target), given.unbounded, random.Random(given.seed))
    print("| prompt | reply | first token | whole reply | from | to | draft read and guessed | accepted |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for prompt_n in given.prompts:
        for reply_n in given.replies:
            turns = [asker.turn(prompt_n, reply_n) for _ in range(given.repeats)]
            print(_row(prompt_n, reply_n, turns), flush=True)
    pair.close()


@dataclass
class _Asker:
    pair: OpenPair
    cancel: Cancellation
    ends: Sequence[int]
    unbounded: bool
    chance: random.Random
    digits: Iterator[int] = field(default_factory=lambda: cycle(range(10)))
    """For the beginnings of prompts, so that nothing of the one before is held."""

    def turn(self, prompt_n: int, reply_n: int) -> tuple[Spent, Spent]:
        """Plain, and with all there is; which of them is first is left to chance. Their prompts differ by a digit."""
        body = self._text(prompt_n)
        order = self.chance.sample([PLAIN, None], 2)
        spent = {spec: self._reply(f"{next(self.digits)}{body}{ORDER}", reply_n, spec) for spec in order}
        return spent[PLAIN], spent[None]

    def _reply(self, prompt: str, reply_n: int, spec: tuple[str, ...] | None) -> Spent:
        sampling = Sampling(temperature=0.0, logit_bias=tuple((token, -inf) for token in self.ends))
        max_tokens = None if self.unbounded else reply_n
        options = ReplyOptions(sampling, spec, max_tokens=max_tokens)
        written_n, first_s, started = 0, 0.0, time.perf_counter()
        self.cancel.clear()
        for event in self.pair.reply([Message(Role.USER, prompt)], options):
            if isinstance(event, Round):
                first_s = first_s or time.perf_counter() - started
                written_n += len(event.tokens)
                if written_n >= reply_n:
                    self.cancel.set()
            elif isinstance(event, Finished):
                timings = event.timings
        self.cancel.clear()
        all_s = time.perf_counter() - started
        return Spent(first_s, all_s, timings.draft_ms / 1e3, timings.draft_n_accepted)

    def _text(self, tokens_n: int) -> str:
        """A text of about so many tokens together with what stands before and after it."""
        tokens_n -= self.pair.count_tokens(ORDER) + FRAME_N
        text = "."
        while self.pair.count_tokens(text) < tokens_n:
            text += " " + self.chance.choice(SENTENCES)
        words = text.split(" ")
        while self.pair.count_tokens(" ".join(words)) > tokens_n and len(words) > 1:
            words.pop()
        return " ".join(words)


def _row(prompt_n: int, reply_n: int, turns: Sequence[tuple[Spent, Spent]]) -> str:
    first = statistics.median(auto.first_s / plain.first_s for plain, auto in turns)
    ratios = [plain.all_s / auto.all_s for plain, auto in turns]
    drafting = statistics.median(auto.draft_s / auto.all_s for _, auto in turns)
    accepted = statistics.median(auto.accepted_n for _, auto in turns)
    whole = f"{statistics.median(ratios):.3f} | {min(ratios):.3f} | {max(ratios):.3f}"
    return f"| {prompt_n} | {reply_n} | {first:.3f} | {whole} | {drafting:.1%} | {accepted:.0f} |"


def _ends(target: Path) -> list[int]:
    """The tokens that end a turn."""
    vocabulary = read_header(target).vocabulary
    return sorted({token for token in (vocabulary.eos_id, vocabulary.eot_id) if token is not None})


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--prompts", type=int, nargs="+", default=[20, 200, 2000, 6000])
    parser.add_argument("--replies", type=int, nargs="+", default=[5, 50, 500])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unbounded", action="store_true")
    parser.add_argument("--cpu-time", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
