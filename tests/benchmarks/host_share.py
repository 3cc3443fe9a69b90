"""How much of a round is ours and not llama.cpp's, with a vocabulary of real size.

    python -m tests.benchmarks.host_share --vocab ggml-vocab-qwen2.gguf --folder DIR [--threads 2] [--json-schema FILE]

Makes two models of random weights (1.5B and about 0.1B in shape, Q4_0) that speak the given vocabulary, and lets them
reply by speculation at temperature 0.8, top-k 40, top-p 0.95. The text is nonsense and hardly a guess is right, which
changes nothing about what a round costs the host. The target's time is measured around every evaluation. With a schema
the grammar drafter proposes too, and its guesses are all right.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np

from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafters.grammar import GrammarDrafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Likeliest, Logits, Vocab
from localspec.engine.settings import Sampling

_BLOCK = 32
_BLOCK_BYTES = 18
_PATTERN_BLOCKS = 65_536
N_CTX = 512


@dataclass(frozen=True)
class Shape:
    """A network in the llama architecture."""

    width: int
    layers: int
    ffn: int
    heads: int


SHAPES = {"target": Shape(1536, 28, 8960, 12), "draft": Shape(512, 8, 1536, 8)}


@dataclass(slots=True)
class TimedModel:
    """A model whose evaluations are timed."""

    model: LlamaModel
    spent_s: float = 0.0

    @property
    def vocab(self) -> Vocab:
        return self.model.vocab

    @property
    def n_ctx(self) -> int:
        return self.model.n_ctx

    def held(self, context: Sequence[int]) -> int:
        return self.model.held(context)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        started = time.perf_counter()
        rows = self.model.logits(context, last)
        self.spent_s += time.perf_counter() - started
        return rows

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        started = time.perf_counter()
        few = self.model.likeliest(context)
        self.spent_s += time.perf_counter() - started
        return few


def make(role: str, vocab: Path, folder: Path) -> Path:
    """A model file of random weights, unless it is there."""
    path, shape = folder / f"random-{role}.gguf", SHAPES[role]
    if path.exists():
        return path
    reader = gguf.GGUFReader(str(vocab))
    n_vocab = len(reader.fields["tokenizer.ggml.tokens"].data)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(n_vocab)
    for name, field in reader.fields.items():
        if name.startswith("tokenizer."):
            writer.add_key_value(
                name, field.contents(), field.types[0], field.types[-1] if len(field.types) > 1 else None
            )
    for name, rows, columns in tensors(shape, n_vocab):
        if columns:
            writer.add_tensor(name, random_q4_0(rows, columns), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        else:
            writer.add_tensor(name, np.ones(rows, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tensors(shape: Shape, n_vocab: int) -> list[tuple[str, int, int]]:
    """Names with rows and columns; a vector has no columns."""
    listed = [("token_embd.weight", n_vocab, shape.width), ("output_norm.weight", shape.width, 0)]
    for layer in range(shape.layers):
        at = f"blk.{layer}."
        listed += [(f"{at}attn_norm.weight", shape.width, 0), (f"{at}ffn_norm.weight", shape.width, 0)]
        listed += [(f"{at}attn_{x}.weight", shape.width, shape.width) for x in ("q", "k", "v", "output")]
        listed += [(f"{at}ffn_{x}.weight", shape.ffn, shape.width) for x in ("gate", "up")]
        listed += [(f"{at}ffn_down.weight", shape.width, shape.ffn)]
    return listed


def random_q4_0(rows: int, columns: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Blocks of one small scale and 32 random nibbles, a pattern of them again and again."""
    blocks = np.random.default_rng(rows + columns).integers(0, 256, (_PATTERN_BLOCKS, _BLOCK_BYTES), np.uint8)
    blocks[:, :2] = np.frombuffer(np.float16(0.004).tobytes(), np.uint8)
    return np.resize(blocks, (rows, columns // _BLOCK * _BLOCK_BYTES))


def measure(target: Path, draft: Path, threads: int, sampling: Sampling, depth: int) -> tuple[float, float]:
    """The median share of a round outside llama.cpp, and the median round in seconds."""
    cancel = Cancellation()
    big = TimedModel(LlamaModel.open(LoadSettings(target, 17, N_CTX, threads), cancel))
    small = TimedModel(LlamaModel.open(LoadSettings(draft, 1, N_CTX, threads), cancel))
    sampler = make_sampler(sampling, big.vocab.n_vocab, big.model.vocab)
    request = Request(list(range(100, 132)), sampler, SeededRng(1), FixedDepth(depth), max_tokens=60)
    shares, rounds_s, before = [], [], 0.0
    for event in generate(big, [GrammarDrafter(), SuffixDrafter(), DraftModel(small)], request, cancel):
        spent = big.spent_s + small.spent_s
        if isinstance(event, Round):
            shares.append(1 - (spent - before) / event.total_s)
            rounds_s.append(event.total_s)
        before = spent
    big.model.close()
    small.model.close()
    return statistics.median(shares[2:]), statistics.median(rounds_s[2:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json-schema", type=Path, metavar="FILE", help="hold the replies to it")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    target, draft = (make(role, options.vocab, options.folder) for role in SHAPES)
    schema = options.json_schema.read_text(encoding="utf-8") if options.json_schema else None
    print("| sampling | depth | outside llama.cpp | round, ms |\n| --- | ---: | ---: | ---: |")
    for name, sampling in {
        "temperature 0": Sampling(temperature=0),
        "temperature 0.8, top-k 40, top-p 0.95": Sampling(min_p=0.0),
    }.items():
        if schema is not None:
            sampling = replace(sampling, grammar=grammar_of_schema(schema))
        for depth in (0, 3):
            share, round_s = measure(target, draft, options.threads, sampling, depth)
            print(f"| {name} | {depth} | {share:.2%} | {round_s * 1e3:.0f} |", flush=True)


if __name__ == "__main__":
    main()
