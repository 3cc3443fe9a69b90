"""The speed of llama.cpp's kernels on this machine: seconds for a byte of weights, by type and size of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, log
from typing import Any

from localspec.gguf.tensors import TENSOR_TYPES
from localspec.models.token_work import TokenWork

CACHE_TYPE = "F16"
"""The type of caches, and a type that is always measured."""
CONTEXT_N = 512
"""Tokens of context that an expectation is made for."""
_BITS = {name: 8 * size / elements for name, elements, size in TENSOR_TYPES.values()}


@dataclass(frozen=True, slots=True)
class KernelSpeeds:
    """The measurement of one machine with one number of threads."""

    byte_s: Mapping[str, Mapping[int, float]]
    """Seconds for each byte of a matrix, by its type and by the tokens in the batch; 1 is among these."""
    layer_s: Mapping[int, float]
    """Seconds that a layer takes beside its weights, by the tokens in the batch."""
    factors: Mapping[str, float] = field(default_factory=dict)
    """The time that models really took here over the time by this measurement, by type of their weights."""

    def round_s(self, work: TokenWork, batch: int = 1) -> float:
        """Seconds for evaluating ``batch`` tokens at once behind a context of ``CONTEXT_N``."""
        spent_s = work.n_layers * _between(self.layer_s, batch)
        spent_s += sum(size * self._byte_s(kind, batch) for kind, size in work.dense.items())
        if work.experts:
            touched = 1 - (1 - work.expert_share) ** batch
            rows = max(1.0, batch * work.expert_share / touched)
            spent_s += touched * sum(size * self._byte_s(kind, rows) for kind, size in work.experts.items())
        spent_s += CONTEXT_N * work.cache_bytes * _between(self.byte_s[CACHE_TYPE], 1)
        return spent_s * self.factors.get(work.main_type, 1.0)

    def _byte_s(self, kind: str, batch: float) -> float:
        """Seconds for a byte of this type; of one that was not measured, as for the nearest by bits.

        A type of fewer bits takes no less time for a weight than the nearest: unpacking it is no cheaper.
        """
        if kind in self.byte_s:
            return _between(self.byte_s[kind], batch)
        bits = _BITS.get(kind, _BITS[CACHE_TYPE])
        nearest = min(self.byte_s, key=lambda name: abs(log(_BITS[name] / bits)))
        return _between(self.byte_s[nearest], batch) * max(1.0, _BITS[nearest] / bits)

    def to_dict(self) -> dict[str, Any]:
        """The measurement for the disk, without the factors."""
        return {
            "byte_s": {kind: _written(table) for kind, table in self.byte_s.items()},
            "layer_s": _written(self.layer_s),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> KernelSpeeds:
        """Undo ``to_dict``. Raises KeyError, TypeError, ValueError or AttributeError if it is something else."""
        byte_s = {str(kind): _read(table) for kind, table in data["byte_s"].items()}
        if CACHE_TYPE not in byte_s or not byte_s.keys() <= _BITS.keys():
            raise ValueError("these are no speeds of kernels")
        return KernelSpeeds(byte_s, _read(data["layer_s"]))


def _written(table: Mapping[int, float]) -> dict[str, float]:
    return {str(batch): seconds for batch, seconds in table.items()}


def _read(data: Mapping[str, Any]) -> dict[int, float]:
    table = {int(batch): float(seconds) for batch, seconds in data.items()}
    if 1 not in table or not all(0 < seconds < inf for seconds in table.values()):
        raise ValueError("these are no seconds")
    return table


def _between(table: Mapping[int, float], batch: float) -> float:
    """The entry for a batch, on the straight line between measured ones, and beyond the last as far along it."""
    known = sorted(table)
    high = next((n for n in known if n >= batch), known[-1])
    low = max((n for n in known if n < high), default=high)
    if low == high:
        return table[high]
    slope = (table[high] - table[low]) / (high - low)
    return table[low] + max(slope, 0.0 if batch > high else slope) * (batch - low)
