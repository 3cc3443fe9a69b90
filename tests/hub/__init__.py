"""A Hub on the loopback interface that the real client talks to, with faults on demand."""

from tests.hub.faults import Cut, Fault, IgnoreRange, OtherContent, Refuse, Stall, WrongBytes
from tests.hub.server import HubServer, Repo

__all__ = ["Cut", "Fault", "HubServer", "IgnoreRange", "OtherContent", "Refuse", "Repo", "Stall", "WrongBytes"]
