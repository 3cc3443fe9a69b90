"""The first promise, on real models: speculation changes the speed and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from scipy.stats import chisquare

from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.drafter import DraftCursor, Drafter
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.events import Origin
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.settings import Sampling
from tests.builtin import DRAFT, open_target
from tests.real.duo import NEAR_TIE, PLAIN_N, Duo, Reply, remembered
from tests.real.prompts import hundred_prompts

SETTINGS = Sampling(temperature=1.0, top_k=6, top_p=1.0, min_p=0.0)
WORDS = 3
SAMPLES, SAMPLES_OF_A_WRONG_ONE, SAMPLES_OF_A_WRONG_CORRECTION = 600, 100, 400
"""Fewer are enough to find a wrong one out, which shows the power of the test of a right one."""


def test_greedy_speculation_says_what_plain_decoding_says(duo: Duo, plain: Callable[[str], Reply]) -> None:
    """A hundred replies at depths 1, 3 and 7 equal those at depth 0, but for near-ties, which are printed."""
    prompts = hundred_prompts()
    assert len(prompts) == 100
    near_ties = []
    accepted_n = 0
    for number, question in enumerate(prompts):
        prompt = duo.prompt(question)
        expected, fast = plain(question), duo.ask(prompt, (1, 3, 7)[number % 3], max_tokens=PLAIN_N)
        difference = duo.difference(prompt, expected.ids, fast.ids)
        if difference:
            near_ties.append(f"{question!r}: {difference}")
        else:
            assert fast.finished.text == expected.finished.text
            assert fast.finished.reason == expected.finished.reason
        accepted_n += fast.finished.timings.draft_n_accepted
    print("\n".join(near_ties))
    assert accepted_n > 500, "the draft proposed hardly anything right, so nothing was tested"
    assert len(near_ties) <= 5


def test_a_model_that_drafts_for_itself_is_always_right(duo: Duo, twin: LlamaModel) -> None:
    """Greedy, every full round accepts all proposals and adds a bonus; a refusal can only be a near-tie."""
    for question in hundred_prompts()[:8]:
        prompt = duo.prompt(question)
        reply = duo.ask(prompt, 4, drafter=DraftModel(twin))
        context = list(prompt)
        for round_ in reply.rounds[:-1]:
            if round_.rejected:
                corrected = round_.tokens[-1].id
                before = [*context, *(token.id for token in round_.tokens[:-1])]
                duo.difference(before, [corrected], [round_.rejected[0].id])
            else:
                assert [token.origin for token in round_.tokens] == [Origin.ACCEPTED] * 4 + [Origin.BONUS]
            context += [token.id for token in round_.tokens]
        timings = reply.finished.timings
        assert (timings.draft_acceptance_rate or 0) > 0.9


@pytest.mark.parametrize("settings", [None, SETTINGS, Sampling(0.8, 40, 0.95, 0.0)], ids=["greedy", "six", "forty"])
def test_a_draft_that_hands_over_its_likeliest_tokens_alone_changes_nothing(
    duo: Duo, terse: LlamaModel, settings: Sampling | None
) -> None:
    """Proposals, verdicts and text are those of a draft that hands over all scores."""
    for number, question in enumerate(hundred_prompts()[::20]):
        prompt = duo.prompt(question)
        replies = [
            duo.ask(
                prompt,
                4,
                drafter=DraftModel(draft),
                sampler=duo.sampler(settings) if settings else None,
                rng=SeededRng(number),
            )
            for draft in (duo.draft, terse)
        ]
        told = [
            [([token.id for token in r.tokens], [token.id for token in r.rejected]) for r in reply.rounds]
            for reply in replies
        ]
        assert len(told[0]) == len(told[1])
        assert told[0] == told[1]
        assert replies[1].finished.timings.draft_n > 0


class HotDraft(DraftModel):
    """The draft model drawing at a higher temperature, whatever the reply's own: often refused."""

    def __init__(self, duo: Duo) -> None:
        super().__init__(duo.draft)
        self._hot = duo.sampler(Sampling(temperature=6.0, top_k=12, top_p=1.0, min_p=0.0))

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor:
        return super().begin(context, self._hot)


class NamingDraft(DraftModel):
    """A model naming its favourite as if it were certain.

    With the target's own twin the favourite always has a chance, and a wrong correction shows most.
    """

    def begin(self, context: Sequence[int], sampler: Sampler) -> DraftCursor:
        return super().begin(context, Greedy())


class Gullible(SeededRng):
    """Accepts every proposal: a verifier with this bias must be found out."""

    def accepts(self, p: object, q: object) -> bool:
        return True


def law_of_first_words(duo: Duo, prompt: list[int]) -> dict[tuple[int, ...], float]:
    """The exact distribution of the first tokens under plain sampling, by going through all of them."""
    sampler = duo.sampler(SETTINGS)
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(WORDS):
        longer: dict[tuple[int, ...], float] = {}
        for words, weight in law.items():
            if words and duo.target.vocab.is_end(words[-1]):
                longer[words] = weight
                continue
            dist = sampler.dist(duo.target.logits([*prompt, *words], 1)[0])
            for token, probability in zip(dist.ids, dist.probs, strict=True):
                longer[*words, int(token)] = weight * float(probability)
        law = longer
    return law


