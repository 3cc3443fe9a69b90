"""Replies on screen while the engine writes them: one timer, which runs only while there is something to draw.

A frame takes all answers that the engine has sent since the last one, so the screen's work does not grow with the
engine's speed.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.widgets import Static

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible_line
from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.changes import (
    Began,
    Called,
    Change,
    Ended,
    GoesOn,
    LoadFailed,
    PairReady,
    TokenCountAnswered,
    Wrote,
)
from localspec.chat.frame_rate import FRAME_S, FrameRate
from localspec.chat.pending import PendingMessages
from localspec.chat.settings.controller import SettingsController
from localspec.chat.tokens.marking import GhostMode
from localspec.chat.turn import Turn
from localspec.runtime.remote.limits import remote_notes
from localspec.tui.controllers.calls import CallController
from localspec.tui.controllers.marking import MarkingController
from localspec.tui.controllers.notices import NoticeController
from localspec.tui.controllers.pairs import PairController
from localspec.tui.controllers.summaries import SummaryController
from localspec.tui.controllers.turns import TurnController
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.tokens.ghost_timer import GhostTimer

FRAMES_PER_FIGURES = 3
"""The figures are drawn at every third frame: a person cannot read them faster."""


class Complaint:
    """The error of a pair, below the conversation until a pair is loaded; at most one at a time."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def show(self, error: LocalSpecError, advice: str = "") -> None:
        """Show an error and what to do next, in place of an earlier one."""
        self.withdraw()
        next_step = visible_line(f"{error.hint} {advice}".strip())
        text = Content.assemble(visible_line(error.message), " ", (next_step, "$foreground"))
        self._transcript.run_worker(self._add(Static(text, classes="load-error")))

    def withdraw(self) -> None:
        """Remove the error: a pair is loaded."""
        self._transcript.query(".load-error").remove()

    async def _add(self, widget: Static) -> None:
        await self._transcript.add(widget)
        self._transcript.call_after_refresh(self._transcript.scroll_end, animate=False)


class ReplyController:
    """Feeds the engine's answers to the session, and draws what changed."""

    def __init__(
        self,
        inbox: AnswerQueue,
        turns: TurnController,
        marking: MarkingController,
        summaries: SummaryController,
        prompt: Prompt,
        pending: PendingMessages,
        pairs: PairController,
        settings: SettingsController,
        notices: NoticeController,
        calls: CallController,
        draw_figures: Callable[[], object],
        clock: Callable[[], float],
    ) -> None:
        """``draw_figures`` draws the rows around the conversation; it is called now and then, and after the last."""
        self.complaint = Complaint(turns.transcript)
        """The error of a pair that cannot be loaded."""
        self._session = turns.session
        self._inbox = inbox
        self._turns = turns
        self._marking = marking
        self._summaries = summaries
        self._prompt = prompt
        self._pending = pending
        self._pairs = pairs
        self._settings = settings
        self._notices = notices
        self._calls = calls
        self._draw_figures = draw_figures
        self._ghosts = GhostTimer(clock)
        self._rate = FrameRate()
        self._frame_n = 0
        self._started = False

    def start(self) -> None:
        """Make the timer, and draw. The conversation is mounted."""
        self._timer = self._turns.transcript.set_interval(FRAME_S, self._tick, pause=True)
        self._started = True
        self.wake()

    def wake(self) -> None:
        """Draw now, and go on drawing for as long as there is something to draw."""
        if not self._started:  # a key may come first
            return
        self._timer.resume()
        self._prompt.set_calm(True)
        self._frame_n = -1
        self._rate.begin()
        self._frame()

    def _tick(self) -> None:
        if self._rate.due():
            self._frame()

    def _frame(self) -> None:
        for answer in self._inbox.take():
            self._session.receive(answer)
        for change in self._session.advance():
            self._show(change)
            self._marking.follow(change)
        self._fade()
        self._frame_n += 1
        done = not self._session.busy and not self._ghosts.lasts
        if done or self._frame_n % FRAMES_PER_FIGURES == 0:
            self._draw_figures()
        if done:
            self._timer.pause()
            self._prompt.set_calm(self._settings.preferences.reduced_motion)
            self._inbox.sleep()

    def _show(self, change: Change) -> None:
        match change:
            case Began(turn):
                self._begin(turn)
            case Wrote():
                self._write(change)
            case Ended(turn):
                self._end(turn)
            case Called(turn):
                self._calls.called(turn)
            case GoesOn():
                self._calls.goes_on()
            case TokenCountAnswered(token_n):
                self._prompt.counted(token_n)
            case LoadFailed(error):
                self._prompt.fit(None)
                self._notices.latest = ""
                self.complaint.show(error, self._pairs.way_back())
                self._pairs.begin()
            case PairReady(info):
                self._prompt.fit(info.n_ctx, sees=info.projector is not None)
                self.complaint.withdraw()
                self._settings.pace()
                notes = " ".join(remote_notes(self._session.chat_config, info))
                self._notices.say(notes or self._pairs.ready() or self._notices.latest)
                self._pairs.begin()

    def _begin(self, turn: Turn) -> None:
        self._prompt.belong_to(self._session.thread.stored.id)
        self._pending.begun(turn)
        self._turns.begin(turn)
        self._calls.begun(turn)
        self._pairs.replying()

    def _write(self, change: Wrote) -> None:
        """Draw the tokens that the reply has got, and for a moment the proposals rejected last."""
        transcript = self._turns.transcript
        brief = transcript.ghosts is GhostMode.BRIEF and transcript.app.animation_level != "none"
        rejected = change.rejected if brief else ()
        if (view := transcript.pages.view(change.turn)) is not None:
            view.reply.tokens.extend(rejected)
        if rejected:
            self._ghosts.begin()
        else:
            self._ghosts.end()

    def _end(self, turn: Turn) -> None:
        self._ghosts.end()
        if turn.is_summary:
            self._turns.transcript.run_worker(self._summaries.end(turn))
            return
        self._settings.adopt_promoted()
        self._turns.end(turn)
        self._prompt.weigh()

    def _fade(self) -> None:
        """Take the rejected proposals off the screen once their moment has passed."""
        current = self._session.current if self._ghosts.over() else None
        if current is not None and (view := self._turns.transcript.pages.view(current)) is not None:
            view.reply.tokens.fade()
