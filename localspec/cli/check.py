"""``localspec pairs check``: judges from headers alone if one model can draft for another."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localspec.base.visible import visible_line

if TYPE_CHECKING:
    from localspec.gguf import GgufHeader


@click.command(short_help="Tell whether one model can draft for another.")
@click.argument("target")
@click.argument("draft")
@click.option("--json", "as_json", is_flag=True, help="Write the verdict as a JSON object.")
def check(target: str, draft: str, as_json: bool) -> None:
    """Tell whether DRAFT can draft for TARGET, and if not, which token differs first.

    Each is a file, owner/name:FILE, owner/name:QUANTISATION, owner/name of a repository with one model, or a name
    that `localspec pairs scan` lists. Of a file that is not on this machine only the header is fetched.
    """
    from localspec.cli.hub_access import download_context
    from localspec.models.compatibility import check_match, judge_match
    from localspec.models.download.model_header import header_of

    with download_context() as context:
        headers = header_of(target, context), header_of(draft, context)
    verdict = judge_match(*headers)
    if as_json:
        sides = {"target": _side(headers[0]), "draft": _side(headers[1])}
        print(json.dumps({"fits": verdict.fits, **asdict(verdict), **sides}, indent=2))
    check_match(*headers)
    if not as_json:
        for line in (f"{headers[1].source} can draft for {headers[0].source}.", *verdict.warnings):
            print(visible_line(line))


def _side(header: GgufHeader) -> dict[str, object]:
    return {
        "file": header.source,
        "size_bytes": header.size_bytes,
        "architecture": header.architecture,
        "fingerprint": header.fingerprint,
    }
