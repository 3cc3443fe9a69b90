"""The comparison of pairs in the line mode: the same message to each, whose replies are versions of one another."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible_line
from localspec.chat.comparison import Comparison, fastest, named_pairs
from localspec.line.choices import settings_of
from localspec.line.replying import answer, asked, last, say_written
from localspec.line.state import State
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Role


def compare(state: State, argument: str) -> None:
    """Answer a new message, or the latest, with each of the named pairs; then go back to the pair in use.

    Ctrl-C ends the reply under way and the comparison. Raises LocalSpecError before anything is loaded.
    """
    from localspec.models.pairs import load_catalogue

    home = state.chat.chat_config
    known = {pair.id for pair in load_catalogue().pairs}
    ids, message = named_pairs(argument, known, home.pair_id)
    chat_configs = [_config(state, pair_id) for pair_id in ids]
    if message:
        say_written(state, message)
    question = last(state, Role.USER)
    state.output.remark(Comparison.statement)
    speeds: dict[str, float] = {}
    try:
        for pair_id, chat_config in zip(ids, chat_configs, strict=True):
            state.output.remark(visible_line(f"{pair_id} ({chat_config.title}):"))
            try:
                state.chat.pair.change(chat_config)
                answer(state, asked(question))
            except LocalSpecError as error:
                state.output.report(error)
                continue
            if state.chat.pair.interrupted:
                break
            turn = state.chat.last
            if turn is not None and (per_second := turn.reply.timings.predicted_per_second):
                speeds[pair_id] = per_second
    finally:
        state.chat.pair.change(home)
    said = "Each reply is a version: /version NUMBER shows one, and the conversation goes on from it."
    state.output.say(" ".join(filter(None, (fastest(speeds), said))), tokens_per_second=speeds)


def _config(state: State, pair_id: str) -> ChatConfig:
    """The configuration of a pair in this conversation. Raises LocalSpecError if it is not here."""
    home = state.chat.chat_config
    if pair_id == home.pair_id:
        return home
    settings = settings_of(state)
    chat_config = settings.for_pair(pair_id).resolve(settings.config, state.chat.stored.settings)
    return replace(chat_config, system=home.system)
