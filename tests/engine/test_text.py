"""Text over token edges: whole characters only, and never a stop string."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, SupportsIndex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.events import Finished, Round
from localspec.engine.loop import Request, generate
from localspec.engine.sampling import Greedy
from localspec.engine.text import RoundRelease, StopStrings, Utf8Stream
from tests.fakes import PieceVocab, ScriptedDrafter, TableModel

TEXT = "naïve 🐢"


def splits(data: bytes) -> Iterator[tuple[bytes, ...]]:
    """Every way to cut ``data`` into non-empty pieces."""
    for n in range(len(data)):
        for cuts in combinations(range(1, len(data)), n):
            edges = (0, *cuts, len(data))
            yield tuple(data[a:b] for a, b in pairwise(edges))


def test_no_split_shows_half_a_character() -> None:
    """Every split of the bytes over tokens gives the same text, in whole characters all the way."""
    for pieces in splits(TEXT.encode()):
        stream = Utf8Stream(PieceVocab(pieces))
        shown = [stream.push(i) for i in range(len(pieces))]
        assert "".join(shown) == TEXT
        assert all("\ufffd" not in text for text in shown)


@given(st.lists(st.binary(max_size=4), max_size=12))
@example([b"\xed", b"\xa0"])  # half of a surrogate, which Python's decoder waits for
def test_any_bytes_become_text(pieces: list[bytes]) -> None:
    """Bytes that are no UTF-8 show as replacement characters; only an unfinished end of three bytes may be missing."""
    stream = Utf8Stream(PieceVocab(tuple(pieces)))
    shown = "".join(stream.push(i) for i in range(len(pieces)))
    data = b"".join(pieces)
    assert shown in {data[: max(0, len(data) - n)].decode("utf-8", errors="replace") for n in range(4)}


class Script(TableModel):
    """A target that says its script, token after token, then ends its turn."""

    def row(self, context: Sequence[int]) -> list[float]:
        following = len(context) - 1
        return [9.0 if token == min(following, self.vocab.n_vocab - 1) else 0.0 for token in range(self.vocab.n_vocab)]


def say(pieces: Sequence[bytes], stop: Sequence[str], depth: int) -> tuple[list[Round], Finished]:
    """The reply of a target that says ``pieces``, with a drafter that is right about all of it."""
    n = len(pieces)
    vocab = PieceVocab((*pieces, b""), frozenset({n}))
    drafter = ScriptedDrafter(lambda context: range(len(context) - 1, n + 1))
    # The prompt is one token; the script goes by the length of the context.
    request = Request([n], Greedy(), SeededRng(0), FixedDepth(depth), stop=stop, max_tokens=n + 1)
    events = list(generate(Script(vocab), [drafter], request, Cancellation()))
    done = events[-1]
    assert isinstance(done, Finished)
    return [event for event in events if isinstance(event, Round)], done


@pytest.mark.parametrize("stop", ["ve", "ï", "🐢", "naïve 🐢", "e 🐢"])
@pytest.mark.parametrize("depth", [0, 2, 5])
def test_a_stop_string_is_found_over_every_split(stop: str, depth: int) -> None:
    """Wherever tokens and rounds are cut, the reply is the text before the stop string."""
    expected = TEXT[: TEXT.index(stop)]
    for pieces in list(splits(TEXT.encode()))[:: 7 if depth else 3]:
        rounds, done = say(pieces, [stop], depth)
        assert (done.text, done.stop) == (expected, stop)
        assert "".join(token.text for round_ in rounds for token in round_.tokens) == expected


@pytest.mark.parametrize("depth", [0, 3])
def test_a_beginning_of_a_stop_string_is_text_after_all(depth: int) -> None:
    """What was held back is given when it turns out to be no stop string, also at the end."""
    _, done = say([b"a", b"S", b"T", b"b", b"S", b"T"], ["STOP"], depth)
    assert (done.text, done.stop) == ("aSTbST", None)


def test_an_empty_stop_string_stops_nothing() -> None:
    """Though every text has it at its beginning."""
    _, done = say([b"a", b"b"], ["", "c"], 0)
    assert done.text == "ab"


def test_what_was_released_is_not_released_again() -> None:
    rounds, _ = say([b"x", b"y"], [], 0)
    release = RoundRelease()
    assert release.add(rounds[0], 0) == []
    assert release.finish(None) == rounds[:1]
    assert release.finish(None) == []
    assert release.text == "x"


def test_held_rounds_leave_in_order_and_once() -> None:
    """Rounds that wait for a stop string to be decided come out complete, in order."""
    rounds, done = say([b"x", b"S", b"T", b"O", b"y"], ["STOP"], 0)
    assert [round_.index for round_ in rounds] == list(range(len(rounds)))
    assert len(rounds) == done.timings.rounds_n
    assert done.text == "xSTOy"


def test_tokens_after_a_stop_string_are_not_committed() -> None:
    """The reply ends with the token that completes the stop string; later proposals are ignored."""
    rounds, done = say([b"a", b"!", b"b", b"c"], ["!"], 4)
    assert [token.id for token in rounds[0].tokens] == [0, 1]
    assert [proposal.id for proposal in rounds[0].ignored] == [2, 3]
    assert done.text == "a"


@given(
    text=st.text("ab", max_size=30),
    stops=st.lists(st.text("ab", min_size=1, max_size=4), max_size=3),
    cuts=st.lists(st.integers(1, 4)),
)
def test_stop_strings_do_not_depend_on_the_chunks(text: str, stops: list[str], cuts: list[int]) -> None:
    """Fed in any pieces, the first stop string is where a search of the whole text to that point finds it.

    Until then all is safe but the longest end that begins a stop string.
    """
    watch, at = StopStrings(stops), 0
    for cut in [*cuts, *([1] * len(text))]:
        if at >= len(text) or watch.found:
            break
        before = watch.safe_n
        watch.feed(text[at : at + cut])
        at += cut
        assert watch.safe_n >= before, "what was shown is not taken back"
        seen = text[:at]
        starts = [(seen.find(stop), stop) for stop in stops if stop in seen]
        if starts:
            assert (watch.safe_n, watch.found) == min(starts)
        else:
            assert watch.found is None
            begun = [n for stop in stops for n in range(1, len(stop)) if seen.endswith(stop[:n])]
            assert watch.safe_n == len(seen) - max(begun, default=0)
    assert watch.found or all(stop not in text for stop in stops)


class CountedText(str):
    """Counts the characters of it that are looked at."""

    __slots__ = ("looked_at_n",)
    looked_at_n: int

    def __getitem__(self, key: SupportsIndex | slice[Any, Any, Any]) -> str:
        found = super().__getitem__(key)
        self.looked_at_n += len(found)
        return found

    def startswith(self, prefix: str | tuple[str, ...], *place: Any) -> bool:
        self.looked_at_n += len(prefix)
        return super().startswith(prefix, *place)


@pytest.mark.parametrize("pattern", ["a", "ab", "aab", "a" * 900 + "b"])
def test_the_work_for_a_huge_stop_string_goes_by_the_text(pattern: str) -> None:
    """Each character of the text is compared with a few of the stop string's, however much of it has begun."""
    text = (pattern * 2_000)[:2_000]
    stop = CountedText(text + "!" * 1_000_000)
    stop.looked_at_n = 0
    watch = StopStrings([stop])
    for char in text:
        assert not watch.feed(char)
    assert watch.safe_n == 0
    watch.feed("no")
    assert watch.safe_n == len(text) + 2
    assert stop.looked_at_n <= 4 * (len(text) + 2)
