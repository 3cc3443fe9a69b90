"""The prompt of a text with a gap: control tokens around what others wrote, which never becomes one.

The order is llama-server's (/infill), which follows Qwen2.5-Coder (arXiv 2409.12186): other files first, then what
stands before the gap, what stands after it, and the token that the filling comes after.
"""

from __future__ import annotations

from collections.abc import Sequence

from localspec.base.errors import CapacityError, InputError
from localspec.engine.model import InfillTokens
from localspec.runtime.encoding import Encoder, TextVocab
from localspec.runtime.messages import Infill
from localspec.runtime.template.marked_text import MarkedText

_PROJECT, _FILE = "myproject", "filename"
"""Names that llama-server writes where it knows none."""
_SEPARATOR = "\n\n--- snippet ---\n\n"
"""Stands before a file where the model has no token for that."""
_FRAME_N = 3
_LEAST_N = 16
"""Tokens of text that there must be room for."""
_FAR = 64
"""Characters for each token that there is room for, beyond which no text is looked at."""


def infill_prompt(prompt: Infill, vocab: TextVocab, encoder: Encoder, room: int) -> list[int]:
    """The prompt in at most ``room`` tokens. Raises InputError or CapacityError."""
    tokens = vocab.infill
    if tokens is None:
        raise InputError(
            "This model cannot fill a gap in a text: it has no tokens for it.",
            "Choose a model for code that was trained for it, such as Qwen2.5-Coder.",
        )
    bos = [vocab.bos] if vocab.adds_bos and vocab.bos is not None else []
    room -= len(bos) + _FRAME_N
    if room < _LEAST_N:
        raise CapacityError("The context is too small to fill a gap in a text.", "Choose a larger one with --ctx.")
    before = _tokens(encoder, prompt.prefix[-_FAR * room :])
    after = _tokens(encoder, prompt.suffix[: _FAR * room])
    # The text before the gap has three quarters of the room, and each of the two what the other leaves.
    before_n = min(len(before), max(room * 3 // 4, room - len(after)))
    before, after = before[len(before) - before_n :], after[: room - before_n]
    files = _files(prompt.files, tokens, encoder, room - len(before) - len(after))
    return [*bos, *files, tokens.prefix, *before, tokens.suffix, *after, tokens.middle]


def _files(files: Sequence[tuple[str, str]], tokens: InfillTokens, encoder: Encoder, room: int) -> list[int]:
    """The last of the files that fit whole, and the head of the file with the gap; nothing if none fits."""
    project = [] if tokens.repository is None else [tokens.repository, *_tokens(encoder, f"{_PROJECT}\n")]
    own = [] if tokens.file is None else [tokens.file, *_tokens(encoder, f"{_FILE}\n")]
    room -= len(project) + len(own)
    kept: list[int] = []
    for name, text in reversed(files):
        head = [] if tokens.file is None else [tokens.file]
        written = _SEPARATOR if tokens.file is None else f"{name}\n"
        file = [*head, *_tokens(encoder, written), *_tokens(encoder, text[: _FAR * max(room, 1)])]
        if len(kept) + len(file) > room:
            break
        kept = [*file, *kept]
    return [*project, *kept, *own] if kept else []


def _tokens(encoder: Encoder, text: str) -> list[int]:
    return encoder.tokenize(MarkedText.given(text))
