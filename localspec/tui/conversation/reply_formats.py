"""The format of each reply: Markdown or tokens, the marks on its tokens, and its rejected proposals.

A format is applied when a reply is drawn, when it is over, and whenever the reader asks for another; never while that
would move the text the reader looks at.
"""

from __future__ import annotations

from collections.abc import Iterable

from localspec.chat.tokens.marking import GhostMode, ReplyFormat
from localspec.tui.conversation.near_pages import NearPages
from localspec.tui.conversation.turn_view import TurnView


class ReplyFormats:
    """The common format, and the turns that have one of their own (``TurnView.own_format``)."""

    def __init__(self, near: NearPages) -> None:
        self.reply_format = ReplyFormat()
        """The format of replies that have none of their own."""
        self.ghosts = GhostMode.BRIEF
        self._near = near
        self.deferred: list[TurnView] = []
        """Finished replies that stay as they are until ``apply_deferred``."""

    def of(self, view: TurnView) -> ReplyFormat:
        """The turn's own format, or else the common one."""
        return view.own_format or self.reply_format

    def set_all(self, reply_format: ReplyFormat, views: Iterable[TurnView]) -> None:
        """Make this the common format and drop the turns' own."""
        self.reply_format = reply_format
        for view in views:
            view.own_format = None

    async def apply_deferred(self) -> None:
        """Apply the format to the deferred turns, oldest first."""
        async with self._near.lock:
            while self.deferred:
                await self.apply(self.deferred.pop(0))

    async def apply(self, view: TurnView) -> None:
        """Apply the format to one turn. The caller holds ``near``."""
        # While the app shuts down, a turn is mounted without its parts.
        if view.reply.is_attached:
            await view.reply.show(self.of(view), self.ghosts)

    async def apply_near(self) -> None:
        """Apply the format to every turn in the layout; folded turns get it when they are next shown."""
        async with self._near.lock:
            for page in self._near.pages:
                for view in page.views if not page.folded else ():
                    await self.apply(view)
