"""The suffix drafter in the loop: a text that repeats is proposed in long runs, and nothing is ever lost by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafters.suffix import SuffixDrafter, proposal_from
from localspec.engine.events import Round
from localspec.engine.loop import Request, generate
from localspec.engine.sampling import Greedy
from localspec.engine.suffix_automaton import Guess, SuffixAutomaton
from tests.fakes import TableModel, letters

TEXT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]


@dataclass(slots=True)
class Reciter(TableModel):
    """Says the text again and again, by its position alone."""

    def row(self, context: Sequence[int]) -> list[float]:
        return [9.0 if token == TEXT[len(context) % len(TEXT)] else 0.0 for token in range(self.vocab.n_vocab)]


def rounds_of(prompt: Sequence[int], drafter: SuffixDrafter, max_tokens: int = 48) -> list[Round]:
    request = Request(prompt, Greedy(), SeededRng(0), FixedDepth(8), max_tokens=max_tokens)
    events = generate(Reciter(letters(10)), [drafter], request, Cancellation())
    return [event for event in events if isinstance(event, Round)]


def test_a_text_given_in_the_prompt_is_copied_in_long_runs() -> None:
    rounds = rounds_of(TEXT, SuffixDrafter())
    said = [token.id for round_ in rounds for token in round_.tokens]
    assert said == (TEXT * 3)[: len(said)] == TEXT * 3
    assert len(rounds) <= 8
    assert {token.drafter for round_ in rounds for token in round_.tokens} == {"suffix", None}


def test_after_an_edit_it_goes_by_the_new_text() -> None:
    """One drafter for the whole conversation: what was cut off is no longer proposed."""
    drafter = SuffixDrafter()
    rounds_of(TEXT * 2, drafter)
    fresh = [round_.tokens for round_ in rounds_of(TEXT[:8], SuffixDrafter(), 20)]
    assert [round_.tokens for round_ in rounds_of(TEXT[:8], drafter, 20)] == fresh


def test_an_image_that_stands_in_the_text_again_is_not_proposed() -> None:
    """A reply has none; the words between two of them are proposed as ever."""
    assert proposals([3, 1, -5, -6, 4, 1, 5, 3, 1], (), 3) == []
    assert proposals([3, 1, -5, -6, 4, 1, 5, 3, 1, -5, -6], (), 2) == [4, 1]


def test_longer_and_clearer_matches_promise_more() -> None:
    def prior(length: int, count: int, occurrences: int) -> float:
        return proposal_from(Guess(1, length, count, occurrences, 0)).prior

    assert prior(2, 1, 1) < prior(5, 1, 1) < prior(20, 1, 1) < 1
    assert prior(5, 2, 4) < prior(5, 3, 4) < prior(5, 4, 4)


def proposals(context: Sequence[int], past: Sequence[int], n: int) -> list[int]:
    """What is proposed after a context with one past reply, each taken to be right for the next."""
    automaton = SuffixAutomaton()
    automaton.extend_apart(past)
    cursor = SuffixDrafter(automaton).begin(context, Greedy())
    tokens: list[int] = []
    while len(tokens) < n and (found := cursor.peek()):
        tokens.append(int(found.dist.ids[0]))
        cursor.step(tokens[-1])
    return tokens


def test_a_longer_match_in_past_replies_is_followed() -> None:
    """As far as it goes; the text itself has only seen a shorter one."""
    assert proposals([3, 8, 2, 3], [1, 2, 3, 4, 5], 3) == [4, 5]
    assert proposals([2, 3, 8, 2, 3], [3, 4, 5], 2) == [8, 2]


def test_of_equally_long_matches_the_texts_own_counts() -> None:
    assert proposals([3, 8, 3], [1, 2, 3, 4, 5], 1) == [8]
