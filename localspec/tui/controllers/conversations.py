"""The open conversation, and going to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from localspec.base.errors import LocalSpecError
from localspec.chat.commands.conversations import NEW
from localspec.chat.pending import PendingMessages
from localspec.chat.settings.controller import SettingsController
from localspec.chat.turn import Turn
from localspec.store import StoredConversation
from localspec.tui.controllers.focus import FocusController
from localspec.tui.controllers.pairs import PairController
from localspec.tui.controllers.turns import TurnController
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.widgets.welcome import Welcome

_BY_ANOTHER = "Another program said that in this conversation; it is shown here once LocalSpec is started anew."
_KEPT = "The messages that waited were not sent; they are in the prompt of their conversation."


class ConversationController:
    """Opens conversations, each with its unsent message and its settings."""

    def __init__(
        self,
        settings: SettingsController,
        turns: TurnController,
        prompt: Prompt,
        focus: FocusController,
        pending: PendingMessages,
        pairs: PairController,
        welcome: Callable[[], Welcome],
    ) -> None:
        """``welcome`` makes the widget shown in an empty conversation."""
        self._session = turns.session
        self._settings = settings
        self._turns = turns
        self._prompt = prompt
        self._focus = focus
        self._pending = pending
        self._pairs = pairs
        self._welcome = welcome

    @property
    def open_id(self) -> str:
        return self._session.thread.stored.id

    @property
    def title(self) -> str:
        """The title of the open conversation; empty while it has no messages."""
        stored = self._session.thread.stored
        return stored.title if stored.path else ""

    async def go_to(self, conversation: str, message: str | None = None) -> None:
        """Open a conversation at a message, or show why that is not possible. In the open one, replies go on."""
        if conversation == self.open_id:
            await self._stay(message)
            return
        try:
            await self._turn_to(self._session.store.open_conversation(conversation), message)
            self._settings.turn_to(begun=False)
        except LocalSpecError as error:
            self._turns.say(str(error))

    async def begin_with(self, conversation: str) -> None:
        """Open the conversation that the app was started with."""
        await self.go_to(conversation)
        self._settings.use_overridden_system()

    @handles(NEW)
    async def begin_anew(self) -> None:
        await self._turn_to(self._session.store.begin(self._session.chat_config.system))
        self._settings.turn_to(begun=True)

    def give_back(self, withdrawn: Iterable[Turn]) -> None:
        """Put messages that waited back into the prompt."""
        written = self._pending.taken_back(withdrawn)
        if written:
            self._prompt.put_back(written)
            self._turns.say("The messages that waited are back in the prompt.")

    async def _stay(self, message: str | None) -> None:
        """Go to a message of the open conversation; to one on another branch only while no reply is made."""
        thread = self._session.thread
        if message is None:
            self._focus.go_to_prompt()
            return
        turn = thread.holding(message)
        if turn is None and message not in thread.stored.tree:
            self._turns.say(_BY_ANOTHER)
            return
        if turn is None and not self._session.free:
            self._turns.say(self._turns.busy)
            return
        if turn is None:
            self._focus.leave_editing()
            thread.show(message)
            await self._turns.show()
            turn = thread.holding(message)
        if turn is not None:
            await self._turns.transcript.reveal(turn)
        self._read()

    async def _turn_to(self, conversation: StoredConversation, message: str | None = None) -> None:
        self._focus.leave_editing()
        self._turns.say("")
        self._prompt.open(conversation.id if len(conversation.tree) else "")
        withdrawn = await self._turns.turn_to(conversation, message)
        kept = _KEPT if self._pending.taken_back(withdrawn) else ""
        self._turns.say(self._pairs.conversation_opened() or kept)
        if not self._session.thread.turns:
            await self._turns.transcript.add(self._welcome())
        if message is None:
            self._focus.go_to_prompt()
        else:
            self._read()

    def _read(self) -> None:
        """Leave the prompt for the turn that was gone to."""
        if self._focus.at_turn:
            self._focus.stay_at_turn()
        else:
            self._focus.read()
