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
from localspec.store import Node, Recorder, ReplyAbout


def answer(state: State, question: str) -> None:
    """Reply to a question; if it has replies already, this is another version."""
    adopt_promoted(state)
    load_tried(state)
    assigned = state.trials.assign(state.slot.launch, state.talk.id, question)
    about = reply_about(assigned.launch, state.slot.info, trial=assigned.trial, arm=assigned.arm)
    _give(state, about, state.talk.begin_reply(about, under=question), question)
    adopt_promoted(state)


def go_on(state: State, reply: Node) -> None:
    """Go on with a reply where its text ends."""
    question = state.talk.tree.parent(reply.id)
    if question is None:
        raise UsageError("Nothing was asked before this reply.", "/edit TEXT changes what was asked last.")
    about = reply_about(state.slot.launch, state.slot.info)
    _give(state, about, state.talk.continue_reply(reply.id, about), question, reply.content)


def last(state: State, role: Role) -> Node:
    """The latest message of somebody. Raises UsageError if there is none."""
    found = [node for node in state.talk.path if node.role is role]
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
        stored = state.talk.reply(node.id)
    except (StoreError, ValueError):
        return None
    return stored.to_reply() if stored else None


def _give(state: State, about: ReplyAbout, recorder: Recorder, question: str, lead: str = "") -> None:
    """Raises what the pair raises; what came of the reply until then is kept."""
    info, talk = state.slot.info, state.talk
    reply = Reply(tally=Tally(plain_per_second=info.plain_per_second))
    state.last = (recorder.node.id, reply) if not lead else None
    ids = {"conversation": talk.id, "question": question, "reply": recorder.node.id}
    recorder.keeps_figures = state.slot.launch.keeps_figures
    witness = state.witness.begin(about, recorder.node.id)
    state.voice.begin(replace(state.slot.launch, reply=about.options, system=talk.system), info, ids)
    try:
        for event in state.slot.reply(talk.messages(question), lead, about.options):
            reply.receive(event)
            recorder.receive(event)
            witness.receive(event)
            state.voice.show(event)
    except LocalSpecError as error:
        reply.fail(error)
        recorder.fail(error)
        witness.fail(error)
        state.voice.end(reply, "")
        raise
    except BaseException:
        # Whoever read has gone, or wants to: what has come is the reply.
        if not reply.done:
            cut_off = Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings())
            reply.receive(cut_off)
            recorder.follow(reply)
            witness.receive(cut_off)
        raise
    state.voice.end(reply, _notes(state, recorder.node.id))


def _notes(state: State, reply: str) -> str:
    place, of = state.talk.tree.position(reply)
    return f"This is reply {place} of {of}; /version NUMBER shows another." if of > 1 else ""
