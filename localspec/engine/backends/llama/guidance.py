"""JSON Schemas and Lark grammars as masks over a vocabulary, by llguidance.

Where the grammar leaves one text, as for a property's name, llguidance allows one way to write it in tokens: the
tokenizer's own, as models have learned to read it. So the next token is certain there.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.candidates import Ids
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

LARK = "%llguidance"
"""The begin of a grammar in Lark's form, as in llama.cpp."""
JSON = "{"
"""The begin of one that holds a JSON Schema, in llguidance's own form."""
_SPECIAL = b"\xff"
"""The begin of a token that no text can become, to llguidance: no text in UTF-8 has this byte."""
_WORD_BITS = 32
_KEPT_N = 8
_FEW_N = 4096
"""Tokens that are sooner looked at than searched for among the likeliest."""
_ANNOUNCED, _ERROR, _NO_WAY_ON = "regex parse error:", "error: ", "NoExtensionBias"
_SIMPLER = "Simplify the grammar or the JSON Schema."

_tokenizers: WeakKeyDictionary[LlamaVocab, LLTokenizer] = WeakKeyDictionary()
_compiled: WeakKeyDictionary[LlamaVocab, OrderedDict[str, LLMatcher]] = WeakKeyDictionary()
"""The latest grammars of a vocabulary, never advanced: a reply gets a copy."""


def is_guidance(grammar: str) -> bool:
    """True if a grammar is llguidance's to read, and not GBNF."""
    return grammar.startswith((LARK, JSON))


def refusal(grammar: str) -> str | None:
    """The library's reason against a grammar; None if it has none. Takes no model."""
    from llguidance import LLMatcher

    refused, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    return _said(messages[0]) if refused else None


def check_guidance(grammar: str) -> None:
    """Raise UsageError, with the place, if llguidance cannot read a grammar."""
    if why := refusal(grammar):
        raise _refused(why)


class GuidanceRules:
    """The place in a grammar, as ``grammar.Rules``."""

    def __init__(self, matcher: LLMatcher, n_vocab: int) -> None:
        self._matcher = matcher
        self._n_vocab = n_vocab
        self._mask: NDArray[np.bool_] | None = None
        self._fitting_n = 0

    @staticmethod
    def of(grammar: str, vocab: LlamaVocab) -> GuidanceRules:
        """At the begin. Raises UsageError for a grammar or a vocabulary that llguidance cannot use."""
        compiled = _compiled.setdefault(vocab, OrderedDict())
        if grammar not in compiled:
            compiled[grammar] = _matcher(grammar, vocab)
            if len(compiled) > _KEPT_N:
                compiled.popitem(last=False)
        compiled.move_to_end(grammar)
        return GuidanceRules(compiled[grammar].deep_copy(), vocab.n_vocab)

    def allows(self, ids: Ids) -> NDArray[np.bool_]:
        fits: NDArray[np.bool_] = self._allowed()[ids]
        return fits

    @property
    def forced(self) -> int | None:
        allowed = self._allowed()
        return int(allowed.argmax()) if self._fitting_n == 1 else None

    @property
    def few(self) -> Ids | None:
        allowed = self._allowed()
        return np.flatnonzero(allowed) if self._fitting_n <= _FEW_N else None

    def accept(self, token: int) -> bool:
        # By its text alone: what was said before the grammar began may be other tokens than the mask allows.
        self._mask = None
        return self._matcher.try_consume_tokens([token]) == 1

    def clone(self) -> GuidanceRules:
        clone = GuidanceRules(self._matcher.deep_copy(), self._n_vocab)
        clone._mask, clone._fitting_n = self._mask, self._fitting_n
        return clone

    def _allowed(self) -> NDArray[np.bool_]:
        """A mask over the vocabulary. Raises UsageError if the grammar is more than llguidance computes."""
        if self._mask is None:
            words = np.empty(-(-self._n_vocab // _WORD_BITS), dtype=np.uint32)
            self._matcher.unsafe_compute_mask_ptr(words.ctypes.data, words.nbytes)
            if self._matcher.is_error():
                raise UsageError(f"The reply cannot go on: {_said(self._matcher.get_error())}.", _SIMPLER)
            self._mask = np.unpackbits(words.view(np.uint8), count=self._n_vocab, bitorder="little").view(np.bool_)
            self._fitting_n = int(np.count_nonzero(self._mask))
        return self._mask


def _matcher(grammar: str, vocab: LlamaVocab) -> LLMatcher:
    from llguidance import LLMatcher, LLParserLimits

    if vocab not in _tokenizers:
        _tokenizers[vocab] = _tokenizer(vocab)
    # Without a log: it would go to standard error.
    matcher = LLMatcher(_tokenizers[vocab], grammar, log_level=0, limits=LLParserLimits(verbose_errors=False))
    if matcher.is_error():
        raise _refused(_said(matcher.get_error()))
    return matcher


def _tokenizer(vocab: LlamaVocab) -> LLTokenizer:
    """The vocabulary with llama.cpp's tokenizer; control tokens are no text. Takes half a second for a large one."""
    from llguidance import LLTokenizer

    tokens = [_SPECIAL + text if control else text for text, control in vocab.sources()]
    ends = [token for token in range(vocab.n_vocab) if vocab.is_end(token)]
    library: Any = LLTokenizer
    """Its types leave this function out."""
    try:
        made: LLTokenizer = library.from_llamacpp(
            tokens=tokens,
            vocab_ptr=vocab.handle,
            tokenize_fptr=ctypes.cast(native().c._lib.llama_tokenize, ctypes.c_void_p).value,
            eos_token=ends,
            slices=LLTokenizer.json_slices(),
        )
    except ValueError as error:
        raise UsageError(
            f"The model's vocabulary cannot be held to a JSON Schema: {error}.", "Use --grammar with GBNF."
        ) from None
    return made


def _said(message: str) -> str:
    """The library's sentence, without the picture of the place that may stand below it."""
    lines = [line.strip() for line in message.split("<state>")[0].strip().splitlines() if line.strip()]
    first = lines[0] if lines else "llguidance does not say why"
    if first.startswith(_NO_WAY_ON):
        return "no text fits the grammar here"
    errors = [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)]
    return f"{first.removesuffix(_ANNOUNCED)}{errors[0]}" if first.endswith(_ANNOUNCED) and errors else first


def _refused(why: str) -> UsageError:
    return UsageError(f"The grammar cannot be used: {why}.", "llguidance's docs/syntax.md describes the form.")
