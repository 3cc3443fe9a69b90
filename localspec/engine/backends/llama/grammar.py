"""Replies that are sentences of a grammar: llama.cpp's GBNF, applied as llama.cpp applies it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.candidates import CANDIDATE, Ids
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.gbnf import parsed
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.trigger import Trigger
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.dist import Dist
from localspec.engine.model import Logits
from localspec.engine.sampling import Sampler, mixture
from localspec.engine.settings import BANNED, Sampling

_SHOWN = 60


class Grammar:
    """The reply's place in a grammar, which may not have begun yet.

    llama.cpp ends the process over a token that the grammar does not allow, so it is never given one.
    """

    def __init__(self, c: Any, rules: Chain, trigger: Trigger | None) -> None:
        self._c = c
        self._rules = rules
        self._trigger = trigger
        self.left_by: str | None = None
        """The text that left the grammar, if any did; nothing is ruled out any more then."""

    @staticmethod
    def of(settings: Sampling, vocab: LlamaVocab) -> Grammar:
        """At the beginning of a reply. Raises UsageError for a grammar that llama.cpp cannot read."""
        c = native().c
        trigger = Trigger.of(settings.grammar_triggers, vocab) if settings.grammar_triggers else None
        return Grammar(c, Chain(c, parsed(settings.grammar or "", vocab)), trigger)

    def begin_with(self, tokens: Sequence[int], text: str) -> None:
        """Go on behind ``tokens``, which say ``text``. Raises UsageError if that does not fit the grammar."""
        for token in tokens:
            self.accept(token)
            if self.left_by is not None:
                raise UsageError(
                    f"The reply as it stands does not fit the grammar: {_shown(self.left_by or text)}.",
                    "Have it written anew, or go on with it without --grammar and --json-schema.",
                )

    @property
    def idle(self) -> bool:
        """True if every token is allowed: the grammar has not begun, or was left."""
        return self._trigger is not None or self.left_by is not None

    def apply(self, view: Any) -> None:
        """Rule out the candidates of a llama_token_data_array that do not fit here."""
        if not self.idle:
            self._rules.apply(view)

    def allows(self, ids: Ids) -> NDArray[np.bool_]:
        """A mask over ``ids``: True for a token that fits here."""
        tokens = np.zeros(len(ids), dtype=CANDIDATE)
        tokens["id"] = ids
        pointer = tokens.ctypes.data_as(self._c.llama_token_data_p)
        self.apply(self._c.llama_token_data_array(pointer, len(tokens), -1, False))
        fits: NDArray[np.bool_] = tokens["logit"] > BANNED
        return fits

    def accept(self, token: int) -> None:
        if self._trigger:
            begun = self._trigger.accept(token)
            if begun is None:
                return
            self._trigger = None
            for follower in begun.tokens:
                self._advance(follower, begun.text)
        else:
            self._advance(token, "")

    def fork(self) -> Grammar:
        fork = Grammar(self._c, self._rules.clone(), self._trigger.fork() if self._trigger else None)
        fork.left_by = self.left_by
        return fork

    def _advance(self, token: int, text: str) -> None:
        if self.left_by is not None:
            return
        if self.allows(np.array([token], dtype=np.int64))[0]:
            self._rules.accept(token)
        else:
            self.left_by = text


class _Chooser(Sampler, Protocol):
    """A sampler that can also choose among what a grammar leaves."""

    def dist_within(self, row: Logits, grammar: Grammar, *, roughly: bool = False) -> Dist | None: ...

    def fork(self) -> _Chooser: ...


class GrammarSampler:
    """Another sampler, held to a grammar.

    As in llama.cpp a token is drawn without the grammar; one that does not fit is drawn again with it. So what
    fits keeps its probability, and the rest is spread as the grammar would have it from the start.
    """

    stateless = False

    def __init__(self, chooser: _Chooser, grammar: Grammar, n_vocab: int, *, ahead: bool = False) -> None:
        self._chooser = chooser
        self._grammar = grammar
        self._n_vocab = n_vocab
        self._ahead = ahead
        """True for a drafter's fork: it may have gone where the reply never will, and it may guess."""

    def dist(self, row: Logits) -> Dist:
        if not self._ahead and self.has_left:
            raise UsageError(
                f"The text that set off --grammar-trigger does not fit the grammar: {self._grammar.left_by!r}.",
                "Put a group into the pattern, around where the grammar begins.",
            )
        free = self._chooser.dist(row)
        if self._grammar.idle:
            return free
        fits = self._grammar.allows(free.ids)
        if fits.all():
            return free
        held = self._chooser.dist_within(row, self._grammar, roughly=self._ahead)
        if held is None:
            return self._lost(free, len(row))
        if not fits.any():
            return held
        return mixture([(1.0, Dist(free.ids[fits], free.probs[fits])), (float(free.probs[~fits].sum()), held)])

    @property
    def has_left(self) -> bool:
        """True if an accepted token did not fit the grammar; there is no distribution after that."""
        return self._grammar.left_by is not None

    def accept(self, token: int) -> None:
        self._chooser.accept(token)
        self._grammar.accept(token)

    def fork(self) -> GrammarSampler:
        return GrammarSampler(self._chooser.fork(), self._grammar.fork(), self._n_vocab, ahead=True)

    def _lost(self, free: Dist, row_length: int) -> Dist:
        """No token fits: a guess may then be anything, a draft's vocabulary may lack those that do."""
        if self._ahead or row_length < self._n_vocab:
            return free
        raise UsageError("The model has no token that fits the grammar here.", "Change the grammar.")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
