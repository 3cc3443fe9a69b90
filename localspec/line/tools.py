"""Tools in the line mode: their calls, approved at the keyboard, and the list with its switches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from localspec.base.errors import UsageError
from localspec.base.visible import visible_line
from localspec.chat.tools.approvals import Approval
from localspec.chat.tools.browser import ToolBrowser
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.turn import Turn
from localspec.config import read_config
from localspec.line.state import State

_ANSWERS = {
    "y": Approval.ONCE,
    "yes": Approval.ONCE,
    "c": Approval.CONVERSATION,
    "a": Approval.ALWAYS,
    "always": Approval.ALWAYS,
    "never": Approval.NEVER,
    "n": Approval.NO,
    "no": Approval.NO,
    "": Approval.NO,
}
_QUESTION = "Allow it? y once, c in this conversation, a always, n no, never: "


def make_calls(state: State) -> Turn | None:
    """Make the calls of the reply that was made last; returns the turn that replies to them, None if none is to.

    Ctrl-C stops them. Raises nothing: a call that fails has a result that says so.
    """
    chain = state.chat.tool_use.chain
    if chain is None:
        return None
    try:
        chain.follow(state.output.call, state.output.result, partial(_ask, state))
    except KeyboardInterrupt:
        state.output.remark("The calls are stopped; what was made has its result.")
    if chain.limited:
        state.output.remark("The limit of calls in a row is reached (max_calls); a message goes on.")
    return state.chat.after_calls()


def _ask(state: State, call: ActiveCall) -> Approval:
    assert state.ask is not None, "without a keyboard nothing is asked"
    return asked_about(call, state.ask, state.output.remark)


def asked_about(call: ActiveCall, ask: Callable[[str, str], str | None], remark: Callable[[str], object]) -> Approval:
    """The answer to the question about a call. ``ask`` is as in ``State``. Raises KeyboardInterrupt at its end."""
    if call.changed:
        remark("This tool has changed since you allowed it always.")
    while (typed := ask(_QUESTION, "")) is not None:
        if (approval := _ANSWERS.get(typed.strip().lower())) is not None:
            return approval
    raise KeyboardInterrupt


def tools(state: State, argument: str) -> None:
    """List the tools with their switches, or switch one on or off."""
    chat, settings = state.chat, state.chat.chat_config.in_use
    if settings is None:
        raise UsageError("There are no settings here.", "Start `localspec chat`.")
    browser = ToolBrowser(chat.tool_use, config := read_config(), chat.stored.id)
    said = []
    if argument:
        config = browser.switch(argument)
        said.append(visible_line(browser.sentence(argument, settings.overrides)))
    chat.adopt(settings.resolve(config, chat.stored.settings), keep_system=True)
    chat.tool_use.reach(chat.chat_config)
    chat.tool_use.toolbox.wait(patiently=state.ask is None)
    said += [
        visible_line(
            f"{'  ' if row.within else ''}{'on ' if row.on else 'off'}  {row.id}: {row.about}"
            f"{f' ({row.note})' if row.note else ''}"
        )
        for row in browser.rows
        if not argument or row.id.startswith(f"{argument}.")
    ]
    if awaited := ", ".join(browser.awaited):
        said.append(f"Waiting for {awaited}; /tools shows later what came of it.")
    state.output.say(
        "\n".join([*said, *map(visible_line, browser.troubles)]),
        tools=[{"name": row.id, "on": row.on, "about": row.about, "note": row.note} for row in browser.rows],
    )
