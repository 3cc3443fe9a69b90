"""How replies are shown: as Markdown or as tokens, and what becomes of rejected proposals.

A reply is dressed when it is drawn, when it is over, and whenever the reader wants it otherwise; never while that
would move what the reader looks at.
"""

from __future__ import annotations

from collections.abc import Iterable

from localspec.chat.tokens.truth import Ghosts, Showing
from localspec.tui.conversation.near_pages import NearPages
from localspec.tui.conversation.turn_view import TurnView


class Dressing:
    """One way for all turns, and for a turn its own where it has one."""

    def __init__(self, near: NearPages) -> None:
        self.showing = Showing()
        """How replies are shown that have no way of their own."""
        self.ghosts = Ghosts.BRIEF
        self._near = near
        self._unsettled: list[TurnView] = []

    def of(self, view: TurnView) -> Showing:
        """How this turn is to be shown."""
        return view.own_showing or self.showing

    def show_all(self, showing: Showing, views: Iterable[TurnView]) -> None:
        """Show all so, and forget what single turns had for themselves."""
        self.showing = showing
        for view in views:
            view.own_showing = None

    def put_off(self, view: TurnView) -> None:
        """Its reply is over: ``settle`` gives it its final look."""
        self._unsettled.append(view)

    def forget(self) -> None:
        """The turns are gone."""
        self._unsettled.clear()

    @property
    def unsettled(self) -> bool:
        """Whether turns wait for their final look."""
        return bool(self._unsettled)

    async def settle(self) -> None:
        """Dress those that were put off."""
        async with self._near.held():
            while self._unsettled:
                await self.dress(self._unsettled.pop(0))

    async def dress(self, view: TurnView) -> None:
        """To be called while ``near`` is held."""
        if view.is_attached:
            await view.reply.show(self.of(view), self.ghosts)

    async def dress_near(self) -> None:
        """Dress every turn in the layout; those folded away are dressed when they are next seen."""
        async with self._near.held():
            for page in self._near.pages:
                for view in page.views if not page.folded else ():
                    await self.dress(view)
