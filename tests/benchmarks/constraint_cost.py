"""The cost of holding a reply to a JSON Schema, with a vocabulary of real size and no model.

    python -m tests.benchmarks.constraint_cost --vocab ggml-vocab-qwen2.gguf

Along one JSON text: the distribution of each place with and without the schema, from scores that are noise with a clear
favourite. The favourite is the text's own token, or lies among 300 tokens that mostly do not fit: then one has to be
found that does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.backends.llama.vocab import LlamaVocab
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


if __name__ == "__main__":
    main()
