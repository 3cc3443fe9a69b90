"""Keys of clients: the file that names them, and the limits of each.

A line of the file is a name, a colon and a key, then its limits if it has any; # after a space begins a comment::

    editor: 2b6e41fd92c04ab1b6d3f5c09a7d8e11
    agents: 91f0a3c47e5d4c0f8e2b6a7d5c4b3a29  60 requests/minute  20000 tokens/minute
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.errors import InputError, NotFoundError, refused
from localspec.server.service import RateLimitError

_SHORTEST = 16
_MOST_BYTES = 1_000_000
_LINE = re.compile(r"(?P<name>[^\s:#]+)\s*:\s*(?P<key>\S+)(?P<limits>.*)")
_COMMENT = re.compile(r"(^|\s)#.*")
_LIMIT = re.compile(r"\s+([1-9]\d*)\s+(requests|tokens)/minute")
_FORM = "A line is `name: key`, and perhaps `60 requests/minute 20000 tokens/minute`."


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key, of which only the digest is kept."""

    name: str
    digest: bytes
    """SHA-256."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


def read_keys(path: Path) -> tuple[ApiKey, ...]:
    """The keys in a file. Raises NotFoundError, or InputError that names the line and never the key."""
    try:
        text = read_file(path, _MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.", _FORM) from None
    except OSError as error:
        raise InputError(*refused(f"{path} cannot be read", error, "choose another file")) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.", _FORM) from None
    lines = enumerate((_COMMENT.sub("", line).strip() for line in text.splitlines()), 1)
    keys = [_parsed(path, number, line) for number, line in lines if line]
    if not keys:
        raise InputError(f"{path} has no keys.", _FORM)
    by_digest: dict[bytes, str] = {}
    for key in keys:
        if key.name in by_digest.values():
            raise InputError(f"{path} names {key.name} twice.", "Give each key a name of its own.")
        if (other := by_digest.setdefault(key.digest, key.name)) != key.name:
            raise InputError(f"{path} has one key for {other} and {key.name}.", "Give each name a key of its own.")
    return tuple(keys)


def _parsed(path: Path, number: int, line: str) -> ApiKey:
    found = _LINE.fullmatch(line)
    if found is None or _LIMIT.sub("", found["limits"]).strip():
        raise InputError(f"{path}, line {number}, is not understood.", _FORM)
    if len(found["key"]) < _SHORTEST:
        hint = "`python -c 'import secrets; print(secrets.token_hex(16))'` makes one."
        raise InputError(f"{path}, line {number}: the key has fewer than {_SHORTEST} characters.", hint)
    limits = {kind: int(n) for n, kind in _LIMIT.findall(found["limits"])}
    return ApiKey(found["name"], _digest(found["key"]), limits.get("requests"), limits.get("tokens"))


def holder_of(given: str, keys: Sequence[ApiKey]) -> ApiKey | None:
    """The key that a client gives, or None. The time it takes does not depend on which one it is."""
    digest, found = _digest(given), None
    for key in keys:
        if hmac.compare_digest(key.digest, digest):
            found = key
    return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True)
class _Bucket:
    """An allowance that refills evenly; what is spent beyond it is owed."""

    per_minute: int
    clock: Callable[[], float]
    level: float = field(init=False)
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.level, self.since = float(self.per_minute), self.clock()

    def short_s(self, wanted: float) -> float:
        """Seconds until there is so much; 0 if there is."""
        now = self.clock()
        self.level = min(self.per_minute, self.level + (now - self.since) * self.per_minute / 60)
        self.since = now
        return max(0.0, wanted - self.level) * 60 / self.per_minute


class RateLimits:
    """The limits of all keys: replies and tokens a minute, with a minute's worth to begin with."""

    def __init__(self, keys: Sequence[ApiKey] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = {k.name: _Bucket(k.requests_per_minute, clock) for k in keys if k.requests_per_minute}
        self._tokens = {k.name: _Bucket(k.tokens_per_minute, clock) for k in keys if k.tokens_per_minute}

    def admit(self, client: str) -> None:
        """Count a request of a client. Raises RateLimitError if it is one too many, or if tokens are owed."""
        requests, tokens = self._requests.get(client), self._tokens.get(client)
        if tokens is not None and (wait_s := tokens.short_s(1)) > 0:
            raise _too_many(f"{tokens.per_minute} tokens", wait_s)
        if requests is not None:
            if (wait_s := requests.short_s(1)) > 0:
                raise _too_many(f"{requests.per_minute} requests", wait_s)
            requests.level -= 1

    def spend(self, client: str, tokens_n: int) -> None:
        """Count the tokens of a reply, those that were read and those that were written."""
        if (bucket := self._tokens.get(client)) is not None:
            bucket.short_s(0)
            bucket.level -= tokens_n


def _too_many(limit: str, wait_s: float) -> RateLimitError:
    hint = f"Try again in {max(1, ceil(wait_s))} s."
    return RateLimitError(f"This key is good for {limit} a minute.", hint, retry_after_s=wait_s)
