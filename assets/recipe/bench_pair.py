"""Make the bench pair: the built-in pair's function at a large pair's cost.

    python bench_pair.py --out DIR [--verify] [--also q4_k_m]

A network is put inside a larger one by padding width, heads, layers and feed-forward with zeros. The residual stream keeps its values in
its first dimensions, a padded layer adds nothing, and each RMSNorm sees the mean of squares shrunk by d/D, which its weight (times
sqrt(d/D)) and epsilon (times d/D) make up for. The heads keep their size, so rotary positions keep their meaning. No kernel skips a zero:
the arithmetic, and so the time, is that of the large shape. Needs numpy, gguf and llama-cpp-python, not torch.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import llama_cpp.llama_cpp as c
import numpy as np
from evaluator import Evaluator, prompt

ASSETS = Path(__file__).resolve().parent.parent
PROMPTS = (
    "What is speculative decoding?",
    "Count from 1 to 20.",
    "Tell me a story about a fox.",
    "Write a Python function for the factorial.",
)
GENERATED = 120


@dataclass(frozen=True)
class Large:
    """The shape a network is embedded in."""

    width: int
    layers: int
    ffn: int


SHAPES = {"target": Large(1536, 28, 8960), "draft": Large(768, 12, 2304)}
QUANTIZATIONS = {"q4_0": c.LLAMA_FTYPE_MOSTLY_Q4_0, "q4_k_m": c.LLAMA_FTYPE_MOSTLY_Q4_K_M}


class Small:
    """The built-in network as its file describes it."""

    def __init__(self, path: Path) -> None:
        self.reader = gguf.GGUFReader(str(path))
        self.weights = {t.name: np.array(t.data).reshape([int(n) for n in t.shape[::-1]]) for t in self.reader.tensors}
        self.width, self.layers = self.field("embedding_length"), self.field("block_count")
        self.heads, self.epsilon = self.field("attention.head_count"), self.field("attention.layer_norm_rms_epsilon")

    def field(self, name: str) -> int | float:
        return self.reader.fields[f"llama.{name}"].contents()

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


def padded(weight: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The weight in the corner of a larger one."""
    large = np.zeros(shape, weight.dtype)
    large[tuple(slice(0, n) for n in weight.shape)] = weight
    return large


def shapes(large: Large, vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Every kind of tensor, as rows and columns."""
    square, up, down = (large.width, large.width), (large.ffn, large.width), (large.width, large.ffn)
    attention = {f"attn_{part}.weight": square for part in ("q", "k", "v", "output")}
    feed_forward = {"ffn_gate.weight": up, "ffn_up.weight": up, "ffn_down.weight": down}
    norms = dict.fromkeys(("attn_norm.weight", "ffn_norm.weight", "output_norm.weight"), (large.width,))
    return {"token_embd.weight": (vocabulary, large.width), **attention, **feed_forward, **norms}


def tensors(small: Small, large: Large) -> Iterator[tuple[str, np.ndarray]]:
    """All weights of the large network; layers that the small one lacks are zero and pass the stream on unchanged."""
    shape_of = shapes(large, len(small.weights["token_embd.weight"]))
    layered = [name for name in shape_of if name not in ("token_embd.weight", "output_norm.weight")]
    names = [
        "token_embd.weight",
        "output_norm.weight",
        *(f"blk.{n}.{name}" for n in range(large.layers) for name in layered),
    ]
    for name in names:
        shape = shape_of[name.split(".", 2)[2] if name.startswith("blk.") else name]
        norm = len(shape) == 1
        weight = small.weights.get(name, np.zeros((0,) * len(shape), np.float32 if norm else np.float16))
        yield name, padded(weight * np.float32(math.sqrt(small.width / large.width)) if norm else weight, shape)


def overrides(small: Small, large: Large) -> dict[str, int | float | str]:
    """The metadata that changes with the shape."""
    heads = large.width // small.head_dim
    return {
        "llama.embedding_length": large.width,
        "llama.block_count": large.layers,
        "llama.feed_forward_length": large.ffn,
        "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": heads,
        "llama.attention.layer_norm_rms_epsilon": small.epsilon * small.width / large.width,
        "general.description": "The LocalSpec tour pair embedded in a larger shape by zero-padding, to measure speed with. Not a model for use.",
    }


def copy_metadata(small: Small, writer: gguf.GGUFWriter, changed: dict[str, int | float | str]) -> None:
    """Everything the small file says, tokenizer and template included, but for the shape."""
    for name, entry in small.reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = entry.types[0]
        value = changed.get(name, entry.contents())
        if name == "general.name":
            value = str(value).replace("tour", "bench")
        writer.add_key_value(name, value, kind, entry.types[1] if kind == gguf.GGUFValueType.ARRAY else None)


def embed(source: Path, large: Large, out: Path) -> None:
    """Write the large network as float16."""
    small = Small(source)
    writer = gguf.GGUFWriter(str(out), "llama")
    copy_metadata(small, writer, overrides(small, large))
    for name, weight in tensors(small, large):
        writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantize(source: Path, out: Path, quantization: str) -> None:
    """By llama.cpp's own quantizer."""
    parameters = c.llama_model_quantize_default_params()
    parameters.ftype = QUANTIZATIONS[quantization]
    parameters.nthread = 2
    if c.llama_model_quantize(str(source).encode(), str(out).encode(), parameters) != 0:
        raise SystemExit(f"llama.cpp could not quantize {source}")


def same_text(small: Path, large: Path) -> bool:
    """Whether both write the same, token for token."""
    one, other = Evaluator(small), Evaluator(large)
    starts = [one.tokens(prompt([{"role": "user", "content": ask}])) for ask in PROMPTS]
    return all(one.greedy(start, GENERATED) == other.greedy(start, GENERATED) for start in starts)


def make(role: str, out: Path, verify: bool, also: str | None = None) -> Path:
    """One file of the pair, at Q4_0, and beside it the same ``also`` quantized otherwise.

    The float16 form is only kept as long as it is needed.
    """
    source, half, final = ASSETS / f"builtin-{role}.gguf", out / f"bench-{role}-f16.gguf", out / f"bench-{role}.gguf"
    embed(source, SHAPES[role], half)
    if verify:
        print(
            f"{role}: greedy text over {GENERATED} tokens equals the built-in one's: {same_text(source, half)}",
            flush=True,
        )
    made = {"q4_0": final, **({also: out / f"bench-{role}-{also}.gguf"} if also else {})}
    for quantization, path in made.items():
        quantize(half, path, quantization)
        print(f"{path} {path.stat().st_size / 1e6:.0f} MB", flush=True)
    half.unlink()
    return final


def acceptance(target_path: Path, draft_path: Path) -> None:
    """How often the quantized draft guesses the quantized target's next three tokens."""
    from check import agreement

    target, draft = Evaluator(target_path), Evaluator(draft_path)
    for ask in PROMPTS:
        start = target.tokens(prompt([{"role": "user", "content": ask}]))
        reply = target.greedy(start, GENERATED)
        accepted, proposed = agreement(draft, start, reply)
        print(f"acceptance {accepted / proposed:.2f}  {ask}  {target.text(reply[:24])!r}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--verify", action="store_true", help="compare the text with the built-in pair's, and measure the acceptance"
    )
    parser.add_argument(
        "--also", choices=sorted(QUANTIZATIONS.keys() - {"q4_0"}), help="make a second target, quantized like this"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    target = make("target", options.out, options.verify, options.also)
    draft = make("draft", options.out, options.verify)
    if options.verify:
        acceptance(target, draft)


if __name__ == "__main__":
    main()
