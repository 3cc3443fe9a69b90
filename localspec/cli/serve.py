"""``localspec serve``: the pairs of this machine for other programs, over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from localspec.cli.options import Decorated, command_line_settings, print_problems, reply_options
from localspec.cli.report import print_news
from localspec.cli.sections import SectionedCommand, SectionOption
from localspec.cli.values import ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.insight.observers.observers import Observers
    from localspec.runtime.chat_config import ChatConfig
    from localspec.server.serving import ServerOptions

LOOPBACK, PORT = "127.0.0.1", 8484


def _option(name: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    return click.option(name, cls=SectionOption, section="Server", **attributes)


@click.command(cls=SectionedCommand, short_help="Serve the pair to other programs over HTTP.")
@_option("--host", metavar="HOST", default=LOOPBACK, help="Listen at this address (default: this machine alone).")
@_option(
    "--port",
    type=ValueParam(Number(0, 65535, whole=True)),
    metavar="N",
    default=PORT,
    help=f"Use this port; 0 takes any free one (default: {PORT}).",
)
@_option(
    "--parallel",
    type=ValueParam(Number(1, 64, whole=True)),
    metavar="N",
    default=4,
    help="Make so many replies at once, each with a context of its own (default: 4).",
)
@_option(
    "--queue",
    type=ValueParam(Number(0, 100_000, whole=True)),
    metavar="N",
    default=64,
    help="Let so many requests wait; further ones get status 503 (default: 64).",
)
@_option(
    "--timeout",
    type=ValueParam(Number(0, above=True)),
    metavar="S",
    help="End a reply that takes longer than so many seconds, waiting included (default: none does).",
)
@_option(
    "--idle",
    type=ValueParam(Number(0, above=True)),
    metavar="S",
    default=1800,
    help="Put a pair that was loaded on request away when nobody has asked it for so many seconds (default: 1800).",
)
@reply_options
def serve(
    host: str,
    port: float,
    parallel: float,
    queue: float,
    timeout: float | None,
    idle: float,
    **given: Any,
) -> None:
    """Serve the pair, and every other pair of this machine that a request names, until Ctrl-C.

    Options for replies are defaults: a request that says otherwise counts.
    """
    from localspec.config import read_config
    from localspec.server.engines import ServiceLimits
    from localspec.server.serving import ServerOptions

    limits = ServiceLimits(int(parallel), int(queue), timeout, idle)
    settings = command_line_settings()
    chat_config = settings.resolve(read_config())
    print_problems(settings)
    _serve(chat_config, ServerOptions(limits), host, int(port))


def _serve(chat_config: ChatConfig, options: ServerOptions, host: str, port: int) -> None:
    from localspec.cli.streams import Status
    from localspec.server.http_server import bound, url_of
    from localspec.server.serving import serve as serve_requests

    listening = bound(host, port)
    url = url_of(listening)
    with closing(Status()) as status:

        def ready(observers: Observers) -> None:
            status.clear()
            print_news(observers)
            print(f"LocalSpec serves {chat_config.title} at {url} ; Ctrl-C ends it.", file=sys.stderr, flush=True)

        asyncio.run(serve_requests(chat_config, options, listening, status.show, ready))
