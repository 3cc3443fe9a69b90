"""``localspec metrics``: publishes the figures of all replies for monitoring programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

import click

from localspec.base.errors import UsageError
from localspec.base.signal_wakeup import SignalWakeup
from localspec.cli.history_store import open_history
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number


@click.command(short_help="Write figures for Prometheus, or serve them.")
@click.option(
    "--file",
    type=PathParam(dir_okay=False),
    metavar="FILE",
    help="Replace FILE with the metrics, as the textfile collector of node_exporter reads them.",
)
@click.option(
    "--port",
    type=ValueParam(Number(0, 65535, whole=True)),
    metavar="N",
    help="Serve them to this machine alone, under /metrics on port N, until Ctrl-C; 0 takes a free port.",
)
@click.option("--names", is_flag=True, help="List all metrics there are, as a Markdown table.")
def metrics(file: Path | None, port: int | None, names: bool) -> None:
    """Write the figures of all stored replies as OpenMetrics text, by default to standard output.

    Names are those of vLLM and llama-server where they have the same metric. With --port each scrape includes the
    latest replies. No model is needed.
    """
    if sum((file is not None, port is not None, names)) > 1:
        raise UsageError("--file, --port and --names contradict each other.", "Leave all but one out.")
    if names:
        from localspec.insight.metrics.names import documentation

        print(documentation(), end="")
        return
    # A server outlives the moment, so it opens the file that replies will be in.
    with open_history(make=port is not None) as store:
        from localspec.insight.metrics.meters import StoredMetrics

        page = StoredMetrics(store).page
        if port is not None:
            with SignalWakeup():
                serve(page, int(port), Event().wait)
        elif file is not None:
            from localspec.insight.metrics.server import write_page

            write_page(file, page())
        else:
            sys.stdout.write(page())


def serve(page: Callable[[], str], port: int, wait: Callable[[], object]) -> None:
    """Serve the page until ``wait`` returns, or Ctrl-C."""
    from localspec.insight.metrics.server import MetricsServer

    server = MetricsServer(page, port)
    try:
        print(f"Serving metrics at {server.url}; Ctrl-C ends it.", file=sys.stderr)
        wait()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        server.close()
