"""Below the conversation: the tour, the notice, the prompt, the live line, and the keys that matter now."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalGroup

from localspec.chat.commands.moving import LATEST
from localspec.chat.commands.watching import STOP
from localspec.chat.session import ChatSession
from localspec.chat.settings.preferences import Preferences
from localspec.chat.status import live_state
from localspec.chat.tokens.marking import MarkMode
from localspec.tui.controllers.notices import NoticeController
from localspec.tui.controllers.pairs import PairController
from localspec.tui.conversation.turn_notes import context_note
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.tokens.palette import Palette
from localspec.tui.widgets.hints import Hints
from localspec.tui.widgets.live_line import LiveLine
from localspec.tui.widgets.notice import CUE, Notice
from localspec.tui.widgets.tour_line import TourLine


class Foot(VerticalGroup):
    """The rows below the conversation, and the events that concern them alone."""

    DEFAULT_CSS = """
    Foot { align-horizontal: center; padding: 0 1 0 0; }
    Foot Notice, Foot Prompt, Foot LiveLine, Foot Hints { width: 100%; max-width: 92; }
    Foot LiveLine { padding: 0 2; }
    """

    def __init__(
        self, session: ChatSession, controller: PairController, palette: Callable[[], Palette], prompt: Prompt
    ) -> None:
        super().__init__(id="foot")
        self.hints = Hints(prompt.area.run_command)
        self.tour = TourLine()
        self._session = session
        self._controller = controller
        self._notice = Notice()
        self._prompt = prompt
        self._live = LiveLine(palette)
        self._weight_n = 0
        """Tokens of the message that is being written, about."""
        self.leads_n: Callable[[], int | None] = lambda: None
        """The estimated tokens above the message being edited; None while none is."""
        self.notices = NoticeController(session, controller, self._notice.say)

    def compose(self) -> ComposeResult:
        yield self.tour
        yield self._notice
        yield self._prompt
        yield self._live
        yield self.hints

    def fit(self) -> None:
        """Fit what floats over the conversation to the rows that there are above."""
        self._prompt.refresh_offers()
        self._notice.fit()

    def draw(self, mode: MarkMode) -> None:
        """Draw the figures; ``mode`` is the mode in which tokens are marked."""
        self._live.show(live_state(self._session, self._controller.keymap.way(STOP), mode))
        self.hints.offer_stop(not self._session.free)
        self.notices.draw()
        self._notice.measure(context_note(self._session, self._weight_n, self.leads_n()))

    def use(self, preferences: Preferences) -> None:
        """Apply the key map and reduced motion."""
        self.hints.use(preferences.keymap)
        self.tour.use(preferences.keymap)
        self._prompt.set_calm(preferences.reduced_motion)

    def point(self, *, to_newest: bool) -> None:
        """Point the way back to the newest text, or no more."""
        self._notice.cue("↓ new" if to_newest else "")

    async def on_click(self, event: events.Click) -> None:
        """Go to the newest text, where the way to it is pointed out."""
        if event.widget is not None and event.widget.id == CUE:
            await self._prompt.area.run_command(LATEST)

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        if self.notices.latest and event.text and event.by_hand:
            self.notices.say("")

    def on_prompt_noted(self, event: Prompt.Noted) -> None:
        self.notices.say(event.text)

    def on_prompt_counted(self, event: Prompt.Counted) -> None:
        self.hints.weigh(event.text)
        self._weight_n = event.count.n if event.count else 0
        self._notice.measure(context_note(self._session, self._weight_n, self.leads_n()))
