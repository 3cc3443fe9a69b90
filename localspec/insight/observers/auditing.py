"""The observer that writes the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.insight.observers import News, ReplyObserver
from localspec.insight.stats.audit import AuditLog
from localspec.store import ReplyMetadata
from localspec.store.replies_json import about_to_dict


@dataclass(slots=True)
class Auditing:
    """Writes replies to a log, which may be replaced between replies."""

    log: AuditLog
    _reported: str = ""

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return self.log.begin(about_to_dict(about), message)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """A message if the log cannot be written, once until it can be again."""
        trouble = self.log.trouble
        sentence = str(trouble) if trouble is not None else ""
        reported, self._reported = self._reported, sentence
        return [News(f"{sentence} Replies go on without it.")] if sentence and sentence != reported else []
