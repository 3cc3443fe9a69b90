"""What becomes of each thing the session says: in the conversation, in the prompt, and around both."""

from __future__ import annotations

from localspec.chat.changes import Began, Change, Ended, LoadFailed, PairReady, TokenCountAnswered, Wrote
from localspec.chat.pending import PendingMessages
from localspec.chat.settings.controller import SettingsController
from localspec.chat.turn import Turn
from localspec.tui.controllers.pairs import PairController
from localspec.tui.controllers.summaries import SummaryController
from localspec.tui.controllers.turns import TurnController
from localspec.tui.conversation.quiet_line import QuietLine
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.widgets.complaint import Complaint


class ChangeController:
    """Keeps nothing: everybody it tells keeps what is theirs."""

    def __init__(
        self,
        turns: TurnController,
        summaries: SummaryController,
        prompt: Prompt,
        pending: PendingMessages,
        pairs: PairController,
        settings: SettingsController,
        quiet: QuietLine,
    ) -> None:
        self.complaint = Complaint(turns.transcript)
        """About the pair that is wanted."""
        self._turns = turns
        self._summaries = summaries
        self._prompt = prompt
        self._pending = pending
        self._pairs = pairs
        self._settings = settings
        self._quiet = quiet

    def show(self, change: Change) -> None:
        """Tell those whom it concerns."""
        match change:
            case Began(turn):
                self._prompt.belong_to(self._turns.session.thread.stored.id)
                self._pending.begun(turn)
                self._turns.begin(turn)
                self._pairs.replying()
            case Wrote():
                self._turns.write(change)
            case Ended(turn):
                self._end(turn)
            case TokenCountAnswered(token_n):
                self._prompt.counted(token_n)
            case LoadFailed(error):
                self._prompt.fit(None)
                self._quiet.said = ""
                self.complaint.show(error, self._pairs.way_back())
                self._pairs.begin()
            case PairReady(info):
                self._prompt.fit(info.n_ctx)
                self.complaint.withdraw()
                self._settings.pace()
                self._quiet.say(self._pairs.ready() or self._quiet.said)
                self._pairs.begin()

    def _end(self, turn: Turn) -> None:
        if turn.is_summary:
            self._turns.ghost_timer.end()
            self._turns.transcript.run_worker(self._summaries.end(turn))
            return
        self._settings.adopt_promoted()
        self._turns.close(turn)
        self._prompt.weigh()
