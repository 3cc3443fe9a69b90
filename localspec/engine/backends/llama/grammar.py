"""Replies that are sentences of a grammar, whichever library reads it: GBNF by llama.cpp, the others by llguidance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import UsageError
from localspec.base.visible import shortened
from localspec.engine.backends.llama.candidates import Ids
from localspec.engine.backends.llama.gbnf import GbnfRules, check_gbnf
from localspec.engine.backends.llama.guidance import GuidanceRules, check_guidance, is_guidance
from localspec.engine.backends.llama.trigger import Trigger
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.dist import Dist
from localspec.engine.model import Logits
from localspec.engine.sampling import Sampler, mixture
from localspec.engine.settings import Sampling

_SHOWN = 60


def check_grammar(text: str) -> None:
    """Raise UsageError, with the place, if a grammar cannot be read. What it says of tokens takes a model."""
    (check_guidance if is_guidance(text) else check_gbnf)(text)


class Rules(Protocol):
    """A place in a grammar."""

    @property
    def forced(self) -> int | None:
        """The one token that fits here; None if there are several, or it takes long to tell."""
        ...

    @property
    def few(self) -> Ids | None:
        """All tokens that fit here, ascending; None if they are many, or it takes long to tell."""
        ...

    def allows(self, ids: Ids) -> NDArray[np.bool_]:
        """A mask over ``ids``: True for a token that fits here."""
        ...

    def accept(self, token: int) -> bool:
        """Move on by a token, if its text fits; False if it does not."""
        ...

    def clone(self) -> Rules: ...


class Grammar:
    """The reply's place in a grammar, which may not have begun yet."""

    def __init__(self, rules: Rules, trigger: Trigger | None) -> None:
        self._rules = rules
        self._trigger = trigger
        self.left_by: str | None = None
        """The text that left the grammar, if any did; nothing is ruled out any more then."""

    @staticmethod
    def of(settings: Sampling, vocab: LlamaVocab) -> Grammar:
        """The grammar at the beginning of a reply. Raises UsageError if it cannot be read."""
        text = settings.grammar or ""
        rules: Rules = GuidanceRules.of(text, vocab) if is_guidance(text) else GbnfRules.of(text, vocab)
        return Grammar(rules, Trigger.of(settings.grammar_triggers, vocab) if settings.grammar_triggers else None)

    def begin_with(self, tokens: Sequence[int], text: str) -> None:
        """Go on behind ``tokens``, which say ``text``. Raises UsageError if that does not fit the grammar."""
        for token in tokens:
            self.accept(token)
            if self.left_by is not None:
                raise UsageError(
                    f"The reply as it stands does not fit the grammar: {shortened(self.left_by or text, _SHOWN)!r}.",
                    "Have it written anew, or go on with it without --grammar and --json-schema.",
                )

    @property
    def idle(self) -> bool:
        """True if every token is allowed: the grammar has not begun, or was left."""
        return self._trigger is not None or self.left_by is not None

    @property
    def forced(self) -> int | None:
        """The one token that fits here; None if there are several, or it takes long to tell."""
        return None if self.idle else self._rules.forced

    @property
    def few(self) -> Ids | None:
        """All tokens that fit here, ascending; None if they are many, or it takes long to tell."""
        return None if self.idle else self._rules.few

    def allows(self, ids: Ids) -> NDArray[np.bool_]:
        """A mask over ``ids``: True for a token that fits here."""
        return np.ones(len(ids), dtype=np.bool_) if self.idle else self._rules.allows(ids)

    def accept(self, token: int) -> None:
        if self._trigger:
            begun = self._trigger.accept(token)
            if begun is None:
                return
            self._trigger = None
            tokens, text = begun
            for follower in tokens:
                self._advance(follower, text)
        else:
            self._advance(token, "")

    def fork(self) -> Grammar:
        fork = Grammar(self._rules.clone(), self._trigger.fork() if self._trigger else None)
        fork.left_by = self.left_by
        return fork

    def _advance(self, token: int, text: str) -> None:
        if self.left_by is None and not self._rules.accept(token):
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
        if (forced := self.forced) is not None:
            return Dist.point(forced)
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
        return mixture([(1, Dist(free.ids[fits], free.probs[fits])), (free.probs[~fits].sum(), held)])

    @property
    def forced(self) -> int | None:
        """As ``ForcingSampler.forced``."""
        return self._grammar.forced

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
