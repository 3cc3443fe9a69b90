"""The source of the app's pairs: the catalogue, this machine, the Hub. Every call may be slow.

Imports are in the functions, so that the first screen does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.runtime.chat_config import ChatConfig, Settings

if TYPE_CHECKING:
    from localspec.doctor.native_probe import NativeReport
    from localspec.models.discovery.drafts import DraftCandidate
    from localspec.models.discovery.page import ModelPage, Quantisation
    from localspec.models.discovery.search import HubModel
    from localspec.models.download.events import DownloadEvent
    from localspec.models.download.queue_file import QueuedDownload
    from localspec.models.fit import Room
    from localspec.models.pairs import PairDescription
    from localspec.models.pairs.description import Expect

_MOST_FOUND = 50
"""The most repositories that a search in the app lists; more words find the others."""


class LocalPairs:
    """The pairs of this machine and its user; asked from background threads, one at a time for each method."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._native: NativeReport | None = None
        self._queued = set[str]()
        """The pairs that were in the queue of this app."""

    def listed(self) -> Sequence[PairDescription]:
        """All pairs with their state, quickly, without their fit. Raises LocalSpecError."""
        from localspec.models.pairs import describe, load_catalogue

        return [describe(pair) for pair in load_catalogue().pairs]

    def judged(self) -> Sequence[PairDescription]:
        """All pairs with their fit and one recommendation; takes a second. Raises LocalSpecError."""
        from localspec.models.pairs import describe_all, load_catalogue

        room, expect = self._machine()
        return describe_all(load_catalogue().pairs, room, expect)

    def _machine(self) -> tuple[Room, Expect]:
        """The memory of this machine, and the speeds that it is expected to reach."""
        from localspec.doctor.native_probe import expect_here, probe_native, room_of

        if self._native is None:
            # Probed once: later the loaded pair would use the memory that others are judged by.
            self._native = probe_native()
        return room_of(self._native), expect_here(self._native)

    def measure(self, may_go_on: Callable[[], bool]) -> bool:
        """Measure the speed of this machine, unless it is known or busy, or ``may_go_on`` says no.

        Returns True if more is known now.
        """
        from localspec.doctor.native_probe import speed_file_of
        from localspec.runtime.speed.measurement import machine_is_idle, measure_kernels

        if self._native is None or self._native.problem or not may_go_on():
            return False
        file, threads = speed_file_of(self._native), self._native.threads or 1
        if file.load().steady or not machine_is_idle():
            return False
        measured = measure_kernels(threads, may_go_on)
        if measured:
            file.keep_kernels(measured.kernels, steady=measured.steady)
        return measured is not None

    def fetch(self, pair_id: str, stop: Event) -> Generator[DownloadEvent, None, None]:
        """Download the missing files of a pair. Raises LocalSpecError."""
        from localspec.models.download.context import Stopped, open_context
        from localspec.models.download.pull import Planner, fetch
        from localspec.models.pairs import load_catalogue

        pair = load_catalogue().find(pair_id)
        with suppress(Stopped), open_context(stop) as context:
            yield from fetch([Planner(context).plan(pair)], context)

    def queued(self) -> Sequence[QueuedDownload]:
        """The downloads that were left by an earlier start."""
        from localspec.models.download.queue_file import read_queue

        if not (queue := read_queue()):
            return ()
        from localspec.models.pairs import load_catalogue

        known = {pair.id for pair in load_catalogue().pairs}
        self._queued |= {each.pair_id for each in queue}
        return [each for each in queue if each.pair_id in known]

    def keep_queue(self, queue: Sequence[QueuedDownload]) -> None:
        """Store the queue of downloads for the next start."""
        from localspec.models.download.queue_file import write_queue

        self._queued |= {each.pair_id for each in queue}
        write_queue(queue, self._queued)

    def calls_tools(self, pair_id: str) -> str:
        """The syntax in which a pair calls tools, in a few words; empty if that is not known."""
        from localspec.models.pairs import load_catalogue
        from localspec.runtime.calls.form import calls_of

        try:
            return calls_of(load_catalogue().find(pair_id))
        except LocalSpecError:
            return ""

    def place(self) -> str:
        """The folder of downloads."""
        from localspec.models.pairs.hub_cache import hub_cache

        return str(hub_cache())

    def chat_config(self, pair_id: str) -> ChatConfig:
        """The configuration for a chat with a pair. Raises LocalSpecError."""
        return self._settings.for_pair(pair_id).resolve(self._settings.config)

    def remember(self, pair_id: str) -> None:
        """Store the pair for the next start. Raises LocalSpecError."""
        from localspec.config import setting
        from localspec.config.file import write_value

        write_value(setting("pair"), pair_id)

    def opened(self, target: Path, draft: Path | None) -> None:
        """Remember files that were opened by their names as a pair. Raises LocalSpecError."""
        from localspec.models.pairs.collecting import remember_opened

        remember_opened(target, draft)

    def search(self, text: str) -> Iterator[HubModel]:
        """The repositories of the Hub with these words, the most downloaded first. Raises LocalSpecError."""
        from localspec.models.discovery.search import HubQuery, search
        from localspec.models.download.hub import Hub

        with Hub() as hub:
            yield from islice(search(hub, HubQuery(text=text)), _MOST_FOUND)

    def page(self, name: str) -> ModelPage:
        """The page of a repository of the Hub. Raises LocalSpecError."""
        from localspec.models.discovery.page import read_page
        from localspec.models.download.context import open_context

        with open_context() as context:
            return read_page(name, context, *self._machine())

    def adopt(self, chosen: Quantisation) -> str:
        """Make a model of the Hub, with the projector beside it, a pair, and return its id. Raises LocalSpecError."""
        from localspec.models.discovery.taking import take
        from localspec.models.download.context import open_context

        with open_context() as context:
            return take(f"{chosen.target.repo}:{chosen.file}", context).id

    def collect(self, path: Path) -> str:
        """Add the models in a file or a folder as pairs; return why others were not. Raises LocalSpecError."""
        from localspec.models.pairs.collecting import collect

        collected = collect([path])
        drafts = {each.pair.draft.path for each in collected if each.pair is not None and each.pair.draft is not None}
        names: dict[str, list[str]] = {}
        for each in collected:
            if each.pair is None and each.path not in drafts:
                names.setdefault(each.reason, []).append(each.path.name)
        return " ".join(f"{', '.join(of)}: {reason}" for reason, of in names.items())

    def drafts(self, pair_id: str) -> Iterator[DraftCandidate]:
        """Drafts and heads for the target of a pair, proved by headers. Raises LocalSpecError."""
        from localspec.doctor.native_probe import expect_with_here
        from localspec.models.discovery.drafts import find_drafts
        from localspec.models.download.context import open_context
        from localspec.models.download.model_header import resolve

        self._machine()
        assert self._native is not None
        expect = expect_with_here(self._native)
        with open_context() as context:
            yield from find_drafts(resolve(_target_of(pair_id), context), context, expect)

    def pair_with(self, pair_id: str, draft: str) -> str:
        """Make the target of a pair and a draft, named by its candidate, a pair; return its id.

        Raises LocalSpecError.
        """
        from localspec.models.discovery.taking import take
        from localspec.models.download.context import open_context

        with open_context() as context:
            return take(_target_of(pair_id), context, draft).id


def _target_of(pair_id: str) -> str:
    """The target of a pair as ``resolve`` takes it. Raises LocalSpecError."""
    from localspec.models.pairs import load_catalogue

    target = load_catalogue().find(pair_id).target
    return f"{target.repo}:{target.file}" if target.repo else str(target.locate())
