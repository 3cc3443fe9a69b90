"""``localspec pairs pull``: downloads the missing files of pairs."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.amounts import number_of
from localspec.base.errors import TERMINATED_EXIT_CODE
from localspec.base.signal_wakeup import SignalWakeup
from localspec.base.visible import visible_line
from localspec.cli.streams import Status
from localspec.models.pairs import Pair, load_catalogue
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.download.events import DownloadEvent
    from localspec.models.download.pull import Planner, PullPlan


@click.command(short_help="Fetch what is missing of a pair.")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Write the progress as JSON objects, one a line.")
def pull(names: Sequence[str], as_json: bool) -> None:
    """Fetch what is missing of the pairs ID... into the Hub's cache.

    A model of the Hub can stand in place of an ID: owner/name:QUANTISATION or owner/name:FILE. It becomes a pair of its
    own in pairs.toml.

    The headers come first, a few MB, to check that target and draft fit; then the files, several at a time. Ctrl-C
    keeps what has arrived, and the next pull continues from there.
    """
    named = list(dict.fromkeys(names))
    catalogue = load_catalogue()
    known = {name: catalogue.find(name) for name in named if "/" not in name}
    reporter = _JsonTeller() if as_json else _Reporter()
    from localspec.models.discovery.taking import take
    from localspec.models.download.context import open_context
    from localspec.models.download.pull import Planner, fetch

    try:
        with SignalWakeup(), _terminated_in_python(), open_context() as context:
            pairs = [known.get(name) or take(name, context) for name in named]
            plans = _plan(Planner(context), pairs, reporter)
            for event in fetch(plans, context):
                reporter.event(event)
    except (KeyboardInterrupt, SystemExit):
        reporter.stopped()
        raise
    finally:
        reporter.end()
    for plan in plans:
        reporter.done(plan)


@contextmanager
def _terminated_in_python() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that partial files are closed properly."""

    def end(number: int, frame: object) -> None:
        sys.exit(TERMINATED_EXIT_CODE)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _plan(planner: Planner, pairs: Sequence[Pair], reporter: _Reporter) -> list[PullPlan]:
    """Plan all downloads before the first byte is fetched."""
    plans = []
    for pair in pairs:
        reporter.judging(pair.id)
        plans.append(planner.plan(pair))
        reporter.planned(plans[-1])
    return plans


class _Reporter:
    """Output for people: a status line, and lines for the results."""

    def __init__(self) -> None:
        self._status = Status()

    def judging(self, pair_id: str) -> None:
        self._status.show(f"reading the headers of {pair_id},", 0.0)

    def planned(self, plan: PullPlan) -> None:
        self._status.clear()
        missing = sum(remote.size_bytes for remote in plan.missing)
        count = len(plan.missing)
        what = f"{number_of(count, 'file')}, {size(missing)}" if count else "nothing to fetch"
        self._say(f"{plan.pair_id}: {what}")
        for note in plan.notes:
            self._say(f"{plan.pair_id}: {note}")

    def event(self, event: DownloadEvent) -> None:
        from localspec.chat.pairs.download_words import amounts, delay, fraction, pace
        from localspec.models.download.events import Delayed, Fetched, Progressed

        match event:
            case Progressed():
                line = ", ".join(filter(None, (f"fetching {amounts(event)}", pace(event))))
                self._status.show(f"{line},", fraction(event))
            case Delayed():
                self._say(delay(event))
            case Fetched():
                self._say(f"{event.file}: complete, {size(event.size_bytes)}")

    def stopped(self) -> None:
        self._say("Stopped. What has arrived is kept; run the command again to go on.")

    def end(self) -> None:
        self._status.clear()

    def done(self, plan: PullPlan) -> None:
        print(f"{plan.pair_id} is here: localspec --pair {plan.pair_id}")

    def _say(self, line: str) -> None:
        self._status.clear()
        print(visible_line(line), file=sys.stderr)


class _JsonTeller(_Reporter):
    """Output for programs: one JSON object a line."""

    def judging(self, pair_id: str) -> None:
        pass

    def planned(self, plan: PullPlan) -> None:
        self._write(
            "plan",
            pair=plan.pair_id,
            here=list(map(str, plan.here)),
            missing=[{"file": remote.label, "size_bytes": remote.size_bytes} for remote in plan.missing],
            notes=list(plan.notes),
        )

    def event(self, event: DownloadEvent) -> None:
        from localspec.models.download.events import Delayed, Progressed

        names = {Progressed: "progress", Delayed: "delay"}
        fields = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(event).items()}
        self._write(names.get(type(event), "fetched"), **fields)

    def stopped(self) -> None:
        self._write("stopped")

    def done(self, plan: PullPlan) -> None:
        self._write("done", pair=plan.pair_id)

    def _write(self, event: str, **fields: Any) -> None:
        print(json.dumps({"event": event, **fields}), flush=True)
