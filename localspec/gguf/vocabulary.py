"""The vocabulary of a model as llama.cpp reads it: with its defaults and exceptions applied to the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from localspec.gguf.metadata import Value, get


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a model, and the special tokens that frame a text."""

    model: str
    """The file's name for the tokenizer ("gpt2", "llama", ...); "none" without one."""
    kind: str
    """llama.cpp's name for its kind ("BPE", "SPM", ...)."""
    tokens: tuple[str, ...] = field(repr=False)
    bos_id: int | None
    eos_id: int | None
    eot_id: int | None
    """The end-of-turn token: named by the file, or recognised by its text."""
    add_bos: bool
    add_eos: bool

    @property
    def has_tokens(self) -> bool:
        """True if text can be tokenized; otherwise llama.cpp aborts on an attempt."""
        return bool(self.tokens) and self.model not in _WITHOUT_TOKENS

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the kind of tokenizer and all token texts: equal for equal vocabularies."""
        digest = sha256(self.kind.encode(errors="surrogateescape"))
        # With lengths, so that no two lists of texts give the same bytes.
        for text in self.tokens:
            token = text.encode(errors="surrogateescape")
            digest.update(b"%d:" % len(token) + token)
        return digest.hexdigest()


def vocabulary(metadata: Mapping[str, Value]) -> Vocabulary:
    """The vocabulary in a header's metadata; it has no tokens if the metadata has none."""
    model = get(metadata, "tokenizer.ggml.model", str) or "none"
    pre = get(metadata, "tokenizer.ggml.pre", str)
    tokens = get(metadata, "tokenizer.ggml.tokens", tuple) or ()
    defaults = _TOKENIZERS.get(model) or _Tokenizer(model, None, None, add_bos=False, add_eos=False)

    def special(name: str, default: int | None) -> int | None:
        number = get(metadata, f"tokenizer.ggml.{name}_token_id", int)
        candidates = (number, default)
        return next((n for n in candidates if n is not None and 0 <= n < len(tokens)), None)

    def added(name: str, default: bool) -> bool:
        flag = get(metadata, f"tokenizer.ggml.add_{name}_token", bool)
        return default if flag is None else flag

    return Vocabulary(
        model=model,
        kind=defaults.kind,
        tokens=tokens,
        bos_id=special("bos", defaults.bos_id),
        eos_id=special("eos", defaults.eos_id),
        eot_id=special("eot", _turn_end(tokens)),
        # llama.cpp overrides the flag in Gemma 4 files.
        add_bos=model == "gemma4" or added("bos", defaults.add_bos or pre in _PRE_WITH_BOS),
        add_eos=added("eos", defaults.add_eos),
    )


def as_llama_cpp(token_id: int, text: str) -> str:
    """The text of a token as llama.cpp stores it: cut at the first NUL, and with a made-up name if it is empty."""
    return text.partition("\0")[0] or f"[EMPTY_{token_id}]"


def equal_tokens(vocabulary: Vocabulary) -> tuple[int, int] | None:
    """The first two tokens with the same text, over which llama.cpp aborts; None if all differ."""
    tokens = vocabulary.tokens
    if vocabulary.model in _WITHOUT_TOKENS or _plainly_distinct(tokens):
        return None
    seen: dict[str, int] = {}
    for token_id, text in enumerate(tokens):
        first = seen.setdefault(as_llama_cpp(token_id, text), token_id)
        if first != token_id:
            return first, token_id
    return None


def lacks_spaces(vocabulary: Vocabulary) -> bool:
    """True if a SentencePiece vocabulary cannot write the space that it puts before every text."""
    tokens = vocabulary.tokens
    return vocabulary.kind == "SPM" and "<0xE2>" not in tokens and "\u2581" not in "".join(tokens)


def _plainly_distinct(tokens: tuple[str, ...]) -> bool:
    """True for nearly every file: a quick check before the loop over hundreds of thousands of tokens."""
    return len(set(tokens)) == len(tokens) and "" not in tokens and "\0" not in "".join(tokens)


def _turn_end(tokens: tuple[str, ...]) -> int | None:
    known = {text: token_id for token_id, text in enumerate(tokens) if text in _TURN_ENDS}
    return next((known[text] for text in _TURN_ENDS if text in known), None)


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """llama.cpp's defaults for a kind of tokenizer."""

    kind: str
    bos_id: int | None
    eos_id: int | None
    add_bos: bool
    add_eos: bool


_BPE = _Tokenizer("BPE", 11, 11, add_bos=False, add_eos=False)
_TOKENIZERS = {
    "llama": _Tokenizer("SPM", 1, 2, add_bos=True, add_eos=False),
    "bert": _Tokenizer("WPM", 101, None, add_bos=True, add_eos=False),
    "gpt2": _BPE,
    "hybriddna": _BPE,
    "whitespace": _BPE,
    "gemma4": _Tokenizer("BPE", None, None, add_bos=True, add_eos=False),
    "t5": _Tokenizer("UGM", None, 1, add_bos=False, add_eos=True),
    "rwkv": _Tokenizer("RWKV", None, None, add_bos=False, add_eos=False),
    "plamo2": _Tokenizer("PLAMO2", 1, 2, add_bos=False, add_eos=False),
}
_WITHOUT_TOKENS = {"none", "no_vocab"}
"""Tokenizers whose tokens llama.cpp does not read."""
_LLAMA3_PRE = {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"}
_PRE_WITH_BOS = _LLAMA3_PRE | {"tekken", "chameleon"}
# Texts by which llama.cpp recognises the end of a turn, the most specific first.
_TURN_ENDS = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<｜end▁of▁sentence｜>",
)
