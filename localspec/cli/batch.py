"""``localspec batch``: a file of requests answered without a server."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.amounts import duration
from localspec.base.errors import InputError, RequestsFailedError, UsageError
from localspec.cli.options import command_line_settings, overrides, print_problems, reply_options
from localspec.cli.report import remark
from localspec.cli.sections import SectionedCommand, SectionOption
from localspec.cli.serve import OF_CHATS, refuse_chat_options, without_chat_options
from localspec.cli.streams import Remaining, Status, wants_ansi
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.runtime.chat_config import ChatConfig
    from localspec.server.batch.requests import Line
    from localspec.server.batch.results import BatchResult, ResultsFile

_PAIR = {"pair", "target"}
"""Options that name the pair."""
_EVERY_S = 30.0
"""The pause between two lines of progress where there is no terminal to rewrite one on."""


@without_chat_options
@click.command(cls=SectionedCommand, short_help="Answer a file of requests, a line each, without a server.")
@click.argument("file", type=PathParam(), metavar="FILE.jsonl")
@click.option(
    "--out",
    type=PathParam(),
    metavar="FILE",
    cls=SectionOption,
    section="Batch",
    help="Write the results to this file, or go on with those in it (default: one beside the requests).",
)
@click.option(
    "--parallel",
    type=ValueParam(Number(1, 64, whole=True)),
    metavar="N",
    default=4,
    cls=SectionOption,
    section="Batch",
    help="Make this many replies at once (default: 4).",
)
@click.option(
    "--in-order",
    is_flag=True,
    cls=SectionOption,
    section="Batch",
    help="Write the results in the order of the requests (default: as they come).",
)
@reply_options
def batch(file: Path, out: Path | None, parallel: float, in_order: bool, **given: Any) -> None:
    """Answer the requests in FILE.jsonl, in OpenAI's batch format, with models of this machine.

    A line is an object with custom_id, method (POST), url (/v1/chat/completions and others of the server) and body;
    its result has the same custom_id, and either a response or an error. With --pair or --target that pair answers all
    requests, otherwise the one that a request names as its model. Options for replies are defaults: a request that
    says otherwise counts. Started again after whatever ended it, the command goes on where it was.
    """
    from localspec.config import read_config
    from localspec.server.batch.requests import read_batch, without_model
    from localspec.server.batch.results import ResultsFile

    refuse_chat_options(given)
    custom_ids = {line.number: line.custom_id for line in read_batch(file)}
    out = out or file.with_name(f"{file.stem}.results.jsonl")
    _check(file, out, len(custom_ids))
    settings = command_line_settings(without=frozenset(OF_CHATS))
    chat_config = settings.resolve(read_config())
    print_problems(settings)
    with ResultsFile.opened(out, custom_ids) as results, closing(_Progress(results, len(custom_ids))) as progress:
        progress.begin()
        if len(results.done) < len(custom_ids):
            todo = (line for line in read_batch(file) if line.number not in results.done)
            if not _PAIR.isdisjoint(overrides(click.get_current_context())):
                todo = (without_model(line) for line in todo)
            _answer(chat_config, todo, results, progress, int(parallel), in_order=in_order)
        progress.end()


def _check(file: Path, out: Path, lines_n: int) -> None:
    if not lines_n:
        raise InputError(f"{file} has no requests.", "Write one request on each line.")
    if out.exists() and out.samefile(file):
        raise UsageError(f"{out} is the file of requests itself.", "Choose another file for the results.")


def _answer(
    chat_config: ChatConfig,
    todo: Iterable[Line],
    results: ResultsFile,
    progress: _Progress,
    parallel: int,
    *,
    in_order: bool,
) -> None:
    from localspec.server.batch.run import answer_batch

    def take(result: BatchResult) -> None:
        results.add(result)
        progress.show(result)

    answering = answer_batch(
        chat_config, todo, parallel=parallel, in_order=in_order, on_result=take, on_progress=progress.show_load
    )
    try:
        asyncio.run(answering)
    except KeyboardInterrupt:
        progress.close()
        remark(f"Stopped with {progress.state}; the same command goes on from there.")
        raise


class _Progress:
    """Says on standard error how far a batch is: one line that is rewritten on a terminal, else one now and then."""

    def __init__(self, results: ResultsFile, total_n: int) -> None:
        self._results = results
        self._total_n = total_n
        self._had_n = len(results.done)
        self._tokens_n = 0
        self._status = Status()
        self._remaining = Remaining()
        self._started = self._begun_at = self._told_at = time.monotonic()

    @property
    def state(self) -> str:
        """The requests that are done."""
        failed = f", {self._results.failed_n:,} failed" if self._results.failed_n else ""
        return f"{len(self._results.done):,} of {self._total_n:,} requests done{failed}"

    def begin(self) -> None:
        if self._had_n:
            rest = "; the rest follows" if self._had_n < self._total_n else ""
            remark(f"{self.state} before{rest}.")

    def show_load(self, what: str, fraction: float) -> None:
        self._status.show(what, fraction)
        self._begun_at, self._remaining = time.monotonic(), Remaining()  # the requests begin after it

    def show(self, result: BatchResult) -> None:
        self._tokens_n += result.tokens_n
        done_n = len(self._results.done) - self._had_n
        share = done_n / max(self._total_n - self._had_n, 1)
        spent_s = time.monotonic() - self._begun_at
        speed = f", {self._tokens_n / spent_s:,.0f} tokens/s" if self._tokens_n and spent_s > 1 else ""
        sentence = f"{self.state}{speed}{self._remaining.text(share)}"
        self._status.show(f"{sentence},", share)
        now = time.monotonic()
        if now - self._told_at >= _EVERY_S and share < 1:
            self._told_at = now
            self._tell(sentence)

    def end(self) -> None:
        """Say what came of the batch. Raises RequestsFailedError if a request has no answer."""
        self.close()
        spent_s = time.monotonic() - self._started
        tokens = f", {self._tokens_n:,} tokens in {duration(spent_s)}" if self._tokens_n else ""
        remark(f"{self.state}{tokens}. The results are in {self._results.path}.")
        if failed_n := self._results.failed_n:
            raise RequestsFailedError(
                f"{failed_n:,} of {self._total_n:,} requests failed.",
                "Their results say why. To try them again, remove those lines and run the same command.",
            )

    def close(self) -> None:
        self._status.clear()

    def _tell(self, sentence: str) -> None:
        if not wants_ansi(sys.stderr):
            remark(f"{sentence}.")
