"""The cost of holding a reply to a JSON Schema, with a vocabulary of real size and no model.

    python -m tests.benchmarks.constraint_cost --vocab ggml-vocab-qwen2.gguf

Along one JSON text: the distribution of each place with and without the schema, from scores that are noise with a clear
favourite. The favourite is the text's own token, or lies among 300 tokens that mostly do not fit: then one has to be
found that does. Then whole rounds over a target that costs nothing, in the time of this thread: all that is ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafters.grammar import GrammarDrafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.settings import Sampling
from tests.real.native_vocabulary import open_vocabulary

VALUE = {
    "name": "Ann Bee",
    "age": 31,
    "free": "This is a longer text with a few words in it, so that one sees.",
    "colour": "green",
    "friends": ["Zoe", "Bob"],
}
SCHEMA = {
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer"},
        "free": {"type": "string"},
        "colour": {"enum": ["red", "green", "blue"]},
        "friends": {"type": "array", "items": {"type": "string"}},
    },
    "required": list(VALUE),
}
REPEATS = 5
_DEPTHS = (0, 3, 8)
_PROMPT = list(range(100, 108))


def timed(into: list[float], do: Callable[[Any], Any], what: Any) -> None:
    begun = time.perf_counter()
    do(what)
    into.append((time.perf_counter() - begun) * 1e6)


def places(vocab: LlamaVocab, sampling: Sampling, willing: bool) -> tuple[float, float, float]:
    """Medians in microseconds: a place without the schema, a place with it, and taking the token there."""
    free = make_sampler(Sampling(sampling.temperature, logit_bias=((5, 0.1),)), vocab.n_vocab, vocab)
    source = np.random.default_rng(1)
    found: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(REPEATS):
        held = make_sampler(sampling, vocab.n_vocab, vocab)
        for token in vocab.tokenize(json.dumps(VALUE), special=False):
            row = source.normal(0, 2, vocab.n_vocab).astype(np.float32)
            row[[token] if willing else source.integers(0, vocab.n_vocab, 300)] += 20
            timed(found[0], free.dist, row)
            timed(found[1], held.dist, row)
            timed(found[2], held.accept, token)
    return statistics.median(found[0]), statistics.median(found[1]), statistics.median(found[2])


@dataclass(slots=True)
class FreeTarget:
    """Wants one text; the time that it takes itself is counted apart."""

    vocab: LlamaVocab
    text: Sequence[int]
    n_ctx: int = 4096
    spent_s: float = 0.0
    noise: Logits = field(init=False)

    def __post_init__(self) -> None:
        self.noise = np.random.default_rng(1).normal(0, 2, (_DEPTHS[-1] + 1, self.vocab.n_vocab)).astype(np.float32)

    def held(self, context: Sequence[int]) -> int:
        return max(0, len(context) - 1)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        begun = time.thread_time()
        rows = self.noise[:last].copy()
        for i in range(last):
            at = len(context) - last + i + 1 - len(_PROMPT)
            if 0 <= at < len(self.text):
                rows[i, self.text[at]] += 20
        self.spent_s += time.thread_time() - begun
        return rows


def rounds(vocab: LlamaVocab, sampling: Sampling, depth: int) -> tuple[float, float]:
    """Milliseconds of a round and of a token, with past text and the grammar as drafters."""
    text = vocab.tokenize(json.dumps(VALUE), special=False)
    target = FreeTarget(vocab, text)
    sampler = make_sampler(sampling, vocab.n_vocab, vocab)
    request = Request(_PROMPT, sampler, SeededRng(1), FixedDepth(depth), max_tokens=len(text))
    begun = time.thread_time()
    events = list(generate(target, [SuffixDrafter(), GrammarDrafter()], request, Cancellation()))
    ours_ms = (time.thread_time() - begun - target.spent_s) * 1e3
    return ours_ms / sum(isinstance(event, Round) for event in events), ours_ms / len(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", type=Path, required=True)
    with open_vocabulary(parser.parse_args().vocab) as vocab:
        begun = time.process_time()
        grammar = grammar_of_schema(json.dumps(SCHEMA))
        make_sampler(Sampling(grammar=grammar), vocab.n_vocab, vocab)
        print(f"{vocab.n_vocab:,} tokens; the first reply with a schema: {time.process_time() - begun:.2f} s of a core")
        begun = time.process_time()
        make_sampler(Sampling(grammar=grammar), vocab.n_vocab, vocab)
        print(f"the next one: {(time.process_time() - begun) * 1e3:.2f} ms\n")
        print(
            "| temperature | the model wants | free, µs | held, µs | taken, µs |\n| ---: | --- | ---: | ---: | ---: |"
        )
        for temperature in (0.0, 0.8):
            for willing in (True, False):
                figures = places(vocab, Sampling(temperature, grammar=grammar), willing)
                wants = "what fits" if willing else "something else"
                print(f"| {temperature} | {wants} | {' | '.join(f'{figure:.0f}' for figure in figures)} |")
        print(
            "\n| temperature | depth | a round: free, held, ms | a token: free, held, ms |\n"
            "| ---: | ---: | ---: | ---: |"
        )
        for temperature in (0.0, 0.8):
            for depth in _DEPTHS:
                settings = [Sampling(temperature, grammar=rules) for rules in (None, grammar)]
                runs = [[rounds(vocab, each, depth) for each in settings] for _ in range(REPEATS)]
                cells = [
                    ", ".join(f"{statistics.median(run[way][of] for run in runs):.2f}" for way in (0, 1))
                    for of in (0, 1)
                ]
                print(f"| {temperature} | {depth} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
