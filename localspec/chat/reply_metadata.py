"""What a reply is made with, put down with it for those who read it later."""

from __future__ import annotations

from dataclasses import replace

from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.store import Arm, ModelFileRecord, ReplyMetadata


def reply_about(
    chat_config: ChatConfig, info: PairInfo | None, *, trial: str | None = None, arm: Arm | None = None
) -> ReplyMetadata:
    """``info`` is None while no pair is loaded; ``trial`` and ``arm`` where the reply counts for a trial."""
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
    """Whether a reply was made by another pair than this one; not where a trial had another speak once."""
    if about is None or about.arm is Arm.CANDIDATE:
        return False
    if about.pair_id is not None and chat_config.pair_id is not None:
        return about.pair_id != chat_config.pair_id
    return about.target is not None and about.target.name != chat_config.load.target.name
