"""llama.cpp's own samplers as a distribution: its chain, in its order, without the final draw."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from localspec.engine.backends.llama.candidates import (
    CANDIDATE,
    Candidates,
    GroupedScores,
    Ids,
    Kept,
    best_score,
    ruled_out,
)
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.grammar import Grammar, GrammarSampler
from localspec.engine.backends.llama.mirostat import MirostatSampler
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.stages import Stages, bias_chain, biases, memory, required, takes_the_best
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.dist import Dist
from localspec.engine.model import Likeliest, Logits
from localspec.engine.sampling import Greedy, Sampler, mixture
from localspec.engine.settings import BANNED, Sampling

_FIRST_LOOKED_AT = 64
"""The likeliest tokens, one of which mostly fits a grammar; each further look is at eight times as many."""


def make_sampler(
    settings: Sampling, n_vocab: int, vocab: LlamaVocab | None = None, prompt: Sequence[int] = (), prefix: str = ""
) -> Sampler:
    """The sampler for these settings, at the end of ``prompt``; plain greedy needs no library.

    ``prefix`` is the text at the end of the prompt with which the reply has begun, and its grammar.
    ``vocab`` is the target's; DRY and a grammar need it, and so does knowing the tokens that a model must
    never say. Raises UsageError for settings that make no sense, or a ``prefix`` that does not fit the grammar.
    """
    settings.check()
    biased = biases(settings, n_vocab, vocab)
    chooser: BestSampler | ChainSampler
    if takes_the_best(settings) and not (biased or settings.penalises or settings.dry):
        chooser = BestSampler()
    else:
        c = native().c
        candidates = Candidates(c, n_vocab)
        if settings.mirostat:
            return MirostatSampler(c, settings, candidates, bias_chain(c, n_vocab, biased))
        recent_n, remembering = memory(c, settings, n_vocab, vocab)
        chooser = ChainSampler(Stages.of(c, settings, candidates, biased), remembering, deque(maxlen=recent_n))
        for token in prompt[-recent_n:] if recent_n else ():
            chooser.accept(token)
    if settings.grammar is None:
        return chooser
    vocab = required(vocab)
    grammar = Grammar.of(settings, vocab)
    if prefix:
        grammar.begin_with(vocab.tail(prompt, prefix), prefix)
    return GrammarSampler(chooser, grammar, n_vocab)


class BestSampler(Greedy):
    """The best score, also among what a grammar leaves."""

    def dist_within(self, row: Logits, grammar: Grammar, *, roughly: bool = False) -> Dist | None:
        """As ``ChainSampler.dist_within``, and always exact."""
        if (few := grammar.few) is not None:
            return _best(row, few[few < len(row)])
        wanted, groups = _FIRST_LOOKED_AT, GroupedScores(row)
        while (likely := groups.most_likely(wanted)) is not None:
            if best := _best(row, likely[grammar.allows(likely)]):
                return best
            wanted *= 8
        return _best(row, np.flatnonzero(grammar.allows(np.arange(len(row)))))

    def fork(self) -> BestSampler:
        return self


def _best(row: Logits, ids: Ids) -> Dist | None:
    """The best of some tokens; None if there are none that can be said."""
    best = int(ids[row[ids].argmax()]) if len(ids) else None
    return Dist.point(best) if best is not None and row[best] > BANNED else None


class ChainSampler:
    """The samplers that choose among scores, less the draw. Equal rows give equal distributions, bit for bit.

    Only penalties and DRY remember what was accepted; without them a fork is the sampler itself.
    """

    def __init__(self, stages: Stages, memory: Chain | None, recent: deque[int]) -> None:
        self._stages = stages
        self._memory = memory
        self._recent = recent
        self._known: Ids | None = None
        """``_touched``, once it was asked for after the latest token: a long prompt is accepted token by token."""

    @property
    def stateless(self) -> bool:
        return self._memory is None

    def dist(self, row: Logits) -> Dist:
        groups = GroupedScores(row)
        if self._stages.lone_share and not self._memory and not len(self._touched):
            token = groups.lone(self._stages.lone_share)
            if token is not None:
                return Dist.point(token)
        # A draft's rows may be shorter than the target's.
        return self._sampled(self._stages.candidates.take(row, self._likely(row, groups)))

    def guess(self, few: Likeliest) -> Dist:
        records = np.zeros(len(few.ids), dtype=CANDIDATE)
        records["id"], records["logit"] = few.ids, few.scores
        return self._sampled(self._stages.candidates.put(records))

    def dist_within(self, row: Logits, grammar: Grammar, *, roughly: bool = False) -> Dist | None:
        """The same after ``grammar`` has ruled tokens out; None if it rules out all.

        A grammar takes a while to look at a whole vocabulary. ``roughly`` does with the first tokens that fit.
        """
        needed = self._stages.choices
        if needed and (few := grammar.few) is not None:
            fitting = self._fitting(row, few[few < len(row)], None)
            return self._sampled(self._stages.candidates.put(fitting)) if len(fitting) else None
        wanted, groups = 4 * needed + 64 if needed else None, GroupedScores(row)
        while wanted and (likely := groups.most_likely(wanted)) is not None:
            fitting = self._fitting(row, self._with_touched(likely, row), grammar)
            if len(fitting):
                dist = self._sampled(self._stages.candidates.put(fitting))
                if roughly or self._tail_is_idle(fitting, row[likely].min(), dist):
                    return dist
            wanted *= 8
        fitting = self._fitting(row, None, grammar)
        if not (fitting["logit"] > BANNED).any():
            return None
        return self._sampled(self._stages.candidates.put(fitting))

    def accept(self, token: int) -> None:
        if self._memory:
            self._memory.accept(token)
            self._recent.append(token)
            self._known = None

    def fork(self) -> ChainSampler:
        if not self._memory:
            return self
        fork = ChainSampler(self._stages, self._memory.clone(), self._recent.copy())
        fork._known = self._known
        return fork

    @property
    def _touched(self) -> Ids:
        """The tokens that biases and penalties move, sorted."""
        if self._known is None:
            recent = set(self._recent)
            self._known = np.union1d(self._stages.biased, np.fromiter(recent, np.int64, len(recent)))
        return self._known

    def _likely(self, row: Logits, groups: GroupedScores) -> Ids | None:
        """Tokens among which are all that can be chosen; None for all there are."""
        # Penalties and biases move no token but those they touch: past the best of the others nothing is chosen.
        choices, share = self._stages.choices, self._stages.share
        if share and not len(self._touched):
            return groups.within_share(share)
        likely = groups.most_likely(choices + len(self._touched)) if choices else None
        return None if likely is None else self._with_touched(likely, row)

    def _with_touched(self, likely: Ids, row: Logits) -> Ids:
        return np.union1d(likely, self._touched[self._touched < len(row)]) if len(self._touched) else likely

    def _fitting(self, row: Logits, ids: Ids | None, grammar: Grammar | None) -> Kept:
        """The tokens of ``ids`` that ``grammar`` allows; of a whole row all, since some samplers count the others."""
        kept = self._stages.candidates.kept(self._stages.candidates.take(row, ids))
        if grammar is not None:
            kept["logit"][~grammar.allows(kept["id"])] = BANNED
        if ids is None:
            return kept.copy()
        fits = kept["logit"] > BANNED
        if len(self._stages.banned):
            fits &= ~np.isin(kept["id"], self._stages.banned)
        return kept[fits]

    def _tail_is_idle(self, fitting: Kept, highest: float, dist: Dist) -> bool:
        """True if ``dist`` stays as it is if tokens that score no more than ``highest`` fit as well.

        Top-p keeps the more the heavier the tail is, and no other filter looks at it: so what the heaviest tail
        does not change, none does. Typical-p is another matter.
        """
        needed = self._stages.choices
        if needed is None or len(self._stages.filters) > 1:
            return False
        if len(fitting) >= needed + len(self._touched):
            return True
        tail = np.zeros(needed, dtype=fitting.dtype)
        tail["id"], tail["logit"] = self._stages.candidates.n_vocab, highest
        heaviest = self._sampled(self._stages.candidates.put(np.concatenate((fitting, tail))))
        return np.array_equal(heaviest.ids, dist.ids) and np.array_equal(heaviest.probs, dist.probs)

    def _sampled(self, view: Any) -> Dist:
        stages = self._stages
        if len(stages.biased):
            stages.bias.apply(view)
        if self._memory:
            self._memory.apply(view)
        for number, chain in enumerate(stages.filters):
            if number:
                kept = stages.candidates.kept(view)
                kept = kept[kept["logit"] > BANNED]
                if not len(kept):
                    raise ruled_out()  # typical-p of nothing ends the process
                view = stages.candidates.put(kept)
            chain.apply(view)
        if len(stages.ends) == 1:
            stages.ends[0][1].apply(view)
            return _dist(stages.candidates.kept(view))
        before = stages.candidates.kept(view).copy()
        return mixture([(weight, self._ended(chain, before)) for weight, chain in stages.ends])

    def _ended(self, chain: Chain, before: Kept) -> Dist:
        view = self._stages.candidates.put(before)
        chain.apply(view)
        return _dist(self._stages.candidates.kept(view))


def _dist(kept: Kept) -> Dist:
    """Samplers leave scores that are scaled but not normalised."""
    logits = kept["logit"].astype(np.float64)
    best = best_score(logits)
    if len(logits) == 1:
        return Dist.point(int(kept["id"][0]))
    return Dist.of(kept["id"].astype(np.int64), np.exp(logits - best))
