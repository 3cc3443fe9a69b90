"""``localspec bench``: measures which speculation pays on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import INTERRUPTED_EXIT_CODE, CheckFailedError, UsageError
from localspec.cli.bench_save import check_save, save
from localspec.cli.borrowed import LOADING, borrow, resolve_options
from localspec.cli.options import param_of
from localspec.cli.report import remark
from localspec.cli.sections import SectionedCommand
from localspec.cli.services import Services
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.insight.bench.compare import BenchComparison
    from localspec.insight.bench.result import BenchResult
    from localspec.insight.bench.run import Bench, BenchLaunch, BenchPlan
    from localspec.insight.prompt_sets import BenchPrompt

_FILE = PathParam(dir_okay=False)
_FROM_1 = ValueParam(Number(1, whole=True))
_TOKENS = ValueParam(Number(4, whole=True))
"""From ``insight.bench.run.FEWEST_TOKENS`` on, which is not loaded for the help."""
_REPEATS = ValueParam(Number(1, 1000, whole=True))


@click.command(cls=SectionedCommand, short_help="Measure whether speculation pays here.")
@click.option(
    "--pair", "pairs", type=param_of("pair"), multiple=True, help="Measure this pair; may be given several times."
)
@borrow(("target", "draft"))
@click.option(
    "--spec",
    "specs",
    type=param_of("spec"),
    multiple=True,
    help="Measure these drafters together; may be given several times, to compare (default: auto).",
)
@click.option(
    "--depth",
    "depths",
    type=param_of("depth"),
    multiple=True,
    help="Propose this many tokens in a round; may be given several times, to compare (default: auto).",
)
@click.option(
    "--temperature",
    "temperatures",
    type=param_of("temperature"),
    multiple=True,
    help="Reply at this temperature; may be given several times (default: 0 and 1).",
)
@click.option(
    "--prompts", type=_FILE, metavar="FILE", help="Ask the prompts of this JSONL file (default: a set of 12)."
)
@click.option(
    "--from-history",
    "from_history",
    type=_FROM_1,
    metavar="N",
    help="Ask N questions drawn from your own conversations, each with the messages before it.",
)
@click.option(
    "--subject",
    "subjects",
    multiple=True,
    metavar="NAME",
    help="Only ask prompts of this subject; may be given several times (shipped: code, prose, chat, json, long, copy).",
)
@click.option("--tokens", type=_TOKENS, default=48, help="Let replies be this long (default: 48).")
@click.option("--repeats", type=_REPEATS, default=4, help="Ask everything this many times (default: 4).")
@click.option(
    "--minutes",
    type=ValueParam(Number(0, above=True)),
    default=20.0,
    help="End after this time with what has been measured (default: 20).",
)
@click.option("--seed", type=param_of("seed"), default=0, help="Draw from this seed (default: 0).")
@click.option("--json", "as_json", is_flag=True, help="Write the result as a JSON object, every reply with it.")
@click.option("--markdown", is_flag=True, help="Write the tables as Markdown.")
@click.option(
    "--plot",
    type=_FILE,
    metavar="FILE",
    help="Draw the speed-ups to this file, as SVG or PNG by its name (needs matplotlib).",
)
@click.option(
    "--save",
    "save_it",
    is_flag=True,
    help="Put what is recommended into the settings of the pair, and use it from then on.",
)
@click.option("--out", type=_FILE, metavar="FILE", help="Keep the result in this file, as JSON, for --compare.")
@click.option(
    "--compare",
    type=_FILE,
    metavar="FILE",
    help="Say what has changed since the result in this file, and exit with 12 if speed was lost.",
)
@borrow(LOADING)
@click.pass_obj
def bench(services: Services, /, **given: Any) -> None:
    """Measure plain against speculative replies, and say whether speculation pays here.

    Every prompt is answered plainly and in every requested way, one right after the other, in a random order.
    Sampling, except for the temperature, is the pair's own. Ctrl-C ends it and shows what was measured so far. The
    exit code is 0 whatever the verdict; 12 if --compare finds a loss.
    """
    from localspec.cli.out_file import check_writable
    from localspec.insight.bench.result import read_result
    from localspec.insight.bench.run import INTERRUPTED, bench_lock

    for one, other in (("as_json", "markdown"), ("prompts", "from_history")):
        if given[one] and given[other]:
            names = " and ".join(f"--{name.removeprefix('as_').replace('_', '-')}" for name in (one, other))
            raise UsageError(f"{names} contradict each other.", "Leave one of them out.")
    for file in (given["out"], given["plot"]):
        check_writable(file)
    if given["plot"]:
        from localspec.insight.bench.plot import check_plot

        check_plot(given["plot"])
    earlier = read_result(given["compare"]) if given["compare"] else None
    plan = _plan(given)
    launches = _launches(given)
    if given["save_it"]:
        check_save([launch.chat_config for launch in launches])
    with bench_lock():
        done = _measured(services, plan, launches)
    changes = _changes(earlier, done.result)
    _show(done.result, changes, given)
    if earlier:
        _warn_unlike(earlier, done.result)
    _keep(done.result, given)
    if given["save_it"]:
        remark(save(done.result, launches[0].chat_config))
    if done.result.cut_short == INTERRUPTED:
        raise click.exceptions.Exit(INTERRUPTED_EXIT_CODE)
    if done.errors:
        raise done.errors[0]
    _refuse_losses(changes)


def _plan(given: dict[str, Any]) -> BenchPlan:
    """The orders. Raises UsageError, InputError and NotFoundError for prompts that are not there."""
    from localspec.insight.bench.run import BenchPlan
    from localspec.insight.bench.trials import conditions
    from localspec.insight.prompt_sets import of_subjects

    prompts = _prompts(given)
    listed = conditions(given["specs"] or (None,), given["depths"] or (None,), given["temperatures"] or (0.0, 1.0))
    chosen = of_subjects(prompts, given["subjects"])
    return BenchPlan(chosen, listed, given["repeats"], given["tokens"], given["seed"], given["minutes"] * 60)


def _prompts(given: dict[str, Any]) -> tuple[BenchPrompt, ...]:
    from localspec.insight.prompt_sets import read_prompts, shipped_prompts

    if given["from_history"]:
        from localspec.cli.history_store import open_history
        from localspec.insight.bench.own_prompts import drawn_prompts

        with open_history() as store:
            return drawn_prompts(store, given["from_history"], given["seed"])
    return read_prompts(given["prompts"]) if given["prompts"] else shipped_prompts()


def _launches(given: dict[str, Any]) -> list[BenchLaunch]:
    """Every pair with each file that it drafts with, checked with every drafter and depth. Raises as ``resolve``."""
    from localspec.config import read_config
    from localspec.insight.bench.run import BenchLaunch

    names: tuple[Any, ...] = tuple(dict.fromkeys(given["pairs"]))
    if names and given["target"]:
        raise UsageError("--pair and --target name two different things to load.", "Leave one of them out.")
    if not names:
        names = (None if given["target"] else read_config().values.get("model.pair"),)
    launches: dict[Any, BenchLaunch] = {}
    for name, spec, depth in product(names, given["specs"] or (None,), given["depths"] or (None,)):
        way = {**given, "pair": name, "spec": spec, "depth": depth}
        chat_config = resolve_options(way, LOADING, quiet=bool(launches))
        launches.setdefault((name, chat_config.load.draft), BenchLaunch(chat_config, set())).specs.add(spec)
    return list(launches.values())


def _measured(services: Services, plan: BenchPlan, launches: list[BenchLaunch]) -> Bench:
    from localspec.cli.streams import Remaining, Status
    from localspec.insight.bench.run import Bench

    status, remaining = Status(), Remaining()

    def show(what: str, share: float) -> None:
        status.show(f"{what}{remaining.text(share)},", share)

    done = Bench(plan, services.open_pair, show, status.show)
    try:
        done.run(launches)
    finally:
        status.clear()
    return done


def _changes(earlier: BenchResult | None, result: BenchResult) -> list[BenchComparison] | None:
    if earlier is None:
        return None
    from localspec.insight.bench.compare import compare

    return compare(earlier, result)


def _show(result: BenchResult, changes: list[BenchComparison] | None, given: dict[str, Any]) -> None:
    from localspec.cli.bench_table import as_markdown, as_text, comparison_text

    if given["as_json"]:
        output = _with_summary(result)
        if changes is not None:
            output["comparison"] = [asdict(each) for each in changes]
        print(json.dumps(output, indent=2))
        return
    print(as_markdown(result) if given["markdown"] else as_text(result))
    if changes is not None:
        fence = "```" if given["markdown"] else ""
        print(
            f"\n{fence}\n{comparison_text(changes)}\n{fence}".strip("\n") if fence else f"\n{comparison_text(changes)}"
        )


def _with_summary(result: BenchResult) -> dict[str, Any]:
    """The result with summary and verdict, for ``--json``."""
    from localspec.cli.bench_table import PairSummary
    from localspec.insight.bench.verdict import recommended

    output = result.to_dict()
    for pair, data in zip(result.pairs, output["pairs"], strict=True):
        summary = PairSummary.of(pair)
        data["summary"] = [asdict(cell) | {"host_share": cell.host_share} for cell in summary.cells]
        data["verdict"] = {
            "judgement": summary.verdict.judgement.value,
            "sentence": summary.sentence,
            "recommended": recommended(summary.verdict),
            "options": summary.advice,
        }
    return output


def _warn_unlike(earlier: BenchResult, result: BenchResult) -> None:
    from localspec.insight.bench.compare import unlike

    if clauses := unlike(earlier, result):
        remark(f"The runs are not alike: {'; '.join(clauses)}.")


def _keep(result: BenchResult, given: dict[str, Any]) -> None:
    """Write the files. The result has been shown before, so nothing is lost if a disk is full."""
    if given["out"]:
        from localspec.cli.out_file import write_out

        write_out(given["out"], json.dumps(result.to_dict()) + "\n")
    if given["plot"]:
        from localspec.insight.bench.plot import draw
        from localspec.insight.bench.summary import cells

        draw(given["plot"], {pair.pair: cells(pair.samples) for pair in result.pairs})


def _refuse_losses(changes: list[BenchComparison] | None) -> None:
    """Raise CheckFailedError if speed was lost."""
    if changes is None:
        return
    from localspec.insight.bench.compare import losses

    lost = losses(changes)
    if lost:
        names = ", ".join(f"{each.pair} {each.way} on {each.subject}" for each in lost[:3])
        raise CheckFailedError(f"Slower than before: {names}.", "Measure again on a quiet machine to be sure.")
