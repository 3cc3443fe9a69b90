"""Laws of the comparison by counts: rounds are told from what either engine says of them."""

from __future__ import annotations

from collections.abc import Iterable

from localspec.engine.events import Origin, Round, Token
from tests.benchmarks.engine.counts import Counted, RoundCount, first_difference, own_counted, server_counted

END = 0


def answers(*told: tuple[int, int, int]) -> list[dict[str, object]]:
    """The server's answers, from tokens, proposals and accepted ones so far."""
    names = ("predicted_n", "draft_n", "draft_n_accepted")
    return [{"timings": dict(zip(names, one, strict=True))} for one in told]


def text_of(tokens: Iterable[int]) -> list[int]:
    return [token for token in tokens if token != END]


def round_of(accepted: list[int], own: int | None) -> Round:
    tokens = [Token(token, "", Origin.ACCEPTED, "draft") for token in accepted]
    if own is not None:
        tokens.append(Token(own, "", Origin.CORRECTED))
    return Round(0, "draft", len(accepted), tuple(tokens), (), (), 0.0, 0.0, 0.0)


def test_a_round_of_the_server_has_its_accepted_proposals_and_one_token_more() -> None:
    told = answers((1, 0, 0), (2, 3, 2), (3, 3, 2), (4, 3, 2), (5, 6, 2), (6, 9, 3), (7, 9, 3))
    counted = server_counted([11, 12, 13, 14, 15, 16, 17], told)
    assert counted.rounds == [RoundCount(1, 2), RoundCount(4, 0), RoundCount(5, 1)]
    assert (counted.accepted_n, counted.proposed_n) == (3, 9)


def test_an_answer_for_several_tokens_stands_for_each_of_them() -> None:
    """A token that ends inside a character is told of with the next one."""
    whole = answers((1, 0, 0), (2, 3, 2), (3, 3, 2), (4, 3, 2), (5, 6, 3), (6, 6, 3))
    held_back = answers((1, 0, 0), (3, 3, 2), (4, 3, 2), (6, 6, 3))
    tokens = [11, 12, 13, 14, 15, 16]
    assert server_counted(tokens, held_back) == server_counted(tokens, whole)


def test_what_is_accepted_past_the_end_counts_in_neither_engine() -> None:
    theirs = server_counted([11, 12, 13], answers((1, 0, 0), (2, 3, 3), (3, 3, 3), (4, 3, 3)))
    ours = own_counted([round_of([12, 13, END], None)], 11, text_of)
    assert ours.tokens == theirs.tokens == [11, 12, 13]
    assert ours.rounds == theirs.rounds == [RoundCount(1, 2)]


def test_a_round_without_text_is_none() -> None:
    ours = own_counted([round_of([12], 13), round_of([], END)], 11, text_of)
    assert ours == Counted([11, 12, 13], [RoundCount(1, 1)], 1)


def test_sequences_part_where_one_of_them_ends() -> None:
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 5, 3]) == 1
    assert first_difference([1, 2, 3], [1, 2]) == 2
