"""Telling old turns in short: for a conversation that no longer fits into the context."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import LocalSpecError, UsageError
from localspec.chat.reply_metadata import reply_about
from localspec.engine.events import Finished, FinishReason
from localspec.engine.tally import Tally
from localspec.line.state import State
from localspec.runtime.messages import Reply
from localspec.store import KEPT_TURNS_N, OldTurns, summary_options


def compact(state: State, argument: str) -> None:
    """Have all turns summarised but the last few. Raises what the pair raises; everything then is as it was."""
    if argument and not argument.isdecimal():
        raise UsageError(f"/compact takes a number, not {argument!r}.", "So many of the last turns stay as they are.")
    kept_n = int(argument[:9]) if argument else KEPT_TURNS_N
    old = state.thread.old_turns(kept_n)
    if old is None:
        stay = f" older than the last {'one' if kept_n == 1 else kept_n}" if kept_n else ""
        raise UsageError(f"There is no turn{stay} to summarise.", "/compact 0 takes all there are.")
    state.voice.remark(f"Summarising {_turns(old.turns_n)}. Ctrl-C stops it, and nothing changes.")
    reply = _summarise(state, old)
    recap = state.thread.recap
    if recap is None or recap.node.parent != old.through:
        stopped = reply.finished is FinishReason.CANCELLED
        why = "The summary was stopped" if stopped else "The model had nothing to say in summary"
        state.voice.say(f"{why}; everything is as it was.")
        return
    dropped_n = reply.prompt.dropped_n if reply.prompt else 0
    lost = f" For the oldest {dropped_n} messages the context had no room." if dropped_n else ""
    text = recap.node.content.strip()
    state.voice.say(
        f"{_turns(old.turns_n).capitalize()} {'is' if old.turns_n == 1 else 'are'} summarised: {text}\n"
        f"/undo has the model told all of it again.{lost}",
        summary=text,
        turns_n=old.turns_n,
    )


def _summarise(state: State, old: OldTurns) -> Reply:
    options = summary_options(state.slot.chat_config.reply)
    about = reply_about(replace(state.slot.chat_config, reply=options), state.slot.info)
    recorder = state.thread.begin_summary(old, about)
    recorder.keeps_figures = state.slot.chat_config.keeps_figures
    observer = state.observer.begin(about, recorder.message)
    reply = Reply(tally=Tally(plain_per_second=state.slot.info.plain_per_second))
    try:
        for event in state.slot.reply(old.asked, options=options):
            reply.receive(event)
            recorder.receive(event)
            observer.receive(event)
    except LocalSpecError as error:
        recorder.fail(error)
        observer.fail(error)
        raise
    except BaseException:
        # Whoever read has gone, or wants to: no summary is stored, and observers are told that it has ended.
        if not reply.done:
            cut_off = Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings())
            reply.receive(cut_off)
            recorder.follow(reply)
            observer.receive(cut_off)
        raise
    return reply


def _turns(n: int) -> str:
    return "1 turn" if n == 1 else f"{n} turns"
