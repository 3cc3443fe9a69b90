"""``localspec pairs check``: judges from headers alone if a model, a head or a projector fits another model."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localspec.base.errors import PairMismatchError
from localspec.base.visible import visible_line
from localspec.gguf.draft_heads import DRAFT, drafter_in_words, drafter_kind
from localspec.models.projectors import is_projector, projector_misfit, projector_refusal

if TYPE_CHECKING:
    from localspec.gguf import GgufHeader
    from localspec.models.compatibility import Compatibility
    from localspec.models.pairs.references import Resolved


@click.command(short_help="Tell whether a model or a head can draft for a target.")
@click.argument("target")
@click.argument("draft", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write the verdict as a JSON object.")
def check(target: str, draft: str | None, as_json: bool) -> None:
    """Tell whether DRAFT, a smaller model or a head, can draft for TARGET, and if not, what does not fit.

    DRAFT may also be a projector (mmproj-*.gguf): then tell whether TARGET can read images through it.

    Without DRAFT, tell whether TARGET has MTP layers of its own that LocalSpec can draft with.

    Each is a file, owner/name:FILE, owner/name:QUANTISATION, owner/name of a repository with one model, or a name
    that `localspec pairs scan` lists. Of a file that is not on this machine only the header is fetched.
    """
    from localspec.models.download.context import open_context
    from localspec.models.download.model_header import resolve
    from localspec.runtime.calls.form import calls_in_words

    with open_context() as context:
        big = resolve(target, context)
        small = resolve(draft, context) if draft else None
    verdict, refusal = _judge(big, small)
    tools = calls_in_words(big.header)
    if as_json:
        sides = {
            "target": _side(big.header) | {"calls_tools": tools or None},
            "draft": _side(small.header) if small else None,
        }
        print(json.dumps({"fits": verdict.fits, **asdict(verdict), **sides}, indent=2))
    if not verdict.fits:
        raise refusal
    if not as_json:
        called = [f"{big.header.source} calls tools: {tools}."] if tools else []
        for line in (_match(big.header, small.header if small else None), *verdict.warnings, *called):
            print(visible_line(line))


def _judge(target: Resolved, draft: Resolved | None) -> tuple[Compatibility, PairMismatchError]:
    """The verdict, and the error to raise if it is a refusal."""
    from localspec.models.compatibility import Compatibility, judge_match, refusal_of
    from localspec.models.heads import mtp_fault

    big = target.header
    if draft is None:
        fault = mtp_fault((big, *target.later_parts))
        sentence = f"{big.source} cannot draft for itself: {fault}."
        return Compatibility(fault), PairMismatchError(sentence, "Name a draft for it.")
    if is_projector(draft.header):
        misfit = projector_misfit(big, draft.header)
        return Compatibility(misfit), projector_refusal(big, draft.header, misfit)
    verdict = judge_match(big, draft.header, target.path)
    return verdict, refusal_of(big, draft.header, verdict)


def _match(target: GgufHeader, draft: GgufHeader | None) -> str:
    if draft is None:
        return f"{target.source} can draft for itself: it has MTP layers."
    if is_projector(draft):
        return f"{target.source} can read images through {draft.source}."
    kind = "" if drafter_kind(draft) == DRAFT else f", {drafter_in_words(draft)},"
    return f"{draft.source}{kind} can draft for {target.source}."


def _side(header: GgufHeader) -> dict[str, object]:
    return {
        "file": header.source,
        "size_bytes": header.size_bytes,
        "architecture": header.architecture,
        "drafter": drafter_kind(header),
        "fingerprint": header.fingerprint,
    }
