"""All that the app knows of pairs: what there is, what is being fetched, and what has happened since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs.background import ChangeSignal, Spawn, in_thread
from localspec.chat.pairs.downloads import Download, Downloads, Stage
from localspec.chat.pairs.source import PairSource

if TYPE_CHECKING:
    from localspec.models.pairs import PairDescription


class PairLibrary:
    """Belongs to the screen's thread. Whatever takes time happens in others, which set ``change_signal`` when done."""

    def __init__(self, world: PairSource, spawn: Spawn = in_thread) -> None:
        self.world = world
        self.change_signal = ChangeSignal()
        self.downloads = Downloads(world.fetch, self.change_signal.strike, spawn)
        self.pairs: Sequence[PairDescription] = ()
        self.problem: LocalSpecError | None = None
        """Why they cannot be listed."""
        self.judged = False
        """Whether it is known what fits."""
        self.arrived: Download | None = None
        """The download that was completed last, until it is used."""
        self.failed: Download | None = None
        """The download that failed last, until somebody looks."""
        self.unwritten: LocalSpecError | None = None
        """Why the choice of a pair could not be written down."""
        self._spawn = spawn
        self._looking = False
        self._look_again = False

    def find(self, pair_id: str) -> PairDescription | None:
        return next((pair for pair in self.pairs if pair.id == pair_id), None)

    def look(self) -> None:
        """Find out anew what there is."""
        if self._looking:
            self._look_again = True
            return
        self._looking = True
        self._spawn(self._look)

    def fetch(self, pair_id: str) -> None:
        """Begin to fetch a pair, or go on."""
        pair = self.find(pair_id)
        self.downloads.start(pair_id, pair.title if pair else pair_id)

    def take(self) -> list[Download]:
        """The downloads that have ended since this was last asked; call it when the bell rings."""
        self.change_signal.take()
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
        """The pair is in use; nobody needs to be told that it has come."""
        if self.arrived is not None and self.arrived.pair_id == pair_id:
            self.arrived = None

    def remember(self, pair_id: str) -> None:
        """Begin with this pair the next time; ``unwritten`` says why if that cannot be written down."""

        def write() -> None:
            try:
                self.world.remember(pair_id)
            except LocalSpecError as error:
                self.unwritten = error
            self.change_signal.strike()

        self._spawn(write)

    def seen(self) -> None:
        """Somebody has looked at the list."""
        self.failed = self.unwritten = None

    def close(self) -> None:
        """End what goes on; nothing that has arrived is lost."""
        self.downloads.close()

    def _look(self) -> None:
        """In a thread of its own: what is known at once first, what fits when that is known."""
        try:
            if not self.judged:
                self._show(self.world.listed(), judged=False)
            self._show(self.world.judged(), judged=True)
        except LocalSpecError as error:
            self.problem = error
        except Exception as error:  # noqa: BLE001 -- a thread has nobody else to tell
            self.problem = LocalSpecError(f"The pairs cannot be listed: {error!r}.", "`localspec doctor` may say why.")
        finally:
            self._looking = False
            self.change_signal.strike()

    def _show(self, pairs: Sequence[PairDescription], *, judged: bool) -> None:
        self.pairs, self.judged, self.problem = pairs, judged, None
        self.change_signal.strike()
