"""Conversations and hits as text for a terminal and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any

from localspec.base.amounts import number_of
from localspec.base.errors import NotFoundError, UsageError
from localspec.base.visible import visible, visible_line
from localspec.cli.tables import DIM, cells, coloured, width
from localspec.runtime.messages import Role, ToolCall
from localspec.store import Hit, Node, ReplyState, StoredConversation, Tree
from localspec.store.files.markdown import SPEAKERS
from localspec.store.files.native_json import heading_to_dict, node_to_dict
from localspec.store.timestamps import local_time, to_iso

_ENDINGS = {
    ReplyState.CUT_OFF: "cut off when the program ended",
    ReplyState.FAILED: "broken off by an error",
    ReplyState.WRITING: "still being written",
}
_SHORT_MESSAGE_ID = 6
_HIT = "1;33"
_WIDEST = 100
"""The largest width of a line of text."""


def cut(line: str) -> str:
    """A line cut to the width of the terminal, if there is one."""
    line = visible_line(line)
    if not sys.stdout.isatty() or cells(line) <= (room := width()):
        return line
    return f"{line[: _fitting_n(line, room - 1)]}…"


def chosen(tree: Tree, message: str | None, *, everything: bool) -> Sequence[Node]:
    """The branch that was open last, the one with ``message``, or all there is in the order of the tree.

    Raises NotFoundError or UsageError for a message that is not there, or not alone.
    """
    if everything:
        return tuple(_all(tree))
    if message is not None:
        found = [node.id for node in tree.nodes if node.id.startswith(message.lower()) and node.deleted is None]
        if not found:
            raise NotFoundError(f"No message here has an id that begins with {message!r}.", "--all shows them all.")
        if len(found) > 1:
            raise UsageError(f"{len(found)} messages begin with {message!r}.", "Give more of the id.")
        tree.choose(found[0])
    return tree.path()


def _all(tree: Tree) -> Iterator[Node]:
    waiting = list(reversed(tree.children(None)))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(tree.children(node.id)))


def conversation_lines(conversation: StoredConversation, nodes: Sequence[Node], short: str) -> Iterator[str]:
    """The title, then every message under a header with its role and version."""
    heading, tree = conversation.heading, conversation.tree
    yield visible_line(heading.title)
    count = number_of(len(nodes), "message")
    yield coloured(f"conversation {short}, {count}, last message {local_time(heading.updated)}", DIM)
    if heading.system:
        yield ""
        yield coloured("System", DIM)
        yield from wrapped(heading.system)
    before: str | None = None
    for node in nodes:
        yield ""
        yield coloured(_header(tree, node, before), DIM)
        if node.said.strip():
            yield from wrapped(node.said.strip("\n"))
        before = node.id


def _header(tree: Tree, node: Node, before: str | None) -> str:
    place, of = tree.position(node.id)
    parts = [
        SPEAKERS[node.role],
        *([_called(node.call)] if node.call else []),
        node.id[:_SHORT_MESSAGE_ID],
        local_time(node.created),
    ]
    if of > 1:
        parts.append(f"version {place}/{of}")
    parent = tree.parent(node.id)
    if parent is not None and parent != before:
        parts.append(f"after {parent[:_SHORT_MESSAGE_ID]}")
    if node.state in _ENDINGS:
        parts.append(_ENDINGS[node.state])
    return "  ".join(parts)


def _called(call: ToolCall) -> str:
    return visible_line(f"{call.name} {call.arguments}")


def wrapped(text: str) -> Iterator[str]:
    """Lines broken at words to the width of the terminal; code in fences, and output into a pipe, unchanged."""
    room = min(width(), _WIDEST) if sys.stdout.isatty() else 0
    fenced = False
    for line in (visible(text) if room else text).split("\n"):
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        yield from [line] if fenced or fence or not room else broken(line, room)


def broken(line: str, width: int) -> Iterator[str]:
    """A line broken into pieces of at most ``width`` cells, each indented as the first.

    >>> list(broken("- one two three", 9))
    ['- one two', 'three']
    """
    if cells(line) <= width:
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())]
    piece = indent if cells(indent) < width // 2 else ""
    indent, empty = piece, True
    for word in line.split():
        if not empty and cells(piece) + 1 + cells(word) > width >= cells(word):
            yield piece
            piece, empty = indent, True
        piece, empty = (piece + word, False) if empty else (f"{piece} {word}", False)
        while (end := max(1, _fitting_n(piece, width))) < len(piece):
            yield piece[:end]
            piece = indent + piece[end:]
    yield piece


def hit_lines(hits: Sequence[Hit], short_ids: Mapping[str, str]) -> Iterator[str]:
    """Each hit in two lines, then the command that shows the first in its conversation."""
    for hit in hits:
        message = (hit.message or "")[:_SHORT_MESSAGE_ID].ljust(_SHORT_MESSAGE_ID)
        who = SPEAKERS[Role(hit.role)] if hit.role else "Title"
        yield cut(f"{short_ids[hit.conversation]} {message}  {local_time(hit.at)}  {who} in “{hit.title}”")
        pieces = [(visible_line(piece), marked) for piece, marked in hit.snippet]
        yield "    " + "".join(coloured(piece, _HIT) if marked else piece for piece, marked in pieces)
    first = hits[0]
    message = f" --message {first.message[:_SHORT_MESSAGE_ID]}" if first.message else ""
    yield ""
    yield f"To read it in its conversation: localspec history show {short_ids[first.conversation]}{message}"


def hit_to_dict(hit: Hit) -> dict[str, Any]:
    """The object of a hit for ``--json``."""
    return {
        "conversation": hit.conversation,
        "message": hit.message,
        "title": hit.title,
        "role": hit.role,
        "at": to_iso(hit.at),
        "text": hit.text,
        "snippet": [{"text": text, "hit": marked} for text, marked in hit.snippet],
    }


def shown_to_dict(conversation: StoredConversation, nodes: Sequence[Node]) -> dict[str, Any]:
    """The object of a conversation with some of its messages, for ``--json``."""
    messages = []
    for node in nodes:
        place, of = conversation.tree.position(node.id)
        messages.append({**node_to_dict(node), "version": place, "versions_n": of})
    return {**heading_to_dict(conversation.heading), "messages": messages}


def _fitting_n(text: str, room: int) -> int:
    """The number of characters from the beginning that fit into ``room`` cells."""
    return sum(1 for _ in takewhile(lambda used: used <= room, accumulate(map(cells, text))))
