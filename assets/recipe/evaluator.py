"""A GGUF model at temperature 0 through llama.cpp's C interface: no torch, no chat library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import llama_cpp.llama_cpp as c
import numpy as np
from template import render
from turns import Chat


def prompt(chat: Chat) -> str:
    """The chat as the model's template writes it, with the reply announced."""
    return render(chat, add_generation_prompt=True)


@c.llama_log_callback
def _quiet(level: int, text: bytes, data: ctypes.c_void_p) -> None:
    """Swallow llama.cpp's log; a failed load is reported by the caller."""


def load(path: Path, mtp: bool = False) -> ctypes.c_void_p:
    """The model in a file, with its MTP layers where they are wanted."""
    c.llama_log_set(_quiet, ctypes.c_void_p(0))
    c.llama_backend_init()
    parameters = c.llama_model_default_params()
    parameters.load_mtp = mtp
    model = c.llama_model_load_from_file(str(path).encode(), parameters)
    if not model:
        raise SystemExit(f"llama.cpp cannot load {path}")
    return model


class Evaluator:
    """One model with one context; it keeps the longest common prefix evaluated, so growing a text is cheap."""

    def __init__(self, path: Path, context: int = 1024, threads: int = 2, mtp: bool = False) -> None:
        self.model = load(path, mtp)
        parameters = c.llama_context_default_params()
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = context
        parameters.n_threads = parameters.n_threads_batch = threads
        self.context = c.llama_init_from_model(self.model, parameters)
        self.vocabulary = c.llama_model_get_vocab(self.model)
        self.size = c.llama_vocab_n_tokens(self.vocabulary)
        self.held: list[int] = []

    def tokens(self, text: str, special: bool = True) -> list[int]:
        data = text.encode()
        room = (c.llama_token * (len(data) + 8))()
        count = c.llama_tokenize(self.vocabulary, data, len(data), room, len(room), False, special)
        return list(room[:count])

    def piece(self, token: int) -> bytes:
        room = ctypes.create_string_buffer(256)
        size = c.llama_token_to_piece(self.vocabulary, token, room, 256, 0, False)
        return room.raw[: max(0, size)]

    def text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.piece, tokens)).decode(errors="replace")

    def ends(self, token: int) -> bool:
        return bool(c.llama_vocab_is_eog(self.vocabulary, token))

    def logits(self, tokens: Sequence[int]) -> np.ndarray:
        """The logits after the last token."""
        keep = 0
        while keep < min(len(self.held), len(tokens) - 1) and self.held[keep] == tokens[keep]:
            keep += 1
        c.llama_memory_seq_rm(c.llama_get_memory(self.context), 0, keep, -1)
        fresh = tokens[keep:]
        array = (c.llama_token * len(fresh))(*fresh)  # the batch only points to it
        if c.llama_decode(self.context, c.llama_batch_get_one(array, len(fresh))) != 0:
            raise RuntimeError("llama_decode failed")
        self.held = list(tokens)
        return np.ctypeslib.as_array(c.llama_get_logits_ith(self.context, -1), (self.size,)).copy()

    def greedy(self, tokens: Sequence[int], most: int, stop: bool = True) -> list[int]:
        """The likeliest continuation; with `stop` it ends after the end token, which is part of it."""
        text = list(tokens)
        while len(text) - len(tokens) < most and len(text) < c.llama_n_ctx(self.context):
            text.append(int(self.logits(text).argmax()))
            if stop and self.ends(text[-1]):
                break
        return text[len(tokens) :]
