"""Make the bench pair: the built-in pair's function at a large pair's cost, and heads for it.

    python bench_pair.py --out DIR [--verify] [--also q4_k_m] [--heads eagle3 dflash mtp]

A network is put inside a larger one by padding width, heads, layers and feed-forward with zeros. The residual stream keeps its values in
its first dimensions, a padded layer adds nothing, and each RMSNorm sees the mean of squares shrunk by d/D, which its weight (times
sqrt(d/D)) and epsilon (times d/D) make up for. The heads keep their size, so rotary positions keep their meaning. No kernel skips a zero:
the arithmetic, and so the time, is that of the large shape. A head (EAGLE-3, DFlash) reads hidden states of the large target, which are the small
one's and zeros: where it reads several states side by side, each is padded for itself. The MTP layer makes a second target, with it inside.
Needs numpy, gguf and llama-cpp-python, not torch.
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
from heads_evaluator import HeadEvaluator
from mtp_target import combine

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


SHAPES = {
    "target": Large(1536, 28, 8960),
    "draft": Large(768, 12, 2304),
    "eagle3": Large(1536, 1, 8960),
    "dflash": Large(1536, 5, 8960),
    "mtp": Large(1536, 28, 8960),
}
HEADS = ("eagle3", "dflash", "mtp")
QUANTIZATIONS = {
    "q4_0": c.LLAMA_FTYPE_MOSTLY_Q4_0,
    "q4_k_m": c.LLAMA_FTYPE_MOSTLY_Q4_K_M,
    "q8_0": c.LLAMA_FTYPE_MOSTLY_Q8_0,
    "bf16": c.LLAMA_FTYPE_MOSTLY_BF16,
}
_AXES = {
    **dict.fromkeys(("token_embd", "ffn_gate_inp"), ".w"),
    **dict.fromkeys(("fc", "attn_q", "attn_k", "attn_v", "attn_output", "nextn.eh_proj"), "ww"),
    **dict.fromkeys(("ffn_gate", "ffn_up", "ffn_gate_shexp", "ffn_up_shexp"), "fw"),
    **dict.fromkeys(("ffn_down", "ffn_down_shexp"), "wf"),
    **dict.fromkeys(("ffn_gate_exps", "ffn_up_exps"), ".fw"),
    "ffn_down_exps": ".wf",
    **dict.fromkeys(("attn_q_norm", "attn_k_norm", "exp_probs_b"), "."),
}
"""The kind of each axis of a tensor: widths side by side (w), the feed-forward (f), or as it is; norms are a width."""


class Small:
    """A built-in network as its file describes it, with float16 matrices."""

    def __init__(self, path: Path) -> None:
        self.reader = gguf.GGUFReader(str(path))
        self.architecture = self.reader.fields["general.architecture"].contents()
        self.weights = {t.name: _plain(t) for t in self.reader.tensors}
        self.mtp = self.field("nextn_predict_layers", 0)
        self.width, self.layers = self.field("embedding_length"), self.field("block_count") - self.mtp
        self.heads, self.epsilon = self.field("attention.head_count"), self.field("attention.layer_norm_rms_epsilon")

    def field(self, name: str, default: int | None = None) -> int | float:
        found = self.reader.fields.get(f"{self.architecture}.{name}")
        if found is None and default is not None:
            return default
        return found.contents()

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


def _plain(tensor: gguf.ReaderTensor) -> np.ndarray:
    weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape([int(n) for n in tensor.shape[::-1]])
    return weight.astype(np.float32 if weight.ndim == 1 else np.float16)


def padded(weight: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The weight in the corner of a larger one."""
    large = np.zeros(shape, weight.dtype)
    large[tuple(slice(0, n) for n in weight.shape)] = weight
    return large


