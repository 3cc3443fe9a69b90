"""``localspec pairs scan``: lists the models of all programs on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from localspec.base.errors import NotFoundError
from localspec.base.visible import visible_line
from localspec.cli.tables import columns
from localspec.cli.values import PathParam
from localspec.models.embedders import EMBEDDER
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.scan import PossiblePair, Scan, ScannedModel, find_files
from localspec.models.pairs.scan import scan as scan_models
from localspec.runtime.figures import size

_SHOWN_DRAFTS = 3
_NO_PAIR = "No two of them make a pair: a draft has its target's vocabulary, and 1/20 to 1/4 of its size."


@click.command(short_help="Find models that are on this machine already.")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=PathParam())
@click.option("--json", "as_json", is_flag=True, help="Write models and possible pairs as a JSON object.")
def scan(folders: tuple[Path, ...], as_json: bool) -> None:
    """Find models on this machine: of the Hub, LM Studio, Ollama, llama.cpp, Jan and GPT4All, and in FOLDERs.

    Only headers are read; nothing is copied, moved or deleted. Models of one group have one vocabulary.
    """
    for folder in folders:
        if not folder.is_dir():
            raise NotFoundError(f"There is no folder {folder}.", "Check the path.")
    found = scan_models(find_files(folders)).knowing(load_catalogue().pairs)
    if as_json:
        print(json.dumps({"models": list(map(_record, found.models)), "pairs": _pairs(found)}, indent=2))
        return
    if not found.models:
        named = ", nor in the folders that were named" if folders else ""
        programs = "the Hub, LM Studio, Ollama, llama.cpp, Jan and GPT4All"
        print(f"There are no GGUF files in the caches of {programs}{named}.")
        return
    _print(found)


def _print(found: Scan) -> None:
    whole = sorted(
        (model for model in found.models if not model.problem), key=lambda model: (model.group, -model.size_bytes)
    )
    broken = [model for model in found.models if model.problem]
    if whole:
        print("\n".join(columns([("GROUP", "SIZE", "TYPE", "KEPT BY", "NAME"), *map(_row, whole)])))
    for model in broken:
        state = "for files" if model.problem == EMBEDDER else "unusable"
        print(visible_line(f"{state}: {model.name} ({model.store}). {model.problem}"))
    possible = _best(found.pairs)
    print("\nPairs, each target with its best drafts first:" if possible else f"\n{_NO_PAIR}")
    for target, drafts in possible.items():
        print(visible_line(f"  {target} <- {', '.join(drafts)}"))
    if any(pair.pair_id is None for pair in found.pairs):
        print("`localspec pairs add --target NAME --draft NAME` adds one.")


def _best(pairs: tuple[PossiblePair, ...]) -> dict[str, list[str]]:
    best: dict[str, list[str]] = {}
    for pair in pairs:
        drafts = best.setdefault(_name(pair.target), [])
        if len(drafts) < _SHOWN_DRAFTS:
            drafts.append(_name(pair.draft) + (f" (the pair {pair.pair_id})" if pair.pair_id else ""))
    return best


def _name(model: ScannedModel) -> str:
    """The name of a model for ``pairs add``."""
    return str(model.path) if model.store == "folder" else model.name


def _row(model: ScannedModel) -> tuple[str, ...]:
    return str(model.group), size(model.size_bytes), model.file_type or "-", model.store, _name(model)


def _record(model: ScannedModel) -> dict[str, Any]:
    return asdict(model) | {"path": str(model.path)}


def _pairs(found: Scan) -> list[dict[str, str | None]]:
    return [
        {"target": str(pair.target.path), "draft": str(pair.draft.path), "pair": pair.pair_id} for pair in found.pairs
    ]
