"""The files attached to the message being written: a row each, as long as they are few."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widgets import Static

from localspec.base.visible import visible_line
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.token_counts import TokenCount

_MAX_ROWS = 4
_UNSEEN = ", which this model cannot see: it has no projector"
_PATH_CELLS = 12
"""The cells of a path's end that stay at least; a path that does not fit then is in the next row."""


class Attached(Static):
    """Path, size and tokens of each; not there while nothing is attached."""

    DEFAULT_CSS = """
    Attached { color: $quiet; display: none; }
    """

    def __init__(self) -> None:
        super().__init__("")
        self._shown: list[tuple[str, str]] = []
        """The path, and what there is to say about it."""

    def show(
        self, attachments: Sequence[Attachment], as_read: Sequence[tuple[Attachment, TokenCount]], *, sees: bool = True
    ) -> None:
        """Show these attachments, with the tokens of each as the model will read it, and whether it ``sees`` images."""
        read = {attachment.path: (attachment, count) for attachment, count in as_read}
        rows = []
        for attachment in attachments:
            amounts = _amounts(attachment, *read.get(attachment.path, (None, None)))
            about = visible_line(attachment.chip.removeprefix(attachment.path))
            rows.append(
                (visible_line(attachment.path), about + (amounts if sees or not attachment.is_image else _UNSEEN))
            )
        if len(rows) > _MAX_ROWS:
            rows = [*rows[: _MAX_ROWS - 1], (f"and {len(rows) - _MAX_ROWS + 1} more", "")]
        if rows != self._shown:
            self._shown = rows
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        room = self.size.width or self.app.size.width - 4
        rows = (
            Content.assemble(("+ ", "$accent"), _ending(path, room - 2 - cell_len(about)), about)
            for path, about in self._shown
        )
        self.update(Content("\n").join(rows))
        self.display = bool(self._shown)


def _ending(path: str, room: int) -> str:
    """As much of a path as there is room for, from its end."""
    room = max(room, _PATH_CELLS)
    return path if cell_len(path) <= room else "…" + set_cell_size(path[::-1], room - 1)[::-1].strip()


def _amounts(attachment: Attachment, read: Attachment | None, count: TokenCount | None) -> str:
    passages = ""
    if read is None or read != attachment:
        found_n = read.passages_n if read is not None else 0
        passages = f", too large: {found_n or 'no'} passage{'s' if found_n != 1 else ''} for the question"
    return f"{passages}{f', {count}' if count is not None else ''}"
