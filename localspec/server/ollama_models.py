"""Ollama's endpoints about models: the pairs as its clients list them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec.base.errors import LocalSpecError
from localspec.gguf import GgufHeader, read_header
from localspec.models.embedders import is_embedder
from localspec.runtime.calls.form import DESCRIBED, form_of
from localspec.runtime.options import LoadOptions
from localspec.runtime.reasoning import begun_by
from localspec.server.fields import Fields
from localspec.server.service import ServedModel, Service

_LATEST = ":latest"
_LAYERS = re.compile(r"(\d+)/([1-9]\d*) layers")
"""The share of a model that is on a device, as ``PairInfo.device`` has it."""
_FAR = "9999-12-31T23:59:59Z"
"""The end of a loaded pair: of one without, Ollama's own client says that it is being stopped."""
_UNITS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_LONGEST_SHOWN = 1_000
"""Characters of a text among the facts of a model."""


async def list_models(service: Service, request: Request) -> Response:
    """All that can be asked."""
    return await _answer(_listed, await service.listed())


async def list_running(service: Service, request: Request) -> Response:
    """The loaded ones."""
    return await _answer(_running, [model for model in await service.listed() if model.loaded])


async def show_model(service: Service, request: Request) -> Response:
    """The facts of one. Raises NotFoundError."""
    fields = await Fields.of(request)
    name = pair_id(fields, "model" if fields.has("model") else "name")
    embedder = next((each for each in await service.embedders() if each.id == name), None)
    if embedder is not None and embedder.embedder is not None:
        load = LoadOptions(embedder.embedder)
        return JSONResponse(await asyncio.to_thread(_facts, load, embedder.created))
    config = service.settings(name)
    created = next((model.created for model in service.models() if model.id == (config.pair_id or name)), 0)
    return JSONResponse(await asyncio.to_thread(_facts, config.load, created))


async def _answer(entry: Callable[[ServedModel], dict[str, Any]], models: Sequence[ServedModel]) -> Response:
    """A list with an entry for each of ``models``, whose files are looked into."""
    return JSONResponse({"models": await asyncio.to_thread(lambda: [entry(model) for model in models])})


def pair_id(fields: Fields, name: str = "model") -> str:
    """The id of the pair; Ollama's clients put a tag behind a name that has none."""
    return fields.text(name, "").removesuffix(_LATEST)


def kind_of(model: ServedModel) -> dict[str, Any]:
    """The field that tells an embedding model from pairs."""
    return {} if model.embedder is None else {"capabilities": ["embedding"]}


def _listed(model: ServedModel) -> dict[str, Any]:
    """A pair as its clients list it; they tell versions by the digest, and show its beginning."""
    return {
        "name": model.id,
        "model": model.id,
        "modified_at": time_text(model.created),
        "size": model.size_bytes,
        "digest": sha256(f"{model.id}\0{model.created}\0{model.size_bytes}".encode()).hexdigest(),
        "details": _details_of(model.embedder or model.target, model.created),
        **kind_of(model),
    }


def _running(model: ServedModel) -> dict[str, Any]:
    info = model.info
    layers = _LAYERS.search(info.device) if info is not None else None
    on_device = model.size_bytes * int(layers[1]) // int(layers[2]) if layers else 0
    context = {"context_length": info.n_ctx} if info is not None else {}
    return {**_listed(model), **context, "size_vram": on_device, "expires_at": _FAR}


@lru_cache(maxsize=4096)
def _details_of(file: Path | None, created: int) -> dict[str, Any]:
    """The details of a model, from its file of that time; without its facts where it cannot be read."""
    try:
        return _details(read_header(file) if file is not None else None)
    except (LocalSpecError, OSError):
        return _details(None)


def _details(header: GgufHeader | None) -> dict[str, Any]:
    """The details of a model; some clients read no list in which one of them is missing."""
    family = _whole_text(header.architecture) if header else ""
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family] if family else [],
        "parameter_size": _parameter_size(header) if header else "",
        "quantization_level": (header.file_type if header else None) or "",
    }


def _parameter_size(header: GgufHeader) -> str:
    """The number of parameters as people write it; empty for a model in several files that does not say it."""
    if label := header.line("general.size_label"):
        return label
    count = sum(tensor.n_elements for tensor in header.tensors) if header.split_count == 1 else 0
    unit = next((unit for unit in ("T", "B", "M", "K") if count >= _UNITS[unit]), "")
    return f"{count / _UNITS[unit]:.3g}{unit}" if unit else ""


def time_text(seconds: int) -> str:
    """A time since 1970 as RFC 3339 has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _facts(load: LoadOptions, created: int) -> dict[str, Any]:
    """The facts of a pair's target, from its file. Raises LocalSpecError."""
    header = read_header(load.target)
    template = header.chat_template or ""
    return {
        "modelfile": "",
        "parameters": "",
        "license": header.licence or "",
        "template": _whole_text(template),
        "modified_at": time_text(created),
        "details": _details(header),
        "model_info": dict(_metadata(header)),
        "capabilities": list(_capabilities(load, header)),
    }


def _metadata(header: GgufHeader) -> Iterator[tuple[str, bool | int | float | str]]:
    """The single values of a header."""
    for key, value in header.metadata.items():
        if isinstance(value, str):
            if len(value) <= _LONGEST_SHOWN:
                yield key, _whole_text(value)
        elif isinstance(value, bool | int | float) and isfinite(value):
            yield key, value


def _whole_text(text: str) -> str:
    """A text of a file, without bytes that are not UTF-8."""
    return text.encode(errors="replace").decode()


def _capabilities(load: LoadOptions, header: GgufHeader) -> Iterator[str]:
    if is_embedder(header):
        yield "embedding"
        return
    template = header.chat_template or ""
    yield "completion"
    if form_of(header) not in (None, DESCRIBED):
        yield "tools"
    if load.projector is not None:
        yield "vision"
    if "<think>" in template or begun_by(template):
        yield "thinking"
