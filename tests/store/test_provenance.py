"""The rounds of a reply come back as they were, and take few bytes."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine.events import DrafterFailure, Round
from localspec.store import provenance
from tests.store.strategies import ROUNDS
from tests.store.support import round_of


def text_of(rounds: list[Round]) -> str:
    return "".join(token.text for round_ in rounds for token in round_.tokens)


@given(ROUNDS, st.integers(0, 6))
def test_rounds_come_back(rounds: list[Round], cut: int) -> None:
    """Also when they were written in pieces."""
    frames = [provenance.frame(rounds[:cut]), provenance.frame(rounds[cut:])]
    assert provenance.rounds_of(provenance.record(frames), text_of(rounds)) == tuple(rounds)


@given(ROUNDS, st.data())
def test_damage_is_told(rounds: list[Round], data: st.DataObject) -> None:
    """A record that was cut short is refused, whatever is left of it."""
    stored = provenance.record([provenance.frame(rounds)])
    with pytest.raises(ValueError, match="stored"):
        provenance.rounds_of(stored[: data.draw(st.integers(0, len(stored) - 1))], text_of(rounds))


def test_a_later_version_is_told() -> None:
    """Rather than taken for damage."""
    with pytest.raises(ValueError, match="version 9"):
        provenance.rounds_of(b"\x09abc", "")


OLD = b"\x02\x05draft\x17as many as there may be\x01\x00\x01\x02\xe8\x07\xa0\x9c\x01\xfc\xa7\x01\x02"
OLD_END = b"\x02\x01\x00\x0a\x05\x05\x05\x06\x02\x63\x01\x02no"


def test_the_format_stays() -> None:
    """A frame as version 4 writes it; if this fails, what people have stored cannot be read any more."""
    rounds = [replace(round_of(0, ["Hello", " world"]), divergence=0.25, price=1.5)]
    frame = b"\x80\x80\x80\x00" + OLD + b"\xfb\x01" + b"\xdd\x0b" + b"\x00" + OLD_END
    assert provenance.frame(rounds) == frame
    assert provenance.rounds_of(provenance.record([frame]), "Hello world") == tuple(rounds)


def test_older_rounds_are_read() -> None:
    """Of versions 1 to 3, and frames of them in a record of today, between others."""
    first = round_of(0, ["Hello", " world"])
    second = replace(first, divergence=0.25)
    third = replace(second, price=1.5)
    frames = {
        1: OLD + OLD_END,
        2: b"\x80\x00" + OLD + b"\xfb\x01" + OLD_END,
        3: b"\x80\x80\x00" + OLD + b"\xfb\x01\xdd\x0b" + OLD_END,
    }
    for version, expected in ((1, first), (2, second), (3, third)):
        stored = bytes([version]) + zlib.compress(frames[version])
        assert provenance.rounds_of(stored, "Hello world") == (expected,)
        assert provenance.first_round_s(stored) == expected.total_s
    mixed = [provenance.frame([third]), frames[1], frames[2], frames[3], provenance.frame([third])]
    assert provenance.rounds_of(provenance.record(mixed), "Hello world" * 5) == (third, first, second, third, third)


def test_failures_of_older_rounds_are_read() -> None:
    """Version 3 had them in the reason, in words."""
    reason = b"slow; draft is left out, it failed: It broke."
    old = OLD.replace(b"\x17as many as there may be", bytes([len(reason)]) + reason)
    stored = b"\x03" + zlib.compress(b"\x80\x80\x00" + old + b"\xfb\x01\xdd\x0b" + OLD_END)
    (round_,) = provenance.rounds_of(stored, "Hello world")
    assert (round_.why, round_.failures) == ("slow", (DrafterFailure("draft", "It broke."),))


def test_a_token_takes_few_bytes() -> None:
    """Rounds as a small draft makes them, written in twos as a stream does: under 40 bytes a token, why and all."""
    rounds = [round_of(n, [f"{n} word{n % 7}", " and", " more"]) for n in range(200)]
    stored = sum(len(provenance.frame(rounds[n : n + 2])) for n in range(0, 200, 2))
    assert stored / 600 < 40
    assert len(provenance.record([provenance.frame(rounds)])) / 600 < 10
