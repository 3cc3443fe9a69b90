"""``localspec mcp``: the MCP servers of the settings file."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import click

from localspec.base.amounts import number_of
from localspec.base.errors import EngineError, InputError, NotFoundError, UsageError
from localspec.base.visible import visible_line
from localspec.cli.report import remark
from localspec.cli.values import PathParam

_MOST_BYTES = 1_000_000


@click.group(short_help="List, add and try MCP servers, which offer tools to the model.", invoke_without_command=True)
@click.pass_context
def mcp(context: click.Context, /) -> None:
    """List, add and try MCP servers: programs and addresses that offer tools to the model.

    They stand in the settings file, as [mcp.NAME] with command, args and env, or url and headers. A server is started
    when its tools are switched on, by --mcp NAME or with /tools in the chat, and not before. Without a command the
    servers are listed.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_)


@mcp.command("list", short_help="List the servers.")
@click.option("--json", "as_json", is_flag=True, help="Write the servers as a JSON array, without secrets.")
def list_(as_json: bool) -> None:
    """List the servers, each with its program or address."""
    from localspec.config import read_config

    read = read_config()
    chosen = read.values.get("tools.mcp", ())
    rows = [
        {"name": name, "place": server.place, "on": name in (chosen if isinstance(chosen, tuple) else (chosen,))}
        for name, server in read.servers.items()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(visible_line(f"{row['name']}: {row['place']}{'  (on)' if row['on'] else ''}"))
    if not rows:
        remark(
            "There are no MCP servers; `localspec mcp add NAME COMMAND ...` adds one, `localspec mcp import` several."
        )


@mcp.command(short_help="Add a server.", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="Speak to a server at this address, in place of a command.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Give the server this variable.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="Send this header to the address.")
def add(
    name: str, command: tuple[str, ...], url: str | None, variables: tuple[str, ...], headers: tuple[str, ...]
) -> None:
    """Add a server to the settings file: localspec mcp add time uvx mcp-server-time.

    After -- all belongs to COMMAND, also what is named like an option here: localspec mcp add NAME -- COMMAND --env X.
    """
    from localspec.config import read_config
    from localspec.config.file import write_server
    from localspec.config.servers import WrongServer, parse_server

    data = {
        "command": command[0] if command else None,
        "args": list(command[1:]),
        "url": url,
        "env": _pairs(variables, "--env"),
        "headers": _pairs(headers, "--header"),
    }
    try:
        server = parse_server(name, data)
    except WrongServer as wrong:
        raise UsageError(f"{wrong}.", "localspec mcp add NAME COMMAND ..., or --url ADDRESS.") from None
    if (known := read_config().servers.get(name)) is not None and known != server:
        raise UsageError(
            f"There is a server {name} already: {visible_line(known.place)}.",
            f"Choose another name, or remove it first: localspec mcp remove {name}",
        )
    config = write_server(name, server)
    print(
        f"{config.path}: {name} is there. `localspec mcp test {name}` tries it; --mcp {name} or /tools switches it on."
    )


@mcp.command("remove", short_help="Remove a server.")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a server from the settings file."""
    from localspec.config.file import write_server

    check_server(name)
    print(f"{write_server(name, None).path}: {name} is gone.")


@mcp.command("import", short_help="Add the servers of another client's file.")
@click.argument("file", type=PathParam())
def import_(file: Path) -> None:
    """Add the servers of a JSON file of Claude Desktop, Claude Code, Cursor or VS Code. Those already here stay."""
    from localspec.base.bounded_file import read_file
    from localspec.base.paths import expanded
    from localspec.config import read_config
    from localspec.config.file import write_server
    from localspec.config.servers import WrongServer, servers_in_json

    try:
        servers, wrong = servers_in_json(read_file(expanded(file), _MOST_BYTES).decode("utf-8-sig"))
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {file}.", "Check its name.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}.", "Check the file.") from None
    except UnicodeError:
        raise InputError(f"{file} is not a file of text.", "Choose a client's file of MCP servers.") from None
    except WrongServer as error:
        raise InputError(f"{file} cannot be taken: {error}.", "Choose a client's file of MCP servers.") from None
    here = read_config().servers
    for name, server in servers.items():
        if name in here:
            remark(f"{name} is here already, and stays as it is.")
            continue
        written = write_server(name, server)
        print(visible_line(f"{name}: {server.place}"))
        if server.placeholder is not None:
            remark(f"{name} has {server.placeholder}, which is not filled in here: write the value in {written.path}.")
    for each in wrong:
        remark(f"{each}. It is left out.")


@mcp.command("test", short_help="Start a server and list its tools.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Write the tools as a JSON array.")
def test(name: str, as_json: bool) -> None:
    """Start a server, list its tools, and end it; none of them is called."""
    from localspec.chat.tools.toolbox import Toolbox
    from localspec.config import read_config
    from localspec.runtime.chat_config import ToolChoice

    check_server(name)
    toolbox = Toolbox()
    toolbox.late = remark
    with closing(toolbox):
        patience = read_config().values.get("tools.call_timeout", 60.0)
        toolbox.choose(ToolChoice(mcp=(name,), call_timeout=float(str(patience))), read_config().servers)
        toolbox.prepare()
        toolbox.wait()
    if toolbox.troubles:
        raise EngineError(toolbox.troubles[0], f"`localspec mcp list` shows how {name} is started.")
    rows = [
        {"name": each.own_name, "description": each.tool.description, "parameters": json.loads(each.tool.parameters)}
        for each in toolbox.offered
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(visible_line(f"{row['name']}: {' '.join(str(row['description']).split())}"))
    remark(f"{name} offers {number_of(len(rows), 'tool')}.")


def check_server(name: str) -> None:
    """Raise NotFoundError if there is no server of this name."""
    from localspec.config import read_config

    if name not in read_config().servers:
        raise NotFoundError(f"There is no MCP server {name}.", "`localspec mcp list` lists those there are.")


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if not all(name and equals for name, equals, _ in pairs):
        raise UsageError(f"{option} takes NAME=VALUE.", "Write a name, an equals sign and the value.")
    return {name: value for name, _, value in pairs}
