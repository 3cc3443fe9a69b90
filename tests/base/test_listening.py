"""The sockets of our servers."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from localspec.base.errors import UsageError
from localspec.base.listening import listen, url_of

STREAM = socket.SOCK_STREAM
IPV4 = (socket.AF_INET, STREAM, 0, "", ("127.0.0.1", 0))
IPV6 = (socket.AF_INET6, STREAM, 0, "", ("::1", 0, 0, 0))
ELSEWHERE = (socket.AF_INET, STREAM, 0, "", ("192.0.2.1", 0))


def is_here(address: tuple[object, ...]) -> bool:
    """True if this machine has the address."""
    try:
        with socket.socket(socket.AF_INET6 if len(address) > 2 else socket.AF_INET, STREAM) as trial:
            trial.bind(address)
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not is_here(("::1", 0, 0, 0)), reason="IPv6 is switched off here")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """The addresses of every name."""
    found: list[tuple[object, ...]] = []

    def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(*each[:4], (each[4][0], port, *each[4][2:])) for each in found]  # type: ignore[index]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return found


@needs_ipv6
@pytest.mark.parametrize("order", [(IPV4, IPV6), (IPV6, IPV4)])
def test_a_name_with_two_addresses_listens_at_both(names: list[object], order: tuple[object, ...]) -> None:
    """At the same port: some clients of ``localhost`` try the one alone, some the other."""
    names.extend(order)
    with ExitStack() as stack:
        (port,) = {stack.enter_context(each).getsockname()[1] for each in listen("localhost", 0)}
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            stack.enter_context(socket.socket(family)).connect((host, port))


def test_an_address_that_this_machine_has_not_is_left_out(names: list[object]) -> None:
    """As ``::1`` of ``localhost`` is where IPv6 is switched off; a name without any other is refused.

    One that is found twice is one.
    """
    names.extend([ELSEWHERE, IPV4, IPV4])
    (one,) = listen("localhost", 0)
    one.close()
    del names[1:]
    with pytest.raises(UsageError, match="--host"):
        listen("localhost", 0)


@needs_ipv6
def test_a_port_that_is_taken_at_one_address_is_refused(names: list[object]) -> None:
    """Half of the clients would ask another program. Nothing stays bound."""
    names.extend([IPV4, IPV6])
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match="--port"):
            listen("localhost", port)
        socket.create_server(("127.0.0.1", port)).close()


def test_the_address_that_is_shown_is_one_that_a_browser_here_opens() -> None:
    """Under the name that was asked for; "every address" is none that can be opened."""
    listening = listen("127.0.0.1", 0)
    port = listening[0].getsockname()[1]
    shown = {"localhost": "localhost", "0.0.0.0": "127.0.0.1", "::": "[::1]", "fe80::1": "[fe80::1]"}
    assert {host: url_of(host, listening) for host in shown} == {
        host: f"http://{name}:{port}" for host, name in shown.items()
    }
    listening[0].close()
