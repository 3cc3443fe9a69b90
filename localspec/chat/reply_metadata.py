"""The metadata stored with a reply: models, options, plain speed, and the side of a trial."""

from __future__ import annotations

from dataclasses import replace

from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.store import Arm, ModelFileRecord, ReplyMetadata


def reply_about(
    chat_config: ChatConfig, info: PairInfo | None, *, trial: str | None = None, arm: Arm | None = None
) -> ReplyMetadata:
    """The metadata of a reply to be made. ``info`` is None while no pair is loaded; ``trial`` is the id of a trial."""
    if info is None:
        return ReplyMetadata(chat_config.reply, pair_id=chat_config.pair_id, trial=trial, arm=arm)
    target = ModelFileRecord(info.target.name, info.target_sha256, info.target_size_bytes, info.target_sample)
    draft = (
        ModelFileRecord(info.draft.name, info.draft_sha256, info.draft_size_bytes, info.draft_sample)
        if info.draft
        else None
    )
    about = ReplyMetadata(chat_config.reply, target, draft, chat_config.pair_id, info.plain_per_second)
    return replace(about, template=info.template_digest, trial=trial, arm=arm)


def made_by_another(about: ReplyMetadata | None, chat_config: ChatConfig) -> bool:
    """True if a reply was made by another pair than this one, and not as the candidate of a trial."""
    if about is None or about.arm is Arm.CANDIDATE:
        return False
    if chat_config.load.server is not None:
        return about.pair_id != chat_config.pair_id
    if about.pair_id is not None and chat_config.pair_id is not None:
        return about.pair_id != chat_config.pair_id
    return about.target is not None and about.target.name != chat_config.load.target.name
