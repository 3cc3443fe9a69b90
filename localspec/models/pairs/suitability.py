"""Whether a pair fits this machine: green, amber or red, with the number and in words."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.models.fit import Room
from localspec.models.pairs.estimate import Estimate

GREEN, AMBER, RED = "green", "amber", "red"
UNKNOWN = "unknown"
WORDS = {GREEN: "fits", AMBER: "tight", RED: "too big", UNKNOWN: "unknown"}
"""For readers without colours."""


@dataclass(frozen=True, slots=True)
class Suitability:
    """How a pair and a machine get on."""

    colour: str
    need_bytes: int | None
    room_bytes: int | None
    """What ``need_bytes`` is held against."""
    reason: str

    @property
    def word(self) -> str:
        return WORDS[self.colour]


def judge_fit(need: Estimate | None, room: Room) -> Suitability:
    """Green: there is room now. Amber: it can be loaded, but slower or at the expense of others. Red: it cannot."""
    if need is None:
        return Suitability(UNKNOWN, None, None, "The size of one of its files is not known.")
    device_bytes, held = room.device_bytes, _in_ram(need, room)
    if device_bytes is None:
        return held
    if need.total > device_bytes:
        # What the system lends a GPU that shares its memory is a part of that: on a Mac two thirds or so.
        own = "of the GPU" if not room.device_shares_ram else "that the GPU may use"
        reason = f"It is larger than the free memory {own}: some layers stay on the CPU, which is slower."
        return held if held.colour == RED else Suitability(AMBER, need.total, device_bytes, reason)
    if room.device_shares_ram:
        return held
    return Suitability(GREEN, need.total, device_bytes, "It fits the free memory of the GPU.")


def _in_ram(need: Estimate, room: Room) -> Suitability:
    physical, available = room.memory.physical, room.memory.available
    kept = need.cache + need.compute
    if physical is not None and need.total > physical:
        return Suitability(RED, need.total, physical, "It is larger than all the memory of this machine.")
    if available is None:
        if physical is None:
            return Suitability(UNKNOWN, need.total, None, "The system does not tell how much memory there is.")
        return Suitability(GREEN, need.total, physical, "It fits the memory of this machine.")
    if kept > available:
        return Suitability(RED, need.total, available, "Its cache alone is larger than the memory that is free.")
    if need.total > available:
        return Suitability(AMBER, need.total, available, "It fits once other programs give memory back.")
    return Suitability(GREEN, need.total, available, "It fits the memory that is free.")
