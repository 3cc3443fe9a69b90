"""Commands on marks, rejected proposals and single tokens, and the queries to the engine that they need."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace

from textual.app import App

from localspec.base.errors import UsageError
from localspec.chat.changes import Change, Ended, TokensLearned, Wrote
from localspec.chat.commands import watching
from localspec.chat.commands.command import Command
from localspec.chat.status import format_note
from localspec.chat.tokens.marking import GHOSTS, GhostMode, MarkMode, ReplyFormat
from localspec.chat.turn import Turn
from localspec.runtime.messages import Message, Role
from localspec.tui.controllers.turns import TurnController
from localspec.tui.keys.bindings import key_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.inspector import InspectorScreen
from localspec.tui.screens.race import RaceScreen
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.token_view import TokenView


class MarkingController:
    """Handles the commands on tokens; each returns its notice."""

    def __init__(
        self,
        turns: TurnController,
        palette: Callable[[], Palette],
        wake: Callable[[], None],
        with_files: Callable[[str], str],
        new_here: bool,
    ) -> None:
        """``with_files`` gives a message of the command with the files that it mentions.

        ``new_here``: this is the reader's first conversation.
        """
        self._session = turns.session
        self._transcript = turns.transcript
        self._palette = palette
        self._wake = wake
        self._say = turns.say
        self._with_files = with_files
        self._new_here = new_here

    @property
    def _app(self) -> App[object]:
        return self._transcript.app

    @handles(watching.VIEW)
    def toggle_view(self) -> str:
        """Switch between Markdown and tokens."""
        shown = self._transcript.shown
        return self.show(replace(shown, markdown=not shown.markdown))

    @handles(watching.MARKS)
    def next_mode(self) -> str:
        """Mark tokens in the next mode, for the chosen turn or for all."""
        hidden = self._session.current is None or self._transcript.selected is not None
        return self.show(self._transcript.shown.next(hidden=hidden))

    def show(self, reply_format: ReplyFormat) -> str:
        """Set the format of the chosen turn, or of all."""
        self._transcript.show(reply_format)
        self.weigh()
        chosen = self._transcript.selected
        views = [chosen] if chosen is not None else self._transcript.pages.views
        if (
            reply_format.marks is not MarkMode.OFF
            and views
            and not any(self._has_tokens(turn_view.turn) for turn_view in views)
        ):
            return "Nothing here has tokens to mark: no model wrote it in LocalSpec."
        return format_note(reply_format, one=chosen is not None)

    def _has_tokens(self, turn: Turn) -> bool:
        """True also if they are still to come."""
        return bool(turn.reply.tokens) or turn is self._session.current or turn in self._session.waiting

    @handles(watching.GHOSTS)
    def next_ghosts(self) -> str:
        """Show rejected proposals in the next way."""
        self._transcript.show_ghosts(self._transcript.ghosts.next)
        said = GHOSTS[self._transcript.ghosts]
        if self._transcript.ghosts is GhostMode.KEEP and self._transcript.shown.markdown:
            return f"{said} Markdown has no place for them; {self._way(watching.VIEW)} shows tokens."
        return said

    def _way(self, command: Command) -> str:
        return key_of(self._transcript, command) or f"/{command.slash}"

    @handles(watching.INSPECT)
    def inspect(self, view: TokenView | None = None, index: int | None = None) -> str:
        """Open the inspector on the reply of this view, or of the chosen turn, or on the latest."""
        turn = self._chosen() if view is None else self._turn_in(view)
        if view is not None and turn is None:
            return "That reply has just left the screen."
        if turn is None or not turn.reply.tokens:
            return "There are no tokens to look at yet."
        if (unable := self._text_alone()) is not None:
            return f"{unable}, so there is nothing to look into."
        self._session.recall(turn)
        turn_view = self._transcript.pages.view(turn)
        reply_format = self._transcript.pages.formats.of(turn_view) if turn_view else self._transcript.reply_format
        screen = InspectorScreen(
            turn, self._session.token_queries, self._palette, reply_format, self._wake, index=index
        )
        turn.looked_into = True
        self._app.push_screen(screen, lambda _: self._looked_into(turn))
        return ""

    def _text_alone(self) -> str | None:
        """The beginning of a sentence about a server that tells no tokens; None if tokens are known."""
        info = self._session.info
        return None if info is None or info.tells_tokens else f"{info.server} sends text only"

    def _looked_into(self, turn: Turn) -> None:
        turn.looked_into = False
        self.weigh()

    @handles(watching.RACE)
    def race(self, text: str = "") -> str:
        """Answer this text, or the latest message again, with speculation and without. Raises UsageError."""
        self._session.check_runs("race")
        if (unable := self._text_alone()) is not None:
            why = f"{unable}, and cannot be asked for it without guesses, so there is no race."
            raise UsageError(why, "Connect to a LocalSpec, or use a pair of this machine.")
        latest, chat_config = self._session.latest, self._session.chat_config
        prompt: tuple[Message, ...] | str
        if text:
            system = (Message(Role.SYSTEM, chat_config.system),) if chat_config.system else ()
            prompt, options = (*system, Message(Role.USER, self._with_files(text))), chat_config.reply
        elif latest is not None:
            prompt = self._session.prompt_of(latest)
            options = latest.asked.options if latest.asked is not None else chat_config.reply
        else:
            return "There is no message to race with yet. Write one behind the command: /race PROMPT."
        race = self._session.begin_race(prompt, options, secrets.randbits(32))
        self._app.push_screen(RaceScreen(race, self._palette))
        self._wake()
        return ""

    def follow(self, change: Change) -> None:
        """Draw what a change has made known about tokens, here and in the inspector if it is open."""
        if not isinstance(change, Wrote | Ended | TokensLearned):
            return
        turn, screen = change.turn, self._app.screen
        view = self._transcript.pages.view(turn)
        if isinstance(change, TokensLearned) and view is not None:
            view.reply.learned()
        if isinstance(change, Ended):
            self.weigh()
            self._explain(turn)
        if isinstance(screen, InspectorScreen) and screen.subject is turn:
            screen.refresh_knowledge()

    def _explain(self, turn: Turn) -> None:
        """Tell a new reader, once, how to bring back the colours in which a reply was written."""
        reply_format = self._transcript.reply_format
        if not self._new_here or turn.is_summary or not turn.reply.tokens:
            return
        self._new_here = False
        if reply_format.mode is not MarkMode.OFF and reply_format.marks is MarkMode.OFF:
            self._say(
                f"A finished reply is shown without colours; {self._way(watching.MARKS)} colours its tokens again."
            )

    def weigh(self) -> None:
        """Ask for the probabilities of replies on screen that are marked by heat, the newest first."""
        if self._text_alone() is not None:
            return
        pages = self._transcript.pages
        hot = [
            turn
            for turn in reversed(pages.turns)
            if (view := pages.view(turn)) is not None and view.display and pages.formats.of(view).marks is MarkMode.HEAT
        ]
        for turn in hot:
            self._session.recall(turn)
        self._session.token_queries.weigh(hot)

    def _turn_in(self, view: TokenView) -> Turn | None:
        return next((each.turn for each in self._transcript.pages.views if each.reply.tokens is view), None)

    def _chosen(self) -> Turn | None:
        """The chosen turn, or else the latest whose reply has tokens."""
        if (selected := self._transcript.selected) is not None:
            return selected.turn
        session = self._session
        for turn in filter(None, (session.current, session.last, *reversed(session.thread.turns))):
            session.thread.load(turn)
            if turn.reply.tokens and not turn.is_summary:
                return turn
        return None
