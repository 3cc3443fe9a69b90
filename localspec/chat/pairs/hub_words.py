"""Texts about models on the Hub, shared by the command line and the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.base.visible import shortened
from localspec.chat.pairs.facts import Facts
from localspec.gguf.draft_heads import DRAFTERS
from localspec.models.pairs.hub_cache import hub_address
from localspec.runtime.figures import short, size, speed

if TYPE_CHECKING:
    from localspec.models.discovery.drafts import DraftCandidate
    from localspec.models.discovery.page import ModelPage, Quantisation
    from localspec.models.discovery.search import HubModel


_SIZE_CELLS = 8


def model_row(model: HubModel, cells: int) -> tuple[str, str]:
    """The row of a repository: its name, and columns for its parameters, its last change and its downloads."""
    columns = f"  {short(model.parameters):>{_SIZE_CELLS}}  {model.updated or '-':>10}  {short(model.downloads):>7}"
    room = cells - 2 - len(columns)
    signs = ", ".join(sign for sign, holds in (("gated", model.gated), ("cannot run", model.obstacle)) if holds)
    sign = f" ({signs})" if signs else ""
    room -= len(sign)
    return f"  {f'{shortened(model.name, room)}{sign}':<{room + len(sign)}}", columns


def model_line(model: HubModel) -> str:
    """The parameters, the context and the licence of a repository, as far as they are known."""
    known = (
        f"{short(model.parameters)} parameters" if model.parameters else "",
        f"{model.context_length:,} tokens" if model.context_length else "",
        model.licence or "no licence given",
        "gated" if model.gated else "",
    )
    return ", ".join(filter(None, known))


def model_facts(model: HubModel) -> Facts:
    """All that the Hub says about a repository."""
    known = [
        ("cannot run", model.obstacle),
        ("parameters", short(model.parameters) if model.parameters else ""),
        ("architecture", model.architecture or ""),
        ("context", f"{model.context_length:,} tokens" if model.context_length else ""),
        ("licence", model.licence or "not given"),
        ("made from", ", ".join(model.bases)),
        ("downloads", f"{short(model.downloads)} in the last thirty days" if model.downloads is not None else ""),
        ("updated", model.updated or ""),
        ("gated", gate(model)),
    ]
    return [(name, text) for name, text in known if text]


def draft_facts(each: DraftCandidate, target: str) -> Facts:
    """All that is known of a draft for ``target``."""
    gain = ""
    if each.gain is not None and each.expected is not None:
        speeds = f"{speed(each.expected.per_second)} tokens/s, {speed(each.expected.plain_per_second)} without it"
        gain = f"about {each.gain:.2f} times plain speed: {speeds}, expected from a measurement of this machine"
    known = [
        ("for", target),
        ("gain", gain or ("not known: this machine has not been measured yet" if each.fits else "")),
        ("fits" if each.fits else "refused", each.reason),
        ("kind", DRAFTERS.get(each.kind, "a smaller model")),
        ("size", size(each.size_bytes)),
        ("state", "here" if each.is_here else "on the Hub"),
    ]
    return [(name, text) for name, text in known if text]


def gate(model: HubModel) -> str:
    """The way into a gated repository, at the endpoint in force; empty for an open one."""
    return f"accept its terms at {hub_address()}/{model.name}, then set HF_TOKEN" if model.gated else ""


def best_line(page: ModelPage) -> str:
    """The quantisation to take here, with the reason, in a sentence."""
    if page.best is None:
        return f"No quantisation is chosen: {page.because}."
    return f"* {page.best.label} is the one to take here: {page.because}."


def files_of(each: Quantisation) -> str:
    """The file, or the number of files of a split model."""
    return each.file if each.files_n == 1 else f"{each.file} and {each.files_n - 1} more"


def others(page: ModelPage) -> str:
    """The other GGUF files of a repository; empty if there are none."""
    shown = ", ".join(page.others[:6])
    return f"{shown} and {len(page.others) - 6} more" if len(page.others) > 6 else shown
