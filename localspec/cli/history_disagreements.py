"""``localspec history disagreements``: writes rejected proposals as training data for a draft."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localspec.base.amounts import number_of
from localspec.base.terminal_stream import is_utf8
from localspec.cli.history_store import open_history, to_new_file
from localspec.cli.options import param_of
from localspec.cli.values import PathParam, ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.insight.stats.disagreements import Disagreements


@click.command(short_help="Write the draft's refused proposals as JSONL.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@click.option("--drafter", metavar="NAME", help="Write only what this drafter proposed, as draft or suffix.")
@click.option("--pair", "pair_id", type=param_of("pair"), help="Write only replies of this pair.")
@click.option(
    "--context",
    "context_chars",
    type=ValueParam(Number(0, whole=True)),
    metavar="N",
    default=2000,
    show_default=True,
    help="Give each record the last N characters of the conversation before it.",
)
@click.option(
    "--redact",
    "rules",
    type=PathParam(),
    metavar="FILE",
    help="Replace in the context whatever matches a regular expression in FILE, one a line, and leave out records "
    "whose own tokens are part of a match.",
)
@to_new_file
def disagreements(
    beginnings: Sequence[str],
    drafter: str | None,
    pair_id: str | None,
    context_chars: int,
    rules: Path | None,
    output: Path | None,
) -> None:
    """Write the proposals that the target rejected, in the conversations ID or in all: a JSON object a line.

    Each has the end of the conversation before it (context), the proposals of the round that were accepted (agreed) and
    rejected, and the token that the target chose: training data to fine-tune a draft on its mistakes.
    """
    from localspec.insight.stats.disagreements import Disagreements
    from localspec.insight.stats.redaction import Redaction, read_rules
    from localspec.store.files import new_file

    gathered = Disagreements(
        read_rules(rules) if rules else Redaction(), int(context_chars), drafter, pair_id, copied=bool(beginnings)
    )
    with open_history() as store:
        ids = [store.find(each) for each in beginnings] or [each.heading.id for each in store.conversations()]
        with nullcontext(sys.stdout) if output is None else new_file(output) as stream:
            written_n = 0
            for conversation in dict.fromkeys(ids):
                for each in gathered.of(store.document(conversation)):
                    stream.write(json.dumps(each.to_dict(), ensure_ascii=not is_utf8(stream)) + "\n")
                    written_n += 1
    print(_summary(written_n, gathered, output), file=sys.stderr)


def _summary(written_n: int, gathered: Disagreements, output: Path | None) -> str:
    where = f" written to {output}" if output else ""
    withheld = f"; {gathered.withheld_n} left out, their tokens are to be redacted" if gathered.withheld_n else ""
    return f"{number_of(written_n, 'disagreement')}{where}{withheld}."
