"""JSON Schemas and Lark grammars as masks over a vocabulary, by llguidance.

Where the grammar leaves one text, as for a property's name, llguidance allows one way to write it in tokens: the
tokenizer's own, as models have learned to read it. So the next token is certain there.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.candidates import Ids
from localspec.engine.backends.llama.guidance_size import excess
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.model import Vocab

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

Mask = NDArray[np.uint32]
Answer = TypeVar("Answer")

LARK = "%llguidance"
"""The begin of a grammar in Lark's form, as in llama.cpp."""
JSON = "{"
"""The begin of one that holds a JSON Schema, in llguidance's own form."""
_SPECIAL = b"\xff"
"""The begin of a token that no text can become, to llguidance: no text in UTF-8 has this byte."""
_WORD_BITS = 32
_KEPT_N = 8
_MASKS_N = 32
"""The latest places that keep their mask."""
_FEW_N = 4096
"""Tokens that are sooner looked at than searched for among the likeliest."""
_SINGLY_N = 8
"""Tokens that are sooner judged each for itself than with the whole vocabulary."""
_UNKNOWN = -1
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

    if why := excess(grammar):
        return why
    try:
        refused, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    except BaseException as error:
        # It panics where it cuts its own message in the middle of a character.
        if type(error).__module__ != "pyo3_runtime":
            raise
        return "llguidance fails over it"
    return _said(messages[0]) if refused else None


def check_guidance(grammar: str) -> None:
    """Raise UsageError, with the place, if llguidance cannot read a grammar."""
    if why := refusal(grammar):
        raise _refused(why)


class _Place:
    """A place in a grammar, and what is known about the token that comes there."""

    __slots__ = ("before", "depth", "forced", "mask", "next", "token")

    def __init__(self, before: _Place | None, token: int) -> None:
        self.before = before
        self.token = token
        """The one that leads here from ``before``."""
        self.depth: int = before.depth + 1 if before else 0
        self.next: _Place | None = None
        """The place behind the token that was said here last."""
        self.forced: int | None = _UNKNOWN
        """As ``GuidanceRules.forced``, once it is known."""
        self.mask: Mask | None = None
        """A bit for each token of the vocabulary, in words of 32; kept for the latest places."""

    def after(self, token: int) -> _Place:
        """The place behind a token that fits here."""
        if self.next is None or self.next.token != token:
            self.next = _Place(self, token)
        return self.next


