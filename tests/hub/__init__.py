"""A Hub on the loopback interface that the real client talks to, with faults on demand."""

from tests.hub.faults import (
    Answer,
    Cut,
    Elsewhere,
    Fault,
    IgnoreRange,
    OtherContent,
    OtherRange,
    Page,
    Refuse,
    Stall,
    WrongBytes,
)
from tests.hub.server import HubServer, Repo

__all__ = [
    "Answer",
    "Cut",
    "Elsewhere",
    "Fault",
    "HubServer",
    "IgnoreRange",
    "OtherContent",
    "OtherRange",
    "Page",
    "Refuse",
    "Repo",
    "Stall",
    "WrongBytes",
]
