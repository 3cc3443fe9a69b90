"""What there is to say about a session at this moment. Pure: session in, words and figures out."""

from __future__ import annotations

from localspec import figures
from localspec.chat import Reply
from localspec.engine.events import FinishReason
from localspec.load import PairInfo
from localspec.tui.live import Activity, Figures, reply_summary
from localspec.tui.session import Phase, Session


def live_state(session: Session) -> Activity | Figures:
    """What the live line is to show."""
    if session.phase is Phase.LOADING:
        detail = "your message waits for it" if session.waiting else "you can type already"
        return Activity(session.load_progress.what, session.load_progress.fraction, detail)
    if session.phase is Phase.BROKEN:
        return Activity("the engine is not running", detail="the next message starts it again")
    exchange = session.current or session.last
    if exchange is None:
        return Activity("ready", detail=_about(session.info))
    progress = exchange.reply.progress
    if progress is not None and progress.total_n:
        detail = f"{progress.done_n} of {progress.total_n} tokens"
        return Activity("reading the prompt", progress.done_n / progress.total_n, detail)
    return _figures(exchange.reply, session.why_no_speculation)


def pace_note(session: Session) -> str:
    """Where the screen is slower than the engine, both speeds; otherwise empty."""
    pacer, exchange = session.pacer, session.current
    if exchange is None or not pacer.limited or not pacer.waiting:
        return ""
    made = figures.speed(exchange.reply.timings.predicted_per_second)
    return f"shown at {pacer.tokens_per_second:.0f} tokens/s; the engine made {made}/s"


def closing_note(reply: Reply) -> str:
    """The quiet line under a reply that is over."""
    words = {FinishReason.CANCELLED: "stopped", FinishReason.LENGTH: "ended at the length limit"}
    parts = [words.get(reply.finished, "") if reply.finished else "", reply_summary(reply.timings)]
    return " · ".join(part for part in parts if part)


def opening_note(reply: Reply) -> str:
    """What is to be said about the prompt of a reply: that not all of the conversation fitted."""
    dropped_n = reply.prompt.dropped_n if reply.prompt else 0
    if not dropped_n:
        return ""
    messages = "message was" if dropped_n == 1 else f"{dropped_n} messages were"
    return f"the context is full: the oldest {messages} left out"


def _figures(reply: Reply, why_off: str | None) -> Figures:
    last = reply.rounds[-1] if reply.rounds else None
    drafter = next((round_.drafter for round_ in reversed(reply.rounds[-8:]) if round_.drafter), None)
    return Figures(reply.timings, last.depth if last else None, drafter, why_off)


def _about(info: PairInfo | None) -> str:
    if info is None:
        return ""
    if info.plain_per_second is None:
        return info.device
    return f"plain speed {figures.speed(info.plain_per_second)} tokens/s on {info.device}"
