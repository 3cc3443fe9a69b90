"""The user's word on calls: once, for the conversation, always or never."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.paths import user_paths
from localspec.base.shared_file import file_stamp, replace_file
from localspec.chat.tools.offered import OfferedTool

APPROVALS_FILE = "tool-approvals.json"
_MOST_BYTES = 1_000_000


class Approval(StrEnum):
    """An answer to the question whether a call may be made."""

    ONCE = "once"
    CONVERSATION = "conversation"
    """This tool, for as long as the conversation is open in this program."""
    ALWAYS = "always"
    """This tool as it is now; if its description or its parameters change, the user is asked again."""
    NEVER = "never"
    """This tool, however it changes."""
    NO = "no"
    """Not this time."""

    @property
    def allows(self) -> bool:
        return self in (Approval.ONCE, Approval.CONVERSATION, Approval.ALWAYS)


class Approvals:
    """The approvals so far. ``always`` and ``never`` are kept in a file of the user's alone."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` is by default the user's own file."""
        self._path = path or user_paths().data / APPROVALS_FILE
        self._here: set[tuple[str, str]] = set()
        """Conversations and digests of tools."""
        self._never_here: set[tuple[str, str]] = set()
        """Conversations and names of tools that are never allowed in them."""
        self._kept: tuple[object, Mapping[str, str]] | None = None
        """The content of the file, behind the stamp that it had."""

    def approval(self, tool: OfferedTool, conversation: str) -> Approval | None:
        """The approval in force for a tool; None if the user has to be asked."""
        kept = self._read()
        if (conversation, tool.full_name) in self._never_here or kept.get(tool.full_name) == Approval.NEVER:
            return Approval.NEVER
        if tool.harmless:
            return Approval.ALWAYS
        if kept.get(tool.full_name) == _digest(tool):
            return Approval.ALWAYS
        return Approval.CONVERSATION if (conversation, _digest(tool)) in self._here else None

    def changed(self, tool: OfferedTool) -> bool:
        """True if the tool was allowed always, and is another by now."""
        kept = self._read().get(tool.full_name)
        return kept not in (None, Approval.NEVER, _digest(tool))

    def decide(self, tool: OfferedTool, conversation: str, approval: Approval) -> None:
        """Remember an answer for as long as it lasts. If the file cannot be written, it lasts for the conversation."""
        if approval in (Approval.CONVERSATION, Approval.ALWAYS):
            self._here.add((conversation, _digest(tool)))
        if approval is Approval.NEVER:
            self._never_here.add((conversation, tool.full_name))
        if approval in (Approval.ALWAYS, Approval.NEVER):
            self._write({**self._read(), tool.full_name: _digest(tool) if approval.allows else Approval.NEVER})

    def forget(self, tool: OfferedTool) -> None:
        """Ask about this tool again."""
        digest = _digest(tool)
        self._here = {each for each in self._here if each[1] != digest}
        self._never_here = {each for each in self._never_here if each[1] != tool.full_name}
        self._write({name: kept for name, kept in self._read().items() if name != tool.full_name})

    def _read(self) -> Mapping[str, str]:
        """The content of the file, read again only if that has changed."""
        stamp = file_stamp(self._path)
        if self._kept is None or self._kept[0] != stamp:
            self._kept = stamp, _read_kept(self._path)
        return self._kept[1]

    def _write(self, kept: Mapping[str, str]) -> None:
        with suppress(OSError):
            replace_file(self._path, json.dumps(kept, indent=1).encode(), private=True)
        self._kept = None


def _read_kept(path: Path) -> Mapping[str, str]:
    """The approvals in a file, by the names of tools; none if it cannot be read."""
    try:
        data = json.loads(read_file(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: kept for name, kept in data.items() if isinstance(kept, str)} if isinstance(data, dict) else {}


def _digest(tool: OfferedTool) -> str:
    """The identity of a tool: its place, name, description and parameters."""
    parts = (tool.place, tool.full_name, tool.tool.description, tool.tool.parameters)
    return sha256(json.dumps(parts).encode()).hexdigest()
