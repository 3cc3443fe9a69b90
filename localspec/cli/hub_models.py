"""``localspec pairs search``, ``show`` and ``draft``: models on the Hub."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

import click

from localspec.base.errors import DownloadError, NotFoundError, UsageError
from localspec.base.visible import visible_line
from localspec.chat.pairs.facts import FIT_MEANING, SPEED_UNKNOWN, fit, pace
from localspec.cli.report import remark
from localspec.cli.services import Services
from localspec.cli.tables import Column, columns, fitted, hanging, named, paragraph
from localspec.cli.values import ValueParam
from localspec.config.kinds import Number
from localspec.runtime.figures import short, size

if TYPE_CHECKING:
    from localspec.models.discovery.drafts import DraftCandidate
    from localspec.models.discovery.page import ModelPage
    from localspec.models.discovery.search import HubModel

_ORDERS = ("downloads", "updated", "likes", "trending")
_UNITS = {"k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_ALONE = "It works alone too: the suffix drafter needs no model. --all says why others were refused."
_SHOW = "`localspec pairs show NAME` lists the files of one, and which of them fit this machine."


class _Number(click.ParamType[float]):
    """A number of parameters: 8B, 1.5B, 135M."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        unit = _UNITS.get(text[-1:], _UNITS.get(text[-1:].upper(), 1.0))
        try:
            number = float(text.rstrip("kKmMbBtT")) * unit
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            self.fail(f"{text!r} is not a number of parameters such as 8B or 500M.", param, ctx)
        return number


@click.command(short_help="Search the Hub for models.")
@click.argument("words", nargs=-1)
@click.option(
    "--sort", type=click.Choice(_ORDERS), default="downloads", show_default=True, help="The order, largest first."
)
@click.option("--author", metavar="NAME", help="Only models of this user or organisation.")
@click.option("--licence", metavar="ID", help="Only models under this licence, as the Hub names it: apache-2.0.")
@click.option(
    "--up-to", metavar="N", type=_Number(), help="Only models of at most N parameters, among the first 1,000: 8B, 500M."
)
@click.option(
    "--limit",
    metavar="N",
    type=ValueParam(Number(1, 1000, whole=True)),
    default=20,
    show_default=True,
    help="At most N.",
)
@click.option("--all", "with_all", is_flag=True, help="List models that cannot run here, too, with the reasons.")
@click.option("--json", "as_json", is_flag=True, help="Write the models as a JSON array.")
def search(
    words: Sequence[str],
    sort: str,
    author: str | None,
    licence: str | None,
    up_to: float | None,
    limit: int,
    with_all: bool,
    as_json: bool,
) -> None:
    """Search the Hub for repositories with GGUF files that have all WORDS in their names."""
    from localspec.models.discovery.search import LOOKED_AT_N, HubQuery
    from localspec.models.discovery.search import search as search_hub
    from localspec.models.download.context import open_context

    query = HubQuery(text=" ".join(words), sort=sort, author=author, licence=licence, most_parameters=up_to)
    with open_context() as context:
        looked_at = list(islice(search_hub(context.hub, query), limit))
    if as_json:
        print(json.dumps([asdict(model) for model in looked_at], indent=2))
        return
    found = [model for model in looked_at if with_all or not model.obstacle]
    if not looked_at:
        so_small = f"None of the first {LOOKED_AT_N:,} GGUF models like that is so small. Other words find others."
        print("The Hub has no GGUF models like that. Fewer words find more." if up_to is None else so_small)
        return
    _print_found(found)
    if hidden_n := len(looked_at) - len(found):
        print(f"{hidden_n} that cannot run here {'is' if hidden_n == 1 else 'are'} hidden; --all lists them.")


def _print_found(found: Sequence[HubModel]) -> None:
    """Print a table of repositories, and below it the reasons why some cannot run."""
    table = (
        Column("NAME", lambda model: model.name),
        Column("SIZE", lambda model: short(model.parameters)),
        Column("UPDATED", lambda model: model.updated or "-", optional=True),
        Column("DOWNLOADS", lambda model: short(model.downloads), optional=True),
        Column("LICENCE", lambda model: f"{model.licence or '-'}{', gated' if model.gated else ''}", optional=True),
    )
    print("\n".join(fitted(table, found)))
    for model in found:
        if model.obstacle:
            print("\n".join(hanging(f"\n{model.name} cannot run: ", f"{model.obstacle}.")))
    print(f"\n{paragraph(_SHOW)}")


