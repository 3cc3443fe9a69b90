"""What finished downloads have established about files of the Hub: kept in the user's data, one record a file.

A download is installed only if its bytes have the checksum that the Hub tells, so whatever is recorded here
has been seen: the name, the size, the checksum, and the vocabulary within. Losing it loses a mark, no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath

from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file
from localspec.models.pairs.pair import ModelFile, Pair, Proof
from localspec.models.pairs.split_files import parts_of


def proofs_file() -> Path:
    return user_paths().data / "proofs.json"


def read_proofs() -> dict[str, Proof]:
    """By the label of the file; empty where there is nothing, or nothing that can be read."""
    try:
        records = json.loads(proofs_file().read_text(encoding="utf-8"))
        return {label: _proof(record) for label, record in records.items()}
    except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return {}


def _proof(record: Mapping[str, object]) -> Proof:
    """Raises ValueError, TypeError or LookupError for what is no proof."""
    proof = Proof(**record)  # type: ignore[arg-type]
    texts = (proof.revision, proof.on, proof.sha256 or "", proof.fingerprint or "")
    if not isinstance(proof.size_bytes, int) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"no proof: {record}")
    return proof


def add_proof(label: str, proof: Proof) -> None:
    """Write one down beside those there are. Where the disk refuses, the file is merely not marked."""
    with suppress(OSError), folder_lock(proofs_file()):
        proofs = read_proofs() | {label: proof}
        text = json.dumps({name: asdict(each) for name, each in proofs.items()}, indent=1)
        replace_file(proofs_file(), text.encode(), private=True)


def proved(pair: Pair, proofs: Mapping[str, Proof]) -> Pair:
    """The pair with those of its files marked as verified that have been downloaded."""
    target = _proved(pair.target, proofs)
    draft = None if pair.draft is None else _proved(pair.draft, proofs)
    return pair if (target, draft) == (pair.target, pair.draft) else replace(pair, target=target, draft=draft)


def _proved(model: ModelFile, proofs: Mapping[str, Proof]) -> ModelFile:
    if model.repo is None:
        return model
    names = [part.as_posix() for part in parts_of(Path(PurePosixPath(model.file)))]
    found = [proofs.get(f"{model.repo}/{name}") for name in names]
    known = [proof for proof in found if proof is not None]
    if len(known) < len(names):
        return model
    proof = known[0]
    if len(known) > 1:  # a checksum is that of one file
        proof = replace(proof, sha256=None, size_bytes=sum(each.size_bytes for each in known))
    return replace(model, verified=True, proof=proof)
