"""Searches in the app, in the background: of the Hub, with the pages of its repositories, and for drafts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs.background import Spawn, failure
from localspec.chat.pairs.source import LocalPairs

if TYPE_CHECKING:
    from localspec.models.discovery.page import ModelPage
    from localspec.models.discovery.search import HubModel

PAUSE_S = 0.3
"""The pause in typing after which the Hub is asked."""


T = TypeVar("T")


class Search(Generic[T]):
    """One search; ``changed`` is called from the thread that it runs in."""

    def __init__(self, changed: Callable[[], object], rank: Callable[[T], Any] = lambda _: 0) -> None:
        """The lowest ``rank`` comes first."""
        self.found: tuple[T, ...] = ()
        """The finds so far, in order."""
        self.error: LocalSpecError | None = None
        self.over = False
        self._changed = changed
        self._rank = rank
        self._stop = threading.Event()

    def run(self, find: Callable[[], Iterator[T]], pause_s: float = 0.0) -> None:
        """Search, unless it is ended in the pause before."""
        if self._stop.wait(pause_s):
            return
        try:
            for each in find():
                if self._stop.is_set():
                    return
                self.found = tuple(sorted((*self.found, each), key=self._rank))
                self._changed()
        except Exception as error:  # noqa: BLE001 -- nothing else would report an error of a thread
            self.error = failure(error, "The search failed")
        self.over = True
        self._changed()

    def end(self) -> None:
        """End the search; what it found stays."""
        self._stop.set()


class HubSearch:
    """Belongs to the screen's thread; ``changed`` is called from any. Results for earlier words are dropped."""

    def __init__(self, world: LocalPairs, changed: Callable[[], object], spawn: Spawn) -> None:
        self._world = world
        self._changed = changed
        self._spawn = spawn
        self.with_all = False
        """True if models are listed that cannot be chatted with, too."""
        self._job: Search[HubModel] | None = None
        self._words = ""
        self._before: Sequence[HubModel] = ()
        """Finds of an earlier search that have the words of this one."""
        self._pages: dict[str, ModelPage | LocalSpecError | None] = {}

    @property
    def on(self) -> bool:
        """True if the Hub is searched while the user types; they ask for it first."""
        return self._job is not None

    @property
    def found(self) -> Sequence[HubModel]:
        """The repositories that were found so far, in the Hub's order; till then, earlier ones that have the words."""
        return [model for model in self._all if self.with_all or not model.obstacle]

    @property
    def hidden_n(self) -> int:
        """The number of repositories that are listed only when asked for: their models cannot be chatted with."""
        return sum(bool(model.obstacle) for model in self._all)

    @property
    def _all(self) -> Sequence[HubModel]:
        if self._job is None:
            return ()
        return self._job.found or (() if self._job.over else self._before)

    @property
    def heading(self) -> str:
        """The state of the search in a line."""
        if self._job is None:
            return ""
        if self._job.error is not None:
            return f"The Hub: {self._job.error}"
        if not self._job.over:
            return "On the Hub: searching"
        if not self._all:
            return "On the Hub: no name has all these words"
        if not self.hidden_n:
            return "On the Hub, most downloaded first: parameters, last change, downloads"
        first = "On the Hub, most downloaded first"
        if self.with_all:
            return f"{first}, {self.hidden_n} that cannot run among them"
        return f"{first}, without {self.hidden_n} that cannot run"

    @property
    def state(self) -> str:
        """The state of the search in a few words, as its rows may be out of sight; empty while there is none."""
        if self._job is None:
            return ""
        if self._job.error is not None:
            return "the Hub cannot be searched"
        return f"{len(self.found)} on the Hub below" if self._job.over else "searching the Hub"

    def ask(self, text: str) -> None:
        """Search for ``text``, in place of any earlier search."""
        words = " ".join(text.split())
        if self._job is not None and self._words == words:
            return
        before = [model for model in self._all if all(word in model.name.lower() for word in words.lower().split())]
        self.end()
        job = self._job = Search(self._changed)
        self._words, self._before = words, before
        self._spawn(lambda: job.run(lambda: self._world.search(words), PAUSE_S))
        self._changed()

    def end(self) -> None:
        """End the search, and forget what it found."""
        if self._job is not None:
            self._job.end()
        self._job = None

    def page(self, name: str) -> ModelPage | LocalSpecError | None:
        """The page of a repository, or the reason why there is none; None while it is read, which this begins."""
        if name not in self._pages:
            self._pages[name] = None
            self._spawn(lambda: self._read(name))
        return self._pages[name]

    def forget(self, name: str) -> None:
        """Read the page anew when it is wanted next: an error may have passed, files may have arrived."""
        self._pages.pop(name, None)

    def _read(self, name: str) -> None:
        try:
            self._pages[name] = self._world.page(name)
        except Exception as error:  # noqa: BLE001 -- nothing else would report an error of a thread
            self._pages[name] = failure(error, "The page cannot be read")
        self._changed()
