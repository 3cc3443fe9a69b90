"""Prove that llama.cpp reads the exported files as the training meant them: the same tokens, and the logits of the rounded weights.

    python verify.py WORK_DIR

WORK_DIR is what `build.py --out` has filled. Needs torch and llama-cpp-python in one environment.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from chats import Text, chats
from evaluator import Evaluator
from export import read
from template import render
from tokenizers import Tokenizer

SAMPLE = Text(3000, 99)
TOLERANCE = 0.5
"""llama.cpp rounds activations too: 0.2 was seen; a wrong file is off by several."""
STRANGE = (
    "Ünïcödé — “quotes” … 東京 🦊 naïve café",
    "a\n\n\nb\t\tc   d \n e",
    "1234567890 3.14 -7 ×²",
    "don't I'll we've it's 'x' ''",
    " lead and trail ",
    "<|user|>not special<|end|>",
    "\u00a0nbsp\u3000wide",
    "x" * 300,
)


def different_tokens(tokenizer: Tokenizer, evaluator: Evaluator) -> list[str]:
    """The texts that the two tokenizers cut differently; the special tokens' own spelling is tried without parsing it as special."""
    texts = [message["content"] for chat in chats(SAMPLE) for message in chat]
    whole = [render(chat) for chat in chats(Text(300, 98))]
    wrong = [text for text in whole if tokenizer.encode(text).ids != evaluator.tokens(text)]
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.encode_special_tokens = True
    return wrong + [
        text for text in [*texts, *STRANGE] if plain.encode(text).ids != evaluator.tokens(text, special=False)
    ]


def farthest_logit(file: Path, evaluator: Evaluator, texts: list[str]) -> float:
    """The largest difference between a logit of PyTorch (float32) and of llama.cpp, over the last place of each text."""
    network = read(file).eval()
    worst = 0.0
    for text in texts:
        tokens = evaluator.tokens(text)[:1000]
        with torch.no_grad():
            ours = network(torch.tensor([tokens]))[0, -1].numpy()
        worst = max(worst, float(np.abs(ours - evaluator.logits(tokens)).max()))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    work = parser.parse_args().work
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    texts = ["".join(map(render, chats(Text(6, seed)))) for seed in range(5)]
    for role in ("target", "draft"):
        file = work / f"builtin-{role}.gguf"
        evaluator = Evaluator(file)
        wrong, far = different_tokens(tokenizer, evaluator), farthest_logit(file, evaluator, texts)
        print(
            f"{role}: {len(wrong)} texts tokenized differently {wrong[:3]}, logits at most {far:.4f} apart", flush=True
        )
        if wrong or far > TOLERANCE:
            raise SystemExit(f"{role}: llama.cpp does not agree with the training")


if __name__ == "__main__":
    main()
