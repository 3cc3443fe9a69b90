"""``localspec verify``: checks that speculation does not change replies."""

from __future__ import annotations

import hashlib
import json
import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import INTERRUPTED_EXIT_CODE, CheckFailedError, UsageError
from localspec.cli.borrowed import LOADING, SAMPLING, borrow, resolve_options
from localspec.cli.options import param_of
from localspec.cli.sections import SectionedCommand
from localspec.cli.services import Services
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.cli.streams import Status
    from localspec.insight.losslessness.check import Check
    from localspec.insight.losslessness.examination import ExaminationPlan
    from localspec.insight.losslessness.report import Report
    from localspec.insight.losslessness.subject import ScorablePair
    from localspec.runtime.chat_config import ChatConfig
    from localspec.runtime.interruptible import InterruptibleThread

_DEFAULT_DEPTH, _DEFAULT_TEMPERATURE = 3, 1.0
_FILE = PathParam(dir_okay=False)


@click.command(cls=SectionedCommand, short_help="Show that speculation changes nothing but the speed.")
@borrow(("pair", "target", "draft", "spec", "seed"))
@click.option(
    "--depth",
    type=param_of("depth"),
    default=str(_DEFAULT_DEPTH),
    help=f"Propose this many tokens in a round, 1 to 16 (default: {_DEFAULT_DEPTH}, since auto may propose nothing).",
)
@click.option(
    "--tokens",
    type=ValueParam(Number(1, whole=True)),
    default=64,
    help="Compare replies of this length (default: 64).",
)
@click.option(
    "--samples",
    type=ValueParam(Number(20, whole=True)),
    default=300,
    help="Draw this many openings of either kind at each of three prompts; more show smaller errors (default: 300).",
)
@click.option(
    "--prompts", type=_FILE, metavar="FILE", help="Ask the prompts of this JSONL file (default: a set of 12)."
)
@click.option("--json", "as_json", is_flag=True, help="Write the report as a JSON object.")
@click.option("--out", type=_FILE, metavar="FILE", help="Also write the report to this file, as Markdown for a bug.")
@borrow(LOADING)
@borrow(SAMPLING)
@click.pass_obj
def verify(
    services: Services,
    /,
    tokens: int,
    samples: int,
    prompts: Path | None,
    as_json: bool,
    out: Path | None,
    **given: Any,
) -> None:
    """Check that speculation changes nothing but the speed, here and with this pair.

    Compares greedy replies token by token, tests that sampled ones have the same distribution (at temperature 1
    unless it is set), compares how likely the target finds them, and holds both to a JSON Schema. The exit code is 0
    only if all of it passes, 12 if something differs or nothing could be tested. A flawless pair fails once in a
    thousand times.
    """
    from localspec.cli.out_file import check_writable, write_out
    from localspec.insight.losslessness.check import CheckOutcome
    from localspec.insight.prompt_sets import read_prompts, shipped_prompts

    if given["spec"] == ():
        raise UsageError("--spec off leaves nothing to check.", "Leave it out, or name drafters.")
    if given["temperature"] is None and given["preset"] is None:
        given["temperature"] = _DEFAULT_TEMPERATURE
    chat_config = resolve_options(given, (*LOADING, *SAMPLING, "pair", "spec"))
    prompt_list = read_prompts(prompts) if prompts else shipped_prompts()
    check_writable(out)
    report, interrupted = _report(
        services, chat_config, _plan(chat_config, prompt_list, given["depth"], tokens, samples)
    )
    try:
        print(json.dumps(report.to_dict(), indent=2) if as_json else report_text(report))
    finally:  # the one must not be lost with the other
        if out:
            write_out(out, report.markdown())
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED_EXIT_CODE)
    if report.verdict is CheckOutcome.FAIL:
        raise CheckFailedError("Speculation changes replies here.", "Please report it, with what --out FILE writes.")
    if report.verdict is CheckOutcome.OPEN:
        raise CheckFailedError(
            "Too little was tested to show anything.",
            "The checks say why; a --depth above 0, more --tokens or a larger --ctx may help.",
        )


