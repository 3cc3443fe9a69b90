"""The fit of a pair to this machine: green, amber or red, with the figures and the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace

from localspec.models.fit import Room
from localspec.models.pairs.estimate import Estimate

GREEN, AMBER, RED = "green", "amber", "red"
UNKNOWN = "unknown"
WORDS = {GREEN: "fits", AMBER: "tight", RED: "too big", UNKNOWN: "unknown"}
"""The colours in words."""


@dataclass(frozen=True, slots=True)
class Suitability:
    """The verdict on a pair for this machine."""

    colour: str
    need_bytes: int | None
    room_bytes: int | None
    """The memory that ``need_bytes`` is compared with."""
    reason: str

    @property
    def word(self) -> str:
        return WORDS[self.colour]


def judge_fit(need: Estimate | None, room: Room) -> Suitability:
    """Green: it fits free memory. Amber: it can be loaded, but is slow or displaces other programs. Red: it cannot."""
    if need is None:
        return Suitability(UNKNOWN, None, None, "The size of one of its files is not known.")
    device_bytes = room.device_bytes
    if device_bytes is None:
        return _in_ram(need, room)
    if need.total <= device_bytes and not room.device_shares_ram:
        return Suitability(GREEN, need.total, device_bytes, "It fits the free memory of the GPU.")
    held = _in_ram(need, room) if room.device_shares_ram else _beside_gpu(need, room, device_bytes)
    if need.total <= device_bytes or held.colour == RED:
        return held
    # A GPU that shares the system's memory may use a part of it, on a Mac about two thirds.
    owner = "of the GPU" if not room.device_shares_ram else "that the GPU may use"
    reason = f"It is larger than the free memory {owner}: some layers stay on the CPU, which is slower."
    return Suitability(AMBER, need.total, device_bytes, reason)


def _beside_gpu(need: Estimate, room: Room, device_bytes: int) -> Suitability:
    """As ``_in_ram``, of the share of the layers that a full GPU leaves to the CPU."""
    share = 1 - device_bytes / need.total
    weights, cache, compute = (round(part * share) for part in (need.weights, need.cache, need.compute))
    held = _in_ram(Estimate(weights, cache, compute, need.from_headers), room)
    return replace(held, need_bytes=need.total, room_bytes=(held.room_bytes or 0) + device_bytes)


def _in_ram(need: Estimate, room: Room) -> Suitability:
    physical, available = room.memory.physical, room.memory.available
    kept = need.cache + need.compute
    if physical is not None and need.total > physical:
        return Suitability(RED, need.total, physical, "It is larger than the whole memory of this machine.")
    if available is None:
        if physical is None:
            return Suitability(UNKNOWN, need.total, None, "The system does not report its memory.")
        return Suitability(GREEN, need.total, physical, "It fits the memory of this machine.")
    if kept > available:
        return Suitability(RED, need.total, available, "Its cache alone is larger than the free memory.")
    if need.total > available:
        return Suitability(AMBER, need.total, available, "It fits once other programs release memory.")
    return Suitability(GREEN, need.total, available, "It fits the free memory.")
