"""The comparison of pairs: begun by its command, shown on its screen, and one of its replies kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from localspec.base.errors import CapacityError, NotFoundError, UsageError
from localspec.chat.commands.watching import COMPARE
from localspec.chat.comparison import named_pairs
from localspec.chat.race import Lane
from localspec.chat.settings.controller import SettingsController
from localspec.models.pairs.description import PairDescription
from localspec.models.pairs.suitability import RED
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message, Role
from localspec.tui.controllers.pairs import PairController
from localspec.tui.controllers.turns import TurnController
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.race import RaceScreen
from localspec.tui.tokens.palette import Palette


class ComparisonController:
    """Handles the command of comparisons."""

    def __init__(
        self,
        pairs: PairController,
        settings: SettingsController,
        turns: TurnController,
        prompt: Prompt,
        palette: Callable[[], Palette],
        wake: Callable[[], None],
        with_files: Callable[[str], str],
    ) -> None:
        """``with_files`` gives a message of the command with the files that it mentions."""
        self._session = turns.session
        self._pairs = pairs
        self._settings = settings
        self._turns = turns
        self._prompt = prompt
        self._palette = palette
        self._wake = wake
        self._with_files = with_files

    @handles(COMPARE)
    async def compare(self, text: str = "") -> None:
        """Answer a message with each of the named pairs. Raises LocalSpecError."""
        found = {pair.id: pair for pair in await asyncio.to_thread(self._pairs.library.world.judged)}
        ids, message = named_pairs(text, found, self._session.chat_config.pair_id)
        message = self._with_files(message) if message else ""
        chat_configs = [await self._config(found[each]) for each in ids]
        self._session.check_runs("comparison")
        prompt = self._to_answer(message)
        if prompt is None:
            raise UsageError(
                "There is no message to compare with yet.",
                "Write one behind the pairs: /compare PAIR PAIR MESSAGE.",
            )
        comparison = self._session.comparisons.begin(prompt, chat_configs)

        def close(lane: Lane | None) -> None:
            self._session.comparisons.end()
            if lane is not None:
                self._session.comparisons.keep(lane, prompt, message)
                self._prompt.belong_to(self._session.thread.stored.id)
                self._pairs.replying()
            self._wake()
            self._turns.transcript.run_worker(self._turns.show())

        self._turns.transcript.app.push_screen(RaceScreen(comparison, self._palette), close)
        self._wake()

    async def _config(self, pair: PairDescription) -> ChatConfig:
        """The configuration of a pair. Raises NotFoundError if it is not here, CapacityError if it is too large."""
        if pair.id == self._session.chat_config.pair_id:
            return self._session.chat_config
        if not pair.available:
            raise NotFoundError(f"{pair.title} cannot be compared. {pair.reason}".strip(), pair.hint)
        if pair.fit is not None and pair.fit.colour == RED:
            raise CapacityError(f"{pair.title} cannot be compared. {pair.fit.reason}", "Choose a smaller one.")
        chat_config = await asyncio.to_thread(self._pairs.library.world.chat_config, pair.id)
        return self._settings.for_conversation(chat_config)

    def _to_answer(self, message: str) -> tuple[Message, ...] | str | None:
        """The messages to answer: the conversation with a new one, or up to the latest; None if there is none."""
        if message:
            return (*self._session.stored.messages(), Message(Role.USER, message))
        latest = self._session.latest
        return self._session.prompt_of(latest) if latest is not None and latest.question else None
