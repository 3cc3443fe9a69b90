"""Random tokens to be said again: in five hundred steps of this a network learns to copy, which language teaches it only slowly.

Olsson et al. 2022 (arXiv 2209.11895) call what forms here induction heads.
"""

from __future__ import annotations

import numpy as np
from corpus import Corpus
from tokenizer import ASSISTANT, END, SPECIAL, USER, VOCABULARY, Encoded
from tokenizers import Tokenizer

ROWS = 30_000
SHORTEST, LONGEST, PREAMBLE = 3, 60, 8


def rows_to_repeat(tokenizer: Tokenizer, seed: int) -> Corpus:
    """Chats in which the assistant says what was said, after a few other tokens; only its part is learned from."""
    rng = np.random.default_rng(seed)
    ask, reply = (tokenizer.encode(text).ids for text in (f"{USER}\n", f"\n{ASSISTANT}\n"))
    end = tokenizer.token_to_id(END)
    corpus = Corpus.of([_row(rng, ask, [end, *reply], [end]) for _ in range(ROWS)])
    corpus.weight[~corpus.spoken] = 0
    return corpus


def _row(rng: np.random.Generator, ask: list[int], reply: list[int], end: list[int]) -> Encoded:
    row = rng.integers(len(SPECIAL), VOCABULARY, rng.integers(SHORTEST, LONGEST))
    preamble = rng.integers(len(SPECIAL), VOCABULARY, rng.integers(0, PREAMBLE))
    tokens = np.concatenate([ask, preamble, row, reply, row, end, [ask[-1]]]).astype(np.uint16)
    spoken = np.zeros(len(tokens), bool)
    spoken[-len(row) - 2 : -1] = True
    return Encoded(tokens, spoken)