def p_value(law: dict[tuple[int, ...], float], seen: Counter[tuple[int, ...]]) -> float:
    """How likely a sample at least as odd as ``seen`` is under ``law``; rare outcomes share a bin."""
    total = seen.total()
    assert set(seen) <= set(law), "something was said that cannot be said"
    common = [words for words, probability in law.items() if probability * total >= 5]
    assert len(common) >= 3, "too little is left to chance here to test anything"
    observed = [seen[words] for words in common]
    expected = [law[words] * total for words in common]
    rest = total - sum(expected)
    if rest >= 5:
        observed.append(total - sum(observed))
        expected.append(rest)
    else:
        observed[-1] += total - sum(observed)
        expected[-1] += rest
    return float(chisquare(observed, expected).pvalue)


def sample(
    duo: Duo, prompt: list[int], depth: int, drafter: Drafter, rng: type[SeededRng], *, n: int = SAMPLES
) -> Counter[tuple[int, ...]]:
    sampler = duo.sampler(SETTINGS)
    return Counter(
        tuple(duo.ask(prompt, depth, drafter=drafter, sampler=sampler, rng=rng(seed), max_tokens=WORDS).ids)
        for seed in range(n)
    )


def widest_point(duo: Duo) -> list[int]:
    """Where the model has the most ways to go on: the widest open point in the middle of a story.

    Points are left out where rounding may decide which tokens are the six likeliest.
    """
    sampler = duo.sampler(SETTINGS)

    def openness(context: list[int]) -> float:
        row = duo.target.logits(context, 1)[0]
        next_best, last_chosen = np.sort(row)[-SETTINGS.top_k - 1 :][:2]
        if last_chosen - next_best < NEAR_TIE:
            return 0.0
        probs = sampler.dist(row).probs
        return float(-(probs * np.log(probs)).sum())

    points = []
    for animal in ("fox", "turtle", "robot"):
        start = duo.prompt(f"Tell me a story about a {animal}.")
        story = duo.ask(start, 0).ids
        points += [[*start, *story[:n]] for n in range(4, len(story) - WORDS)]
    return max(points, key=openness)


@pytest.fixture(scope="module")
def twin(duo: Duo) -> Iterator[LlamaModel]:
    """The target once more, to draft for itself."""
    twin = open_target(duo.cancel, max_outputs=1)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def terse(duo: Duo) -> Iterator[LlamaModel]:
    """The draft, ranking its scores where it computes them."""
    terse = LlamaModel.open(LoadSettings(DRAFT, 1, ranked_on_device=True), duo.cancel)
    yield terse
    terse.close()


@pytest.fixture(scope="module")
def prompt(duo: Duo) -> list[int]:
    return widest_point(duo)


@pytest.fixture(scope="module")
def law(duo: Duo, prompt: list[int]) -> dict[tuple[int, ...], float]:
    return law_of_first_words(duo, prompt)


class TestSampled:
    @pytest.fixture(autouse=True, scope="class")
    def remembering(self, duo: Duo, twin: LlamaModel) -> Iterator[None]:
        with remembered(duo.target, duo.draft, twin):
            yield

    @pytest.mark.parametrize("kind", ["plain", "draft", "hot", "naming"])
    def test_the_reply_has_the_targets_distribution(
        self, duo: Duo, twin: LlamaModel, prompt: list[int], law: dict[tuple[int, ...], float], kind: str
    ) -> None:
        """The joint distribution of the first tokens is the target's own, whoever proposes."""
        drafter = {"hot": HotDraft(duo), "naming": NamingDraft(twin)}.get(kind, DraftModel(duo.draft))
        seen = sample(duo, prompt, 0 if kind == "plain" else 3, drafter, SeededRng)
        assert p_value(law, seen) > 1e-4

    def test_a_verifier_that_believes_everything_is_found_out(
        self, duo: Duo, twin: LlamaModel, prompt: list[int], law: dict[tuple[int, ...], float]
    ) -> None:
        """The test above has power: accepting every proposal fails it by a wide margin."""
        seen = sample(duo, prompt, 3, NamingDraft(twin), Gullible, n=SAMPLES_OF_A_WRONG_ONE)
        assert surely_differs(law, seen)

    def test_a_correction_that_forgets_the_residual_is_found_out(
        self,
        duo: Duo,
        twin: LlamaModel,
        prompt: list[int],
        law: dict[tuple[int, ...], float],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """So does drawing the replacement from p instead of from what q leaves of it."""
        monkeypatch.setattr(Dist, "minus", lambda self, other: self)
        seen = sample(duo, prompt, 3, NamingDraft(twin), SeededRng, n=SAMPLES_OF_A_WRONG_CORRECTION)
        assert surely_differs(law, seen)


def surely_differs(law: dict[tuple[int, ...], float], seen: Counter[tuple[int, ...]]) -> bool:
    return not set(seen) <= set(law) or p_value(law, seen) < 1e-9
