"""``localspec serve-web``: serves the chat screen to a browser."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace

import click

from localspec.base.errors import UsageError
from localspec.base.extras import install_extra
from localspec.cli.chat import chat, open_chat
from localspec.cli.report import remark
from localspec.cli.services import Services
from localspec.cli.values import ValueParam
from localspec.config.kinds import Number
from localspec.runtime.remote.address import is_loopback

LOOPBACK = "127.0.0.1"
WARNING = (
    "Others can reach this address. Whoever has it can read your conversations and attach files of this machine, and "
    "the connection is not encrypted: use it in a network you trust, or through an SSH tunnel instead."
)


@click.command(
    "serve-web",
    short_help="Open the chat in a tab of a browser.",
    context_settings={"ignore_unknown_options": True},
)
@click.option(
    "--port",
    type=ValueParam(Number(0, 65535, whole=True)),
    metavar="N",
    help="Use this port (default: 0, any free one).",
)
@click.option("--host", metavar="HOST", help="Listen at this address (default: one that only this machine has).")
@click.option(
    "--tabs",
    type=ValueParam(Number(1, 16, whole=True)),
    metavar="N",
    help="Allow this many tabs at once, each with models of its own in memory (default: 1).",
)
@click.argument("chat_options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF CHAT]...")
@click.pass_obj
def serve_web(
    services: Services, /, port: int | None, host: str | None, tabs: int | None, chat_options: tuple[str, ...]
) -> None:
    """Open the chat in a tab of a browser, at an address with a secret in it, until Ctrl-C.

    All other options are those of `localspec chat`. A tab is a chat of its own and ends with it; conversations are
    stored as on the terminal. The keys are those of the key map `web`, which avoids the keys of browsers, unless the
    settings name another. Needs the extra `web`.
    """
    _check(services, chat_options)
    try:
        from localspec.web.server import ChatServer
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The chat in a browser needs {error.name}, which is not installed.",
            f"Install what it needs: {install_extra('web')}",
        ) from None
    command = shlex.join([sys.executable, "-P", "-m", "localspec", "chat", *chat_options])
    listen = host or LOOPBACK
    server = ChatServer(command, listen, int(port or 0), tabs=int(tabs or 1), on_ready=_tell)
    if not is_loopback(listen):
        remark(WARNING)
    server.serve()


def _check(services: Services, chat_options: tuple[str, ...]) -> None:
    """Check the options of the chat before the first tab is opened. Raises what the chat would."""
    with chat.make_context("localspec serve-web", list(chat_options)) as context:
        for name, option in (("plain", "--plain"), ("as_json", "--json")):
            if context.params[name]:
                raise UsageError(f"{option} chats in lines, and a browser shows the screen.", "Leave it out.")
        open_chat(replace(services, open_screen=lambda chat_config: None, has_terminal=lambda: True), **context.params)


def _tell(url: str) -> None:
    print(f"The chat is at {url} ; Ctrl-C ends it.", file=sys.stderr, flush=True)
