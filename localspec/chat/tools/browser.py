"""The list of tools and MCP servers, each with a switch, as the front ends show it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from localspec.base.amounts import number_of
from localspec.base.errors import NotFoundError
from localspec.chat.tools.approvals import Approval
from localspec.chat.tools.offered import OfferedTool
from localspec.chat.tools.own import OWN_TOOLS
from localspec.chat.tools.use import ToolUse
from localspec.config import Config, Setting, setting
from localspec.config.file import write_together
from localspec.config.servers import McpServer

_TOOL, _MCP = setting("tool"), setting("mcp")
_WORDS = {
    None: "asks before each call",
    Approval.ALWAYS: "allowed always",
    Approval.CONVERSATION: "allowed in this conversation",
    Approval.NEVER: "never allowed",
}
_FREE = "needs no approval"


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool, or a server with all of its tools."""

    id: str
    """The name in the settings: that of one of our own tools, of a server, or SERVER.TOOL."""
    on: bool
    about: str
    """The description on one line; of a server its program or address. Untrusted text."""
    note: str = ""
    """The rule by which calls are approved, or the trouble of a server."""
    within: bool = False
    """True for a tool of the server above it."""


class ToolBrowser:
    """Switches are settings of the file, for all conversations; they count with the next message."""

    def __init__(self, use: ToolUse, config: Config, conversation: str) -> None:
        self._use = use
        self._config = config
        self._conversation = conversation

    @property
    def rows(self) -> Sequence[ToolRow]:
        """Our own tools, then each server with its tools as far as they are known."""
        return [*self._own(), *(row for server in self._config.servers.values() for row in self._of(server))]

    @property
    def awaited(self) -> Sequence[str]:
        """The servers that have neither answered nor failed yet."""
        return self._use.toolbox.awaited

    @property
    def troubles(self) -> Sequence[str]:
        """Sentences about servers that could not be reached."""
        return self._use.toolbox.troubles

    def switch(self, name: str) -> Config:
        """Switch a tool or a server on or off in the file, and read that again. Raises NotFoundError, ConfigError."""
        row = next((row for row in self.rows if row.id == name), None)
        if row is None:
            raise NotFoundError(f"There is no tool {name}.", "/tools lists all; `localspec mcp add` adds servers.")
        tools, servers = set(self._chosen(_TOOL)), set(self._chosen(_MCP))
        server = name.partition(".")[0] if row.within else ""
        if name in self._config.servers:
            servers ^= {name}
            tools -= {each for each in tools if each.startswith(f"{name}.")}
        elif server in servers:
            servers.discard(server)
            tools |= {each.id for each in self.rows if each.within and each.id.startswith(f"{server}.")} - {name}
        else:
            tools ^= {name}
        self._config = write_together({_MCP: tuple(sorted(servers)) or None, _TOOL: tuple(sorted(tools)) or None})
        return self._config

    def sentence(self, name: str, overrides: Collection[str]) -> str:
        """A sentence about the switch of a tool or a server, to be made before the servers are reached again.

        A server ends when the last of its tools is switched off, and its tools then have no rows any more.
        ``overrides`` are the keys of the settings that the command line beats.
        """
        on = "on" if any(row.on for row in self.rows if row.id == name) else "off"
        if (_MCP if name in self._config.servers else _TOOL).key in overrides:
            return f"{name} is {on} in the settings file; this chat has the tools that the command line names."
        return f"{name} is {on} from the next message on."

    def ask_again(self, name: str) -> None:
        """Forget the approval of a tool, or of all tools of a server."""
        for tool in (*(own.offered for own in OWN_TOOLS.values()), *self._use.toolbox.known):
            if name in (tool.full_name, tool.server):
                self._use.approvals.forget(tool)

    def _chosen(self, named: Setting) -> tuple[str, ...]:
        value = self._config.values.get(named.name, ())
        return value if isinstance(value, tuple) else (str(value),)

    def _own(self) -> Iterator[ToolRow]:
        chosen, wanted = self._chosen(_TOOL), self._use.toolbox.wanted_tools
        for tool in (own.offered for own in OWN_TOOLS.values()):
            name = tool.full_name
            elsewhere = _elsewhere(name in chosen, name in wanted) if name not in self._use.lent else ""
            note = " · ".join(filter(None, (elsewhere, self._note(tool))))
            yield ToolRow(name, name in chosen, _on_one_line(tool), note)

    def _of(self, server: McpServer) -> Iterator[ToolRow]:
        whole, chosen = server.name in self._chosen(_MCP), self._chosen(_TOOL)
        tools = [tool for tool in self._use.toolbox.known if tool.server == server.name]
        on = {tool.full_name for tool in tools if whole or tool.full_name in chosen}
        in_file = whole or any(name.startswith(f"{server.name}.") for name in chosen)
        some = f"{len(on)} of " if 0 < len(on) < len(tools) else ""
        runs = bool(tools) or self._use.toolbox.runs(server.name)
        note = f"{some}{number_of(len(tools), 'tool')}" if runs else ""
        if left_out_n := self._use.toolbox.left_out_n(server.name):
            note = ", ".join(filter(None, (note, f"{left_out_n} left out for name, length or number")))
        elsewhere = _elsewhere(in_file, server.name in self._use.toolbox.wanted_servers)
        if in_file and not (elsewhere or runs):
            note = "not reached yet; each message tries again"
        note = " · ".join(filter(None, (elsewhere, note)))
        yield ToolRow(server.name, whole, server.place, note)
        for tool in tools:
            yield ToolRow(tool.full_name, tool.full_name in on, _on_one_line(tool), self._note(tool), within=True)

    def _note(self, tool: OfferedTool) -> str:
        approval = self._use.approvals.approval(tool, self._conversation)
        return _FREE if tool.harmless and approval is Approval.ALWAYS else _WORDS[approval]


def _elsewhere(in_file: bool, wanted: bool) -> str:
    """A note where the tools of this chat are not those of the settings file."""
    if wanted and not in_file:
        return "on from the command line"
    return "not in this chat: the command line chose others" if in_file and not wanted else ""


def _on_one_line(tool: OfferedTool) -> str:
    return " ".join(tool.tool.description.split())
