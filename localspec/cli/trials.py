"""``localspec trials``: manages trials of another draft, drafter or policy, without a model."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import UsageError
from localspec.cli.history_store import open_history
from localspec.cli.options import param_of
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.insight.trials.comparison import TrialComparison
    from localspec.insight.trials.trial import Trial

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Write what there is as JSON.")
_ID = click.argument("beginning", metavar="ID")
_FEWEST_N = 20


@click.group(short_help="Try another draft, drafter or depth on a share of the replies.", invoke_without_command=True)
@click.pass_context
def trials(context: click.Context, /) -> None:
    """Try another draft, drafter or depth on a share of the chat's turns, compared with the settings.

    Turns are assigned at random. After every reply the two sides are compared, on similar replies; a candidate that
    is worse is rolled back, one that is faster is written into the settings. An ID may be shortened as long as it is
    unique. Without a command the trials are listed.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_trials)


@trials.command(short_help="Begin a trial.")
@click.option("--pair", type=param_of("pair"), help="The pair to try it on (default: the one that is set).")
@click.option("--draft", type=PathParam(), metavar="FILE", help="Try this GGUF file as the draft.")
@click.option("--draft-of", metavar="ID", help="Try the draft of this pair, whose target is the same.")
@click.option("--spec", type=param_of("spec"), help="Try these drafters, or none with off.")
@click.option("--depth", type=param_of("depth"), help="Try this many proposals a round.")
@click.option("--threads", type=param_of("threads"), help="Try this many CPU threads.")
@click.option("--draft-threads", type=param_of("draft_threads"), help="Try this many CPU threads for the draft.")
@click.option("--gpu-layers", type=param_of("gpu_layers"), help="Try this many layers on the GPU.")
@click.option(
    "--draft-gpu-layers", type=param_of("draft_gpu_layers"), help="Try this many layers of the draft on the GPU."
)
@click.option("--device", type=param_of("device"), help="Try layers on these devices.")
@click.option("--draft-device", type=param_of("draft_device"), help="Try layers of the draft on these devices.")
@click.option("--flash-attn", type=param_of("flash_attn"), help="Try attention in one fused step, or not.")
@click.option("--mmap/--no-mmap", default=None, help="Try mapping the model files into memory, or reading them.")
@click.option(
    "--share",
    type=ValueParam(Number(1, 90, whole=True)),
    default=20,
    metavar="PERCENT",
    help="Give the candidate this share of turns, 1 to 90 percent (default: 20).",
)
@click.option(
    "--error",
    type=ValueParam(Number(0.1, 20)),
    default=5.0,
    metavar="PERCENT",
    help="Decide wrongly with at most this probability, each way, 0.1 to 20 percent (default: 5).",
)
@click.option(
    "--turns",
    type=ValueParam(Number(_FEWEST_N, whole=True)),
    default=1000,
    metavar="N",
    help="End it after N turns without a difference, or conversations where the candidate is loaded (default: 1000).",
)
@click.option("--no-promote", is_flag=True, help="Say when the candidate is better, and write nothing.")
@_AS_JSON
@click.pass_context
def start(
    context: click.Context,
    /,
    pair: str | None,
    draft: Path | None,
    draft_of: str | None,
    share: float,
    error: float,
    turns: int,
    no_promote: bool,
    as_json: bool,
    **tried: Any,
) -> None:
    """Begin a trial: the options that say Try are the candidate, the settings stay the incumbent.

    Drafters and depth can differ from turn to turn at no cost. Everything else must be loaded, so a whole
    conversation stays on the side on which it begins; some conversations then begin with a load.
    """
    if draft is not None and draft_of is not None:
        raise UsageError("--draft and --draft-of name two drafts.", "Leave one of them out.")
    from localspec.cli.trial_candidate import candidate
    from localspec.insight.trials.book import TrialBook
    from localspec.insight.trials.trial import Trial

    given = context.get_parameter_source
    changed = {name: value for name, value in tried.items() if given(name) is click.core.ParameterSource.COMMANDLINE}
    found = candidate(pair, draft, draft_of, changed)
    trial = TrialBook().begin(
        Trial(
            id="",
            pair=found.pair,
            changes=found.changes,
            begun=datetime.now(UTC),
            share=share / 100,
            error=error / 100,
            most_n=turns,
            promotes=not no_promote,
            candidate_pair=draft_of,
        )
    )
    if as_json:
        _print_json(_record(trial, None))
    else:
        from localspec.cli.trials_text import begun

        print(begun(trial))


