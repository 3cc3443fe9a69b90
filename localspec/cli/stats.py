"""``localspec stats``: shows the statistics of all stored replies, without a model."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import UsageError
from localspec.cli.history_store import open_history
from localspec.cli.values import ValueParam
from localspec.config.kinds import Number, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from localspec.insight.stats.drift_watch import DriftNotice
    from localspec.insight.stats.objectives import Objectives
    from localspec.insight.stats.overview import Overview
    from localspec.store import ReplyRecord

BY = ("pair", "drafter", "temperature", "context", "day", "subject")
_SPANS = {"h": "hours", "d": "days", "w": "weeks"}
_POSITIVE = Number(0, above=True)
_NAME = Text("the id of a pair", r".*\S.*", "ID")
"""Not of the form of an id: "own files" is one of the groups."""


class Moment(click.ParamType[datetime]):
    """A day or time in ISO 8601, or a span before now: 12h, 7d, 4w."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if text[-1:] in _SPANS and text[:-1].isdigit():
                return datetime.now(UTC) - timedelta(**{_SPANS[text[-1]]: int(text[:-1])})
            return datetime.fromisoformat(text).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is neither a date, as 2026-11-01, nor a span before now, as 7d.", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "WHEN"


@click.command(short_help="Show how well speculation works, over all replies of the chat.")
@click.option("--pair", "pair_id", type=ValueParam(_NAME), help="Count only replies of this pair.")
@click.option("--since", type=Moment(), help="Count only replies since then: a date, or 12h, 7d, 4w ago.")
@click.option("--by", type=click.Choice(BY), help="Compare groups of replies by this.")
@click.option("--watch", is_flag=True, help="List when a pair became worse, why it may have, and missed objectives.")
@click.option(
    "--ttft-p95-s",
    type=ValueParam(_POSITIVE),
    metavar="S",
    help="With --watch, want the first token within S seconds in 95 of 100 replies of a day (default: the setting).",
)
@click.option(
    "--min-speedup",
    type=ValueParam(_POSITIVE),
    metavar="X",
    help="With --watch, want X times plain speed in half of the replies of a day (default: the setting).",
)
@click.option("--json", "as_json", is_flag=True, help="Write the figures as a JSON object.")
def stats(
    pair_id: str | None,
    since: datetime | None,
    by: str | None,
    watch: bool,
    ttft_p95_s: float | None,
    min_speedup: float | None,
    as_json: bool,
) -> None:
    """Show the figures of all replies of the chat: distributions, not only means.

    Every reply is stored with its tokens, rounds and times, beside its text and on this machine only; the setting
    record_figures turns that off. Replies deleted from the history no longer count.

    The divergence compares the probabilities of draft and target for the draft's likeliest token, in every fourth
    round: a lower bound of their Kullback-Leibler divergence in nats, independent of temperature and depth. On a GPU
    the draft's probability is among its 256 likeliest tokens.
    """
    if watch and by:
        raise UsageError("--watch and --by contradict each other.", "Leave one of them out.")
    if not watch and (ttft_p95_s or min_speedup):
        raise UsageError("Objectives are for --watch only.", "Add --watch, or leave them out.")
    from localspec.insight.stats.groups import NEED_ROUNDS, NEED_TEXTS
    from localspec.store import RecordFilter

    with open_history() as store:
        if watch:
            # A baseline is all there was before; --since is only about what is listed.
            runs = _of_pair(store.runs(where=RecordFilter(texts=True)), pair_id)
            wanted = _objectives(ttft_p95_s, min_speedup)
            _print_watch(runs, since, wanted, narrowed=bool(pair_id or since), as_json=as_json)
            return
        where = RecordFilter(texts=by in NEED_TEXTS, rounds=by in NEED_ROUNDS)
        runs = store.runs(since=since, where=where)
        _print_overview(_counted(_of_pair(runs, pair_id), by), narrowed=bool(pair_id or since), as_json=as_json)


def _of_pair(runs: Iterable[ReplyRecord], pair_id: str | None) -> Iterator[ReplyRecord]:
    from localspec.insight.stats.groups import pair_of

    return (run for run in runs if pair_id is None or pair_of(run) == pair_id)


def _counted(runs: Iterable[ReplyRecord], by: str | None) -> Overview:
    from localspec.insight.stats.overview import Overview

    overview = Overview(by)
    for run in runs:
        overview.add(run)
    return overview


def _print_overview(overview: Overview, *, narrowed: bool, as_json: bool) -> None:
    from localspec.cli.stats_text import group_lines, nothing, whole_lines

    if as_json:
        print(json.dumps(overview.to_dict(), indent=2))
    elif not overview.whole.replies_n:
        print(nothing(narrowed=narrowed))
    else:
        print("\n".join(group_lines(overview) if overview.by else whole_lines(overview)))


def _objectives(ttft_p95_s: float | None, min_speedup: float | None) -> Objectives:
    from localspec.config import read_config
    from localspec.insight.stats.objectives import Objectives, objectives_of

    config = objectives_of(read_config())
    return Objectives(ttft_p95_s or config.ttft_p95_s, min_speedup or config.min_speedup)


def _print_watch(
    runs: Iterable[ReplyRecord], since: datetime | None, objectives: Objectives, *, narrowed: bool, as_json: bool
) -> None:
    from localspec.cli.stats_text import nothing, watch_lines
    from localspec.insight.stats.drift_watch import DriftWatch
    from localspec.insight.stats.objectives import ObjectiveWatch

    watch, wanted, replies_n = DriftWatch(), ObjectiveWatch(objectives), 0
    notices: list[DriftNotice] = []
    for run in runs:
        counts = since is None or run.at >= since
        raised = watch.receive(run)
        if counts:
            replies_n += 1
            notices += raised
            wanted.add(run)
    misses = list(wanted.misses())
    if as_json:
        record = {"notices": [each.to_dict() for each in notices], "misses": [each.to_dict() for each in misses]}
        print(json.dumps({"replies_n": replies_n, **record}, indent=2))
    elif not replies_n:
        print(nothing(narrowed=narrowed))
    else:
        print("\n".join(watch_lines(notices, misses, objectives, replies_n)))
