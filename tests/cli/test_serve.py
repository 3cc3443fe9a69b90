"""``localspec serve``: what it refuses to start with."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from localspec.server.serving import ServerOptions
from tests.cli.conftest import Localspec


def test_the_help_says_how_to_leave_it_running(localspec: Localspec) -> None:
    shown = localspec("serve", "--help").out
    assert "systemd-run --user" in shown
    assert "launchctl submit" in shown
    assert "--system" not in shown  # refused: a request brings its own


def test_what_cannot_be_served(localspec: Localspec, tmp_path: Path) -> None:
    """A port that is taken, a host of others, no keys where they are needed: a sentence and exit code 2."""
    keys = tmp_path / "keys"
    keys.write_text("ours: 0123456789abcdef\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, words in (
            (("--port", port), "Choose another --port"),
            (("--host", "192.0.2.1", "--api-key-file", str(keys)), "Choose another --host"),
            (("--host", "no such host", "--api-key-file", str(keys)), "Choose another --host"),
            (("--host", "0.0.0.0"), "--api-key-file"),
            (("--allow-origin", "https://example.org/path"), "not an origin"),
            (("--allow-origin", "http://[::1"), "not an origin"),
            (("--parallel", "0"), "--parallel"),
            (("--system", "Be brief."), "--system has no effect here"),
            (("--tool", "get_time"), "--tool has no effect here"),
        ):
            done = localspec("serve", *arguments)
            assert (done.code, words in done.err) == (2, True), (arguments, done.err)
    origins = ("--allow-origin", "chrome-extension://abcdef", "--allow-origin", "app://obsidian.md")
    done = localspec("serve", "--target", str(tmp_path / "nothing.gguf"), "--port", "0", *origins)
    assert (done.code, "Traceback" in done.err) == (4, False)


def test_sites_are_known_however_they_are_written(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Browsers name a page's site in small letters."""
    served: list[ServerOptions] = []
    monkeypatch.setattr("localspec.cli.serve._serve", lambda chat_config, options, host, port: served.append(options))
    assert localspec("serve", "--allow-origin", "HTTPS://Example.org").code == 0
    assert [list(options.access.origins) for options in served] == [["https://example.org"]]
