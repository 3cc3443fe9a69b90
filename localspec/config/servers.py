"""MCP servers, programs and addresses that offer tools: ``[mcp.NAME]`` in the file, in the shape of other clients."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SERVERS_TABLE = "mcp"
"""The table of the file in which each server has a table of its own, by its name: ``[mcp.time]``."""
SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
_TEXTS = ("command", "cwd", "url")
_MAPS = ("env", "headers")
_IGNORED = ("type", "transport", "disabled", "autoApprove", "alwaysAllow", "timeout", "gallery", "version")
"""Keys of other clients. Approvals of another program are none of ours."""
SERVER_KEYS = (*_TEXTS, "args", *_MAPS, *_IGNORED)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A program to start, or an address to speak to over streamable HTTP."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables beside the few that every server gets: PATH, HOME, USER and the like."""
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The program and its arguments, quoted as for a shell, or the address; variables and headers are secrets."""
        return self.url or shlex.join((self.command or "", *self.args))

    @property
    def placeholder(self) -> str | None:
        """The first value that another client would fill in, as ``${input:key}``; here it is taken as it stands."""
        texts = (self.command or "", *self.args, *self.env.values(), self.cwd or "", self.url or "")
        return next(
            (found[0] for text in (*texts, *self.headers.values()) if (found := _PLACEHOLDER.search(text))), None
        )

    def values(self) -> dict[tuple[str, ...], str | tuple[str, ...]]:
        """The values that are set, by their path below the server's table."""
        found: dict[tuple[str, ...], str | tuple[str, ...]] = {}
        for key in _TEXTS:
            if (value := getattr(self, key)) is not None:
                found[(key,)] = value
        if self.args:
            found[("args",)] = self.args
        for key in _MAPS:
            found |= {(key, name): value for name, value in getattr(self, key).items()}
        return found


class WrongServer(ValueError):
    """A description of a server that cannot be used; the message says why, without its full stop."""


def parse_server(name: str, data: object) -> McpServer:
    """The server of a JSON or TOML object with ``command``, ``args`` and ``env``, or ``url`` and ``headers``.

    Raises WrongServer.
    """
    if not SERVER_NAME.fullmatch(name):
        raise WrongServer(f"{name!r} is no name for a server; letters, digits, - and _ are")
    if not isinstance(data, Mapping):
        raise WrongServer(f"{name}: it should be a table")
    unknown = [key for key in data if key not in SERVER_KEYS]
    if unknown:
        raise WrongServer(f"{name}: there is no {unknown[0]}; there are command, args, env, cwd, url and headers")
    texts = {key: _text(name, key, data[key]) for key in _TEXTS if data.get(key) is not None}
    if ("command" in texts) == ("url" in texts):
        raise WrongServer(f"{name}: it should have a command or a url{', not both' if texts else ''}")
    if "url" in texts and not re.match(r"https?://[^\s/]", texts["url"]):
        raise WrongServer(f"{name}.url: it should begin with https:// or http://")
    args = data.get("args") or ()
    if not isinstance(args, list | tuple):
        raise WrongServer(f"{name}.args: it should be an array of texts")
    maps = {key: _map(name, key, data.get(key) or {}) for key in _MAPS}
    return McpServer(
        name,
        texts.get("command"),
        tuple(_text(name, "args", arg) for arg in args),
        maps["env"],
        texts.get("cwd"),
        texts.get("url"),
        maps["headers"],
    )


def servers_in_json(text: str) -> tuple[dict[str, McpServer], list[str]]:
    """The servers of another client's file, and sentences about those that cannot be used.

    Claude Desktop, Claude Code and Cursor have them in ``mcpServers``, VS Code in ``servers`` or ``mcp.servers``.
    Raises WrongServer if there are none.
    """
    try:
        whole: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise WrongServer("it is not JSON") from None
    found: object = None
    if isinstance(whole, dict):
        inner = whole.get("mcp")
        within = inner.get("servers") if isinstance(inner, dict) else None
        found = whole.get("mcpServers") or whole.get("servers") or within
    if not isinstance(found, dict) or not found:
        raise WrongServer('it has no servers: neither "mcpServers" nor "servers"')
    servers, refused = {}, []
    for name, data in found.items():
        try:
            servers[name] = parse_server(name, data)
        except WrongServer as wrong:
            refused.append(str(wrong))
    return servers, refused


def _text(name: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise WrongServer(f"{name}.{key}: it should be text")
    return value


def _map(name: str, key: str, data: object) -> dict[str, str]:
    if not isinstance(data, Mapping) or not all(isinstance(value, str) for value in data.values()):
        raise WrongServer(f"{name}.{key}: it should be a table of texts")
    return {str(each): str(value) for each, value in data.items()}
