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
    about = ReplyMetadata(chat_config.reply, pair_id=chat_config.pair_id, trial=trial, arm=arm)
    if info is None:
        return about
    target = ModelFileRecord(info.target.name, info.target_sha256, info.target_size_bytes, info.target_sample)
    draft = None
    if info.draft:
        draft = ModelFileRecord(info.draft.name, info.draft_sha256, info.draft_size_bytes, info.draft_sample)
    plain, template = info.plain_per_second, info.template_digest
    return replace(about, target=target, draft=draft, plain_per_second=plain, template=template)


def made_by_another(about: ReplyMetadata | None, chat_config: ChatConfig) -> bool:
    """True if a reply was made by another pair than this one, and not as the candidate of a trial."""
    if about is None or about.arm is Arm.CANDIDATE:
        return False
    both_named = about.pair_id is not None and chat_config.pair_id is not None
    if both_named or chat_config.load.server is not None:
        return about.pair_id != chat_config.pair_id
    return about.target is not None and about.target.name != chat_config.load.target.name