class Walk:
    """A matcher and the places of its grammar that were asked about; it goes back and forth between them.

    A reply and all that looks ahead of it share one, so what is known about a place is worked out once.
    """

    def __init__(self, matcher: LLMatcher, anew: Callable[[], LLMatcher], vocab: Vocab) -> None:
        """``matcher`` stands at the beginning; ``anew`` makes another. It shares nothing with one that has failed."""
        self._matcher = matcher
        self._anew = anew
        self._is_end = vocab.is_end
        self._words_n = -(-vocab.n_vocab // _WORD_BITS)
        self._path: list[_Place] = []
        """The places that the matcher has come through behind the beginning, up to where it stands."""
        self._masked: deque[_Place] = deque()

    def forced(self, place: _Place) -> int | None:
        """The one token that fits at a place; None if several do, or it takes long to tell. Raises as ``mask``."""
        if place.forced == _UNKNOWN:
            found = self._ask(place, lambda matcher: matcher.compute_ff_tokens())
            place.forced = None if found else self._forced_end(place)
            at = place
            for token in found:  # a whole text may be forced
                at.forced = token
                at = at.after(token)
        return place.forced

    def _forced_end(self, place: _Place) -> int | None:
        """The token that ends the reply, if nothing else fits."""
        if not self._ask(place, lambda matcher: matcher.is_accepting()):
            return None
        mask = self.mask(place)
        return int(_tokens(mask)[0]) if _count(mask) == 1 else None

    def fits(self, place: _Place, token: int) -> bool:
        """True if a token fits at a place by its text, or by ending the reply. Raises as ``mask``."""
        if self._is_end(token):
            return self._ask(place, lambda matcher: matcher.is_accepting())
        return self._ask(place, lambda matcher: matcher.validate_tokens([token])) == 1

    def mask(self, place: _Place) -> Mask:
        """The tokens that fit at a place. Raises UsageError if that is more than llguidance computes."""
        if place.mask is None:
            words = np.empty(self._words_n, dtype=np.uint32)
            self._ask(place, lambda matcher: matcher.unsafe_compute_mask_ptr(words.ctypes.data, words.nbytes))
            place.mask = words
            self._masked.append(place)
            if len(self._masked) > _MASKS_N:
                self._masked.popleft().mask = None
        return place.mask

    def step(self, place: _Place, token: int) -> _Place | None:
        """The place after a token; None if its text does not fit, or it ends the reply. Raises as ``mask``."""
        if self._is_end(token):
            return None
        come_by = place.next is not None and place.next.token == token
        if come_by or token == place.forced or (place.mask is not None and _bit(place.mask, token)):
            return place.after(token)
        if self._ask(place, lambda matcher: matcher.try_consume_tokens([token])) != 1:
            return None
        self._path.append(place.after(token))
        return place.next

    def _ask(self, place: _Place, ask: Callable[[LLMatcher], Answer]) -> Answer:
        """An answer of the matcher at a place."""
        # Matchers of one grammar fail together: what another one met is no reason against this place.
        why = ""
        for _ in range(2):
            self._go(place)
            answer = ask(self._matcher)
            if not self._matcher.is_error():
                return answer
            why = _said(self._matcher.get_error())
            self._matcher, self._path = self._anew(), []
        raise UsageError(f"The reply cannot go on: {why}.", _SIMPLER)

    def _go(self, place: _Place) -> None:
        """Have the matcher stand at a place."""
        path, missing, at = self._path, [], place
        while at.before is not None and not (at.depth <= len(path) and path[at.depth - 1] is at):
            missing.append(at)
            at = at.before
        if len(path) > at.depth:
            self._matcher.rollback(len(path) - at.depth)
            del path[at.depth :]
        if missing:
            missing.reverse()
            self._matcher.try_consume_tokens([each.token for each in missing])
            path += missing


class GuidanceRules:
    """The place in a grammar, as ``grammar.Rules``."""

    def __init__(self, walk: Walk, place: _Place | None = None) -> None:
        """``place`` is by default the beginning."""
        self._walk = walk
        self._place = place or _Place(None, _UNKNOWN)

    @staticmethod
    def of(grammar: str, vocab: LlamaVocab) -> GuidanceRules:
        """The grammar at its beginning. Raises UsageError for a grammar or a vocabulary that llguidance cannot use."""
        compiled = _compiled.setdefault(vocab, OrderedDict())

        def anew() -> LLMatcher:
            compiled[grammar] = _matcher(grammar, vocab)
            if len(compiled) > _KEPT_N:
                compiled.popitem(last=False)
            return compiled[grammar].deep_copy()

        matcher = compiled[grammar].deep_copy() if grammar in compiled else anew()
        compiled.move_to_end(grammar)
        return GuidanceRules(Walk(matcher, anew, vocab))

    def allows(self, ids: Ids) -> NDArray[np.bool_]:
        walk, place = self._walk, self._place
        if (forced := walk.forced(place)) is not None:
            return np.asarray(ids == forced)
        if place.mask is None and len(ids) <= _SINGLY_N:
            return np.array([walk.fits(place, token) for token in ids.tolist()], dtype=np.bool_)
        return _bits(walk.mask(place), ids)

    @property
    def forced(self) -> int | None:
        return self._walk.forced(self._place)

    @property
    def few(self) -> Ids | None:
        if (forced := self.forced) is not None:
            return np.array([forced], dtype=np.int64)
        mask = self._walk.mask(self._place)
        return _tokens(mask) if _count(mask) <= _FEW_N else None

    def accept(self, token: int) -> bool:
        # By its text alone: what was said before the grammar began may be other tokens than the mask allows.
        after = self._walk.step(self._place, token)
        self._place = after or self._place
        return after is not None

    def clone(self) -> GuidanceRules:
        return GuidanceRules(self._walk, self._place)


def _count(mask: Mask) -> int:
    return int(np.bitwise_count(mask).sum())


def _tokens(mask: Mask) -> Ids:
    """The tokens whose bits are set in a mask of few, ascending."""
    words = np.flatnonzero(mask)
    at = np.flatnonzero(np.unpackbits(mask[words].view(np.uint8), bitorder="little"))
    return words[at // _WORD_BITS] * _WORD_BITS + at % _WORD_BITS


def _bit(mask: Mask, token: int) -> bool:
    return bool(int(mask[token // _WORD_BITS]) >> token % _WORD_BITS & 1)


def _bits(mask: Mask, ids: Ids) -> NDArray[np.bool_]:
    """The bits of some tokens in a mask."""
    if len(ids) > _FEW_N:
        return np.unpackbits(mask.view(np.uint8), bitorder="little").view(np.bool_)[ids]
    return (mask[ids // _WORD_BITS] >> (ids % _WORD_BITS).astype(np.uint32) & 1).astype(np.bool_)


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
