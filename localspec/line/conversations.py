"""Commands about whole conversations."""

from __future__ import annotations

from pathlib import Path

from localspec.base.amounts import number_of
from localspec.base.errors import NotFoundError, UsageError
from localspec.base.visible import visible_line
from localspec.chat.history import kept
from localspec.chat.reply_metadata import made_by_another
from localspec.chat.thread import deleted_in_words
from localspec.line.state import State
from localspec.runtime.messages import Role
from localspec.store import Heading, Node, ReplyState, StoredConversation
from localspec.store.files.markdown import SPEAKERS
from localspec.store.filing import Filing, FilingFilter
from localspec.store.timestamps import local_time

MOST_LISTED = 20
_ENDINGS = {
    ReplyState.CUT_OFF: "Cut off when the program ended.",
    ReplyState.FAILED: "Broken off by an error.",
    ReplyState.WRITING: "Still being written.",
}
_WHOLE, _ALL = "conversation", "all"


def new(state: State, argument: str) -> None:
    state.chat.begin_anew()
    state.output.say("A new conversation.", conversation=state.chat.stored.id)


def list_(state: State, argument: str) -> None:
    """List the latest conversations, or those with some letters in the title."""
    stored = state.chat.store.conversations()
    matches = kept(stored, argument)
    shown = matches[:MOST_LISTED]
    if not stored:
        state.output.say("There are no conversations yet; the messages of this one will be kept.", conversations=[])
        return
    if not shown:
        if not argument:
            raise NotFoundError("All conversations are in the archive.", "/list is:archived lists them.")
        if not FilingFilter.parse(argument)[1].strip():
            raise NotFoundError(f"Nothing is filed as {argument!r}.", "/list is:any lists all, the archive too.")
        raise NotFoundError(f"No title has the letters of {argument!r}.", "/search looks into the messages.")
    state.listed = [(each.heading.id, None) for each in shown]
    lines = [
        f"{number}. {visible_line(each.heading.title)}, {number_of(each.messages_n, 'message')}, "
        f"{local_time(each.heading.updated)}{', pinned' if each.heading.pinned else ''}{_filed(each.heading)}"
        for number, each in enumerate(shown, 1)
    ]
    more_n = len(matches) - len(shown)
    more = f" {more_n:,} more: /list and some letters of the title finds them." if more_n else ""
    text = "\n".join([*lines, f"/open NUMBER opens one.{more}"])
    listed = [{"id": e.heading.id, "title": e.heading.title, "messages_n": e.messages_n} for e in shown]
    state.output.say(text, conversations=listed)


def search(state: State, argument: str) -> None:
    """Search words in messages and titles."""
    if not argument:
        raise UsageError("/search needs words to look for.", "For example: /search blue sky")
    hits = state.chat.store.search(argument, MOST_LISTED)
    if not hits:
        raise NotFoundError(f"No message has {argument!r} in it.", "Fewer words find more.")
    state.listed = [(hit.conversation, hit.message) for hit in hits]
    lines = []
    for number, hit in enumerate(hits, 1):
        who = SPEAKERS[Role(hit.role)] if hit.role else "Title"
        text = " ".join("".join(piece for piece, _ in hit.snippet).split())
        lines.append(visible_line(f"{number}. In {hit.title}, {local_time(hit.at)}. {who}: {text}"))
    found = [{"conversation": hit.conversation, "message": hit.message, "text": hit.text} for hit in hits]
    state.output.say("\n".join([*lines, "/open NUMBER opens one at this place."]), hits=found)


def open_(state: State, argument: str) -> None:
    """Open a conversation by its number in the latest list, or by the beginning of its id."""
    if not argument:
        raise UsageError("/open needs the number of a conversation, or its id.", "/list lists them.")
    conversation, message = _meant(state, argument)
    thread = state.chat.store.open_conversation(conversation)
    if message is not None:
        thread.choose(message)
    state.chat.turn_to(thread)
    state.output.say(" ".join(filter(None, (opened(thread), other_pair_note(state)))), conversation=thread.id)


def other_pair_note(state: State) -> str:
    """A sentence if the conversation was with another pair than the one in use, with the way back to it; else empty."""
    from localspec.models.pairs import load_catalogue
    from localspec.models.pairs.state import HERE, state_of

    about = state.chat.stored.last_made_with
    if about is None or not made_by_another(about, state.chat.chat_config):
        return ""
    pair = next((each for each in load_catalogue().pairs if each.id == about.pair_id), None)
    if pair is None:
        name = about.pair_id or (about.target.name if about.target else "")
        return f"It was with {name}, which is not among the pairs here."
    if pair.tour:
        return ""
    if state_of(pair).state == HERE:
        return f"It was with {pair.title}; /pair {pair.id} goes on with that."
    return f"It was with {pair.title}, which is not here; `localspec pairs pull {pair.id}` fetches it."


