"""The command that summarises old turns."""

from __future__ import annotations

from localspec.base.amounts import number_of
from localspec.base.errors import UsageError
from localspec.chat.compaction import KEPT_TURNS_N
from localspec.engine.events import FinishReason
from localspec.line.state import State


def compact(state: State, argument: str) -> None:
    """Have all turns summarised but the last few. Raises what the pair raises; everything then is as it was."""
    if argument and not argument.isdecimal():
        raise UsageError(f"/compact takes a number, not {argument!r}.", "It says how many turns at the end stay.")
    kept_n = int(argument[:9]) if argument else KEPT_TURNS_N
    turn = state.chat.summary(kept_n)
    if turn is None:
        stay = f" older than the last {'one' if kept_n == 1 else kept_n}" if kept_n else ""
        raise UsageError(f"There is no turn{stay} to summarise.", "/compact 0 takes all there are.")
    turns_n = turn.stands_for_n
    state.output.remark(f"Summarising {number_of(turns_n, 'turn')}. Ctrl-C stops it, and nothing changes.")
    reply = state.chat.answer(turn, lambda event: None)
    recap = state.chat.stored.recap
    if recap is None or not state.chat.summarised(turn):
        stopped = reply.finished is FinishReason.CANCELLED
        why = "The summary was stopped" if stopped else "The model wrote no summary"
        state.output.say(f"{why}; everything is as it was.")
        return
    dropped_n = reply.prompt.dropped_n if reply.prompt else 0
    oldest = "message" if dropped_n == 1 else f"{dropped_n} messages"
    lost = f" For the oldest {oldest} the context had no room." if dropped_n else ""
    text = recap.node.content.strip()
    state.output.say(
        f"{number_of(turns_n, 'turn')} {'is' if turns_n == 1 else 'are'} summarised: {text}\n"
        f"/undo puts the full turns back.{lost}",
        summary=text,
        turns_n=turns_n,
    )
