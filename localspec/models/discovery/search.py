"""The search for repositories with GGUF files on the Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from localspec.base.visible import visible_line
from localspec.models.discovery.runnable import obstacle

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

    from localspec.models.download.hub import Hub

SORTS = {"downloads": "downloads", "updated": "lastModified", "likes": "likes", "trending": "trendingScore"}
"""The orders of results, by the API's names; each begins with the largest."""
_NAME = re.compile(r"(?!\.+/)[\w.-]{1,96}/(?!\.+$)[\w.-]{1,96}", re.ASCII)
_FIELDS = ("author", "downloads", "likes", "lastModified", "tags", "gated", "gguf")
_PAGE = 50
LOOKED_AT_N = 1000
"""Repositories that are looked at for small ones; the Hub, which has far more, cannot leave the others out itself."""
_LICENCE = "license:"
_BASE = "base_model:"
_MOST = 2**63
_TEXT_CHARS = 80
"""The longest licence or architecture that is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubQuery:
    """The words of a search and its filters."""

    text: str = ""
    sort: str = "downloads"
    """One of ``SORTS``."""
    author: str | None = None
    licence: str | None = None
    """As the Hub writes it: apache-2.0."""
    most_parameters: float | None = None
    """The largest number of parameters, among the first ``LOOKED_AT_N``; those that do not give theirs are left out."""
    tags: Sequence[str] = ()
    """Further tags that a repository must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A repository with GGUF files, as the Hub describes it; None where it does not."""

    name: str
    """Owner and name, which are safe to show and to request."""
    downloads: int | None = None
    """The downloads of the last thirty days."""
    likes: int | None = None
    updated: str | None = None
    """The day of the last change in ISO 8601."""
    licence: str | None = None
    gated: bool = False
    """True if its terms must be accepted before a download."""
    parameters: int | None = None
    architecture: str | None = None
    context_length: int | None = None
    bases: tuple[str, ...] = ()
    """The repositories that it was made from."""
    obstacle: str = ""
    """The reason why it cannot be chatted with, as a clause; empty if nothing is known to stand against it."""


def search(hub: Hub, query: HubQuery) -> Iterator[HubModel]:
    """The repositories that a query finds, as they arrive; all that the Hub has, unless their size is limited.

    Raises DownloadError.
    """
    filters = ["gguf", *query.tags]
    if query.licence:
        filters.append(f"{_LICENCE}{query.licence.lower()}")
    parameters: dict[str, str | int | Sequence[str]] = {
        "filter": filters,
        "sort": SORTS[query.sort],
        "direction": -1,
        "limit": _PAGE,
        "expand": _FIELDS,
    }
    parameters |= {"search": query.text} if query.text.strip() else {}
    parameters |= {"author": query.author} if query.author else {}
    for info in islice(hub.models(parameters), None if query.most_parameters is None else LOOKED_AT_N):
        model = described(info)
        if model is not None and _is_small_enough(model, query.most_parameters):
            yield model


def described(info: ModelInfo) -> HubModel | None:
    """The description in the Hub's answer; None without a valid name. Fields of the wrong type count as missing."""
    if not isinstance(info.id, str) or not _NAME.fullmatch(info.id):
        return None
    tags = [tag for tag in _listed(info.tags) if isinstance(tag, str)]
    gguf = info.gguf if isinstance(info.gguf, dict) else {}
    architecture = _shown(gguf.get("architecture"))
    return HubModel(
        name=info.id,
        downloads=_count(info.downloads),
        likes=_count(info.likes),
        updated=info.last_modified.date().isoformat() if isinstance(info.last_modified, datetime) else None,
        licence=next((_shown(tag.removeprefix(_LICENCE)) for tag in tags if tag.startswith(_LICENCE)), None),
        gated=info.gated not in (None, False, "false"),
        parameters=_count(gguf.get("total")),
        architecture=architecture,
        context_length=_count(gguf.get("context_length")),
        bases=tuple(dict.fromkeys(base for tag in tags if (base := _base(tag)))),
        obstacle=obstacle(architecture),
    )


def _base(tag: str) -> str:
    """The repository in a tag (``base_model:quantized:Owner/Name``); empty for another tag."""
    name = tag.rpartition(":")[2] if tag.startswith(_BASE) else ""
    return name if _NAME.fullmatch(name) else ""


def _is_small_enough(model: HubModel, most: float | None) -> bool:
    return most is None or (model.parameters is not None and model.parameters <= most)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def _shown(value: Any) -> str | None:
    """A text in one line, safe to show; None for anything else and for an empty one."""
    return visible_line(" ".join(value[:_TEXT_CHARS].split())) or None if isinstance(value, str) else None
