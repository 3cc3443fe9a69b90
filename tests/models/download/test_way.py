"""The way to the Hub: proxies, certificates, and a clock that is wrong."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import close_session

from localspec.base.errors import DownloadError
from localspec.models.download.hub import Hub
from localspec.models.pairs.leftovers import find_leftovers
from tests.cli.conftest import Localspec
from tests.gguf_files import model, write
from tests.hub import Cut, HubServer, Refuse
from tests.hub.certificates import SelfSigned, self_signed
from tests.hub.proxy import Proxy
from tests.models.download.conftest import forget_proxies
from tests.models.download.support import BIG, World, noise

DATA = noise(300_000)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The Hub's client is one for the process, and reads the environment once."""
    forget_proxies(monkeypatch)
    monkeypatch.setattr("huggingface_hub.utils._detect_agent._fetch_registry", lambda: None)
    close_session()
    yield
    close_session()


@contextmanager
def asked(server: HubServer) -> Iterator[World]:
    """A client that is made now, of a server that has a file."""
    server.add(BIG, "big.gguf", DATA)
    with Hub({"HF_ENDPOINT": server.endpoint}) as hub:
        hub.client.timeout = httpx2.Timeout(2.0)
        yield World(server, hub)


def refusal(world: World) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        world.fetch()
    assert caught.value.message.endswith(".")
    assert caught.value.hint
    return caught.value


# Proxies


def test_all_of_it_goes_through_the_proxy(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with Proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        monkeypatch.setenv("http_proxy", proxy.address)
        with asked(server) as world:
            (path,) = world.fetch()

    assert path.read_bytes() == DATA
    assert len(proxy.seen) == len(server.requests)
    assert {seen.split("/")[1] for seen in proxy.seen} == {"api", "Owner", "cdn"}


def test_what_no_proxy_names_is_asked_directly(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", NOBODY)
    monkeypatch.setenv("http_proxy", NOBODY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with asked(server) as world:
        (path,) = world.fetch()

    assert path.read_bytes() == DATA


@pytest.mark.parametrize("user", ["", "me:secret"])
def test_a_proxy_tunnels_what_is_encrypted(user: str, certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
    with Proxy(user) as proxy, HubServer(certificate.server_side()) as server:
        address = proxy.address.replace("//", f"//{user}@") if user else proxy.address
        monkeypatch.setenv("HTTPS_PROXY", address)
        with asked(server) as world:
            (path,) = world.fetch()
        hosts = {f"CONNECT 127.0.0.1:{server.port}", f"CONNECT localhost:{server.port}"}

    assert path.read_bytes() == DATA
    assert set(proxy.seen) == hosts


def test_a_proxy_that_wants_a_password_is_told(
    certificate: SelfSigned, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
    with Proxy("me:secret") as proxy, HubServer(certificate.server_side()) as encrypted:
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.address)
        for each in (encrypted, server):
            with asked(each) as world:
                error = refusal(world)
            assert "proxy" in error.message
            assert "407" in error.message
            assert "HTTPS_PROXY" in error.hint
            close_session()


def test_a_proxy_that_is_not_there_is_told(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", NOBODY)
    monkeypatch.setenv("http_proxy", NOBODY)
    with asked(server) as world:
        error = refusal(world)

    assert "cannot be reached" in error.message
    assert "HTTPS_PROXY" in error.hint


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ALL_PROXY", "nonsense://127.0.0.1:9", "ALL_PROXY"),
        ("HTTPS_PROXY", "socks5://127.0.0.1:9", "socksio"),
        ("SSL_CERT_FILE", "/none/certificates.pem", "SSL_CERT_FILE"),
        ("SSL_CERT_FILE", os.devnull, "SSL_CERT_FILE"),
    ],
)
def test_settings_that_cannot_be_used_are_told_when_the_network_is_needed_and_not_before(
    localspec: Localspec, variable: str, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are here can be compared whatever is wrong with the way to the Hub."""
    here = write(tmp_path / "here.gguf", model())
    monkeypatch.setenv(variable, value)

    assert localspec("pairs", "check", here, here).code == 0
    done = localspec("pairs", "check", here, f"{BIG}:Q4_K_M")
    assert done.code == DownloadError.exit_code
    assert said in done.err
    assert "unexpected" not in done.err


# Certificates


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> SelfSigned:
    return self_signed(tmp_path_factory.mktemp("certificate"))


def test_a_certificate_nobody_vouches_for_is_refused_and_can_be_trusted(
    certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a proxy that opens connections; the hint says how, and that works."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with HubServer(certificate.server_side()) as server:
        with asked(server) as world:
            error = refusal(world)
        assert "certificate that is not trusted here" in error.message
        assert "SSL_CERT_FILE" in error.hint
        assert server.requests == []

        close_session()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
        with asked(server) as world:
            (path,) = world.fetch()
        assert path.read_bytes() == DATA


def test_a_certificate_that_has_run_out_points_to_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = self_signed(tmp_path, expired=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(late.certificate))
    with HubServer(late.server_side()) as server, asked(server) as world:
        error = refusal(world)

    assert "expired" in error.message
    assert "clock" in error.hint


def test_an_address_that_is_not_encrypted_is_told(server: HubServer) -> None:
    with Hub({"HF_ENDPOINT": server.endpoint.replace("http:", "https:")}) as hub:
        assert "SSL" in refusal(World(server, hub)).message


# Clocks


def test_a_clock_that_jumps_changes_nothing(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits and speeds go by a clock that cannot be set; nothing is kept or dropped by its date."""
    rng = random.Random(0)
    monkeypatch.setattr(time, "time", lambda: rng.uniform(0, 4e9))
    with asked(server) as world:
        server.faults = [Cut(100_000), Refuse(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), Cut(50_000)]
        (path,) = world.fetch()

    assert path.read_bytes() == DATA
    assert server.sent_bytes == len(DATA)
    assert len(world.waits) == 3
    assert all(0 < wait_s <= 30 for wait_s in world.waits)


@pytest.mark.parametrize("modified_s", [0, 4_000_000_000], ids=["1970", "2096"])
def test_a_part_from_another_time_is_gone_on_with(server: HubServer, modified_s: int) -> None:
    with asked(server) as world:
        server.faults = [Cut(100_000), *[Refuse(503)] * 7]
        refusal(world)
        part = world.layout().part
        os.utime(part, (modified_s, modified_s))
        server.sent_bytes = 0
        (path,) = world.fetch()

    assert path.read_bytes() == DATA
    assert server.sent_bytes == len(DATA) - 100_000


def test_a_part_from_the_future_is_never_pruned(server: HubServer) -> None:
    """Its download may still go on, and to keep it costs nothing but room."""
    with asked(server) as world:
        server.faults = [Cut(100_000), *[Refuse(503)] * 7]
        refusal(world)
        part = world.layout().part
        os.utime(part, (4e9, 4e9))

        assert [each.in_use for each in find_leftovers() if each.path == part] == [True]
