"""Notes on a turn and on the conversation: the line under a reply, and the use of the context."""

from __future__ import annotations

from localspec.chat.compaction import REQUEST
from localspec.chat.compose.token_counts import CHARS_A_TOKEN
from localspec.chat.session import ChatSession
from localspec.chat.status import call_failure_of, closing_note, failure_of, opening_note
from localspec.chat.thread import Thread
from localspec.chat.turn import Turn
from localspec.engine.events import FinishReason
from localspec.tui.terminal.clipboard import Arrival, copied


def turn_note(turn: Turn, replies: tuple[int, int]) -> str:
    """The note under a reply. ``replies`` is (version, number of versions)."""
    reply = turn.reply
    if turn.answer is None:
        others_n = replies[1] - 1
        known = f"{others_n} other {'reply' if others_n == 1 else 'replies'}" if others_n else "no reply yet"
        return f"{known} · /again asks again"
    version = f"reply {replies[0]}/{replies[1]}" if replies[1] > 1 else ""
    state = "cut off when the program ended" if turn.cut_off else ""
    closing = closing_note(reply) if reply.done or reply.tokens else ""
    offer = "/continue goes on" if unfinished(turn) else ""
    last = " · ".join(filter(None, (version, state, closing, offer)))
    return "\n".join(filter(None, (opening_note(reply), failure_of(reply), call_failure_of(reply), last)))


def unfinished(turn: Turn) -> bool:
    """True if the reply was cut off or stopped, be it before its first token, and can be continued."""
    cut_short = turn.cut_off or turn.reply.finished is FinishReason.CANCELLED
    return cut_short or (bool(turn.text) and turn.reply.done and not turn.complete)


def storage_note(session: ChatSession) -> str:
    """The reason why something is not stored yet; empty while everything is."""
    trouble = session.thread.stored.trouble
    return str(trouble) if trouble is not None else ""


def context_note(session: ChatSession, written_n: int = 0, leads_n: int | None = None) -> str:
    """The tokens that the next turn uses and the size of the context, always as wide; empty while it uses none.

    With "~" while a message of ``written_n`` tokens is being written, since the chat template adds to it, and where
    turns were deleted or summarised since. ``leads_n``: tokens above an earlier message while that is edited.
    """
    if session.info is None:
        return ""
    about, used_n = leads_n is not None or written_n > 0, written_n + (leads_n or 0)
    turn = _latest(session) if leads_n is None else None
    held = turn.reply.prompt if turn is not None else None
    if turn is not None and held is not None:
        # While a reply is written nothing has been saved since it was begun; and this is asked for every frame.
        saved_n = 0 if turn is session.current else _saved_n(session.thread, turn)
        about = about or saved_n > 0
        used_n += max(0, _counted_n(turn) - saved_n)
    elif not used_n:
        return ""
    room = f"{session.info.n_ctx:,}"
    used = f"{'~' if about else ''}{used_n:,}"
    return f"{used:>{len(room) + 1}} / {room} tokens"


def leading_n(session: ChatSession, turn: Turn, *, of_reply: bool) -> int:
    """The estimated tokens above a question, or above its reply: the last count before it and the text since."""
    thread = session.thread
    if turn not in thread.turns:
        return 0
    thread.load(turn)
    if of_reply and turn.reply.prompt is not None:
        return turn.reply.prompt.prompt_n
    chars_n = len(turn.prompt) if of_reply else 0
    for each in reversed(thread.turns[: thread.turns.index(turn)]):
        thread.load(each)
        if each.reply.prompt is not None and not each.is_summary:
            return max(0, _counted_n(each) - _saved_n(thread, each)) + round(chars_n / CHARS_A_TOKEN)
        chars_n += each.size
    return round((chars_n + len(thread.stored.system or "")) / CHARS_A_TOKEN)


def _counted_n(turn: Turn) -> int:
    """The tokens of a reply and of its prompt, as the engine counted them."""
    return turn.reply.timings.predicted_n + (turn.reply.prompt.prompt_n if turn.reply.prompt else 0)


def _latest(session: ChatSession) -> Turn | None:
    """The reply above the next one: the last that is shown, whatever was replied in other versions."""
    turns = session.thread.turns
    if session.current is not None or not turns:
        return session.current
    said = (each for each in reversed(turns) if each.answer is not None and not each.is_summary)
    latest = next(said, None) or session.last or turns[-1]
    session.thread.load(latest)
    return latest


def _saved_n(thread: Thread, turn: Turn) -> int:
    """The estimated number of tokens removed above this reply since it was made."""
    return _saved_by_summary_n(thread, turn) + _deleted_n(thread, turn)


def _deleted_n(thread: Thread, turn: Turn) -> int:
    """The estimated tokens of the turns above this reply that were deleted since; 0 if none were."""
    chars_n = thread.deleted_since(turn)
    if not chars_n or turn.reply.prompt is None:
        return 0
    left_n = sum(len(message.content) for message in thread.messages(turn))
    return round(turn.reply.prompt.prompt_n * chars_n / (chars_n + left_n))


def _saved_by_summary_n(thread: Thread, turn: Turn) -> int:
    """The estimated tokens saved by a summary made after this reply; 0 if there is none."""
    summary = thread.turns[0] if thread.turns else turn
    if not summary.is_summary or turn.is_summary or not thread.came_later(summary, turn):
        return 0
    thread.load(summary)
    if summary.reply.prompt is None:
        return 0
    # The system prompt stays, and the request for a summary never was in the conversation.
    kept_n = (len(thread.stored.system or "") + len(REQUEST)) / CHARS_A_TOKEN
    return max(0, round(summary.reply.prompt.prompt_n - kept_n - summary.reply.timings.predicted_n))


def copied_note(text: str, arrival: Arrival, what: str) -> str:
    """A sentence on a text that was copied, and on another way to get it."""
    lines_n = text.rstrip("\n").count("\n") + 1
    length = f"{lines_n} lines" if lines_n > 1 else f"{len(text.rstrip())} characters"
    return copied(f"The {what} is copied, {length}", arrival, "try /export")


def version_note(position: tuple[int, int]) -> str:
    """The version as 2/3; empty for the only one."""
    return f"{position[0]}/{position[1]}" if position[1] > 1 else ""
