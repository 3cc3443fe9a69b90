"""The memory of a pair, from the headers of present files, else from the catalogue.

For an absent file without better figures in the catalogue: weights are the size of the file, the cache of a full
context is a quarter of that, and compute buffers are 3 % of it and 30 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.base.shared_file import file_stamp
from localspec.gguf.draft_heads import DRAFT, MTP
from localspec.models.memory_estimate import ContextShape, Share, footprint
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.split_files import parts_of, read_parts
from localspec.models.projectors import ENCODING_BYTES
from localspec.models.token_work import TokenWork, mtp_work, token_work

N_CTX = 8192
"""The context of an estimate, in tokens: the default one."""
_OUTPUTS = 32
"""Rows of logits of a target: one for each proposal of the deepest draft, and one before."""
_READ_LAYERS = 3
"""Layers of its target that an EAGLE-3 or a DFlash head reads, or nearly so many."""
_CACHE_SHARE = 0.25
_COMPUTE_SHARE, _COMPUTE_BYTES = 0.03, 30_000_000
_KEPT_N = 500
"""Models whose costs are kept."""


@dataclass(frozen=True, slots=True)
class Estimate(Share):
    """The memory of a pair or of one of its models."""

    from_headers: bool
    """True if counted from the files' headers, False if from their sizes."""


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """The memory and the work of a model that is here, from its headers."""

    ram: Share
    work: TokenWork
    mtp: TokenWork | None
    """The work of its MTP layers; None unless they draft."""


def estimate(pair: Pair) -> Estimate | None:
    """The memory of all models of a pair; None if the size of a file is unknown."""
    shares = [_of_projector(model) if model is pair.projector else _of_model(pair, model) for model in pair.models]
    known = [share for share in shares if share is not None]
    return _sum(known) if len(known) == len(shares) else None


def model_costs(pair: Pair, model: ModelFile) -> ModelCosts:
    """The costs of a model of a pair. Raises NotFoundError or ModelFileError."""
    path = model.locate()
    return _read(path, tuple(map(file_stamp, parts_of(path))), _shape(pair, model))


def _shape(pair: Pair, model: ModelFile) -> ContextShape:
    n_ctx = min(N_CTX, pair.target.context_length or N_CTX)
    if model is not pair.target:
        return ContextShape(n_ctx, flash_attn=False, short_fused=True)
    mtp = pair.drafter == MTP and pair.draft is None
    hidden = {DRAFT: 0, MTP: 1}.get(pair.drafter, _READ_LAYERS)
    return ContextShape(n_ctx, flash_attn=False, short_fused=True, max_outputs=_OUTPUTS, mtp=mtp, hidden_layers=hidden)


def target_bytes(pair: Pair) -> int:
    """The size of the target, 0 if unknown."""
    return known_size(pair.target) or 0


def known_size(model: ModelFile) -> int | None:
    """The size of a model, all its files together: on disk, catalogued, or approximate; None if unknown."""
    try:
        return sum(path.stat().st_size for path in parts_of(model.locate()))
    except (LocalSpecError, OSError):
        whole = model.size_bytes if len(parts_of(Path(model.file))) == 1 else None
        return whole or model.about_bytes


def _sum(shares: Sequence[Estimate]) -> Estimate:
    return Estimate(
        sum(share.weights for share in shares),
        sum(share.cache for share in shares),
        sum(share.compute for share in shares),
        all(share.from_headers for share in shares),
    )


def _of_projector(model: ModelFile) -> Estimate | None:
    size = known_size(model)
    return None if size is None else Estimate(size, 0, ENCODING_BYTES, from_headers=True)


def _of_model(pair: Pair, model: ModelFile) -> Estimate | None:
    try:
        ram = model_costs(pair, model).ram
    except LocalSpecError:
        return _from_size(model, _shape(pair, model).n_ctx)
    return Estimate(ram.weights, ram.cache, ram.compute, from_headers=True)


@lru_cache(_KEPT_N)
def _read(path: Path, stamps: tuple[object, ...], shape: ContextShape) -> ModelCosts:
    """The costs of the model at ``path``, kept until a stamp of its files changes: a header takes long to read."""
    headers = read_parts(path)
    trained = headers[0].context_length or shape.n_ctx
    ram = footprint(headers, replace(shape, n_ctx=min(shape.n_ctx, trained))).ram
    return ModelCosts(ram, token_work(headers), mtp_work(headers) if shape.mtp else None)


def _from_size(model: ModelFile, n_ctx: int) -> Estimate | None:
    size = known_size(model)
    if size is None:
        return None
    by_token = model.cache_bytes_per_token
    cache = int(size * _CACHE_SHARE * n_ctx / N_CTX) if by_token is None else by_token * n_ctx
    return Estimate(size, cache, int(size * _COMPUTE_SHARE) + _COMPUTE_BYTES, from_headers=False)
