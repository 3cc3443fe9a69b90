"""Commands that show figures: those of the last reply, and those of all replies."""

from __future__ import annotations

import shutil
import sys

from localspec.base.errors import NotFoundError
from localspec.base.terminal_stream import is_utf8
from localspec.line.replying import last, reply_of
from localspec.line.state import State
from localspec.runtime.figures import summary_parts, tokens
from localspec.runtime.messages import Role

_LEAST_WIDTH = 40


def figures(state: State, argument: str) -> None:
    """Show the figures of the last reply, one a line."""
    reply = reply_of(state, last(state, Role.ASSISTANT))
    if reply is None:
        raise NotFoundError("There are no figures for this reply: no model wrote it.", "/regenerate has one write it.")
    chat_config, timings = state.chat.chat_config, reply.timings
    name = chat_config.pair_id or chat_config.title
    prompt = f"{tokens(timings.prompt_n)} of prompt read, {timings.cache_n:,} more known from before"
    lines = [*summary_parts(timings, reply.rounds, name), prompt]
    state.output.say("\n".join(lines))


def stats(state: State, argument: str) -> None:
    """Show the figures of all stored replies, as a page."""
    from localspec.insight.stats.overview import Overview
    from localspec.insight.stats.page import Sheet, page
    from localspec.insight.stats.wording import basis

    overview = Overview(None)
    state.chat.stored.flush()
    for run in state.chat.store.runs():
        overview.add(run)
    if not overview.whole.replies_n:
        state.output.say("There are no figures yet. Each reply is kept with its own; then they are shown here.")
        return
    sheet = Sheet(max(_LEAST_WIDTH, shutil.get_terminal_size().columns - 1), not is_utf8(sys.stderr))
    lines = [basis(overview), "", *(text for text, _ in page(overview, sheet))]
    state.output.say("\n".join(lines), stats=overview.to_dict())
