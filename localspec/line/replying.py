"""Replies in the line mode, from the chat to the output."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import LocalSpecError, StoreError, UsageError
from localspec.base.visible import visible_line
from localspec.chat.compose.attachment import fitted, notices, search_of, with_files
from localspec.chat.restoring import restored
from localspec.chat.turn import Turn
from localspec.line.state import State
from localspec.line.tools import make_calls
from localspec.runtime.messages import Reply, Role
from localspec.store import Node


def say(state: State, text: str) -> Turn:
    """Store a message with the attached files, which are then attached no more; returns the turn to answer."""
    attached = {each.path: each for each in state.attached}.values()
    files = fitted(attached, state.chat.pair.info.n_ctx) if attached else ()
    state.meaning.learn(*search_of(files, text))
    if state.meaning.trouble:
        state.output.remark(str(state.meaning.trouble))
    for notice in notices(files, text, state.meaning):
        state.output.remark(f"{notice} /show shows it.")
    turn = state.chat.ask(with_files(files, text, state.meaning))
    state.attached.clear()
    return turn


def answer(state: State, turn: Turn) -> None:
    """Reply to a turn, or go on with its reply; then make its calls, and reply to their results, until it makes none.

    Raises what the pair raises; the reply so far is stored.
    """
    going_on: Turn | None = turn
    while going_on is not None:
        _answer_once(state, going_on)
        going_on = make_calls(state)


def _answer_once(state: State, turn: Turn) -> None:
    chat, output = state.chat, state.output
    active = chat.begin(turn)
    for trouble in chat.tool_use.toolbox.troubles if turn.prompt else ():
        output.remark(visible_line(trouble))
    ids = {"conversation": chat.stored.id, "question": turn.question or "", "reply": turn.answer or ""}
    output.begin(replace(chat.chat_config, reply=active.about.options, system=chat.stored.system), chat.pair.info, ids)
    try:
        reply = chat.follow(active, output.show)
    except LocalSpecError:
        output.end(turn.reply, "")
        raise
    place, of = chat.stored.tree.position(ids["reply"])
    output.end(reply, f"This is reply {place} of {of}; /version NUMBER shows another." if of > 1 else "")


def asked(question: Node) -> Turn:
    """A turn that answers a question of the conversation; its replies so far stay as other versions."""
    return Turn(question.content, question.id)


def go_on(state: State, reply: Node) -> None:
    """Go on with a reply at the end of its text."""
    tree = state.chat.stored.tree
    question = tree.parent(reply.id)
    if question is None:
        raise UsageError("Nothing was asked before this reply.", "/edit TEXT changes what was asked last.")
    answer(state, state.chat.thread.carry_on(restored(tree.node(question), reply)))


def last(state: State, role: Role) -> Node:
    """The latest message of a role. Raises UsageError if there is none."""
    found = [node for node in state.chat.stored.path if node.role is role]
    if not found:
        raise UsageError(
            "Nothing has been said yet." if role is Role.USER else "There is no reply yet.", "Type a message."
        )
    return found[-1]


def reply_of(state: State, node: Node) -> Reply | None:
    """A reply with its tokens; None if no model wrote it, or it cannot be read now."""
    turn = state.chat.last
    if turn is not None and turn.answer == node.id:
        return turn.reply
    try:
        stored = state.chat.stored.reply(node.id)
    except (StoreError, ValueError):
        return None
    return stored.to_reply() if stored else None
