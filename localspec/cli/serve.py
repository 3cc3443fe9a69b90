"""``localspec serve``: the pairs of this machine for other programs, over HTTP."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import UsageError
from localspec.cli.options import command_line_settings, print_problems, reply_options
from localspec.cli.report import print_news, remark
from localspec.cli.sections import SectionedCommand
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.cli.streams import Status
    from localspec.insight.observers.observers import Observers
    from localspec.runtime.chat_config import ChatConfig
    from localspec.runtime.pair_info import PairInfo
    from localspec.server.access import AccessRules
    from localspec.server.serving import ServerOptions

LOOPBACK, PORT = "127.0.0.1", 8484
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^\s/:\[\]]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?", re.IGNORECASE)
"""RFC 6454: a scheme, which extensions and apps have of their own, a host and a port, and no path."""
OF_CHATS = ("connect", "system", "persona", "tool", "mcp", "tool_folder", "max_calls", "call_timeout")
"""Settings without effect on the answers to requests, which bring what they say with them."""
_LEFT_RUNNING = """\b
To leave it running, with systemd (Linux) or launchd (macOS):
  systemd-run --user --unit localspec -p Restart=on-failure localspec serve
  loginctl enable-linger   (keeps it running when you log out)
  launchctl submit -l localspec.serve -- "$(which localspec)" serve
"""


def without_chat_options(command: click.Command) -> click.Command:
    """The command; its help leaves out the options that ``refuse_chat_options`` refuses."""
    for option in command.params:
        if isinstance(option, click.Option) and option.name in OF_CHATS:
            option.hidden = True
    return command


@without_chat_options
@click.command(cls=SectionedCommand, short_help="Serve the pair to other programs over HTTP.", epilog=_LEFT_RUNNING)
@click.option("--host", metavar="HOST", default=LOOPBACK, help="Listen at this address (default: this machine alone).")
@click.option(
    "--port",
    type=ValueParam(Number(0, 65535, whole=True)),
    metavar="N",
    default=PORT,
    help=f"Use this port; 0 takes any free one (default: {PORT}).",
)
@click.option(
    "--parallel",
    type=ValueParam(Number(1, 64, whole=True)),
    metavar="N",
    default=4,
    help="Make this many replies at once, each with a context of its own (default: 4).",
)
@click.option(
    "--queue",
    type=ValueParam(Number(0, 100_000, whole=True)),
    metavar="N",
    default=64,
    help="Let this many requests wait; further ones get status 503 (default: 64).",
)
@click.option(
    "--timeout",
    type=ValueParam(Number(0, above=True)),
    metavar="S",
    help="End a reply that takes longer than this many seconds, waiting included (default: none does).",
)
@click.option(
    "--idle",
    type=ValueParam(Number(0, above=True)),
    metavar="S",
    default=1800,
    help="Unload a pair that a request had loaded, once nobody has asked it for this many seconds (default: 1800).",
)
@click.option(
    "--api-key-file",
    type=PathParam(dir_okay=False),
    metavar="FILE",
    help="Answer only requests with a key of this file, `name: key` on each line; needed beyond this machine.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Answer pages of this origin in a browser, such as http://localhost:3000, or with * those of every origin; "
    "may be given several times (default: none).",
)
@reply_options
def serve(
    host: str,
    port: float,
    parallel: float,
    queue: float,
    timeout: float | None,
    idle: float,
    api_key_file: Path | None,
    origins: tuple[str, ...],
    **given: Any,
) -> None:
    """Serve the pair, and every other pair of this machine that a request names, until Ctrl-C.

    Options for replies are defaults: a request that says otherwise counts. The address shows the state of the server
    in a browser. Ctrl-C refuses new requests and lets replies end for 10 seconds; a second Ctrl-C ends them.

    docs/serve.md has keys and their limits, units for systemd and launchd, and alerts.
    """
    from localspec.config import read_config
    from localspec.server.access import AccessRules
    from localspec.server.engines import ServiceLimits
    from localspec.server.keys import read_keys
    from localspec.server.serving import ServerOptions

    refuse_chat_options(given)
    keys = read_keys(api_key_file) if api_key_file is not None else ()
    access = AccessRules(host, keys, [origin.lower() for origin in origins])  # as browsers write theirs
    _check(access, api_key_file)
    limits = ServiceLimits(int(parallel), int(queue), timeout, idle)
    settings = command_line_settings(without=frozenset(OF_CHATS))
    chat_config = settings.resolve(read_config())
    print_problems(settings)
    _serve(chat_config, ServerOptions(access, limits), host, int(port))


def refuse_chat_options(given: Mapping[str, Any]) -> None:
    """Raises UsageError for options that would have no effect."""
    if given["connect"] is not None:
        raise UsageError("--connect is for a chat: requests are answered by pairs of this machine.", "Leave it out.")
    for key in OF_CHATS:
        if given[key] is not None:
            option = f"--{key.replace('_', '-')}"
            raise UsageError(f"{option} has no effect here.", "A request brings its own system prompt and tools.")


def _check(access: AccessRules, key_file: Path | None) -> None:
    """Raises UsageError for rules that protect nobody."""
    from localspec.runtime.remote.address import is_loopback

    if key_file is not None and key_file.stat().st_mode & 0o077:
        remark(f"Others on this machine can read {key_file}: chmod 600 keeps it yours.")
    for origin in access.origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise UsageError(f"{origin} is not an origin.", "One is like https://example.org, without a path.")
    if is_loopback(access.host):
        return
    if not access.keys:
        raise UsageError(
            f"Others can reach {access.host}, so requests need a key.", "Name a file of keys with --api-key-file."
        )
    remark("The connection is not encrypted: use a network you trust, a tunnel, or a proxy that speaks HTTPS.")


def _serve(chat_config: ChatConfig, options: ServerOptions, host: str, port: int) -> None:
    from localspec.base.listening import listen, url_of
    from localspec.cli.streams import Status
    from localspec.server.serving import serve as serve_requests

    listening = listen(host, port)
    with closing(Status()) as status:
        operator = _Terminal(
            status, f"LocalSpec serves {chat_config.title} at {url_of(host, listening)} (Ctrl-C ends it)"
        )
        asyncio.run(serve_requests(chat_config, options, listening, operator))


class _Terminal:
    """Tells on standard error how the server goes."""

    def __init__(self, status: Status, greeting: str) -> None:
        self._status = status
        self._greeting = greeting

    def progress(self, what: str, fraction: float) -> None:
        self._status.show(what, fraction)

    def ready(self, info: PairInfo) -> None:
        self._status.clear()
        self._tell(self._greeting)
        if info.few_replies:
            self._tell(info.few_replies)

    def news(self, observers: Observers) -> None:
        print_news(observers)

    def stopping(self, busy: bool) -> None:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the terminal has echoed ^C
        if busy:
            self._tell("Replies under way have 10 seconds to end; Ctrl-C ends them now.")

    def _tell(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)
