"""The summary of old turns: the command, and the summary on screen."""

from __future__ import annotations

from localspec.chat.commands.turns import COMPACT
from localspec.chat.compaction import KEPT_TURNS_N
from localspec.chat.pair_slot import Phase
from localspec.chat.turn import Turn
from localspec.tui.controllers.turns import NOTHING_SAID, TurnController
from localspec.tui.keys.handling import handles


class SummaryController:
    """Begins and ends summaries. Nothing changes before a summary is complete."""

    def __init__(self, turns: TurnController) -> None:
        self._turns = turns
        self._session = turns.session

    @handles(COMPACT)
    async def begin(self, kept: str = "") -> None:
        """Have all turns summarised but the last ``kept``; says why if that is not possible."""
        why_not = self._why_not(kept)
        if why_not:
            self._turns.say(why_not)
            return
        kept_n = int(kept[:9]) if kept else KEPT_TURNS_N
        summary = self._session.summary(kept_n)
        if summary is None:
            self._turns.say(_too_little(kept_n))
            return
        self._turns.transcript.unselect()
        self._session.queue(summary)
        await self._turns.transcript.add_turn(summary)
        self._turns.say("")

    async def end(self, turn: Turn) -> None:
        """Show the conversation after a summary: summarised, or as before."""
        await self._turns.transcript.pages.discard(turn)
        await self._turns.show()
        reply = turn.reply
        if self._session.summarised(turn):
            n = turn.stands_for_n
            turns, which = ("1 turn is", "it") if n == 1 else (f"{n} turns are", "all of them")
            self._turns.say(f"{turns} summarised{_left_out(turn)}; /undo brings {which} back.")
        elif reply.error is not None:
            self._turns.say(f"There is no summary, and everything is as it was. {reply.error}")
        elif not reply.text.strip():
            self._turns.say("The model wrote no summary; everything is as it was.")
        else:
            self._turns.say("The summary was stopped; everything is as it was.")

    def _why_not(self, kept: str) -> str:
        if kept and not kept.isdecimal():
            return f"/compact takes a number: how many of the last turns stay as they are ({KEPT_TURNS_N} without one)."
        if not self._session.thread.turns:
            return NOTHING_SAID
        if not self._session.free:
            return self._turns.busy
        if self._session.phase is not Phase.IDLE:
            return "The pair that is to write the summary is not loaded yet."
        return ""


def _too_little(kept_n: int) -> str:
    match kept_n:
        case 0:
            return "There is no turn to summarise."
        case 1:
            return "There is no turn to summarise: the last turn stays as it is. /compact 0 takes it, too."
    return f"There is no turn to summarise: the last {kept_n} turns stay as they are. /compact 0 takes all."


def _left_out(turn: Turn) -> str:
    dropped_n = turn.reply.prompt.dropped_n if turn.reply.prompt else 0
    if not dropped_n:
        return ""
    messages = "message" if dropped_n == 1 else f"{dropped_n} messages"
    return f", without the oldest {messages}, for which the context has no room"
