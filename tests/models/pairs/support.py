"""Model files of chosen sizes, catalogues and caches, all in a test's own home."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.user_pairs import own_file
from tests.gguf_files import TOKENS, Plain, Tensor, model, write

OTHER_TOKENS = (*TOKENS[:-1], "other")


def model_bytes(
    rows: int = 12, *, tokens: Sequence[str] = TOKENS, metadata: Mapping[str, Plain] | None = None
) -> bytes:
    """A model whose weights are ``rows`` x 8 numbers."""
    return model(tokens=tokens, metadata=metadata, tensors=(Tensor("token_embd.weight", (8, rows)),))


BIG, SMALL = model_bytes(4000), model_bytes(400)
"""A target, and a draft a tenth of its size."""


def in_hub(repo: str, file: str, data: bytes, commit: str = "c0ffee") -> Path:
    """A file in the Hub's cache as its client keeps it: a blob, and a link to it."""
    folder = hub_cache() / f"models--{repo.replace('/', '--')}"
    blob = write(folder / "blobs" / sha256(data).hexdigest(), data)
    link = folder / "snapshots" / commit / file
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    write(folder / "refs" / "main", commit.encode())
    return link


def in_ollama(models: Path, name: str, tag: str, data: bytes) -> Path:
    """A model as Ollama keeps it: a manifest, and a blob."""
    digest = sha256(data).hexdigest()
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    manifest = json.dumps({"schemaVersion": 2, "layers": layers}).encode()
    write(models / "manifests" / "registry.ollama.ai" / "library" / name / tag, manifest)
    return write(models / "blobs" / f"sha256-{digest}", data)


def write_own(text: str) -> Path:
    return write(own_file(), text.encode())


def hub_pair(pair_id: str, target: str, draft: str, repo: str = "Owner/Name") -> str:
    """The table of a pair of two files of one repository."""
    return f"""\
[[pairs]]
id = "{pair_id}"
title = "{pair_id}"

[pairs.target]
repo = "{repo}"
file = "{target}"

[pairs.draft]
repo = "{repo}"
file = "{draft}"
"""
