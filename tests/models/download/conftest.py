"""A Hub on loopback, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from localspec.models.download.hub import Hub
from tests.cli.conftest import localspec as localspec
from tests.hub import HubServer
from tests.models.download.support import World


def forget_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    forget_proxies(monkeypatch)
    # The client asks the real Hub for a list of programs to name in its user agent.
    monkeypatch.setattr("huggingface_hub.utils._detect_agent._fetch_registry", lambda: None)
    with HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


@pytest.fixture
def world(server: HubServer) -> Iterator[World]:
    with Hub() as hub:
        hub.client.timeout = httpx2.Timeout(0.5)
        yield World(server, hub)