def opened(thread: StoredConversation) -> str:
    """The sentence for a conversation that was opened."""
    path = thread.path
    cut_off = bool(path) and path[-1].state is ReplyState.CUT_OFF
    hint = " The last reply was cut off; /continue goes on with it." if cut_off else ""
    return f"Opened {visible_line(thread.title)}, {number_of(len(path), 'message')}. /show reads the last turn.{hint}"


def show(state: State, argument: str) -> None:
    """Show the last turn, or the whole conversation."""
    if argument not in ("", _ALL):
        raise UsageError(f"/show takes {_ALL}, or nothing.", "/show alone shows the last turn.")
    path = state.chat.stored.path
    if not path:
        raise UsageError("Nothing has been said yet.", "Type a message.")
    asked_at = max((at for at, node in enumerate(path) if node.role is Role.USER), default=0)
    shown = path if argument else path[asked_at:]
    blocks = [_block(state, node) for node in shown]
    if argument and state.chat.stored.system:
        blocks.insert(0, f"System: {state.chat.stored.system}")
    records = [{"id": node.id, "role": node.role, "content": node.content} for node in shown]
    state.output.say(
        "\n\n".join([visible_line(state.chat.stored.title), *blocks] if argument else blocks), messages=records
    )


def rename(state: State, argument: str) -> None:
    """Set the title; an empty one is made from the first question."""
    state.chat.stored.rename(argument)
    state.output.say(visible_line(f"The title is: {state.chat.stored.title}."))


def delete(state: State, argument: str) -> None:
    """Delete the last turn, or the whole conversation."""
    if argument == _WHOLE:
        _delete_whole(state)
        return
    if argument:
        raise UsageError(f"/delete takes {_WHOLE}, or nothing.", "/delete alone deletes the last turn.")
    path, thread = state.chat.stored.path, state.chat.stored
    if not path:
        raise UsageError("There is nothing to delete.", "Nothing has been said yet.")
    what = deleted_in_words(thread.delete(path[-1].id))
    state.output.say(f"{what} is deleted; /undo brings it back.")


def undo(state: State, argument: str) -> None:
    """Undo the latest deletion or summary in this conversation, or the deletion of a whole one if that came later."""
    undone = state.chat.undo()
    if undone is None:
        raise UsageError("There is nothing to bring back: nothing was deleted here.", "/list lists conversations.")
    if undone.message is None:
        state.chat.turn_to(undone.conversation)
        state.output.say(visible_line(f"{undone.conversation.title} is back, and open."))
        return
    what = "The full turns are" if undone.is_summary else "The turn is"
    state.output.say(visible_line(f"{what} back in {undone.conversation.title}."))


def export(state: State, argument: str) -> None:
    """Write the conversation to a new file; its name may be a kind of files, as on the screen."""
    from localspec.chat import exporting

    if not argument:
        hint = "For example /export talk.md; .html has the token colours, .json every version, .ndjson every token."
        raise UsageError("/export needs the name of a file.", hint)
    path = exporting.export(state.chat.stored, Path(), argument)
    state.output.say(f"The conversation is written to {path}.", file=str(path))


def import_(state: State, argument: str) -> None:
    """Import the conversations of a file, all or none; those already here stay as they are."""
    from localspec.chat.importing import file_argument, imported
    from localspec.store.files import read_conversations

    added = state.chat.store.add(read_conversations(file_argument(argument)))
    state.output.say(imported(added), imported=list(added.new), known=list(added.known))


def _filed(heading: Heading) -> str:
    filing = str(Filing.of(heading))
    return visible_line(f", {filing}") if filing else ""


def _meant(state: State, argument: str) -> tuple[str, str | None]:
    if argument.isdecimal() and 0 < int(argument[:9]) <= len(state.listed):
        return state.listed[int(argument[:9]) - 1]
    if argument.isdecimal() and len(argument) < 3:
        listed = f"{len(state.listed)} were listed" if state.listed else "none were listed"
        raise NotFoundError(f"There is no number {argument}: {listed}.", "/list lists conversations.")
    return state.chat.store.find(argument), None


def _block(state: State, node: Node) -> str:
    place, of = state.chat.stored.tree.position(node.id)
    version = f" ({place} of {of})" if of > 1 else ""
    ending = f"\n{_ENDINGS[node.state]}" if node.state in _ENDINGS else ""
    called = f" {node.call.name} {node.call.arguments}" if node.call else ""
    return f"{SPEAKERS[node.role]}{called}{version}: {node.said.strip()}{ending}"


def _delete_whole(state: State) -> None:
    deleted = state.chat.stored
    if not deleted.path:
        raise UsageError("There is nothing to delete.", "Nothing has been said yet.")
    state.chat.deleted.delete(deleted.id)
    state.chat.begin_anew()
    state.output.say(f"{visible_line(deleted.title)} is deleted; /undo brings it back. This is a new conversation.")
