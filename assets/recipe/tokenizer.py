"""The tokenizer: byte-level BPE whose pieces and pre-splitting llama.cpp reproduces exactly (`tokenizer.ggml.pre = "smollm"`).

Digits stand alone, so a count is spelled the same way everywhere, and a word in quotes is spelled like a word that opens a reply,
which is what makes copying learnable for so small a network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from template import ASSISTANT, END, SYSTEM, USER
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from turns import Chat, Message

SPECIAL = [END, SYSTEM, USER, ASSISTANT]
VOCABULARY = 2048
OPENING = 10


def untrained(vocabulary: dict[str, int] | None = None, merges: list[tuple[str, str]] | None = None) -> Tokenizer:
    """The tokenizer with these pieces and merges, or with none."""
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Tokenizer:
    """Learn the merges from a sample of the corpus."""
    tokenizer = untrained()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


@dataclass(frozen=True)
class Encoded:
    """One chat as token numbers, and which of them the assistant has to produce."""

    tokens: np.ndarray
    spoken: np.ndarray


def encode_all(tokenizer: Tokenizer, chats: Sequence[Chat], known: frozenset[str] = frozenset()) -> list[Encoded]:
    """Encode many chats at once. Where the last reply is a known text, three chats in four end soon after its opening words.

    A fixed answer is decided by then; to spell out the rest each time would teach nothing and cost most of the training.
    """
    pieces = [piece for chat in chats for message in chat for piece in _pieces(message)]
    numbers = iter(tokenizer.encode_batch_fast(pieces, add_special_tokens=False))
    return [
        _assemble(chat, numbers, index % 4 > 0 and chat[-1]["content"] in known) for index, chat in enumerate(chats)
    ]


def _pieces(message: Message) -> tuple[str, str, str]:
    """A message in three parts: what announces it, what is said, and what follows; none of them merges with its neighbour."""
    return f"<|{message['role']}|>\n", message["content"].strip(), "\n"


def _assemble(chat: Chat, numbers: Iterable, cut: bool) -> Encoded:
    tokens: list[int] = []
    spoken: list[bool] = []
    for message in chat:
        head, body, tail = (next(numbers).ids for _ in range(3))
        says = message["role"] == "assistant"
        tokens += head + body + [0] + tail
        spoken += [False] * len(head) + [says] * (len(body) + 1) + [False] * len(tail)
    drop = max(0, len(body) + 1 + len(tail) - OPENING) if cut else 0
    return Encoded(np.array(tokens[: len(tokens) - drop], dtype=np.uint16), np.array(spoken[: len(spoken) - drop]))