@click.command(short_help="Show the files of a repository on the Hub, and which of them fit.")
@click.argument("repository")
@click.option("--json", "as_json", is_flag=True, help="Write the page as a JSON object.")
@click.pass_obj
def show(services: Services, /, repository: str, as_json: bool) -> None:
    """Show the GGUF files of REPOSITORY (owner/name), which of them fit this machine, and the one to take."""
    from localspec.doctor.native_probe import expect_here, room_of
    from localspec.models.discovery.page import read_page
    from localspec.models.download.context import open_context

    if repository.count("/") != 1:
        raise UsageError(f"{repository!r} is not the name of a repository.", "It should be owner/name.")
    with open_context() as context:
        native = services.probe_native()
        page = read_page(repository, context, room_of(native), expect_here(native))
    if as_json:
        print(json.dumps(asdict(page), indent=2))
        return
    _print(page)


@click.command(short_help="Find drafts for a model, here and on the Hub.")
@click.argument("target")
@click.option("--all", "with_refused", is_flag=True, help="List what cannot draft for it, too, with the reasons.")
@click.option("--json", "as_json", is_flag=True, help="Write the drafts as a JSON array.")
@click.pass_obj
def draft(services: Services, /, target: str, with_refused: bool, as_json: bool) -> None:
    """Find what can draft for TARGET, the best first: smaller models of its family, and heads made for it.

    The order goes by the expected gain (1.80x), the speed with the draft over the plain one, where this machine has
    been measured.

    TARGET is a file, owner/name:QUANTISATION, or a name that `localspec pairs scan` lists. Each draft is proved to fit
    by its header, of which a few MB are read; nothing is downloaded.
    """
    from localspec.doctor.native_probe import expect_with_here
    from localspec.models.discovery.drafts import find_drafts
    from localspec.models.download.context import open_context
    from localspec.models.download.model_header import resolve

    found = []
    refusal = None
    with open_context() as context:
        big = resolve(target, context)
        try:
            expect = expect_with_here(services.probe_native())
            for candidate in find_drafts(big, context, expect):
                found.append(candidate)
        except DownloadError as error:
            refusal = error
    found.sort(key=lambda each: each.rank)
    shown = [each for each in found if each.fits or with_refused]
    if as_json:
        print(json.dumps([asdict(each) for each in shown], indent=2))
    elif shown:
        print("\n".join(columns([_draft_row(each) for each in shown])))
    if refusal is not None and not any(each.fits for each in found):
        raise refusal
    if refusal is not None:
        remark(f"The rest of the Hub was not searched. {refusal}")
    best = next((each for each in shown if each.fits), None)
    if best is None:
        raise NotFoundError(f"Nothing was found that can draft for {target}.", _ALONE)
    if not as_json:
        quoted = f"--target {shlex.quote(target)} --draft {shlex.quote(best.name)}"
        print(visible_line(f"Make it a pair: localspec pairs add {quoted}"))


def _draft_row(each: DraftCandidate) -> tuple[str, ...]:
    where = "here" if each.is_here else "on the Hub"
    gain = "-" if each.gain is None else f"~{each.gain:.2f}x"
    return gain, size(each.size_bytes), where if each.fits else "refused", each.name, each.reason


def _print(page: ModelPage) -> None:
    from localspec.chat.pairs.hub_words import best_line, files_of, model_facts, others

    print(visible_line(page.model.name))
    beside = [("beside", others(page))] if page.others else []
    print("\n".join(named([*model_facts(page.model), *beside])))
    timed = any(each.described.speed for each in page.quantisations)
    table = (
        Column("TYPE", lambda each: f"{each.label}{' *' if each is page.best else ''}"),
        Column("SIZE", lambda each: size(each.described.size_bytes)),
        Column("STATE", lambda each: each.described.state),
        Column("FIT", lambda each: fit(each.described)),
        *([Column("TOKENS/S", lambda each: pace(each.described) or "-")] if timed else []),
        Column("FILE", files_of, optional=True),
    )
    print()
    print("\n".join(fitted(table, page.quantisations)))
    print()
    name = f"{page.model.name}:{(page.best or page.quantisations[0]).label}"
    speed = [] if timed else [SPEED_UNKNOWN]
    for line in (best_line(page), FIT_MEANING, *speed, f"`localspec pairs pull {shlex.quote(name)}` fetches it."):
        print(paragraph(visible_line(line)))
