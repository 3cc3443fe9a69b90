"""The state of a session in words and figures, for the rows around the conversation."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from localspec.chat.pair_slot import Phase
from localspec.chat.session import ChatSession
from localspec.chat.tokens.live import Activity, Figures, counted, latest_of, paused, reply_summary
from localspec.chat.tokens.marking import MODES, MarkMode, ReplyFormat
from localspec.chat.turn import Turn
from localspec.engine.events import Fallback
from localspec.runtime import figures
from localspec.runtime.messages import Reply
from localspec.runtime.pair_info import PairInfo

_MOSTLY = 0.5
"""Above this share of accepted guesses, speculation is paused for its cost, not for wrong guesses."""


def live_state(session: ChatSession, stop: str, mode: MarkMode = MarkMode.ORIGIN) -> Activity | Figures:
    """The live line: an activity, or the figures of the reply with its tokens counted by this mode.

    ``stop`` is the key that stops a reply.
    """
    if session.silence:
        return Activity(session.silence, detail=f"{stop} gives up waiting" if session.current else "")
    if session.phase is Phase.LOADING:
        detail = "your message waits for it" if session.waiting else "you can type already"
        return Activity(session.load_progress.what, session.load_progress.fraction, detail)
    if session.phase is Phase.BROKEN:
        return Activity("the engine is not running", detail="the next message starts it again")
    turn = session.current or session.last
    if turn is None or (turn.reply.error is not None and not turn.reply.tokens):
        return Activity("ready", detail=_about(session.info))
    progress = turn.reply.progress
    if progress is not None and progress.total_n:
        detail = f"{progress.done_n} of {progress.total_n} tokens"
        if turn.reply.image_since is not None:
            elapsed_s = time.monotonic() - turn.reply.image_since
            return Activity("encoding an image", progress.done_n / progress.total_n, f"{elapsed_s:.0f} s so far")
        return Activity("reading the prompt", progress.done_n / progress.total_n, detail)
    why_off = session.chat_config.why_no_speculation or _why_fallen_back(turn.reply)
    drafters = session.info.drafters if session.info else ()
    shown = _figures(turn, mode, why_off, drafters)
    return replace(shown, text_alone=session.info is not None and not session.info.tells_tokens)


def pace_note(session: ChatSession) -> str:
    """Both speeds while the screen shows the reply more slowly than the engine writes it; otherwise empty."""
    pacer, turn = session.pacer, session.current
    if turn is None or not pacer.limited or not pacer.waiting:
        return ""
    made = figures.speed(turn.reply.timings.predicted_per_second)
    return f"shown at {pacer.tokens_per_second:.0f} tokens/s; the engine made {made}/s"


def pause_note(session: ChatSession) -> str:
    """A sentence while speculation is paused, or when one of several drafters has failed; otherwise empty."""
    turn = session.current
    if turn is not None and (failed := failure_of(turn.reply)):
        return "" if _why_fallen_back(turn.reply) else failed
    told = session.info is None or session.info.tells_tokens
    if turn is None or not told or session.chat_config.why_no_speculation or not paused(turn.reply.rounds):
        return ""
    accepted = turn.reply.timings.draft_acceptance_rate or 0.0
    why = "most were right, but checking costs more than it saves" if accepted >= _MOSTLY else "too few were right"
    return f"no guesses for now: {why}; tried again within 64 tokens"


def failure_of(reply: Reply) -> str:
    """The drafter that failed in the middle of the reply, and why; empty if none did."""
    return figures.failure_note(reply.rounds[-1]) if reply.rounds else ""


def call_failure_of(reply: Reply) -> str:
    """The reason why no call of the reply was made, as the model is told; empty if there is none."""
    return f"No tool was called: the model is told this. {reply.call_error}" if reply.call_error else ""


def _why_fallen_back(reply: Reply) -> str | None:
    """The failures, once they have ended speculation; otherwise None."""
    if not reply.rounds or reply.rounds[-1].fallback is not Fallback.FAILED:
        return None
    failures = reply.rounds[-1].failures
    return "; ".join(f"{failure.drafter} failed: {failure.message.rstrip('.')}" for failure in failures)


def closing_note(reply: Reply) -> str:
    """The line under a finished reply."""
    timings = reply.timings
    ended = figures.ENDED_EARLY.get(reply.finished, "") if reply.finished else ""
    said = " · ".join(part for part in (ended, reply_summary(timings)) if part)
    why = figures.why_slower(timings)
    return f"{said}: {why}" if why else said


def opening_note(reply: Reply) -> str:
    """A note that not all of the conversation fitted into the context; empty if it did."""
    return figures.no_room_for(reply.prompt) if reply.prompt else ""


def format_note(reply_format: ReplyFormat, *, one: bool) -> str:
    """A sentence on the format in force from now on; ``one``: for the chosen reply only."""
    whose = "This reply is" if one else "Replies are"
    if reply_format.marks is MarkMode.OFF:
        return f"{whose} shown as {'Markdown' if reply_format.markdown else 'tokens, without marks'}."
    return f"{whose} marked by {reply_format.mode}: {MODES[reply_format.mode]}."


def _figures(turn: Turn, mode: MarkMode, why_off: str | None, drafters: Collection[str]) -> Figures:
    reply, rounds = turn.reply, turn.reply.rounds
    return Figures(
        reply.timings,
        depth=rounds[-1].depth if rounds else None,
        drafter=next((round_.drafter for round_ in reversed(rounds[-8:]) if round_.drafter), None),
        why_off=why_off,
        paused=paused(rounds),
        mode=mode,
        counts=counted(turn.reply.counts(mode), mode, drafters),
        latest=latest_of(rounds),
    )


def _about(info: PairInfo | None) -> str:
    if info is None:
        return ""
    if info.plain_per_second is None:
        return info.device
    return f"plain speed {figures.speed(info.plain_per_second)} tokens/s on {info.device}"
