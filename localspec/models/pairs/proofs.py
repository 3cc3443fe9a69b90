"""The record of verified downloads: ``proofs.json`` in the user's data, one entry for each file.

A download is installed only if its bytes have the Hub's checksum, so name, size, checksum and vocabulary in an entry
have been seen. Without the record files are no longer marked as verified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file
from localspec.base.typed_json import from_json, misfit
from localspec.models.pairs.pair import ModelFile, Pair, Proof
from localspec.models.pairs.split_files import names_of


def proofs_file() -> Path:
    return user_paths().data / "proofs.json"


def read_proofs() -> dict[str, Proof]:
    """The entries by the label of the file, without malformed ones; empty if the record is missing or unreadable."""
    try:
        records = json.loads(proofs_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    entries = records.items() if isinstance(records, dict) else ()
    return {label: proof for label, record in entries if (proof := _proof(record)) is not None}


def _proof(record: object) -> Proof | None:
    """An entry from JSON; None if it is malformed."""
    try:
        proof = from_json(Proof, record)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None if misfit(proof) else proof


def add_proof(label: str, proof: Proof) -> None:
    """Add an entry. If the disk refuses, the file is merely not marked as verified."""
    with suppress(OSError), folder_lock(proofs_file()):
        proofs = read_proofs() | {label: proof}
        text = json.dumps({name: asdict(each) for name, each in proofs.items()}, indent=1)
        replace_file(proofs_file(), text.encode(), private=True)


def proved(pair: Pair, proofs: Mapping[str, Proof]) -> Pair:
    """The pair with its downloaded files marked as verified."""
    target = _proved(pair.target, proofs)
    draft, projector = (model and _proved(model, proofs) for model in (pair.draft, pair.projector))
    heads = {kind: _proved(model, proofs) for kind, model in pair.heads.items()}
    if (target, draft, projector, heads) == (pair.target, pair.draft, pair.projector, pair.heads):
        return pair
    return replace(pair, target=target, draft=draft, projector=projector, heads=heads)


def _proved(model: ModelFile, proofs: Mapping[str, Proof]) -> ModelFile:
    if model.repo is None:
        return model
    found = [proofs.get(f"{model.repo}/{name}") for name in names_of(model.file)]
    known = [proof for proof in found if proof is not None]
    if len(known) < len(found):
        return model
    proof = known[0]
    if len(known) > 1:  # a checksum covers one file
        proof = replace(proof, sha256=None, size_bytes=sum(each.size_bytes for each in known))
    return replace(model, verified=True, proof=proof)
