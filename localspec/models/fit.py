"""The check, before loading, that models fit the memory of this machine, with options that would make them fit.

Estimates come from headers alone. Mapped weights need no free memory, because the system can drop their pages and read
them again, but they must not exceed all memory. Everything else must be free.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.base.errors import CapacityError
from localspec.base.machine import MachineMemory
from localspec.gguf import GgufHeader
from localspec.gguf.dimensions import Hyperparameters
from localspec.models.memory_estimate import CELL_TOKENS, ContextShape, Footprint, footprint

_SMALLER_CACHE = "q8_0"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model to be loaded, with its options."""

    parts: Sequence[GgufHeader]
    """The headers of its files; one unless the model is split."""
    shape: ContextShape
    gpu_layers: int = 0
    """Layers that will be on a device; 0 without one."""
    may_fuse: bool = True
    """True if flash attention, which a quantised cache needs, may be turned on."""

    @property
    def name(self) -> str:
        return self.parts[0].source

    @property
    def footprint(self) -> Footprint:
        return footprint(self.parts, self.shape, self.gpu_layers)


@dataclass(frozen=True, slots=True)
class Room:
    """The memory that is available for models."""

    memory: MachineMemory
    device_bytes: int | None = None
    """Free bytes on all devices together; None without a device, or if it does not report them."""
    device_shares_ram: bool = False
    mapped: bool = True
    """True if weights are mapped from their file."""


def check_fits(wanted: Sequence[Wanted], room: Room) -> None:
    """Raise CapacityError, naming the figures and what would fit, unless all of ``wanted`` fits together."""
    lack = _lack(wanted, room)
    if lack:
        raise CapacityError(lack, _advice(wanted, room))


def fits(wanted: Sequence[Wanted], room: Room) -> bool:
    return not _lack(wanted, room)


def _lack(wanted: Sequence[Wanted], room: Room) -> str:
    """The shortage in a sentence; empty if all fits."""
    needs = [item.footprint for item in wanted]
    ram = sum(need.ram.total for need in needs)
    on_device = sum(need.device.total for need in needs)
    weights = sum(need.ram.weights for need in needs)
    physical, available = room.memory.physical, room.memory.available
    if room.device_bytes is not None and on_device > room.device_bytes:
        return _sentence(
            wanted, f"{_gb(on_device)} on the GPU ({_split(needs, device=True)})", room.device_bytes, "free"
        )
    everything = ram + (on_device if room.device_shares_ram else 0)
    if physical is not None and everything > physical:
        return _sentence(wanted, f"{_gb(everything)} of memory ({_split(needs)})", physical, "in all")
    kept = ram - weights if room.mapped else ram
    if available is not None and kept > available:
        what = f"{_gb(kept)} of free memory ({_split(needs, weights=not room.mapped)})"
        return _sentence(wanted, what, available, "free")
    return ""


def _sentence(wanted: Sequence[Wanted], what: str, present: int, which: str) -> str:
    names = " and ".join(dict.fromkeys(item.name for item in wanted))
    tokens = f"a context of {wanted[0].shape.n_ctx:,} tokens"
    takes = "take" if len(wanted) > 1 else "takes"
    return f"With {tokens}, {names} {takes} {what}; there are {_gb(present)} {which}."


def _split(needs: Sequence[Footprint], *, device: bool = False, weights: bool = True) -> str:
    shares = [need.device if device else need.ram for need in needs]
    figures = [("weights", sum(share.weights for share in shares))] if weights else []
    figures += [("cache", sum(share.cache for share in shares)), ("buffers", sum(share.compute for share in shares))]
    return ", ".join(f"{name} {_gb(size)}" for name, size in figures)


def _advice(wanted: Sequence[Wanted], room: Room) -> str:
    """The options each of which alone makes it fit; a smaller model if none does."""
    steps = (_fewer_layers, _smaller_cache, _shorter_context)
    found = [advice for step in steps if (advice := step(wanted, room))]
    if not found:
        return "Close other programs, or choose a smaller model."
    return f"What would fit: {', or '.join(found)}."


def _fewer_layers(wanted: Sequence[Wanted], room: Room) -> str:
    for n in reversed(range(wanted[0].gpu_layers)):
        if fits([replace(wanted[0], gpu_layers=n), *wanted[1:]], room):
            return f"--gpu-layers {n}"
    return ""


def _smaller_cache(wanted: Sequence[Wanted], room: Room) -> str:
    if not all(item.may_fuse and Hyperparameters(item.parts[0]).can_quantise_cache() for item in wanted):
        return ""
    smaller = [replace(item, shape=_quantised(item.shape)) for item in wanted]
    options = f"--cache-type-k {_SMALLER_CACHE} --cache-type-v {_SMALLER_CACHE}"
    return options if fits(smaller, room) else ""


def _quantised(shape: ContextShape) -> ContextShape:
    return replace(shape, type_k=_SMALLER_CACHE, type_v=_SMALLER_CACHE, flash_attn=True)


def _shorter_context(wanted: Sequence[Wanted], room: Room) -> str:
    def with_cells(n: int) -> Sequence[Wanted]:
        return [replace(item, shape=replace(item.shape, n_ctx=n * CELL_TOKENS)) for item in wanted]

    trained = wanted[0].parts[0].context_length or wanted[0].shape.n_ctx
    longest = min(trained, wanted[0].shape.n_ctx - 1) // CELL_TOKENS
    n = bisect_left(range(1, longest + 1), True, key=lambda n: not fits(with_cells(n), room))
    return f"--ctx {n * CELL_TOKENS}" if n else ""


def _gb(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 1e8 else f"{size_bytes / 1e6:.0f} MB"
