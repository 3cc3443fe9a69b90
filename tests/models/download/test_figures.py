"""The figures of downloads: waits, speed and checksums."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.models.download.checksum import digest, is_checksum
from localspec.models.download.retry import Retry, asked_wait_s
from localspec.models.download.speed_meter import SpeedMeter


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_speed_is_that_of_the_last_seconds_and_the_rest_follows() -> None:
    clock = Clock()
    meter = SpeedMeter(1000, clock)
    meter.at("resumed", 400)
    assert (meter.bytes_per_second, meter.seconds_left) == (None, None)
    for second in range(1, 5):
        clock.now_s += 1
        meter.at("new", second * 50, 50)
    # What was here before has not arrived now.
    assert meter.bytes_per_second == pytest.approx(50)
    assert meter.seconds_left == pytest.approx(8)
    clock.now_s += 60
    meter.at("new", 200, 0)
    clock.now_s += 1
    meter.at("new", 300, 100)
    assert meter.bytes_per_second == pytest.approx(100)


def test_each_file_is_told_of_ten_times_a_second() -> None:
    clock = Clock()
    meter = SpeedMeter(10, clock)
    assert [meter.is_due("a"), meter.is_due("b"), meter.is_due("a")] == [True, True, False]
    clock.now_s += 0.11
    assert meter.is_due("a")


@given(st.integers(1, 6), st.floats(0, 1))
def test_a_wait_is_at_least_half_of_twice_the_last_and_never_endless(failures: int, rng: float) -> None:
    wait_s = Retry(rng=lambda: rng).wait_s(failures)
    assert wait_s is not None
    assert min(30, 2.0 ** (failures - 1)) / 2 <= wait_s <= min(30, 2.0 ** (failures - 1))


def test_it_ends() -> None:
    assert Retry().wait_s(7) is None
    assert Retry().wait_s(1, asked_s=301) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), (None, None), ("", None), ("Wed, 21 Oct 2015 07:28:00 GMT", None), ("-1", None)],
)
def test_what_a_server_asks_for(text: str | None, seconds: float | None) -> None:
    assert asked_wait_s(text) == seconds


def test_a_small_file_is_checked_by_its_git_object_id() -> None:
    etag = "2ef267e25bd6c6a300bb473e604b092b6a48523b"  # git hash-object file
    check = digest(etag, 13)
    check.update(b"some content\n")
    assert check.hexdigest() == etag


def test_a_large_file_is_checked_by_its_sha256() -> None:
    etag = hashlib.sha256(b"data").hexdigest()
    check = digest(etag, 4)
    check.update(b"data")
    assert check.hexdigest() == etag
    assert [is_checksum(text) for text in (etag, etag[:40], etag[:32], "", etag.upper())] == [True, True] + [False] * 3
