"""The tools of LocalSpec's own: none of them writes, runs a program or reaches the network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from localspec.base.errors import InputError
from localspec.chat.tools.calculation import calculate
from localspec.chat.tools.folder import list_below, read_below
from localspec.chat.tools.offered import OfferedTool
from localspec.runtime.messages import Tool


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A tool and what runs it: a function of its texts, by parameter, and the folder that may be read."""

    tool: Tool
    run: Callable[[Mapping[str, str], Path | None], str]
    parameters: tuple[str, ...] = ()
    harmless: bool = False
    """True if it reads nothing of the user's, so that switching it on is all the approval it needs."""

    @property
    def offered(self) -> OfferedTool:
        return OfferedTool(self.tool, harmless=self.harmless)

    def call(self, arguments: Mapping[str, Any], folder: Path | None) -> str:
        """The result of a call. Raises LocalSpecError; InputError for arguments that do not fit."""
        unknown = [name for name in arguments if name not in self.parameters]
        missing = [name for name in self.parameters if not isinstance(arguments.get(name), str)]
        if unknown or missing:
            takes = ", ".join(self.parameters) or "nothing"
            raise InputError(f"{self.tool.name} was called with other arguments.", f"It takes {takes}, as text.")
        return self.run({name: str(arguments[name]) for name in self.parameters}, folder)


def _own(
    name: str, description: str, run: Callable[[Mapping[str, str], Path | None], str], harmless: bool, **about: str
) -> OwnTool:
    schema = {
        "type": "object",
        "properties": {each: {"type": "string", "description": says} for each, says in about.items()},
        "required": list(about),
        "additionalProperties": False,
    }
    return OwnTool(Tool(name, description, json.dumps(schema)), run, tuple(about), harmless)


def _time(_arguments: Mapping[str, str], _folder: Path | None) -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d %H:%M}"


OWN_TOOLS: Mapping[str, OwnTool] = {
    own.tool.name: own
    for own in (
        _own("get_time", "The current date and time.", _time, harmless=True),
        _own(
            "count_words",
            "Count the words of a text.",
            lambda given, _: str(len(given["text"].split())),
            harmless=True,
            text="The text.",
        ),
        _own(
            "calculate",
            "Compute an expression.",
            lambda given, _: calculate(given["expression"]),
            harmless=True,
            expression="Numbers with + - * / // % **, parentheses, and functions such as sqrt.",
        ),
        _own(
            "read_file",
            "Read a file.",
            lambda given, folder: read_below(folder, given["path"]),
            harmless=False,
            path="The file, as its folder lists it.",
        ),
        _own(
            "list_files",
            "List the files of a folder.",
            lambda given, folder: list_below(folder, given["folder"]),
            harmless=False,
            folder="The folder; . is the top one.",
        ),
    )
}
"""The tools by name. The built-in model has learned names and parameters such as those of the first two."""
