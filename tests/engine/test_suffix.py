"""The suffix automaton finds, counts and continues what a plain search over the text would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.suffix_automaton import Guess, SuffixAutomaton, SuffixCursor

TOKENS = st.integers(0, 2)  # few, so that matches are long and many
TEXT = st.lists(TOKENS, max_size=30)
TEXTS = st.lists(st.lists(TOKENS, min_size=1, max_size=12), min_size=1, max_size=4)
LONGEST = st.integers(1, 8)
UNSEEN = 3
SEPARATOR = -100


def joined(texts: Sequence[Sequence[int]]) -> list[int]:
    """The texts with a separator between them."""
    return [token for text in texts for token in (SEPARATOR, *text)][1:]


def automaton_of(texts: Sequence[Sequence[int]], longest: int = 32) -> SuffixAutomaton:
    automaton = SuffixAutomaton(longest)
    for text in texts:
        automaton.extend_apart(text)
    return automaton


def expected(text: Sequence[int], before: Sequence[int], longest: int) -> Guess | None:
    """What a search says about the token after ``before``, by the definitions alone."""
    for size in range(min(longest, len(before)), 0, -1):
        match = list(before[-size:])
        ends = [end for end in range(size, len(text)) if list(text[end - size : end]) == match]
        followed = [end for end in ends if text[end] != SEPARATOR]
        if SEPARATOR not in match and followed:
            counts = Counter(text[end] for end in followed)
            latest = {text[end]: end for end in followed}
            token = max(counts, key=lambda token: (counts[token], latest[token]))
            return Guess(token, size, counts[token], len(ends), latest[token])
    return None


def everything(automaton: SuffixAutomaton) -> list[Guess | None]:
    """What the automaton says after each context of up to four tokens, and at its own end."""
    contexts: list[tuple[int, ...]] = [()]
    for size in range(4):
        contexts += [(*context, token) for context in contexts if len(context) == size for token in range(3)]
    return [automaton.cursor().guess(), *(automaton.cursor_after(context).guess() for context in contexts)]


@given(TEXTS, LONGEST)
def test_a_guess_is_what_followed_the_longest_match_most_often_then_most_recently(
    texts: list[list[int]], longest: int
) -> None:
    text = joined(texts)
    assert automaton_of(texts, longest).cursor().guess() == expected(text, text, longest)


@given(TEXT)
def test_the_match_is_the_longest_suffix_that_occurred_earlier(text: list[int]) -> None:
    automaton = SuffixAutomaton()
    automaton.extend(text)
    earlier = (
        size
        for size in range(len(text))
        if any(text[i : i + size] == text[len(text) - size :] for i in range(len(text) - size))
    )
    assert automaton.cursor().match_length == max(earlier, default=0)


@given(TEXTS, st.lists(st.integers(0, UNSEEN), max_size=12), LONGEST)
def test_a_walker_matches_what_it_has_stepped_over_against_the_text_alone(
    texts: list[list[int]], steps: list[int], longest: int
) -> None:
    text = joined(texts)
    walker = automaton_of(texts, longest).cursor()
    for at, step in enumerate(steps, start=1):
        walker.step(step)
        guess = expected(text, text + steps[:at], longest)
        assert walker.guess() == guess
        assert walker.match_length == (guess.match_length if guess else 0)


@given(TEXTS, st.lists(st.integers(0, UNSEEN), max_size=12), LONGEST)
def test_a_walker_after_a_context_of_elsewhere_matches_that(
    texts: list[list[int]], context: list[int], longest: int
) -> None:
    guess = automaton_of(texts, longest).cursor_after(context).guess()
    assert guess == expected(joined(texts), context, longest)


@given(TEXT, st.integers(0, 10), st.integers(1, 4), LONGEST)
def test_proposals_continue_each_other_until_the_match_is_too_short(
    text: list[int], depth: int, shortest: int, longest: int
) -> None:
    automaton = SuffixAutomaton(longest)
    automaton.extend(text)
    path = list(text)
    for guess in (proposals := proposals_of(automaton, depth, shortest)):
        assert guess == expected(text, path, longest)
        assert guess.match_length >= shortest
        path.append(guess.token)
    after = expected(text, path, longest)
    assert len(proposals) == depth or after is None or after.match_length < shortest


@given(TEXTS, st.lists(TOKENS, max_size=12), LONGEST)
def test_no_guess_is_a_separator_and_no_match_spans_one(
    texts: list[list[int]], context: list[int], longest: int
) -> None:
    walker = automaton_of(texts, longest).cursor_after(context)
    for _ in range(20):
        guess = walker.guess()
        if guess is None:
            break
        assert guess.token >= 0
        assert SEPARATOR not in joined(texts)[guess.position - guess.match_length : guess.position + 1]
        walker.step(guess.token)


@given(TEXTS, st.lists(st.integers(0, 12)), LONGEST)
def test_text_added_in_pieces_is_text_added_at_once(texts: list[list[int]], cuts: list[int], longest: int) -> None:
    pieces = SuffixAutomaton(longest)
    for text in texts:
        bounds = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
        pieces.extend_apart(text[: bounds[1]])
        for begin, end in pairwise(bounds[1:]):
            pieces.extend(text[begin:end])
    assert everything(pieces) == everything(automaton_of(texts, longest))


@given(st.lists(TEXT, max_size=4), TEXT, LONGEST)
def test_following_a_context_is_building_it_anew(contexts: list[list[int]], last: list[int], longest: int) -> None:
    automaton = SuffixAutomaton(longest)
    for context in [*contexts, last]:
        automaton.follow(context)
    fresh = SuffixAutomaton(longest)
    fresh.extend(last)
    assert len(automaton) == len(last)
    assert everything(automaton) == everything(fresh)


@given(TEXTS, TEXT, TEXT, LONGEST)
def test_following_leaves_the_texts_before_the_last(
    texts: list[list[int]], first: list[int], last: list[int], longest: int
) -> None:
    automaton = automaton_of(texts, longest)
    automaton.extend_apart([])
    automaton.follow(first)
    automaton.follow(last)
    assert everything(automaton) == everything(automaton_of([*texts, last], longest))


@given(TEXT, st.lists(TOKENS, max_size=5))
def test_walking_changes_neither_the_automaton_nor_another_walker(text: list[int], steps: list[int]) -> None:
    automaton = SuffixAutomaton()
    automaton.extend(text)
    before, waiting, walker = everything(automaton), automaton.cursor(), automaton.cursor()
    for step in steps:
        walker.step(step)
    assert waiting.guess() == before[0]
    assert everything(automaton) == before


def proposals_of(automaton: SuffixAutomaton, depth: int, shortest: int = 1) -> list[Guess]:
    """Up to ``depth`` guesses for what follows the text, each taken to be right for the next."""
    walker = automaton.cursor()
    guesses: list[Guess] = []
    while len(guesses) < depth and walker.match_length >= shortest and (guess := walker.guess()):
        guesses.append(guess)
        walker.step(guess.token)
    return guesses


def tokens_of(guesses: Sequence[Guess]) -> list[int]:
    return [guess.token for guess in guesses]


def after(texts: Sequence[Sequence[int]], context: Sequence[int]) -> SuffixCursor:
    return automaton_of(texts).cursor_after(context)


@given(TEXT)
def test_the_automaton_has_no_more_states_than_it_needs(text: list[int]) -> None:
    """One for all strings that end at the same places, one for the empty string and one below (Blumer et al. 1985)."""
    ends: dict[tuple[int, ...], set[int]] = {}
    for begin, end in combinations(range(len(text) + 1), 2):
        ends.setdefault(tuple(text[begin:end]), set()).add(end)
    assert len(automaton_of([text])._link) == len(set(map(frozenset, ends.values()))) + 2


def test_a_text_that_repeats_itself_up_to_its_end_goes_on_repeating() -> None:
    automaton = automaton_of([[1, 2, 1, 2, 1, 2]])
    assert tokens_of(proposals_of(automaton, 7)) == [1, 2, 1, 2, 1, 2, 1]


def test_one_token_over_and_over_goes_on() -> None:
    assert tokens_of(proposals_of(automaton_of([[7] * 100]), 5)) == [7] * 5


def test_the_share_is_of_all_occurrences_but_the_one_at_the_very_end() -> None:
    guess = automaton_of([[5, 1, 5, 2, 5]]).cursor().guess()
    assert guess is not None
    assert (guess.token, guess.match_length, guess.count, guess.share) == (2, 1, 1, 1 / 2)  # the latest of 1 and 2
    guess = after([[5, 1, 5, 2, 5, 1]], [5]).guess()
    assert guess is not None
    assert (guess.token, guess.count, guess.share) == (1, 2, 2 / 3)


def test_the_end_of_an_earlier_text_is_an_occurrence_that_nothing_followed() -> None:
    guess = after([[1, 5], [5, 2]], [5]).guess()
    assert guess is not None
    assert (guess.token, guess.share) == (2, 1 / 2)


def test_nothing_is_guessed_without_a_match() -> None:
    assert SuffixAutomaton().cursor().guess() is None
    assert proposals_of(SuffixAutomaton(), 4) == []
    assert after([[1, 2, 3]], [9]).guess() is None
    assert after([[1, 2], [3]], [2]).guess() is None


def test_a_walker_that_lost_its_match_finds_another() -> None:
    walker = after([[1, 2, 3]], [9])
    walker.step(2)
    assert walker.guess() == Guess(3, 1, 1, 1, 2)


@given(TEXTS, st.integers(1, 20), LONGEST, st.lists(TOKENS, max_size=6))
def test_the_latest_texts_are_kept_and_a_walker_of_before_starts_over(
    texts: list[list[int]], n: int, longest: int, steps: list[int]
) -> None:
    automaton = automaton_of(texts, longest)
    before, walker = joined(texts), automaton.cursor()
    automaton.keep_latest(n)
    latest = before[-n:]
    for context in ([], [0], [1, 2], [2, 2, 0]):
        assert automaton.cursor_after(context).guess() == expected(latest, context, longest)
    assert walker.guess() is None
    for token in steps:
        walker.step(token)
    assert walker.guess() == expected(latest, steps, longest)
