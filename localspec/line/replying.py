"""Replies in the line mode, from the chat to the output."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import LocalSpecError, NotFoundError, StoreError, UsageError
from localspec.base.visible import visible_line
from localspec.chat.compose.attachment import Attachment, fitted, notices, search_of, with_files
from localspec.chat.compose.file_reading import path_of, read_attachment
from localspec.chat.compose.mentions import mentions, readings
from localspec.chat.thread import restored
from localspec.chat.turn import Turn
from localspec.line.state import State
from localspec.line.tools import make_calls
from localspec.runtime.messages import Reply, Role
from localspec.store import Node


def say_written(state: State, text: str) -> Turn:
    """Store a message as the person wrote it: at a keyboard, @ and a name attach a file. Else as ``say``."""
    if state.ask is not None:
        state.attached += _mentioned(state, text)
    return say(state, text)


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


def _mentioned(state: State, text: str) -> list[Attachment]:
    """The files named with @ in a typed message; a name without a file is only text."""
    found: dict[str, Attachment] = {}
    for mention in mentions(text):
        for path in readings(mention.path):
            try:
                attachment = read_named(state, path)
            except NotFoundError:
                continue
            found[path] = attachment
            state.output.remark(f"Attached {' '.join(attachment.chip.split())}.")
            break
    return list(found.values())


def read_named(state: State, name: str) -> Attachment:
    """The file or folder at a path, or the resource of a server. Raises LocalSpecError."""
    n_ctx = state.chat.pair.info.n_ctx
    found = state.chat.tool_use.attachment(name)
    return replace(found, n_ctx=n_ctx) if found is not None else read_attachment(path_of(name), name, n_ctx)


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
    try:
        active = chat.begin(turn)
    except KeyboardInterrupt:  # servers are waited for
        output.remark("Stopped; /continue goes on.")
        raise
    for trouble in chat.tool_use.toolbox.troubles if turn.prompt else ():
        output.remark(visible_line(trouble))
    ids = {"conversation": chat.stored.id, "question": turn.question or "", "reply": turn.answer or ""}
    output.begin(replace(chat.chat_config, reply=active.about.options, system=chat.stored.system), chat.pair.info, ids)
    try:
        reply = chat.follow(active, output.show)
    except LocalSpecError:
        output.end(turn.reply, "")
        raise
    except KeyboardInterrupt:  # the pair has written all, and the check of replies is waited for
        output.end(turn.reply, "")
        if state.ask is None:
            raise
        return
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
