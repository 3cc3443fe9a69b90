"""The built-in target and draft as the engine sees them, and what it takes to ask them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest

from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Rng, SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.events import Event, Finished, Round, Token
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, Role
from localspec.runtime.prompting import Prompter
from tests.builtin import DRAFT, HAS_AVX512, open_target

NEAR_TIE = 0.4 if HAS_AVX512 else 0.7
"""Two logits closer than this may change places where a text is computed otherwise (see ``NOISE``)."""

PLAIN_N = 24
"""Tokens of the plain replies that all drafters are held against."""


@dataclass(frozen=True)
class Reply:
    """All events of one reply."""

    events: list[Event]

    @property
    def rounds(self) -> list[Round]:
        return [event for event in self.events if isinstance(event, Round)]

    @property
    def tokens(self) -> list[Token]:
        return [token for round_ in self.rounds for token in round_.tokens]

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]

    @property
    def finished(self) -> Finished:
        assert isinstance(self.events[-1], Finished)
        return self.events[-1]


@dataclass
class Duo:
    """Target, draft and one stop signal for both."""

    target: LlamaModel
    draft: LlamaModel
    cancel: Cancellation = field(default_factory=Cancellation)

    @staticmethod
    def open() -> Duo:
        cancel = Cancellation()
        return Duo(open_target(cancel), LlamaModel.open(LoadSettings(DRAFT, 1), cancel), cancel)

    def close(self) -> None:
        self.target.close()
        self.draft.close()

    @cached_property
    def prompter(self) -> Prompter:
        return Prompter(self.target.vocab, self.target.n_ctx)

    def prompt(self, question: str) -> list[int]:
        return self.prompter.chat([Message(Role.USER, question)]).tokens

    def sampler(self, settings: Sampling, prompt: Sequence[int] = ()) -> Sampler:
        return make_sampler(settings, self.target.vocab.n_vocab, self.target.vocab, prompt)

    def ask(
        self,
        prompt: str | Sequence[int],
        depth: int,
        *,
        drafter: Drafter | None = None,
        sampler: Sampler | None = None,
        rng: Rng | None = None,
        max_tokens: int | None = 40,
        stop: Sequence[str] = (),
    ) -> Reply:
        """A reply, greedy unless told otherwise; a question is put into the chat template, ids are taken as is."""
        request = Request(
            prompt=self.prompt(prompt) if isinstance(prompt, str) else list(prompt),
            sampler=sampler or Greedy(),
            rng=rng or SeededRng(0),
            policy=FixedDepth(depth),
            max_tokens=max_tokens,
            stop=stop,
        )
        return Reply(list(generate(self.target, [drafter or DraftModel(self.draft)], request, self.cancel)))

    def difference(self, prompt: Sequence[int], expected: Sequence[int], got: Sequence[int]) -> str | None:
        """None if two greedy replies are equal; else where and by which gap between logits they part."""
        common = min(len(expected), len(got))
        at = next((i for i in range(common) if expected[i] != got[i]), None)
        if at is None:
            assert len(expected) == len(got), f"{len(got)} tokens instead of {len(expected)}, all equal until then"
            return None
        row = self.target.logits([*prompt, *expected[:at]], 1)[0]
        gap = float(np.abs(row[expected[at]] - row[got[at]]))
        assert gap < NEAR_TIE, f"token {at} is {got[at]} instead of {expected[at]}, which is {gap:.4f} more likely"
        return f"token {at}: {got[at]} for {expected[at]}, gap {gap:.5f}"


@contextmanager
def remembered(*models: LlamaModel) -> Iterator[None]:
    """The models give every text the scores that it had first, and evaluate none whose scores are all known.

    Thousands of replies go through a few hundred beginnings. Nor do their scores depend on batches, so that replies
    are equal without exceptions for near-ties.
    """
    with pytest.MonkeyPatch.context() as patch:
        for model in models:
            patch.setattr(model, "logits", _remembering(model.logits))
        yield


def _remembering(logits: Callable[[Sequence[int], int], Logits]) -> Callable[[Sequence[int], int], Logits]:
    rows: dict[tuple[int, ...], Logits] = {}

    def found(context: Sequence[int], last: int) -> Logits:
        if not last:
            return logits(context, last)
        texts = [tuple(context[:n]) for n in range(len(context) - last + 1, len(context) + 1)]
        if not rows.keys() >= set(texts):
            for text, row in zip(texts, logits(context, last).copy(), strict=True):
                rows.setdefault(text, row)
        return np.stack([rows[text] for text in texts])  # a copy, since samplers may write into it

    return found
