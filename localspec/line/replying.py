"""One reply: from the pair to the reader and into the store, event by event."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import LocalSpecError, StoreError, UsageError
from localspec.chat.reply_metadata import reply_about
from localspec.engine.events import Finished, FinishReason
from localspec.engine.tally import Tally
from localspec.line.state import State
from localspec.line.trying import adopt_promoted, load_tried
from localspec.runtime.messages import Reply, Role
from localspec.store import Node, Recorder, ReplyMetadata


def answer(state: State, question: str) -> None:
    """Reply to a question; if it has replies already, this is another version."""
    adopt_promoted(state)
    load_tried(state)
    assigned = state.trials.assign(state.slot.chat_config, state.thread.id, question)
    about = reply_about(assigned.chat_config, state.slot.info, trial=assigned.trial, arm=assigned.arm)
    _give(state, about, state.thread.begin_reply(about, under=question), question)
    adopt_promoted(state)


def go_on(state: State, reply: Node) -> None:
    """Go on with a reply where its text ends."""
    question = state.thread.tree.parent(reply.id)
    if question is None:
        raise UsageError("Nothing was asked before this reply.", "/edit TEXT changes what was asked last.")
    about = reply_about(state.slot.chat_config, state.slot.info)
    _give(state, about, state.thread.continue_reply(reply.id, about), question, reply.content)


def last(state: State, role: Role) -> Node:
    """The latest message of somebody. Raises UsageError if there is none."""
    found = [node for node in state.thread.path if node.role is role]
    if not found:
        raise UsageError(
            "Nothing has been said yet." if role is Role.USER else "There is no reply yet.", "Type a message."
        )
    return found[-1]


def reply_of(state: State, node: Node) -> Reply | None:
    """A reply with its tokens; None if no model wrote it, or it cannot be read now."""
    if state.last is not None and state.last[0] == node.id:
        return state.last[1]
    try:
        stored = state.thread.reply(node.id)
    except (StoreError, ValueError):
        return None
    return stored.to_reply() if stored else None


def _give(state: State, about: ReplyMetadata, recorder: Recorder, question: str, lead: str = "") -> None:
    """Raises what the pair raises; what came of the reply until then is kept."""
    info, thread = state.slot.info, state.thread
    reply = Reply(tally=Tally(plain_per_second=info.plain_per_second))
    state.last = (recorder.node.id, reply) if not lead else None
    ids = {"conversation": thread.id, "question": question, "reply": recorder.node.id}
    recorder.keeps_figures = state.slot.chat_config.keeps_figures
    observer = state.observer.begin(about, recorder.node.id)
    state.voice.begin(replace(state.slot.chat_config, reply=about.options, system=thread.system), info, ids)
    try:
        for event in state.slot.reply(thread.messages(question), lead, about.options):
            reply.receive(event)
            recorder.receive(event)
            observer.receive(event)
            state.voice.show(event)
    except LocalSpecError as error:
        reply.fail(error)
        recorder.fail(error)
        observer.fail(error)
        state.voice.end(reply, "")
        raise
    except BaseException:
        # Whoever read has gone, or wants to: what has come is the reply.
        if not reply.done:
            cut_off = Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings())
            reply.receive(cut_off)
            recorder.follow(reply)
            observer.receive(cut_off)
        raise
    state.voice.end(reply, _notes(state, recorder.node.id))


def _notes(state: State, reply: str) -> str:
    place, of = state.thread.tree.position(reply)
    return f"This is reply {place} of {of}; /version NUMBER shows another." if of > 1 else ""
