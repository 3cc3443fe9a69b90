"""From questions to the token ids that both engines read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.runtime.messages import Message, Role
from localspec.runtime.prompting import Prompter
from tests.benchmarks.engine.case import Ready
from tests.benchmarks.engine.suite import Prompt

Answer = Callable[[Sequence[Message]], str]
"""The target's own greedy reply."""


@contextmanager
def vocabulary(target: Path) -> Iterator[LlamaVocab]:
    """The target's vocabulary without its weights."""
    c: Any = native().c
    params = c.llama_model_default_params()
    params.vocab_only = True
    model = c.llama_model_load_from_file(os.fsencode(target), params)
    if not model:
        raise SystemExit(f"{target} has no vocabulary.")
    try:
        yield LlamaVocab(native(), model)
    finally:
        c.llama_model_free(model)


def prepared(prompts: Sequence[Prompt], target: Path, n_ctx: int, max_tokens: int, answer: Answer) -> list[Ready]:
    """The prompts as conversations and as tokens, by the code that ``localspec run`` makes them with."""
    known: dict[tuple[str, ...], str] = {}
    ready = []
    with vocabulary(target) as vocab:
        for prompt in prompts:
            messages = _conversation(prompt.questions, answer, known)
            tokens = Prompter(vocab, n_ctx).chat(messages, max_tokens).tokens
            ready.append(Ready(prompt.name, prompt.kind, tuple(messages), tuple(tokens)))
    return ready


def _conversation(questions: tuple[str, ...], answer: Answer, known: dict[tuple[str, ...], str]) -> list[Message]:
    messages: list[Message] = []
    for n, question in enumerate(questions, start=1):
        messages.append(Message(Role.USER, question))
        if n < len(questions):
            asked = questions[:n]
            if asked not in known:
                known[asked] = answer(messages)
            messages.append(Message(Role.ASSISTANT, known[asked]))
    return messages
