"""Commands about turns: the last one, whose every version stays, and old ones, which are summarised."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.base.amounts import number_of
from localspec.base.errors import NotFoundError, UsageError
from localspec.chat.compaction import KEPT_TURNS_N
from localspec.chat.compose.attachment import brief, without_files
from localspec.chat.compose.file_reading import unquoted
from localspec.chat.thread import restored
from localspec.engine.events import FinishReason
from localspec.line.replying import answer, asked, go_on, last, read_named, reply_of
from localspec.line.state import State
from localspec.runtime.messages import Role
from localspec.store import Node


def again(state: State, argument: str) -> None:
    """Answer the last question anew."""
    answer(state, asked(last(state, Role.USER)))


def edit(state: State, argument: str) -> None:
    """Ask the last question in other words; files that went with it still do."""
    question = last(state, Role.USER)
    text = without_files(question.content)[1]
    changed = argument or _changed(state, text)
    if not changed or changed == text:
        state.output.say("The question stays as it is.")
        return
    files = question.content.removesuffix(text) if text else question.content
    answer(state, asked(state.chat.stored.edit(question.id, files + changed)))


def continue_(state: State, argument: str) -> None:
    """Go on with the last reply, unless the model ended it; from a question or results of calls, reply to them."""
    path = state.chat.stored.path
    if path and path[-1].role is not Role.ASSISTANT:
        answer(state, restored(path[-1], None))
        return
    node = last(state, Role.ASSISTANT)
    reply = reply_of(state, node)
    if reply is not None and reply.finished is FinishReason.STOP and node.content == reply.text:
        raise UsageError("The model had ended its reply.", "/regenerate answers the question anew.")
    go_on(state, node)


def version(state: State, argument: str) -> None:
    """Show another version of the last reply; without a number, the number of versions.

    Where calls led to the reply, a version begins with the reply that made them.
    """
    replies = _replies_with(state, last(state, Role.ASSISTANT))
    node = next((each for each in reversed(replies) if len(state.chat.stored.tree.siblings(each.id)) > 1), replies[-1])
    versions = state.chat.stored.tree.siblings(node.id)
    place = state.chat.stored.tree.position(node.id)[0]
    if not argument:
        state.output.say(f"This is reply {place} of {len(versions)}.", version=place, versions_n=len(versions))
        return
    if not argument.isdecimal() or not 0 < int(argument[:9]) <= len(versions):
        has = number_of(len(versions), "version")
        raise NotFoundError(f"There is no version {argument}: this reply has {has}.", "/version NUMBER shows one.")
    chosen = versions[int(argument[:9]) - 1]
    state.chat.thread.show(chosen.id)
    shown = _replies_with(state, chosen)[-1]
    state.output.say(f"Reply {argument} of {len(versions)}: {shown.said.strip()}", content=shown.content)


def _replies_with(state: State, node: Node) -> Sequence[Node]:
    """All replies to the question that a reply on the path answers: it, and those before and after it through calls."""
    replies: list[Node] = []
    for each in state.chat.stored.path:
        if each.role is Role.ASSISTANT:
            replies.append(each)
        elif each.role is Role.USER:
            if any(reply.id == node.id for reply in replies):
                break
            replies = []
    return replies


def compact(state: State, argument: str) -> None:
    """Have all turns summarised but the last few. Raises what the pair raises; everything then is as it was."""
    if argument and not argument.isdecimal():
        raise UsageError(f"/compact takes a number, not {argument!r}.", "It says how many turns at the end stay.")
    kept_n = int(argument[:9]) if argument else KEPT_TURNS_N
    turn = state.chat.summary(kept_n)
    if turn is None:
        stay = f" older than the last {'one' if kept_n == 1 else kept_n}" if kept_n else ""
        raise UsageError(f"There is no turn{stay} to summarise.", "/compact 0 takes all there are.")
    turns_n = turn.stands_for_n
    state.output.remark(f"Summarising {number_of(turns_n, 'turn')}. Ctrl-C stops it, and nothing changes.")
    reply = state.chat.answer(turn, lambda event: None)
    recap = state.chat.stored.recap
    if recap is None or not state.chat.summarised(turn):
        stopped = reply.finished is FinishReason.CANCELLED
        why = "The summary was stopped" if stopped else "The model wrote no summary"
        state.output.say(f"{why}; everything is as it was.")
        return
    dropped_n = reply.prompt.dropped_n if reply.prompt else 0
    oldest = "message" if dropped_n == 1 else f"{dropped_n} messages"
    lost = f" For the oldest {oldest} the context had no room." if dropped_n else ""
    text = recap.node.content.strip()
    state.output.say(
        f"{number_of(turns_n, 'turn')} {'is' if turns_n == 1 else 'are'} summarised: {text}\n"
        f"/undo puts the full turns back.{lost}",
        summary=text,
        turns_n=turns_n,
    )


def stop(state: State, argument: str) -> None:
    state.output.say("No reply is being written. Ctrl-C stops a reply, and its text stays.")


def attach(state: State, argument: str) -> None:
    """Attach a file or a folder to the next message; without one, list what is attached."""
    if argument:
        found = read_named(state, unquoted(argument))
        state.attached[:] = [*(each for each in state.attached if each.path != found.path), found]
    if not state.attached:
        state.output.say("Nothing is attached; /attach FILE puts a file or a folder into the next message.")
        return
    what = "; ".join(" ".join(attachment.chip.split()) for attachment in state.attached)
    state.output.say(f"The next message goes with {what}. /detach takes it off.")


def detach(state: State, argument: str) -> None:
    state.attached.clear()
    state.output.say("Nothing is attached.")


def _changed(state: State, text: str) -> str:
    """The question as the person rewrites it at the keyboard."""
    if state.ask is None:
        raise UsageError("/edit needs the new text of the question.", "For example: /edit Why is the sea blue?")
    state.output.remark(f"The question was: {brief(text)}\nType it anew; an empty line leaves it as it is.")
    return (state.ask("> ", text) or "").strip()
