"""The pairs beside a conversation: the offer, the list, changes of the pair, and notices about them."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.moving import QUIT
from localspec.chat.commands.setup import ACCEPT, PAIRS
from localspec.chat.pair_slot import Phase
from localspec.chat.pairs.browser import Browser
from localspec.chat.pairs.download_words import parting_words
from localspec.chat.pairs.facts import download_question
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.offer import Offer, OfferKind, name_of, news, offer, welcome_line
from localspec.chat.reply_metadata import made_by_another
from localspec.chat.session import ChatSession
from localspec.runtime.chat_config import ChatConfig
from localspec.store import ReplyMetadata


class PairController:
    """The library of pairs and the session. It asks neither the disk nor the network itself."""

    def __init__(self, library: PairLibrary, session: ChatSession) -> None:
        self.library = library
        self.keymap = Keymap({})
        """The keys that notices name."""
        self._session = session
        library.may_measure = lambda: session.phase in (Phase.IDLE, Phase.BROKEN)
        self._asked_for: ChatConfig | None = None
        self._confirming: str | None = None
        """The offered pair whose download was asked for once."""
        self._leaving: Sequence[str] = ()
        """The pairs whose downloads the user was told of when they wished to quit."""
        self._spoken: ReplyMetadata | None = None
        """The metadata of the last reply of the conversation when it was opened; None once there is another reply."""

    @property
    def chat_config(self) -> ChatConfig:
        """The configuration in use, or the one that comes next."""
        return self._session.coming or self._session.chat_config

    @property
    def offer(self) -> Offer | None:
        """The offer that one key accepts now."""
        return offer(self.library, self.chat_config, self._session.former, self._of_conversation)

    @property
    def _of_conversation(self) -> str | None:
        """The pair of the open conversation, if it is another than the one in use."""
        about = self._spoken
        return about.pair_id if about is not None and made_by_another(about, self.chat_config) else None

    def welcome(self) -> str:
        """The offer on the first page; empty if there is none."""
        return welcome_line(self.offer, self.keymap.way(ACCEPT))

    def news(self) -> str:
        """A notice about pairs; empty if there is none."""
        said = news(self.library, self.offer, self.keymap.way(ACCEPT), self.keymap.way(PAIRS))
        spoken = self._of_conversation
        if said or spoken is None or not self.library.pairs or self.library.find(spoken) is not None:
            return said
        return f"This conversation was with {spoken}, which is not among the pairs any more."

    def way_back(self) -> str:
        """The keys that help when a pair cannot be loaded."""
        on_offer = self.offer
        back = f"{self.keymap.way(ACCEPT)} {on_offer.text}; " if on_offer and on_offer.kind is OfferKind.RETURN else ""
        return f"{back}{self.keymap.way(PAIRS)} lists all pairs."

    def nothing_offered(self) -> str:
        """The notice when there is nothing to accept."""
        return f"Nothing is offered now; {self.keymap.way(PAIRS)} lists all pairs."

    def download_question(self, on_offer: Offer) -> str:
        """The question to confirm an offered download; empty the second time, when it is confirmed."""
        pair = self.library.find(on_offer.pair_id) if on_offer.pair_id else None
        if pair is None or self._confirming == pair.id:
            self._confirming = None
            return ""
        self._confirming = pair.id
        return download_question(pair, self.keymap.way(ACCEPT), self.library.world.place())

    def parting_question(self) -> str:
        """The effect of quitting on downloads; empty if there are none, or the second time, when it is confirmed."""
        pending = [download.pair_id for download in self.library.downloads.pending]
        if pending == self._leaving:
            return ""
        self._leaving = pending
        return parting_words(len(pending), self.keymap.way(QUIT)) if pending else ""

    def begin(self) -> None:
        """Go on with earlier downloads, and look for a pair to offer on the tour: the engine has loaded, or failed.

        The offer depends on this machine's speed, which is not measured while models are loaded.
        """
        self.library.resume()
        if self._session.chat_config.tour:
            self.library.look()

    def conversation_opened(self) -> str:
        """Note the pair of a conversation that was opened; returns a notice if it cannot be offered."""
        self._spoken = about = self._session.thread.stored.last_made_with
        if about is None or not made_by_another(about, self.chat_config):
            return ""
        if about.pair_id is not None:
            self.library.look()
            return ""
        name = about.target.name if about.target else ""
        return f"This conversation was with {name}, a file named on the command line: --target names it again."

    def replying(self) -> None:
        """Note that the pair in use replies in this conversation, too, and that the user has not quit."""
        self._spoken = None
        self._leaving = ()

    def open(self, text: str = "") -> Browser:
        """The list of pairs, filtered by ``text`` at first."""
        in_use = None if self._session.phase is Phase.BROKEN else self.chat_config.pair_id
        browser = Browser(self.library, in_use, self._of_interest(in_use), text=text)
        self.library.look()
        self.library.seen()
        return browser

    def is_in_use(self, pair_id: str) -> bool:
        """True if this pair replies, or is about to."""
        return self._session.phase is not Phase.BROKEN and self.chat_config.pair_id == pair_id

    def _of_interest(self, in_use: str | None) -> str | None:
        """The pair to show first: one whose download failed or is under way, the one that is offered, or ``in_use``.

        None if the recommended pair is offered: which one that is may change while the list is open.
        """
        failed, pending, on_offer = self.library.failed, self.library.downloads.pending, self.offer
        if failed is not None:
            return failed.pair_id
        if pending:
            return pending[0].pair_id
        offered = self.library.find(on_offer.pair_id) if on_offer and on_offer.pair_id else None
        if offered is not None and offered.recommended_here:
            return None
        return on_offer.pair_id if on_offer else in_use

    def use(self, chat_config: ChatConfig) -> str:
        """Change to another pair; returns the notice."""
        again = chat_config.pair_id == self._session.chat_config.pair_id
        self._session.switch(chat_config)
        self._asked_for = chat_config
        if chat_config.pair_id is not None and chat_config.load.server is None:
            self.library.used(chat_config.pair_id)
        if self._session.coming is not None:
            return f"{name_of(chat_config)} is loaded once this reply is done."
        return f"{'Loading' if again else 'Changing to'} {name_of(chat_config)}; the conversation stays."

    def go_back(self) -> str:
        """Load the former pair again; returns the notice."""
        former = self._session.former
        return self.nothing_offered() if former is None else self.use(former)

    def ready(self) -> str:
        """Take in that a pair is loaded; returns a notice, and remembers the pair, if the reader asked for it."""
        chat_config = self._session.chat_config
        if chat_config.pair_id is None:
            self.library.opened(chat_config.load.target, chat_config.load.draft)
        if chat_config != self._asked_for:
            return ""
        self._asked_for = None
        if chat_config.pair_id is not None and chat_config.load.server is None:
            self.library.remember(chat_config.pair_id)
        return f"You are talking to {name_of(chat_config)} now."
