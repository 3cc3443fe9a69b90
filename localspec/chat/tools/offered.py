"""A tool as it is offered to the model, with the place it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from localspec.runtime.messages import Tool

CALLABLE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Names of tools that every template takes."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool under the name that the model calls it by."""

    tool: Tool
    server: str = ""
    """The MCP server; empty for our own tools."""
    place: str = ""
    """The server's program or address."""
    own_name: str = ""
    """Its name at the server."""
    harmless: bool = False
    """True if a call tells and changes nothing that the user would have to be asked about."""

    @property
    def full_name(self) -> str:
        """``SERVER.TOOL``, or the name of one of our own."""
        return f"{self.server}.{self.own_name}" if self.server else self.tool.name


@dataclass(frozen=True, slots=True)
class Resource:
    """A text that a server has, to be attached to a message."""

    server: str
    uri: str
    about: str
    """Its name or description. Untrusted text, on one line."""

    @property
    def path(self) -> str:
        """The name that a message mentions it by, behind an @."""
        return f"{self.server}:{self.uri}"


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A message that a server writes, with fields to fill in."""

    server: str
    name: str
    about: str
    """Its description. Untrusted text, on one line."""
    fields: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """``SERVER.PROMPT``."""
        return f"{self.server}.{self.name}"


def named(tools: Iterable[OfferedTool]) -> Sequence[OfferedTool]:
    """The tools, whose names are ``CALLABLE``, under names that are unique.

    A server's tool whose name is taken gets its server's name before it, so that it cannot stand in for another.
    """
    found: dict[str, OfferedTool] = {}
    for each in sorted(tools, key=lambda tool: bool(tool.server)):
        names = (each.tool.name, f"{each.server}_{each.tool.name}"[:64])
        name = next((name for name in names if name not in found), None)
        if name is not None:
            found[name] = replace(each, tool=replace(each.tool, name=name))
    return tuple(found.values())
