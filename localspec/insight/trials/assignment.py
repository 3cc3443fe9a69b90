"""The assignment of turns to the sides of a trial.

The side comes from a digest of the ids of trial and turn. It is random because ids are, independent of all text,
reproducible, and easy to check:

    printf '%s:%s' TRIAL TURN | sha256sum

If the first 13 hexadecimal digits as a fraction of 16^13 are below the share, the turn is the candidate's.
"""

from __future__ import annotations

import hashlib

from localspec.store import Arm

_DIGITS = 13
"""52 bits, which a float holds exactly."""
_WHOLE = float(1 << 4 * _DIGITS)


def fraction(trial_id: str, unit: str) -> float:
    """The random fraction of a unit, from 0 up to but not including 1.

    >>> round(fraction("0badcafe", "0123456789abcdef"), 6)
    0.92253
    """
    digest = hashlib.sha256(f"{trial_id}:{unit}".encode()).hexdigest()
    return int(digest[:_DIGITS], 16) / _WHOLE


def arm_of(trial_id: str, unit: str, share: float) -> Arm:
    """The side of a turn or a conversation."""
    return Arm.CANDIDATE if fraction(trial_id, unit) < share else Arm.INCUMBENT
