"""Limits of a server for a chat, in sentences."""

from __future__ import annotations

from dataclasses import fields

from localspec.base.visible import visible_line
from localspec.engine.settings import Sampling
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.remote.address import ServerAddress


def remote_notes(chat_config: ChatConfig, info: PairInfo, *, once: bool = False) -> list[str]:
    """The sentences to say when a pair of a server is connected; none for a pair of this machine.

    ``once`` is for a single reply, whose tokens are not looked into afterwards.
    """
    if info.server is None or chat_config.load.server is None:
        return []
    warning = ServerAddress.parse(chat_config.load.server).warning
    return [*([warning] if warning else []), *_lacks(chat_config, info, once=once)]


def _lacks(chat_config: ChatConfig, info: PairInfo, *, once: bool) -> list[str]:
    if info.tells_tokens:
        return []
    lacks = []
    if not once:
        lacks.append(
            f"{visible_line(info.target_name)} of {info.server} sends text only: where its tokens came from is not "
            "known, and depth, drafters, the race and the inspector do not work with it."
        )
    if unsent := _unsent_sampling(chat_config, info):
        lacks.append(f"{info.server} does not take these settings, which have no effect: {', '.join(unsent)}.")
    return lacks


def _unsent_sampling(chat_config: ChatConfig, info: PairInfo) -> list[str]:
    """The settings of sampling that are in force, and that the server has no place for; a grammar is refused."""
    if info.passes_on is None:
        return []
    sampling = chat_config.reply.sampling
    changed = (field.name for field in fields(Sampling) if getattr(sampling, field.name) != field.default)
    return [name for name in changed if name not in (*info.passes_on, "grammar")]
