"""The Markdown export: the shown branch of a conversation, for people to read."""

from __future__ import annotations

from collections.abc import Iterator

from localspec.base.visible import visible_line
from localspec.runtime.figures import sentence
from localspec.runtime.messages import Role
from localspec.store.documents import ConversationDocument, MessageDocument
from localspec.store.replies import StoredReply
from localspec.store.summaries import recap_of
from localspec.store.tree import ReplyState

SPEAKERS = {Role.USER: "You", Role.ASSISTANT: "Reply", Role.SYSTEM: "System", Role.TOOL: "Tool"}
_FENCE = "```"
_ENDINGS = {
    ReplyState.CUT_OFF: "Cut off: the program ended during the reply.",
    ReplyState.FAILED: "Ended by an error.",
    ReplyState.WRITING: "Still being written.",
}


def to_markdown(document: ConversationDocument) -> str:
    """The path to the current leaf. Messages stay as they were written, with their headings."""
    heading = document.heading
    by_id = {message.node.id: message for message in document.messages}
    title = heading.title.replace("\n", "\u240a")  # a heading has one line
    blocks = [f"# {title}", f"*{heading.created:%Y-%m-%d %H:%M} UTC, conversation {heading.id}*"]
    if heading.system:
        blocks.append("\n".join(f"> {line}".rstrip() for line in heading.system.splitlines()))
    tree = document.tree
    recap = recap_of(tree, tree.leaf)
    for node in tree.path():
        blocks += _message(by_id[node.id])
        if recap is not None and node.id == recap.node.parent:
            blocks += ["## Summary", recap.node.content.strip(), "*The model read this in place of all above.*"]
    return "\n\n".join(blocks) + "\n"


def _message(message: MessageDocument) -> Iterator[str]:
    node = message.node
    pair = message.parts[-1].about.pair_id if message.parts else None
    yield f"## {SPEAKERS[node.role]}" + (f" ({pair})" if pair else "")
    if node.call is not None:
        name = visible_line(node.call.name)
        yield f"{name}, called with:" if name else "A call that cannot be read:"
        yield _fenced(node.call.arguments)
        yield _fenced(node.content)
    elif node.said.strip():
        yield node.said.strip("\n")
    if node.state in _ENDINGS:
        yield f"*{_ENDINGS[node.state]}*"
    elif message.parts:
        yield f"*{sentence(StoredReply(node.content, message.parts).to_reply().timings)}*"


def _fenced(text: str) -> str:
    """A text as a block of code, with a fence longer than any in it."""
    fence = _FENCE
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.strip()}\n{fence}"
