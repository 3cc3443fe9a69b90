"""The files attached to the message being written: a row each, as long as they are few."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from localspec.base.visible import visible_line
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.token_counts import TokenCount

_MAX_ROWS = 4


class Attached(Static):
    """Path, size and tokens of each; not there while nothing is attached."""

    DEFAULT_CSS = """
    Attached { height: auto; color: $quiet; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__("")
        self._shown: list[tuple[str, str]] = []

    def show(self, attachments: Sequence[Attachment], as_read: Sequence[tuple[Attachment, TokenCount]]) -> None:
        """Show these attachments, with the tokens of each as the model will read it."""
        read = {attachment.path: (attachment, count) for attachment, count in as_read}
        rows = [
            (visible_line(attachment.chip), _amounts(attachment, *read.get(attachment.path, (None, None))))
            for attachment in attachments
        ]
        if rows == self._shown:
            return
        self._shown = rows
        if len(rows) > _MAX_ROWS:
            rows = [*rows[: _MAX_ROWS - 1], (f"and {len(rows) - _MAX_ROWS + 1} more", "")]
        self.update(Content("\n").join(Content.assemble(("+ ", "$accent"), chip, amounts) for chip, amounts in rows))
        self.display = bool(rows)


def _amounts(attachment: Attachment, read: Attachment | None, count: TokenCount | None) -> str:
    skipped = f", {attachment.skipped_n} without text left out" if attachment.skipped_n else ""
    passages = ", too large: the passages that fit the question go along" if read is None or read != attachment else ""
    return f"{skipped}{passages}{f', {count}' if count is not None else ''}"