def _plan(chat_config: ChatConfig, prompt_list: Any, depth: int | None, tokens: int, samples: int) -> ExaminationPlan:
    from localspec.insight.losslessness.examination import ExaminationPlan
    from localspec.insight.losslessness.subject import Speculation

    seed = chat_config.reply.seed
    return ExaminationPlan(
        Speculation(chat_config.reply.spec, depth),
        chat_config.reply.sampling,
        prompt_list,
        tokens=tokens,
        samples_n=samples,
        # A grammar leaves no room for mirostat.
        structured_n=0 if chat_config.reply.sampling.mirostat else 4,
        seed=secrets.randbits(20) if seed is None else seed,
    )


def _report(services: Services, chat_config: ChatConfig, plan: ExaminationPlan) -> tuple[Report, bool]:
    """Load the pair and run the checks; returns what was checked and if Ctrl-C ended it early."""
    from localspec.cli.streams import Status
    from localspec.engine.cancel import Cancelled
    from localspec.insight.losslessness.report import Report, ReportContext
    from localspec.insight.losslessness.subject import ScorablePair
    from localspec.runtime.interruptible import InterruptibleThread

    status = Status()
    checks: list[Check] = []
    cut_short = interrupted = False
    try:
        with InterruptibleThread() as thread:
            try:
                pair = thread.open(services.open_pair, chat_config.load, status.show)
            except Cancelled:
                raise KeyboardInterrupt from None
            assert isinstance(pair, ScorablePair), "what is opened here shows its scores"
            try:
                _check(thread, pair, plan, status, checks)
                interrupted = thread.interrupted  # when the last check was just done
            except (Cancelled, KeyboardInterrupt):
                cut_short = interrupted = True
            finally:
                thread.call(pair.close)
            interrupted = interrupted or thread.interrupted
            about = ReportContext(chat_config.pair_id or chat_config.title, pair.info, {}, {})
            try:
                status.show("reading the files", 1.0)
                about = replace(about, llama_cpp=_llama_cpp(services))
                about = replace(about, hashes=_hashes(chat_config))
            except KeyboardInterrupt:
                interrupted = True
    finally:
        status.clear()
    return Report(about, plan, checks, cut_short), interrupted


def _check(
    thread: InterruptibleThread, pair: ScorablePair, plan: ExaminationPlan, status: Status, checks: list[Check]
) -> None:
    """Run the checks and add their results to ``checks``. Raises Cancelled."""
    from localspec.cli.streams import Remaining
    from localspec.insight.losslessness.examination import examine

    remaining = Remaining()
    for found in thread.stream(lambda: examine(pair, plan)):
        if isinstance(found, float):
            status.show(f"comparing replies{remaining.text(found)},", found)
        else:
            checks.append(found)


def _hashes(chat_config: ChatConfig) -> dict[str, str]:
    hashes = {}
    for path in (chat_config.load.target, chat_config.load.draft):
        if path is not None:
            with suppress(OSError), path.open("rb") as file:  # what cannot be read any more has none
                hashes[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def _llama_cpp(services: Services) -> dict[str, str | None]:
    native = services.probe_native()
    return {"version": native.version, "library": native.library, "build": native.system_info.strip(" |") or None}


def report_text(report: Report) -> str:
    """The report, wrapped to the terminal."""
    from localspec.cli.tables import AMBER, GREEN, RED, coloured, paragraph

    colours = {"pass": GREEN, "fail": RED, "open": AMBER}
    facts = report.circumstances.facts()
    lines = [f"{facts['pair']} on {facts['device']}", ""]
    for check in report.checks:
        lines.append(coloured(f"{check.outcome.value:<6}{check.name}", colours[check.outcome.value]))
        lines.append(paragraph(check.text, indent=" " * 6))
        lines += [paragraph(detail, indent=" " * 8) for detail in check.details]
    return "\n".join([*lines, "", coloured(report.sentence, colours[report.verdict.value])])
