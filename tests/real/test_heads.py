"""The first promise with trained heads: EAGLE-3, DFlash and MTP change the speed and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from localspec.engine.cancel import Cancellation
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import DraftCursor, Drafter
from localspec.engine.sampling import Sampler
from localspec.gguf import read_header
from localspec.gguf.draft_heads import MTP
from localspec.runtime.messages import Message, Role
from localspec.runtime.opened_models import open_models
from localspec.runtime.options import LoadOptions
from localspec.runtime.placement import place_models
from tests.builtin import HEADS, TARGET, write_with_mtp
from tests.real.duo import PLAIN_N, Duo, Reply, remembered
from tests.real.prompts import hundred_prompts
from tests.real.test_lossless import (
    SAMPLES_OF_A_WRONG_ONE,
    Gullible,
    law_of_first_words,
    p_value,
    sample,
    surely_differs,
    widest_point,
)

KINDS = (*HEADS, MTP)
DEPTHS = (1, 3, 7)
TALKS, TURNS = 4, 6
header_of = cache(read_header)


class Headed(Duo):
    """A target with a head, which is asked wherever the draft would be."""

    def __init__(self, kind: str, target: Path, resources: ExitStack) -> None:
        options = LoadOptions(target, HEADS.get(kind), n_ctx=1024, threads=1)
        headers = [header_of(path) for path in (options.target, options.draft) if path]
        placement = place_models(options, headers[0], headers[1] if len(headers) > 1 else None)
        self._kind, self._opened = kind, open_models(placement, kind, Cancellation(), lambda *_: None, resources)
        super().__init__(self._opened.target, self._opened.target)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Know nothing of what was read before."""
        self.target.hold_at_most(0)
        self.drafter: Drafter = self._opened.drafters(None).chosen((self._kind,))[0]


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The file of the target by the kind of head."""
    with_mtp = write_with_mtp(tmp_path_factory.mktemp("mtp") / "target.gguf")
    return dict.fromkeys(HEADS, TARGET) | {MTP: with_mtp}


@pytest.fixture(scope="module", params=KINDS)
def headed(request: pytest.FixtureRequest, targets: dict[str, Path]) -> Iterator[Headed]:
    with ExitStack() as resources:
        yield Headed(request.param, targets[request.param], resources)


def test_greedy_replies_are_those_of_plain_decoding(headed: Headed, plain: Callable[[str], Reply]) -> None:
    """A hundred, but for near-ties, equal those of the target loaded alone."""
    near_ties: list[str] = []
    accepted_n = 0
    for number, question in enumerate(hundred_prompts()):
        prompt = headed.prompt(question)
        fast = headed.ask(prompt, DEPTHS[number % 3], drafter=headed.drafter, max_tokens=PLAIN_N)
        near_ties += filter(None, [headed.difference(prompt, plain(question).ids, fast.ids)])
        accepted_n += fast.finished.timings.draft_n_accepted
    assert accepted_n > 100, "the head proposed hardly anything right, so nothing was tested"
    assert len(near_ties) <= 5


def test_a_conversation_goes_as_from_a_fresh_start(headed: Headed, targets: dict[str, Path]) -> None:
    """Follow-ups, other versions, edits, replies cut short and long texts: each text is that of models begun anew.

    Proposals may differ: asked again, a head has rows that the target evaluated for the reply before. They are as good.
    """
    rng, questions = Random(5), hundred_prompts()
    accepted_n = fresh_n = 0
    for _ in range(TALKS):
        messages: list[Message] = []
        with ExitStack() as resources:
            fresh = Headed(headed.drafter.name, targets[headed.drafter.name], resources)
            for _ in range(TURNS):
                messages = _changed(messages, rng, questions)
                prompt = headed.prompter.chat(messages).tokens
                depth, limit = rng.choice(DEPTHS), rng.choice((5, 24, 24, 48))
                reply = headed.ask(prompt, depth, drafter=headed.drafter, max_tokens=limit)
                fresh.begin_anew()
                again = fresh.ask(prompt, depth, drafter=fresh.drafter, max_tokens=limit)
                fresh.difference(prompt, again.ids, reply.ids)
                accepted_n += reply.finished.timings.draft_n_accepted
                fresh_n += again.finished.timings.draft_n_accepted
                messages = [*messages, Message(Role.ASSISTANT, reply.finished.text)]
    assert accepted_n > 0.95 * fresh_n > 20


def _changed(messages: list[Message], rng: Random, questions: list[str]) -> list[Message]:
    """The conversation that the next reply is asked for: it ends with a question."""
    kind = rng.random()
    if len(messages) < 2 or kind < 0.5:
        return [*messages[-4:], Message(Role.USER, rng.choice(questions))]
    if kind < 0.65:
        return messages[:-1]  # the same question again
    if kind < 0.85:
        return [*messages[:-2], Message(Role.USER, rng.choice(questions))]
    return [Message(Role.USER, " ".join(rng.choices(questions, k=8)))]


def test_a_sampled_reply_has_the_targets_distribution(headed: Headed) -> None:
    """And a verifier that accepts everything is found out."""
    prompt = widest_point(headed)
    with remembered(headed.target), pytest.MonkeyPatch.context() as patch:
        remember_head(headed, patch)
        law = law_of_first_words(headed, prompt)
        assert p_value(law, sample(headed, prompt, 3, headed.drafter, SeededRng)) > 1e-4
        wrong = sample(headed, prompt, 3, headed.drafter, Gullible, n=SAMPLES_OF_A_WRONG_ONE)
        assert surely_differs(law, wrong)


def remember_head(headed: Headed, patch: pytest.MonkeyPatch) -> None:
    """The head, too, is asked each question once, when the target has just read the text that it is about."""
    model, begin, seen = headed.drafter.model, headed.drafter.begin, set[tuple[int, ...]]()

    def begin_behind_the_text(context: Sequence[int], sampler: Sampler) -> DraftCursor | None:
        if tuple(context) not in seen:
            seen.add(tuple(context))
            headed.target.logits(context[:-1], 0)
        return begin(context, sampler)

    patch.setattr(headed.drafter, "begin", begin_behind_the_text)
    for name in ("logits", "block", "reach", "can_guess"):
        if answer := getattr(model, name, None):
            patch.setattr(model, name, _asked_once(answer))


def _asked_once(answer: Callable[..., Any]) -> Callable[..., Any]:
    once = cache(answer)
    # A copy, since samplers may write into it.
    return lambda context, *args, **options: deepcopy(once(tuple(context), *args, **options))