@trials.command("list", short_help="List the trials, the latest first.")
@_AS_JSON
def list_trials(as_json: bool) -> None:
    """List the trials, the latest first."""
    from localspec.cli.trials_text import listing
    from localspec.insight.trials.book import TrialBook

    found = TrialBook().trials()[::-1]
    if as_json:
        _print_json([_record(trial, None) for trial in found])
    else:
        print("\n".join(listing(found)))


@trials.command(short_help="Show how a trial stands, or stood when it ended.")
@_ID
@_AS_JSON
def show(beginning: str, as_json: bool) -> None:
    """Show the two sides of a trial and the evidence: of one under way as it is now, else as it was at its end."""
    from localspec.cli.trials_text import shown
    from localspec.insight.trials.book import TrialBook

    trial = TrialBook().find(beginning)
    comparison = _compared(trial)
    if as_json:
        _print_json(_record(trial, comparison))
    else:
        print("\n".join(shown(trial, comparison.to_dict())))


@trials.command(short_help="End a trial; the incumbent stays.")
@_ID
def stop(beginning: str) -> None:
    """End a trial before it is decided; what is set stays as it is."""
    from localspec.insight.trials.trial import Outcome

    _end(beginning, Outcome.STOPPED, "A person ended it; the incumbent stays.")


@trials.command(short_help="End a trial; the candidate becomes what is set.")
@_ID
def promote(beginning: str) -> None:
    """End a trial and write its candidate into the settings; rollback undoes that."""
    from localspec.insight.trials.trial import Outcome

    _end(beginning, Outcome.PROMOTED, "A person decided so.")


@trials.command(short_help="End a trial as lost, or undo a promotion.")
@_ID
def rollback(beginning: str) -> None:
    """End a trial as lost; of one that was promoted, put back what was set before."""
    from localspec.cli.tables import paragraph
    from localspec.insight.trials.book import TrialBook
    from localspec.insight.trials.decision import take_back
    from localspec.insight.trials.trial import Outcome

    book = TrialBook()
    trial = book.find(beginning)
    if trial.end is None:
        _end(beginning, Outcome.ROLLED_BACK, "A person decided so; the incumbent stays.")
    else:
        print(paragraph(take_back(book, trial)))


def _end(beginning: str, outcome: Any, why: str) -> None:
    """End the running trial of an id, and print the sentences. Raises UsageError if it has ended."""
    from localspec.cli.tables import paragraph
    from localspec.insight.trials.book import TrialBook
    from localspec.insight.trials.decision import end

    book = TrialBook()
    trial = book.find(beginning)
    sentences = end(book, trial, outcome, why, _compared(trial), by="person")
    if not sentences:
        raise UsageError(
            f"The trial {trial.id} has ended: {book.find(trial.id).end.outcome}.",  # type: ignore[union-attr]
            f"`localspec trials show {trial.id}` shows the reason.",
        )
    print(paragraph(sentences))


def _compared(trial: Trial) -> TrialComparison:
    from localspec.insight.trials.comparison import compared
    from localspec.store import RecordFilter

    with open_history() as store:
        return compared(trial, store.runs(where=RecordFilter(texts=True, trial=trial.id)))


def _record(trial: Trial, comparison: TrialComparison | None) -> dict[str, Any]:
    from localspec.insight.trials.records import trial_to_dict
    from localspec.insight.trials.trial import in_words

    now = {} if comparison is None else {"now": comparison.to_dict()}
    return {**trial_to_dict(trial), "tried": in_words(trial), "per": trial.units, **now}


def _print_json(record: Any) -> None:
    print(json.dumps(record, indent=2))
