"""Opening a pair of a server: asks what kind of server it is, and what it has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from localspec.base.errors import InputError, NotFoundError
from localspec.base.visible import visible_line
from localspec.engine.cancel import Cancellation
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.remote.address import ServerAddress
from localspec.runtime.remote.connection import Connection, ForeignAnswerError
from localspec.runtime.remote.native_pair import NativePair
from localspec.runtime.remote.openai_pair import SILENCE_S, OpenAIPair, mapping
from localspec.runtime.remote.openai_requests import (
    LLAMA_CPP,
    LM_STUDIO,
    OLLAMA,
    OTHER,
    SGLANG,
    VLLM,
    sampling_fields,
)
from localspec.runtime.remote.protocol import PAIRS

_OWNERS = {
    "llamacpp": LLAMA_CPP,
    "vllm": VLLM,
    "sglang": SGLANG,
    "library": OLLAMA,
    "organization_owner": LM_STUDIO,
}
"""Kinds of servers by ``owned_by`` in their lists of models."""
_UNKNOWN_N_CTX = 8192
"""The room for files beside a message where a server does not tell its context."""


def open_remote(options: LoadOptions, cancel: Cancellation, progress: Progress) -> NativePair | OpenAIPair:
    """As ``load.open_pair``, for options with a server. Raises UsageError for its address, LocalSpecError."""
    address = ServerAddress.parse(options.server or "")
    progress(f"connecting to {address.place}", 0.0)
    with ExitStack() as stack:
        connection = Connection(address, cancel)
        stack.callback(connection.close)
        pairs = _pairs(connection)
        pair: NativePair | OpenAIPair
        if pairs is not None:
            chosen = _chosen_pair(pairs, options.server_pair, connection)
            progress(f"{address.place} loads the pair", 0.5)
            pair = NativePair(connection, chosen, _version(pairs))
        else:
            pair = _other(connection, options.server_pair, progress)
        stack.pop_all()
    return pair


def describe_server(text: str, cancel: Cancellation) -> tuple[str, str]:
    """A sentence about the server at an address, and a warning about the way to it. Loads nothing there.

    Raises UsageError for the address, LocalSpecError.
    """
    address = ServerAddress.parse(text.partition("#")[0])
    connection = Connection(address, cancel)
    try:
        pairs = _pairs(connection)
        if pairs is not None:
            return f"The chat is connected to LocalSpec {_version(pairs)} at {address.place}.", address.warning
        models, _ = _models(connection)
    finally:
        connection.close()
    kind = _kind(models[0]) if models else OTHER
    return f"The chat is connected to {kind} at {address.place}, which sends text only.", address.warning


def _pairs(connection: Connection) -> Mapping[str, Any] | None:
    """The pairs of a LocalSpec; None if it is another server, of which some have a page for every path."""
    try:
        found = connection.get(PAIRS)
    except (NotFoundError, InputError, ForeignAnswerError):
        return None
    return found if isinstance(found, dict) and "localspec" in found else None


def _version(pairs: Mapping[str, Any]) -> str:
    found = re.fullmatch(r"[\w.+-]{1,40}", str(pairs["localspec"]))
    return found[0] if found else "of an unknown version"


def _chosen_pair(pairs: Mapping[str, Any], wanted: str, connection: Connection) -> str:
    """The id of the pair to use, of those that the server lists: the one wanted, or else its first.

    Raises NotFoundError.
    """
    try:
        ids = [str(pair["id"]) for pair in pairs["pairs"]]
    except (KeyError, TypeError):
        raise connection.confused("a list of pairs") from None
    if wanted in ids or (not wanted and ids):
        return wanted or ids[0]
    raise _not_there(connection, "pair", wanted, ids)


def _other(connection: Connection, wanted: str, progress: Progress) -> OpenAIPair:
    """A model of a server with OpenAI's API; if none is wanted the first of its list that may chat and is loaded.

    Raises NotFoundError.
    """
    models, base = _models(connection)
    named = [each for each in sorted(models, key=_is_unloaded) if wanted in ("", each["id"])]
    found = next((each for each in named if "embed" not in each["id"].lower()), next(iter(named), None))
    if found is None:
        raise _not_there(connection, "model", wanted, [each["id"] for each in models])
    kind = _kind(found)
    properties: Mapping[str, Any] = {}
    if kind == LLAMA_CPP:
        progress(f"{connection.address.place} loads the model", 0.5)
        properties = _properties(connection, found["id"])
    return OpenAIPair(connection, _info(found, kind, properties, connection.address.place), kind, found["id"], base)


def _not_there(connection: Connection, what: str, wanted: str, ids: Sequence[str]) -> NotFoundError:
    known = ", ".join(map(visible_line, ids[:20])) or "none"
    named = f"{what} {visible_line(wanted)}" if wanted else what
    return NotFoundError(f"{connection.address.place} has no {named}.", f"It has: {known}.")


def _models(connection: Connection) -> tuple[list[dict[str, Any]], str]:
    """The models that a server with OpenAI's API lists, each with its ``id``, and the path of the API.

    An address with a path may be the API's own, in which another version stands, or none. Raises NotFoundError for an
    address that has neither.
    """
    base = "/v1"
    try:
        try:
            listed = connection.get(f"{base}/models")
        except (NotFoundError, InputError, ForeignAnswerError):
            if not connection.address.path:
                raise
            base = ""
            listed = connection.get("/models")
    except NotFoundError:
        message = f"{connection.address.place} is no LocalSpec, and no server with OpenAI's API."
        raise NotFoundError(message, "Check the address: another port, or a path in it, may be meant.") from None
    data = mapping(listed).get("data")
    found = data if isinstance(data, list) else []
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("id"), str)], base


def _is_unloaded(model: Mapping[str, Any]) -> bool:
    """True if a router of llama.cpp says that it would have to load the model first."""
    return mapping(model.get("status")).get("value") not in (None, "loaded")


def _kind(model: Mapping[str, Any]) -> str:
    return _OWNERS.get(str(model.get("owned_by")), OTHER)


def _properties(connection: Connection, model: str) -> Mapping[str, Any]:
    """The facts that llama-server tells of a model; empty where it does not. As a router it may load it before."""
    try:
        return mapping(connection.get(f"/props?model={quote(model, safe='', errors='replace')}", silence_s=SILENCE_S))
    except (NotFoundError, InputError, ForeignAnswerError):
        return {}


def _info(model: Mapping[str, Any], kind: str, properties: Mapping[str, Any], place: str) -> PairInfo:
    meta, running = mapping(model.get("meta")), mapping(properties.get("default_generation_settings"))
    n_ctx = _positive(running.get("n_ctx")) or _positive(model.get("max_model_len")) or _UNKNOWN_N_CTX
    blind = kind == LLAMA_CPP and not mapping(properties.get("modalities")).get("vision")
    name = visible_line(model["id"])[:200]
    server = f"{kind} at {place}" if kind != OTHER else place
    return PairInfo(
        target=Path(name),
        draft=None,
        target_name=name,
        draft_name=None,
        target_size_bytes=_positive(meta.get("size")),
        draft_size_bytes=0,
        n_vocab=_positive(meta.get("n_vocab")),
        n_ctx=n_ctx,
        threads=0,
        device=server,
        plain_per_second=None,
        load_s=0.0,
        projector=None if blind else Path(name),
        server=server,
        tells_tokens=False,
        passes_on=sampling_fields(kind),
    )


def _positive(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
