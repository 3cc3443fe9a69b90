"""A file of pairs that someone broke: one sentence with file, line and field, whatever it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localspec.base.errors import ConfigError
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.user_pairs import own_file, own_pairs
from tests.gguf_files import write
from tests.models.pairs.support import write_own

PAIR = """\
[[pairs]]
id = "mine"
title = "My own"
speedup_low = 1.5
speedup_high = 2.5
source = "me"

[pairs.target]
repo = "Owner/Name"
file = "big.gguf"
size_bytes = 3
"""


def complaint() -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_catalogue()
    assert str(own_file()) in caught.value.message
    assert caught.value.message.endswith(".")
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[pairs]]\nid = \n", 2),
        ("[[pairs]\n", 1),
        ('[[pairs]]\nid = "a"\nid = "b"\n', 3),
        ('[[pairs]]\n\n\nid = "a\n', 4),
        ("[[pairs]]\n[pairs]\n", 2),
    ],
)
def test_broken_toml_is_shown_with_its_line(text: str, line: int) -> None:
    write_own(text)

    assert f"line {line}," in complaint().message


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 100_000, "x = " + "{a=" * 100_000, "[" + "a." * 5_000 + "b]\nx=1\n", "x = " + "9" * 5000],
    ids=["brackets", "braces", "dots", "digits"],
)
def test_what_is_nested_or_long_beyond_reason_is_not_valid(text: str) -> None:
    write_own(text)

    complaint()


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("size_bytes = 3", f"size_bytes = {2**63}", 11),
        ("size_bytes = 3", f"size_bytes = {10**60}", 11),
        ("speedup_high = 2.5", f"speedup_high = {10**400}", 5),
        ("speedup_high = 2.5", "speedup_high = inf", 5),
        ("speedup_high = 2.5", "speedup_high = 2026-01-01", 5),
        ('title = "My own"', 'title = ["My own"]', 3),
        ('repo = "Owner/Name"', 'repo = "Owner/Name/More"', 9),
        ('repo = "Owner/Name"', 'repo = "../Name"', 9),
        ('file = "big.gguf"', 'file = "a\\u0000b"', 10),
        ('file = "big.gguf"', 'file = ["big.gguf"]', 10),
    ],
)
def test_values_beyond_reason_are_shown_with_their_line(before: str, after: str, line: int) -> None:
    assert before in PAIR
    write_own(PAIR.replace(before, after))

    assert f"line {line}, field {before.partition(' ')[0]!r}: " in complaint().message


def test_a_byte_order_mark_is_no_mistake() -> None:
    write(own_file(), b"\xef\xbb\xbf" + PAIR.replace("\n", "\r\n").encode())

    assert [pair.id for pair in own_pairs()] == ["mine"]


@given(
    at=st.integers(0, len(PAIR)),
    gone=st.integers(0, 6),
    text=st.text(st.sampled_from("[]{}=\"'#\n\r\t .,_-0aé\\\x00\ud800"), max_size=6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300)
def test_any_change_is_understood_or_complained_about(at: int, gone: int, text: str) -> None:
    changed = PAIR[:at] + text + PAIR[at + gone :]
    write(own_file(), changed.encode(errors="surrogatepass"))
    said = str(own_file())
    try:
        own_pairs()
    except ConfigError as error:
        said = error.message
    assert said.startswith(str(own_file()))
    assert said == str(own_file()) or re.search(r"line \d+|at end of document|not UTF-8|not valid TOML", said)
