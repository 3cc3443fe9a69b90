"""Addresses of servers as people give them, and what must not be in them."""

from __future__ import annotations

import pytest

from localspec.base.errors import UsageError
from localspec.engine.cancel import Cancellation
from localspec.runtime.remote.address import ServerAddress
from localspec.runtime.remote.connection import Connection


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("127.0.0.1:8484", "http://127.0.0.1:8484"),
        ("gpu", "http://gpu"),
        ("https://gpu.local/v1/", "https://gpu.local"),
        ("http://[::1]:80/llm/v1", "http://[::1]:80/llm"),
    ],
)
def test_an_address_may_be_short(given: str, url: str) -> None:
    assert ServerAddress.parse(given).url == url


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            "ftp://gpu",
            "http://",
            "http://gpu:99999",
            "http://gpu:x",
            "http://gpu/?key=s3cret",
            "http://gpu/#s3cret",
        ),
        *("http://me:s3cret@gpu", "me:s3cret@gpu:80", "http://s3cret@gpu", "http://gpu/a b", "http://gpu\r\nX: y"),
        *("http://[s3cret", "http://g\x1bpu"),
    ],
)
def test_what_is_none_is_refused_without_being_shown(given: str) -> None:
    with pytest.raises(UsageError) as raised:
        ServerAddress.parse(given)
    assert "s3cret" not in str(raised.value)


def test_a_name_that_the_domain_system_cannot_have_is_refused() -> None:
    with pytest.raises(UsageError, match="not possible"):
        Connection(ServerAddress.parse(f"http://{'ü' * 70}.example"), Cancellation())


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        *(("http://127.0.0.1:1", False), ("http://[::1]:1", False), ("http://localhost", False)),
        *(("https://gpu.local", False), ("http://gpu.local", True), ("http://10.0.0.5:8484", True)),
        ("http://localhost.evil.example", True),
    ],
)
def test_what_others_could_read_is_warned_of(given: str, warned: bool) -> None:
    assert ("is encrypted" in ServerAddress.parse(given).warning) == warned
