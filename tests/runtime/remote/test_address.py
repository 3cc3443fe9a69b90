"""Addresses of servers as people give them, and what must not be in them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from localspec.base.errors import UsageError
from localspec.engine.cancel import Cancellation
from localspec.runtime.remote.address import KEY_VARIABLE, ServerAddress, api_key
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
    with pytest.raises(UsageError, match="not valid"):
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


def keyring_of(monkeypatch: pytest.MonkeyPatch, get_password: Callable[[str, str], str | None]) -> None:
    """Have the package ``keyring`` installed, with this system's keyring behind it."""
    module = ModuleType("keyring")
    module.__spec__ = ModuleSpec("keyring", None)
    module.get_password = get_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)


@pytest.mark.parametrize(
    ("environment", "kept", "key"),
    [(" sk-ours\n", "sk-kept", "sk-ours"), ("", "sk-kept\n", "sk-kept"), ("", None, None), ("", "", None)],
)
def test_the_key_is_the_environments_or_else_the_keyrings(
    monkeypatch: pytest.MonkeyPatch, environment: str, kept: str | None, key: str | None
) -> None:
    """The keyring is asked for what the guide has people keep: ``keyring set localspec HOST:PORT``."""
    monkeypatch.setenv(KEY_VARIABLE, environment)
    keyring_of(monkeypatch, lambda service, name: kept if (service, name) == ("localspec", "gpu:8484") else "another's")
    assert api_key(ServerAddress.parse("http://gpu:8484/v1")) == key


def test_a_keyring_that_cannot_be_opened_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says whether it needs one."""

    def locked(service: str, name: str) -> str:
        raise RuntimeError("No recommended backend was available.")

    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    keyring_of(monkeypatch, locked)
    assert api_key(ServerAddress.parse("gpu:8484")) is None


def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes from."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    keyring_of(monkeypatch, lambda service, name: "s3cret\x1b[31m")
    with pytest.raises(UsageError, match="The key for gpu:8484 has characters") as raised:
        api_key(ServerAddress.parse("gpu:8484"))
    assert "s3cret" not in str(raised.value)
