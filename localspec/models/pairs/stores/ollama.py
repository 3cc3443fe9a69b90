"""Ollama: manifests list a model's layers, which are blobs named by checksum.

``manifests/HOST/NAMESPACE/MODEL/TAG`` is JSON; the layer with the weights is a GGUF file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.paths import expanded
from localspec.models.pairs.disk import matching
from localspec.models.pairs.stores.found import Found, home

NAME = "Ollama"
_WEIGHTS = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_MAX_MANIFEST_BYTES = 1_000_000
_LEVELS = 4
_DEFAULT = ("registry.ollama.ai", "library")


def find(environ: Mapping[str, str]) -> Iterator[Found]:
    folders = [home(environ) / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models")]
    if environ.get("OLLAMA_MODELS"):
        folders = [expanded(environ["OLLAMA_MODELS"])]
    for folder in folders:
        for manifest in matching(folder / "manifests", "/".join("*" * _LEVELS)):
            blob = _weights(manifest, folder / "blobs")
            if blob is not None:
                yield Found(blob, NAME, _name(manifest))


def _weights(manifest: Path, blobs: Path) -> Path | None:
    try:
        layers = json.loads(read_file(manifest, _MAX_MANIFEST_BYTES))["layers"]
        digests = [layer["digest"] for layer in layers if layer["mediaType"] == _WEIGHTS]
        found = _DIGEST.fullmatch(digests[0])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None  # not a manifest, or of an unknown kind
    return blobs / f"sha256-{found[1]}" if found else None


def _name(manifest: Path) -> str:
    """The name in Ollama's own list: "llama3.2:1b"."""
    *before, model, tag = manifest.parts[-_LEVELS:]
    prefix = (
        "" if tuple(before) == _DEFAULT else f"{before[1]}/" if before[0] == _DEFAULT[0] else "/".join(before) + "/"
    )
    return f"{prefix}{model}:{tag}"
