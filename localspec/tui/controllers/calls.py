"""Calls of tools on screen: their rows under the reply, the question whether to make one, and the list of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from localspec.base.errors import LocalSpecError
from localspec.chat.commands.setup import CALLS, TOOLS
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.settings.controller import SettingsController
from localspec.chat.tools.approvals import Approval
from localspec.chat.tools.browser import ToolBrowser
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tour import QUESTIONS, Tour
from localspec.chat.turn import Turn
from localspec.config import Config, read_config
from localspec.tui.controllers.turns import NOTHING_SAID, TurnController
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.approval import ApprovalScreen
from localspec.tui.screens.tools import ToolsScreen


class CallController:
    """Draws the calls of the session, and passes approvals to it."""

    def __init__(
        self,
        settings: SettingsController,
        turns: TurnController,
        prompt: Prompt,
        wake: Callable[[], None],
    ) -> None:
        """``wake`` draws what changed."""
        self._session = turns.session
        self._settings = settings
        self._turns = turns
        self._prompt = prompt
        self._wake = wake
        self._starting = False
        """True while the message sent last waits for servers."""
        self._looked = False
        """True once the servers were started for their resources."""
        self._asked: ActiveCall | None = None
        """The call that the user was asked about last."""

    def sent(self) -> None:
        """Say that the message sent last waits for servers, if it does."""
        self._starting = not self._session.tool_use.toolbox.ready
        if self._starting:
            self._turns.say(self._turns.keymap.worded("The servers of tools are started first; {stop} takes it back."))

    def resources(self, changed: Callable[[], object]) -> Mapping[str, str]:
        """The resources of the servers that are switched on, by the names to mention them by.

        Starts the servers the first time, and calls ``changed`` once they are there.
        """
        use = self._session.tool_use
        if not self._looked:
            self._looked = True
            use.reach(self._session.chat_config)
            self._turns.transcript.run_worker(self._when_reached(changed))
        return {resource.path: resource.about for resource in use.toolbox.resources}

    async def _when_reached(self, changed: Callable[[], object]) -> None:
        await asyncio.to_thread(self._session.tool_use.toolbox.wait)
        changed()

    def put(self, message: str) -> None:
        """Put a message into the prompt, in front of what is written there."""
        self._prompt.put_back([WrittenMessage(message)])

    def put_later(self, message: Future[str]) -> None:
        """Put a message into the prompt once it is there; say why it is not."""
        self._turns.transcript.run_worker(self._put_later(message))

    async def _put_later(self, message: Future[str]) -> None:
        try:
            text = await asyncio.wrap_future(message)
        except LocalSpecError as error:
            self._turns.say(str(error))
        else:
            self.put(text)

    def prepare(self, tour: Tour) -> None:
        """Write the question of the tour's step in place of another of its own, and lend its tools."""
        self._session.tool_use.lent = tour.tools
        if tour.step is not None and self._prompt.area.text in QUESTIONS:
            self._prompt.set_text(tour.step.question)

    def begun(self, turn: Turn) -> None:
        """Say which servers could not be reached for a message whose reply begins."""
        troubles = self._session.tool_use.toolbox.troubles if turn.prompt else ()
        if troubles or self._starting:
            self._turns.say(" ".join(troubles))
        self._starting = False

    def called(self, turn: Turn) -> None:
        """Draw the calls of a turn, and ask about the one that waits for that."""
        chain, view = self._session.tool_use.chain, self._turns.transcript.pages.view(turn)
        if view is not None:
            if chain is not None and chain.turn is turn:
                view.calls.show(chain.calls)
            else:
                view.calls.restore(turn.results)
        asking = chain.asking if chain is not None else None
        if asking is not None and asking is not self._asked:
            self._asked = asking
            if self._user_is_idle:
                self._ask(asking)
            else:
                self._turns.say(self._turns.keymap.worded(f"{asking.call.name} waits for your answer: {{calls}}."))

    @property
    def _user_is_idle(self) -> bool:
        """True unless a key may be meant for a message, another field or another screen."""
        screen = self._turns.transcript.screen
        in_chat = screen.app.screen is screen and screen.focused in (None, self._prompt.area)
        return in_chat and not self._prompt.area.text

    def goes_on(self) -> None:
        """Draw the turn that goes on from the results, above messages that wait."""
        self._turns.transcript.run_worker(self._turns.show())

    @handles(CALLS)
    def unfold(self) -> None:
        """Ask about the call that waits, or show what the calls of the chosen reply returned."""
        chain, turn = self._session.tool_use.chain, self._turns.chosen
        if chain is not None and chain.asking is not None:
            self._ask(chain.asking)
            return
        turns = self._session.thread.turns
        called = turn if turn is not None and turn.results else next((e for e in reversed(turns) if e.results), None)
        view = self._turns.transcript.pages.view(called) if called is not None else None
        if view is None or not view.calls.turn():
            self._turns.say("This reply calls no tools." if turn else NOTHING_SAID)

    @handles(TOOLS)
    def tools(self, name: str = "") -> None:
        """List the tools, or switch one on or off."""
        conversation = self._session.stored.id
        if name:
            browser = ToolBrowser(self._session.tool_use, read_config(), conversation)
            config = browser.switch(name)
            said = browser.sentence(name, self._settings.settings.overrides)
            self._apply(config)
            self._turns.say(said)
            return
        self._apply(config := read_config())  # another program may have changed it
        screen = ToolsScreen(self._session.tool_use, config, conversation, self._apply)
        self._turns.transcript.app.push_screen(screen)

    def _apply(self, config: Config) -> None:
        self._settings.apply(config)
        self._session.tool_use.reach(self._session.chat_config)

    def _ask(self, call: ActiveCall) -> None:
        def decide(approval: Approval | None) -> None:
            chain = self._session.tool_use.chain
            if chain is None or chain.asking is not call:
                return
            if approval is None:
                self._session.stop()
            else:
                self._session.decide(approval)
            self._wake()

        self._turns.transcript.app.push_screen(ApprovalScreen(call), decide)
