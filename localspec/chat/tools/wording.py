"""Calls and their results in words, and as the events of ``--json``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from localspec.base.visible import visible, visible_line
from localspec.chat.compose.attachment import without_files
from localspec.chat.tools.chain import ActiveCall, CallState
from localspec.runtime.messages import ToolCall

_SHOWN_CHARS = 600
"""The longest part of a result that is shown; the conversation has all of it."""

STATES = {
    CallState.WAITING: "waits",
    CallState.ASKING: "waits for your answer",
    CallState.RUNNING: "is called …",
}
"""The states of calls that have no result yet, in words."""
UNREADABLE = "A call that cannot be read"
"""Shown in place of the name of a tool."""


def called(call: ActiveCall) -> str:
    """A call as a line for people."""
    if not call.call.name:
        return UNREADABLE
    server = f" of the server {call.tool.server}" if call.tool is not None and call.tool.server else ""
    given = arguments_of(call.call)
    return visible_line(f"Call of {call.call.name}{server}, {f'with {given}' if given else 'without arguments'}")


def arguments_of(call: ToolCall) -> str:
    """The arguments of a call as the model wrote them; empty if there are none."""
    return call.arguments if "".join(call.arguments.split()) != "{}" else ""


def result_text(result: str) -> str:
    """A result for people: names and sizes in place of images."""
    chips, text = without_files(result) if "sha256:" in result else ([], result)
    return visible("\n".join((*(f"[{chip}]" for chip in chips), text)).strip())


def resulted(call: ActiveCall) -> str:
    """The result of a call as lines for people, cut short."""
    text = result_text(call.result)
    cut = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}… ({len(text)} characters)"
    return f"{call.state.capitalize()}: {cut}"


def call_record(call: ActiveCall) -> dict[str, Any]:
    """The event of a call, before it is made; ``arguments`` is JSON text, as the model wrote it."""
    server = call.tool.server or None if call.tool is not None else None
    return {"event": "tool_call", **asdict(call.call), "server": server}


def result_record(call: ActiveCall) -> dict[str, Any]:
    """The event of a call's result; ``state`` is done, failed, refused or stopped."""
    result = {"state": call.state, "content": call.result}
    return {"event": "tool_result", "id": call.call.id, "name": call.call.name, **result}
