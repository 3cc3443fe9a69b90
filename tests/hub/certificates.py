"""Certificates that nobody vouches for, made on the spot with the ``openssl`` command."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_NAMES = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")


@dataclass(frozen=True)
class SelfSigned:
    """A certificate for this machine's loopback, and its key."""

    certificate: Path
    key: Path

    def server_side(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


def self_signed(folder: Path, *, expired: bool = False) -> SelfSigned:
    """Make one; skips the test where there is no openssl."""
    made = SelfSigned(folder / "certificate.pem", folder / "key.pem")
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", made.key, "-out",
             made.certificate, *_NAMES)  # fmt: skip
    if expired:
        late = folder / "expired.pem"
        _openssl("x509", "-in", made.certificate, "-signkey", made.key, "-days", "-1", "-out", late)
        return SelfSigned(late, made.key)
    return made


def _openssl(*arguments: str | Path) -> None:
    command = shutil.which("openssl")
    if command is None:
        pytest.skip("there is no openssl to make a certificate with")
    subprocess.run([command, *arguments], capture_output=True, check=True)
