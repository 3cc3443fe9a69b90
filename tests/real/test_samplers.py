"""Samplers that remember, on the built-in pair: speculation changes neither the text nor the law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from localspec.engine.dist import SeededRng
from localspec.engine.sampling import Sampler
from localspec.engine.settings import BANNED, Sampling
from tests.engine.reference import briefly
from tests.real.duo import PLAIN_N, Duo, Reply, remembered
from tests.real.prompts import hundred_prompts
from tests.real.test_lossless import p_value

QUESTIONS = 12
WORDS = 3
SAMPLES = 500

GREEDY = [
    Sampling(temperature=0.0, repeat_penalty=1.3),
    Sampling(temperature=0.0, frequency_penalty=3.0, presence_penalty=2.0, repeat_last_n=32),
    Sampling(temperature=0.0, dry_multiplier=8.0, dry_allowed_length=1, dry_penalty_last_n=256),
    Sampling(temperature=0.0, repeat_penalty=1.2, dry_multiplier=4.0, logit_bias=((300, 2.0), (301, BANNED))),
    Sampling(temperature=0.0, typical_p=0.1),
]


@pytest.mark.parametrize("settings", GREEDY, ids=briefly)
def test_greedy_with_a_memory_says_what_plain_decoding_says(
    duo: Duo, plain: Callable[[str], Reply], settings: Sampling
) -> None:
    """At depths 1, 3 and 7; and not what it says without the memory."""
    changed_n = accepted_n = 0
    for question in hundred_prompts()[::8][:QUESTIONS]:
        prompt = duo.prompt(question)
        with remembered(duo.target, duo.draft):
            expected = duo.ask(prompt, 0, sampler=duo.sampler(settings, prompt))
            for depth in (1, 3, 7):
                fast = duo.ask(prompt, depth, sampler=duo.sampler(settings, prompt))
                assert fast.ids == expected.ids
                assert fast.finished.text == expected.finished.text
                accepted_n += fast.finished.timings.draft_n_accepted
        changed_n += expected.ids[:PLAIN_N] != plain(question).ids
    assert changed_n, "the settings changed nothing, so nothing was tested"
    assert accepted_n > QUESTIONS


SAMPLED = [
    Sampling(1.0, 6, 1.0, 0.0, repeat_penalty=1.4, presence_penalty=0.5),
    Sampling(1.0, 6, 1.0, 0.0, xtc_probability=0.5, xtc_threshold=0.05),
    Sampling(1.0, 6, 1.0, 0.0, grammar="root ::= [a-df-z ,.]+"),
    Sampling(0.9, mirostat=2, mirostat_tau=2.5, mirostat_eta=0.5),
]


@pytest.fixture(scope="module")
def prompt(duo: Duo) -> list[int]:
    """The middle of a story, where the model has many ways to go on."""
    sampler = duo.sampler(SAMPLED[0])

    def openness(context: list[int]) -> float:
        probs = sampler.dist(duo.target.logits(context, 1)[0]).probs
        return float(-(probs * np.log(probs)).sum())

    start = duo.prompt("Tell me a story about a fox.")
    story = duo.ask(start, 0).ids
    return max(([*start, *story[:n]] for n in range(4, len(story) - WORDS)), key=openness)


@pytest.fixture(scope="module")
def remembering(duo: Duo) -> Iterator[Duo]:
    """The pair, which evaluates no text twice: thousands of replies go through a few hundred beginnings."""
    with remembered(duo.target, duo.draft):
        yield duo


def law_of_first_words(duo: Duo, settings: Sampling, prompt: list[int]) -> dict[tuple[int, ...], float]:
    """The exact distribution of the first tokens under plain sampling; rare beginnings are not followed."""
    law: dict[tuple[int, ...], float] = {}
    open_paths: list[tuple[tuple[int, ...], float, Sampler]] = [((), 1.0, duo.sampler(settings, prompt))]
    while open_paths:
        words, weight, sampler = open_paths.pop()
        if len(words) == WORDS or (words and duo.target.vocab.is_end(words[-1])):
            law[words] = weight
            continue
        row = duo.target.logits([*prompt, *words], 1)[0].copy()
        dist = sampler.dist(row.copy())
        for token, probability in zip(dist.ids.tolist(), dist.probs.tolist(), strict=True):
            longer = sampler.fork()
            longer.dist(row.copy())
            longer.accept(token)
            open_paths.append(((*words, token), weight * probability, longer))
    return law


@pytest.fixture(scope="module")
def law_of(remembering: Duo, prompt: list[int]) -> Callable[[Sampling], dict[tuple[int, ...], float]]:
    """``law_of_first_words`` at the prompt, found once however often it is sampled."""
    return cache(lambda settings: law_of_first_words(remembering, settings, prompt))


@pytest.mark.parametrize("settings", SAMPLED, ids=briefly)
@pytest.mark.parametrize("depth", [0, 3])
def test_the_reply_has_the_targets_distribution(
    remembering: Duo,
    prompt: list[int],
    law_of: Callable[[Sampling], dict[tuple[int, ...], float]],
    settings: Sampling,
    depth: int,
) -> None:
    """The joint distribution of the first tokens is the sampler's own, drafted or not."""
    law = law_of(settings)
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(SAMPLES):
        sampler = remembering.sampler(settings, prompt)
        reply = remembering.ask(prompt, depth, sampler=sampler, rng=SeededRng(seed), max_tokens=WORDS)
        seen[tuple(reply.ids)] += 1
    assert p_value(law, seen) > 1e-4
