"""What trials do to the line mode: pairs loaded for a conversation, and settings that a promotion wrote."""

from __future__ import annotations

from localspec.base.errors import LocalSpecError
from localspec.config import read_config
from localspec.line.state import State
from localspec.runtime.messages import Role


def load_tried(state: State) -> None:
    """Have the pair that the conversation is tried on, where it begins. Raises LocalSpecError."""
    begins = all(node.role is not Role.ASSISTANT for node in state.thread.tree.nodes)
    chat_config, slot = state.slot.chat_config, state.slot
    tried = state.trials.to_load(chat_config, state.thread.id, begins=begins)
    if tried.load == chat_config.load:
        return
    try:
        slot.change(tried)
    except LocalSpecError as error:
        if state.trials.instead_of(tried, error) is None:
            raise


def adopt_promoted(state: State) -> None:
    """Reply from now on as a promotion has it set, if there was one."""
    settings = state.slot.chat_config.in_use
    if state.trials.wrote_settings() and settings is not None:
        state.slot.adopt(settings.resolve(read_config(), state.thread.settings))
