"""The library of pairs in the app: the list, downloads, and events since the user last looked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs.background import ChangeSignal, Spawn, failure, in_thread
from localspec.chat.pairs.downloads import Download, Downloads, Stage
from localspec.chat.pairs.hub_search import HubSearch, Search
from localspec.chat.pairs.source import LocalPairs

if TYPE_CHECKING:
    from localspec.models.discovery.drafts import DraftCandidate
    from localspec.models.discovery.page import Quantisation
    from localspec.models.pairs import PairDescription


class PairLibrary:
    """Belongs to the screen's thread. Slow work runs in other threads, which set ``change_signal`` when done."""

    def __init__(self, world: LocalPairs, spawn: Spawn = in_thread) -> None:
        self.world = world
        self.change_signal = ChangeSignal()
        self.downloads = Downloads(world.fetch, self.change_signal.set, spawn, world.keep_queue)
        self.hub = HubSearch(world, self.change_signal.set, spawn)
        self.pairs: Sequence[PairDescription] = ()
        self.problem: LocalSpecError | None = None
        """The reason why the pairs cannot be listed."""
        self.judged = False
        """True once it is known which pairs fit."""
        self.arrived: Download | None = None
        """The latest completed download, until its pair is used."""
        self.failed: Download | None = None
        """The latest failed download, until the user looks at the list."""
        self.unwritten: LocalSpecError | None = None
        """The reason why the choice of a pair could not be stored."""
        self.may_measure: Callable[[], bool] = lambda: True
        """Returns False while a measurement of the machine would disturb a reply; called in other threads."""
        self.refused: LocalSpecError | None = None
        """The reason why a model of the Hub could not be added, until the user looks at the list."""
        self._adopted: list[str] = []
        """Pairs that were just added and are to be downloaded."""
        self._calls: dict[str, str] = {}
        """The syntax of calls by pair; empty while it is being read, and for a pair without one."""
        self._spawn = spawn
        self._looking = False
        self._look_again = False
        self._resumed = False

    def find(self, pair_id: str) -> PairDescription | None:
        return next((pair for pair in self.pairs if pair.id == pair_id), None)

    def calls_tools(self, pair: PairDescription) -> str:
        """The syntax in which a pair calls tools; empty if there is none, or it is still to be read, here or at all."""
        if pair.available and pair.id not in self._calls:
            self._calls[pair.id] = ""

            def read() -> None:
                self._calls[pair.id] = self.world.calls_tools(pair.id)
                self.change_signal.set()

            self._spawn(read)
        return self._calls.get(pair.id, "")

    def look(self) -> None:
        if self._looking:
            self._look_again = True
            return
        self._looking = True
        self._spawn(self._look)

    def fetch(self, pair_id: str) -> None:
        """Put the download of a pair into the queue, or resume it."""
        pair = self.find(pair_id)
        self.downloads.start(pair_id, pair.title if pair else pair_id)

    def take_out(self, pair_id: str) -> None:
        """Take a download out of the queue; what has arrived stays."""
        if self.downloads.take_out(pair_id):
            self.look()

    def resume(self) -> None:
        """Go on with the downloads of an earlier start, once."""
        if self._resumed:
            return
        self._resumed = True

        def read() -> None:
            with suppress(LocalSpecError):  # the list says what is wrong
                if queue := self.world.queued():
                    self.downloads.resume(queue)

        self._spawn(read)

    def drafts(self, pair_id: str) -> Search[DraftCandidate]:
        """Begin to look for drafts for the target of a pair, the best first."""
        search: Search[DraftCandidate] = Search(self.change_signal.set, rank=lambda each: each.rank)
        self._spawn(lambda: search.run(lambda: self.world.drafts(pair_id)))
        return search

    def pair_with(self, pair_id: str, draft: str) -> None:
        """Add the target of a pair with a draft as a pair, and put its download into the queue."""
        self._adopt(lambda: self.world.pair_with(pair_id, draft))

    def collect(self, path: Path) -> None:
        """Add the models in a file or a folder as pairs; ``refused`` has the reason for those that were not."""
        self.refused = None

        def write() -> None:
            try:
                if reasons := self.world.collect(path):
                    self.refused = LocalSpecError(reasons, "Add other files; the rest of them is in the list.")
            except LocalSpecError as error:
                self.refused = error
            self.look()
            self.change_signal.set()

        self._spawn(write)

    def adopt(self, chosen: Quantisation) -> None:
        """Add a model of the Hub as a pair, and put its download into the queue."""
        self._adopt(lambda: self.world.adopt(chosen))

    def _adopt(self, add: Callable[[], str]) -> None:
        def write() -> None:
            try:
                self._adopted.append(add())
            except LocalSpecError as error:
                self.refused = error
            self.change_signal.set()

        self._spawn(write)

    def take(self) -> list[Download]:
        """Return the downloads that have ended since the last call; to be called on ``change_signal``."""
        self.change_signal.take()
        while self._adopted:
            self.fetch(self._adopted.pop(0))
            self.look()
        ended = self.downloads.take_ended()
        for download in ended:
            if download.stage is Stage.DONE:
                self.arrived = download
            elif download.stage is Stage.FAILED:
                self.failed = download
        if ended or (self._look_again and not self._looking):
            self._look_again = False
            self.look()
        return ended

    def used(self, pair_id: str) -> None:
        """Note that a pair is in use, so that its arrival is not announced."""
        if self.arrived is not None and self.arrived.pair_id == pair_id:
            self.arrived = None

    def remember(self, pair_id: str) -> None:
        """Store the pair for the next start; ``unwritten`` has the reason if that fails."""

        def write() -> None:
            try:
                self.world.remember(pair_id)
            except LocalSpecError as error:
                self.unwritten = error
            self.change_signal.set()

        self._spawn(write)

    def opened(self, target: Path, draft: Path | None) -> None:
        """Remember files that were opened by their names; a failure costs nothing but the memory."""

        def write() -> None:
            with suppress(LocalSpecError):
                self.world.opened(target, draft)

        self._spawn(write)

    def seen(self) -> None:
        """Note that the user has looked at the list."""
        self.failed = self.unwritten = self.refused = None
        self.change_signal.set()

    def close(self) -> None:
        """Stop all downloads; partial files stay, and the queue for the next start."""
        self.downloads.close()

    def _look(self) -> None:
        """Load the list in a thread of its own: at first without the fit, then with it."""
        try:
            if not self.judged:
                self._show(self.world.listed(), judged=False)
            self._show(self.world.judged(), judged=True)
            if self.world.measure(self.may_measure):
                self._show(self.world.judged(), judged=True)
        except Exception as error:  # noqa: BLE001 -- nothing else would report an error of a thread
            self.problem = failure(error, "The pairs cannot be listed", "`localspec doctor` may say why.")
        finally:
            self._looking = False
            self.change_signal.set()

    def _show(self, pairs: Sequence[PairDescription], *, judged: bool) -> None:
        self.pairs, self.judged, self.problem = pairs, judged, None
        self.change_signal.set()