def widened(weight: np.ndarray, kind: str, small: Small, large: Large) -> np.ndarray:
    """A tensor in the larger shape; the two experts of an MTP layer share the feed-forward between them."""
    for axis, what in enumerate(_AXES.get(kind, "w")):
        if what == ".":
            continue
        before, after = weight.shape, large.width if what == "w" else large.ffn // (2 if "exp" in kind else 1)
        size = small.width if what == "w" else before[axis]
        apart = weight.reshape(*before[:axis], before[axis] // size, size, *before[axis + 1 :])
        whole = [*apart.shape]
        whole[axis + 1] = after
        weight = padded(apart, tuple(whole)).reshape(*before[:axis], -1, *before[axis + 1 :])
    return weight * np.float32(math.sqrt(small.width / large.width)) if _is_norm(kind) else weight


def _is_norm(kind: str) -> bool:
    return kind not in _AXES


def tensors(small: Small, large: Large) -> Iterator[tuple[str, np.ndarray]]:
    """All weights of the large network; layers that the small one lacks are zero and pass the stream on unchanged."""
    for name, weight in small.weights.items():
        if name.startswith("blk."):
            _, number, kind, suffix = _parts(name)
            place = number if number < small.layers else number - small.layers + large.layers
            yield f"blk.{place}.{kind}.{suffix}", widened(weight, kind, small, large)
        else:
            yield name, widened(weight, name.removesuffix(".weight"), small, large)
    for name, weight in small.weights.items():
        if name.startswith("blk.0."):
            kind = _parts(name)[2]
            for place in range(small.layers, large.layers):
                yield name.replace("blk.0.", f"blk.{place}.", 1), widened(np.zeros_like(weight), kind, small, large)


def _parts(name: str) -> tuple[str, int, str, str]:
    """``blk``, the layer's number, the tensor's kind, and ``weight`` or ``bias``."""
    block, number, rest = name.split(".", 2)
    kind, _, suffix = rest.rpartition(".")
    return block, int(number), kind, suffix


def overrides(small: Small, large: Large) -> dict[str, int | float | str]:
    """The metadata that changes with the shape."""
    heads = large.width // small.head_dim
    changed = {
        "embedding_length": large.width,
        "block_count": large.layers + small.mtp,
        "feed_forward_length": large.ffn,
        "attention.head_count": heads,
        "attention.head_count_kv": heads,
        "attention.layer_norm_rms_epsilon": small.epsilon * small.width / large.width,
        "target_hidden_size": large.width,
        "leading_dense_block_count": large.layers,
        "expert_feed_forward_length": large.ffn // 2,
    }
    return {
        **{f"{small.architecture}.{name}": value for name, value in changed.items()},
        "general.description": "A part of the LocalSpec tour embedded in a larger shape by zero-padding, to measure speed with. Not a model for use.",
    }


def copy_metadata(small: Small, writer: gguf.GGUFWriter, changed: dict[str, int | float | str]) -> None:
    """Everything the small file says, tokenizer and template included, but for the shape."""
    for name, entry in small.reader.fields.items():
        if name.startswith(("GGUF.", "localspec.")) or name == "general.architecture":
            continue
        kind = entry.types[0]
        value = changed.get(name, entry.contents())
        if name == "general.name":
            value = str(value).replace("tour", "bench")
        writer.add_key_value(name, value, kind, entry.types[1] if kind == gguf.GGUFValueType.ARRAY else None)


def embed(source: Path, large: Large, out: Path) -> None:
    """Write the large network as float16."""
    small = Small(source)
    writer = gguf.GGUFWriter(str(out), small.architecture)
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
    """True if both write the same, token for token."""
    one, other = Evaluator(small), Evaluator(large)
    starts = [one.tokens(prompt([{"role": "user", "content": ask}])) for ask in PROMPTS]
    return all(one.greedy(start, GENERATED) == other.greedy(start, GENERATED) for start in starts)


def same_guesses(small: tuple[Path, Path | None], large: tuple[Path, Path | None]) -> float:
    """The share of guesses that are the same of both heads, three deep at every place of the small target's replies."""
    one, other, equal = HeadEvaluator(*small), HeadEvaluator(*large), []
    for ask in PROMPTS:
        start = one.target.tokens(prompt([{"role": "user", "content": ask}]))
        text = [*start, *one.target.greedy(start, GENERATED)]
        one.read(text)
        other.read(text)
        for at in range(len(start) + 1, len(text)):
            equal += [a == b for a, b in zip(one.guesses(at, 3), other.guesses(at, 3), strict=True)]
    return sum(equal) / len(equal)


def source_of(role: str, out: Path) -> Path:
    """The built-in file; an MTP layer is first put into one with the target."""
    source = ASSETS / f"builtin-{role}.gguf"
    if role != "mtp":
        return source
    combine(ASSETS / "builtin-target.gguf", source, out / "builtin-mtp-target.gguf")
    return out / "builtin-mtp-target.gguf"


def make(role: str, out: Path, verify: bool, also: str | None = None) -> Path:
    """One file of the pair, at Q4_0, and beside it the same ``also`` quantized otherwise.

    The float16 form is only kept as long as it is needed.
    """
    source, half, final = source_of(role, out), out / f"bench-{role}-f16.gguf", out / f"bench-{role}.gguf"
    embed(source, SHAPES[role], half)
    if verify:
        _verify(role, source, half, out)
    made = {"q4_0": final, **({also: out / f"bench-{role}-{also}.gguf"} if also else {})}
    for quantization, path in made.items():
        quantize(half, path, quantization)
        print(f"{path} {path.stat().st_size / 1e6:.0f} MB", flush=True)
    half.unlink()
    return final


def _verify(role: str, source: Path, half: Path, out: Path) -> None:
    """Compare what the large network writes, or the large head guesses, with the small one's."""
    if role not in ("eagle3", "dflash"):
        equal = same_text(source, half)
        print(f"{role}: greedy text over {GENERATED} tokens equals the built-in one's: {equal}", flush=True)
    if role in HEADS:
        target = out / "bench-target-f16.gguf"
        if role != "mtp":
            embed(ASSETS / "builtin-target.gguf", SHAPES["target"], target)
        pairs = (
            ((source, None), (half, None))
            if role == "mtp"
            else ((ASSETS / "builtin-target.gguf", source), (target, half))
        )
        print(f"{role}: {same_guesses(*pairs):.1%} of the guesses are equal", flush=True)
        target.unlink(missing_ok=True)


def acceptance(target_path: Path, draft_path: Path) -> None:
    """Print how often the quantized draft guesses the quantized target's next three tokens."""
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
    parser.add_argument("--heads", nargs="+", choices=HEADS, default=[], help="make these too")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    target = make("target", options.out, options.verify, options.also)
    draft = make("draft", options.out, options.verify)
    for head in options.heads:
        # MTP layers are in the target's own file.
        make(head, options.out, options.verify, options.also if head == "mtp" else None)
    if options.verify:
        acceptance(target, draft)


if __name__ == "__main__":
    main()
