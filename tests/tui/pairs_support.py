"""Pairs made of words, and downloads that go on when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event

from localspec.base.errors import DownloadError, LocalSpecError
from localspec.chat.pairs.entry import Entry, Line
from localspec.chat.pairs.library import PairLibrary
from localspec.models.discovery.drafts import DraftCandidate
from localspec.models.discovery.page import ModelPage, Quantisation
from localspec.models.discovery.search import HubModel
from localspec.models.download.events import Delayed, DownloadEvent, Fetched, Progressed
from localspec.models.download.queue_file import QueuedDownload
from localspec.models.pairs import ModelFile, PairDescription
from localspec.models.pairs.description import FileDescription
from localspec.models.pairs.estimate import Estimate
from localspec.models.pairs.expectation import MEASURED, Expectation
from localspec.models.pairs.state import HERE, MISSING, NOT_HERE
from localspec.models.pairs.suitability import AMBER, GREEN, RED, Suitability
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from tests.tui.fakes import NoPairs

GB = 10**9
MB = 10**6
FITS = Suitability(GREEN, 8 * GB, 14 * GB, "It fits the free memory.")
TIGHT = Suitability(AMBER, 15 * GB, 14 * GB, "It fits once other programs release memory.")
TOO_BIG = Suitability(RED, 47 * GB, 16 * GB, "It is larger than the whole memory of this machine.")


def file(label: str, size_bytes: int, path: str | None = None) -> FileDescription:
    disk_bytes = size_bytes if path else None
    return FileDescription(label, path, disk_bytes, size_bytes, None, None, "Apache-2.0", verified=True)


def described(
    pair_id: str, title: str, state: str = NOT_HERE, fit: Suitability = FITS, **more: object
) -> PairDescription:
    """A pair of 5.64 GB."""
    here = state == HERE
    path = f"/models/{pair_id}" if here else None
    files = (file(f"Maker/{pair_id}.gguf", 5 * GB, path), file("Maker/draft.gguf", 640 * MB, path))
    plain = PairDescription(
        id=pair_id,
        title=title,
        family=title.split()[0],
        drafter="draft",
        target=files[0].label,
        draft=files[1].label,
        projector=None,
        state=state,
        size_bytes=5640 * MB,
        available=here,
        reason="" if here else "big.gguf is not on this machine.",
        hint="" if here else f"Run `localspec pairs pull {pair_id}`.",
        licence="Apache-2.0",
        memory_gb=16,
        recommended=True,
        verified=True,
        note="For a laptop with 16 GB; the usual choice for chat.",
        source="llama.cpp#5877, on another machine",
        speedup_low=1.2,
        speedup_high=1.7,
        tour=False,
        files=files,
        memory=Estimate(6 * GB, 1500 * MB, 500 * MB, from_headers=here),
        fit=fit,
        missing_bytes=0 if here else 5640 * MB,
    )
    return replace(plain, **more)  # type: ignore[arg-type]


TOUR = described(
    "builtin",
    "LocalSpec tour",
    HERE,
    tour=True,
    size_bytes=12 * MB,
    licence="MIT",
    note="A toy that explains LocalSpec and shows how guesses are accepted.",
    source="",
    speedup_high=None,
    fit=Suitability(GREEN, 31 * MB, 14 * GB, "It fits the free memory."),
)
SMALL = described(
    "smollm2-1.7b", "SmolLM2 1.7B + 135M", HERE, size_bytes=1210 * MB, speed=Expectation(30.0, 41.0, MEASURED, 12)
)
BEST = described(
    "qwen3-8b",
    "Qwen3 8B + 0.6B",
    speed=Expectation(9.4, 13.2),
    recommended_here=True,
    recommended_because="Recommended: qwen3-8b, by this rule: the largest target that fits beside its draft.",
)
PAIRS = (
    TOUR,
    SMALL,
    BEST,
    described("llama-3.2-3b", "Llama 3.2 3B + 1B", recommended=False, licence="Llama 3.2 Community"),
    described("deepseek-r1-distill-qwen-14b", "DeepSeek R1 Distill Qwen 14B + 1.5B", fit=TIGHT),
    described("llama-3.3-70b", "Llama 3.3 70B + Llama 3.2 1B", fit=TOO_BIG, size_bytes=43 * GB, missing_bytes=43 * GB),
    described(
        "mine",
        "My own",
        MISSING,
        reason="The folder of /media/none/x.gguf is not there, or may not be read.",
        hint="If it is on a volume, mount that; else correct its path in pairs.toml.",
        missing_bytes=0,
    ),
    described(
        "gemma-4-e4b-mtp",
        "Gemma 4 E4B + MTP heads",
        drafter="mtp",
    ),
)


def progressed(done: int, total: int = 5640 * MB, speed: float | None = 24e6) -> Progressed:
    """``done`` bytes are here."""
    left = None if speed is None else (total - done) / speed
    return Progressed("Maker/big.gguf", done, total, done, total, speed, left)


def delayed() -> Delayed:
    return Delayed("Maker/big.gguf", "https://huggingface.co does not answer.", 4.0)


def fetched() -> Fetched:
    return Fetched("Maker/big.gguf", Path("/models/big.gguf"), 5640 * MB, 5640 * MB)


def at_once(work: Callable[[], None]) -> None:
    """Where a thread would be."""
    work()


@dataclass
class FakeWorld(NoPairs):
    """What the app asks about pairs, answered from ``pairs``; downloads do as ``feed`` is told."""

    pairs: tuple[PairDescription, ...] = PAIRS
    problem: LocalSpecError | None = None
    feed: SimpleQueue[DownloadEvent | LocalSpecError | None] = field(default_factory=SimpleQueue)
    """What a download tells next; an error ends it, and None completes it."""
    stops: list[Event] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)
    launch_error: LocalSpecError | None = None
    remember_error: LocalSpecError | None = None
    models: Sequence[HubModel] = ()
    """What the Hub has."""
    hub_error: LocalSpecError | None = None
    asked: list[str] = field(default_factory=list)
    """The words that the Hub was searched for."""
    answers: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1000))
    """Held back, the Hub is slow: every result takes one."""
    adopted: list[str] = field(default_factory=list)
    opened_files: list[Path] = field(default_factory=list)
    collected: list[Path] = field(default_factory=list)
    """The files and folders that were to be added."""
    candidates: Sequence[DraftCandidate] = ()
    """What can draft for any target, and what cannot."""
    queue: Sequence[QueuedDownload] = ()
    """The downloads that an earlier start left, and then those of this one."""

    def listed(self) -> tuple[PairDescription, ...]:
        if self.problem is not None:
            raise self.problem
        return tuple(replace(pair, fit=None, recommended_here=False) for pair in self.pairs)

    def judged(self) -> tuple[PairDescription, ...]:
        return self.pairs

    def fetch(self, pair_id: str, stop: Event) -> Generator[DownloadEvent, None, None]:
        self.stops.append(stop)
        while (said := self.feed.get()) is not None:
            if isinstance(said, LocalSpecError):
                raise said
            yield said
        self.pairs = tuple(
            replace(pair, state=HERE, available=True, reason="") if pair.id == pair_id else pair for pair in self.pairs
        )

    def queued(self) -> Sequence[QueuedDownload]:
        return self.queue

    def keep_queue(self, queue: Sequence[QueuedDownload]) -> None:
        self.queue = list(queue)

    def calls_tools(self, pair_id: str) -> str:
        return "Hermes"

    def place(self) -> str:
        return "/models"

    def chat_config(self, pair_id: str) -> ChatConfig:
        if self.launch_error is not None:
            raise self.launch_error
        pair = next(pair for pair in self.pairs if pair.id == pair_id)
        files = LoadOptions(Path(f"{pair_id}.gguf"), Path(f"{pair_id}-draft.gguf"))
        return ChatConfig(files, pair_id=pair_id, title=pair.title, tour=pair.tour)

    def remember(self, pair_id: str) -> None:
        if self.remember_error is not None:
            raise self.remember_error
        self.remembered.append(pair_id)

    def opened(self, target: Path, draft: Path | None) -> None:
        self.opened_files.append(target)

    def search(self, text: str) -> Iterator[HubModel]:
        self.asked.append(text)
        if self.hub_error is not None:
            raise self.hub_error
        for model in self.models:
            if all(word in model.name.lower() for word in text.lower().split()):
                self.answers.acquire()
                yield model

    def page(self, name: str) -> ModelPage:
        if self.hub_error is not None:
            raise self.hub_error
        model = next(model for model in self.models if model.name == name)
        kinds = (("Q4_K_M", 5 * GB, FITS), ("Q6_K", 7 * GB, FITS), ("BF16", 16 * GB, TOO_BIG))
        found = tuple(_quantisation(name, label, size_bytes, fit) for label, size_bytes, fit in kinds)
        return ModelPage(model, found, found[1], "the largest that fits")

    def adopt(self, chosen: Quantisation) -> str:
        if self.hub_error is not None:
            raise self.hub_error
        self.adopted.append(chosen.described.id)
        pair_id = chosen.label.lower()
        self.pairs = (*self.pairs, replace(chosen.described, id=pair_id))
        return pair_id

    def collect(self, path: Path) -> str:
        self.collected.append(path)
        return ""

    def drafts(self, pair_id: str) -> Iterator[DraftCandidate]:
        if self.hub_error is not None:
            raise self.hub_error
        yield from self.candidates

    def pair_with(self, pair_id: str, draft: str) -> str:
        self.adopted.append(f"{pair_id} with {draft}")
        target = next(pair for pair in self.pairs if pair.id == pair_id)
        self.pairs = (*self.pairs, replace(target, id="drafted", title="Drafted", state=NOT_HERE, available=False))
        return "drafted"


def hub_model(name: str, **more: object) -> HubModel:
    plain = HubModel(
        name=name,
        downloads=1_234_567,
        likes=300,
        updated="2026-11-20",
        licence="apache-2.0",
        parameters=8_190_735_360,
        architecture="qwen3",
        context_length=40960,
        bases=("Qwen/Qwen3-8B",),
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def _quantisation(name: str, label: str, size_bytes: int, fit: Suitability) -> Quantisation:
    name_of_file = f"model-{label}.gguf"
    target = ModelFile(file=name_of_file, path=None, repo=name, size_bytes=size_bytes)
    about = described(
        target.label,
        f"{name} {label}",
        fit=fit,
        size_bytes=size_bytes,
        missing_bytes=size_bytes,
        draft=None,
        files=(file(target.label, size_bytes),),
        note="",
        source="",
        speedup_high=None,
    )
    return Quantisation(label, name_of_file, 1, target, about)


def shelf_of(world: FakeWorld | None = None) -> PairLibrary:
    """With everything it knows on it; what it does takes no thread."""
    library = PairLibrary(world or FakeWorld(), at_once)
    library.look()
    return library


@dataclass
class Later:
    """Threads that run when a test says so."""

    works: list[Callable[[], None]] = field(default_factory=list)

    def __call__(self, work: Callable[[], None]) -> None:
        self.works.append(work)

    def run(self) -> None:
        while self.works:
            self.works.pop(0)()


def text_of(lines: list[Line]) -> str:
    return " ".join(text for _, text, _ in lines)


def entry(pair_id: str, **more: object) -> Entry:
    return replace(Entry(next(pair for pair in PAIRS if pair.id == pair_id)), **more)  # type: ignore[arg-type]


FULL = DownloadError("The disk of /models is full; 2.1 GB of big.gguf are missing.", "Free some space.")
