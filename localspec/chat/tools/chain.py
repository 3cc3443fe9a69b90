"""The calls of one reply: each approved, made once and stored with its result, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from localspec.chat.tools.approvals import Approval, Approvals
from localspec.chat.tools.offered import OfferedTool
from localspec.chat.tools.toolbox import CallResult, Toolbox
from localspec.chat.turn import Turn
from localspec.runtime.messages import Role, ToolCall
from localspec.store import Node, StoredConversation

REFUSED = "The user did not allow this call."
UNASKED = "Nobody could be asked to allow this call."
STOPPED = "The user stopped this call; it may have been made."
NOT_MADE = "This call was not made."
AT_LIMIT = "This call was not made: the limit of calls in a row is reached until the user writes again."

_LOOK_S = 0.1
"""Seconds between two looks at a call that is waited for."""

Rule = Callable[[OfferedTool], Approval | None]
"""The approval on a tool that the user has not decided about; None to ask."""


class CallState(StrEnum):
    WAITING = "waiting"
    ASKING = "asking"
    """The user is asked."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    STOPPED = "stopped"


@dataclass(slots=True)
class ActiveCall:
    """A call of the reply that was made last."""

    call: ToolCall
    tool: OfferedTool | None
    """None if there is none of its name."""
    state: CallState = CallState.WAITING
    result: str = ""
    changed: bool = False
    """True if the tool was allowed always and is another by now."""

    @property
    def over(self) -> bool:
        return self.state in (CallState.DONE, CallState.FAILED, CallState.REFUSED, CallState.STOPPED)


class CallChain:
    """The calls of one reply, while they are made; a call that cannot be read has a result that says why.

    ``tick`` takes the next step; where ``asking`` is a call, ``decide`` has to come first. Every result is stored at
    once, so that a program that dies loses none and makes none twice.
    """

    def __init__(
        self,
        turn: Turn,
        conversation: StoredConversation,
        toolbox: Toolbox,
        approvals: Approvals,
        most: int,
        rule: Rule,
    ) -> None:
        """``most`` is the limit of calls in a row."""
        self.turn = turn
        self.calls = [ActiveCall(call, toolbox.find(call.name)) for call in turn.reply.calls]
        self._unread = turn.reply.call_error
        if self._unread is not None:
            self.calls = [ActiveCall(ToolCall("unread", "", "{}"), None)]
        self.goes_on = True
        """True if the model is to reply to the results."""
        self.limited = False
        """True if the limit of calls in a row was reached."""
        self._conversation = conversation
        self._toolbox = toolbox
        self._approvals = approvals
        self._rule = rule
        self._left = max(0, most - calls_in_a_row(conversation.path))
        self._running: Future[CallResult] | None = None

    @property
    def over(self) -> bool:
        """True once every call has its result."""
        return all(call.over for call in self.calls)

    @property
    def asking(self) -> ActiveCall | None:
        """The call that the user is asked about."""
        return next((call for call in self.calls if call.state is CallState.ASKING), None)

    @property
    def current(self) -> ActiveCall | None:
        """The call that is asked about, made, or to be made next; None after the last."""
        return next((call for call in self.calls if not call.over), None)

    def tick(self) -> bool:
        """Take the next step, if it can be taken now; True if anything changed. Never waits."""
        call = self.current
        if call is None or call.state is CallState.ASKING:
            return False
        if call.state is CallState.RUNNING:
            return self._take_result(call)
        self._begin(call)
        return True

    def wait(self, seconds: float) -> None:
        """Wait for the call that is being made, at most so long."""
        if self._running is not None:
            futures.wait((self._running,), seconds)

    def follow(
        self,
        began: Callable[[ActiveCall], object],
        ended: Callable[[ActiveCall], object],
        ask: Callable[[ActiveCall], Approval],
    ) -> None:
        """Make all calls and wait for them, and report each as it begins and ends. ``ask`` answers questions.

        What is raised, as KeyboardInterrupt, stops the calls.
        """
        begun_n = ended_n = 0
        try:
            while not self.over or ended_n < len(self.calls):
                if not self.tick() and self.asking is None:
                    self.wait(_LOOK_S)
                while begun_n < len(self.calls) and self.calls[begun_n].state is not CallState.WAITING:
                    began(self.calls[begun_n])
                    begun_n += 1
                if (asking := self.asking) is not None:
                    self.decide(ask(asking))
                while ended_n < len(self.calls) and self.calls[ended_n].over:
                    ended(self.calls[ended_n])
                    ended_n += 1
        except BaseException:
            self.stop()
            raise

    def decide(self, approval: Approval) -> None:
        """Answer the question about the call that is ``asking``."""
        call = self.asking
        if call is None or call.tool is None:
            return
        self._approvals.decide(call.tool, self._conversation.id, approval)
        self._judge(call, approval)

    def stop(self) -> None:
        """Make no further call, and do not reply to the results. One under way counts as stopped."""
        self.goes_on = False
        if self._running is not None:
            self._running.cancel()
        for call in self.calls:
            if not call.over:
                self._end(call, CallState.STOPPED, STOPPED if call.state is CallState.RUNNING else NOT_MADE)

    def _begin(self, call: ActiveCall) -> None:
        if not self._left:
            self.goes_on, self.limited = False, True
            self._end(call, CallState.STOPPED, AT_LIMIT)
            return
        if call.tool is None:
            self._end(call, CallState.FAILED, self._unread or f"There is no tool {call.call.name}.")
            return
        if (approval := self._approvals.approval(call.tool, self._conversation.id)) is not None:
            self._judge(call, approval)
        elif (ruled := self._rule(call.tool)) is not None:
            self._judge(call, ruled, f"{UNASKED} --tool {call.tool.full_name} allows it.")
        else:
            call.changed = self._approvals.changed(call.tool)
            call.state = CallState.ASKING

    def _judge(self, call: ActiveCall, approval: Approval, refusal: str = REFUSED) -> None:
        if not approval.allows or call.tool is None:
            self._end(call, CallState.REFUSED, refusal)
            return
        call.state = CallState.RUNNING
        self._left -= 1
        self._running = self._toolbox.call(call.tool, call.call)

    def _take_result(self, call: ActiveCall) -> bool:
        if self._running is None or not self._running.done():
            return False
        result, self._running = self._running.result(), None
        self._end(call, CallState.FAILED if result.failed else CallState.DONE, result.text)
        return True

    def _end(self, call: ActiveCall, state: CallState, result: str) -> None:
        call.state, call.result = state, result
        self._conversation.add_result(call.call, result)


def calls_in_a_row(path: Sequence[Node]) -> int:
    """The results since the user's last message."""
    return sum(node.role is Role.TOOL for node in takewhile(lambda node: node.role is not Role.USER, reversed(path)))
