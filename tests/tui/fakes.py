"""An app that has neither pairs nor settings beside the configuration it is given."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from localspec.base.errors import NotFoundError
from localspec.chat.pairs.source import LocalPairs
from localspec.config import Config, Value, config_file
from localspec.models.discovery.drafts import DraftCandidate
from localspec.models.discovery.page import ModelPage, Quantisation
from localspec.models.discovery.search import HubModel
from localspec.models.download.events import DownloadEvent
from localspec.models.download.queue_file import QueuedDownload
from localspec.models.pairs import PairDescription
from localspec.runtime.chat_config import ChatConfig, Layer


class NoSettings:
    """Settings that leave a configuration as it was made; the file has those of the screen alone."""

    overrides: Mapping[str, str] = {}
    problems = ()
    pair_id = None

    def __init__(self, chat_config: ChatConfig) -> None:
        self.config = Config(config_file())
        self._chat_config = chat_config

    def layers(self, config: Config, conversation: Mapping[str, Value]) -> Mapping[str, Layer]:
        return dict.fromkeys(config.values, Layer.ALL) | dict.fromkeys(conversation, Layer.CONVERSATION)

    def for_pair(self, pair_id: str) -> NoSettings:
        return self

    def resolve(self, config: Config, conversation: Mapping[str, Value] | None = None) -> ChatConfig:
        self.config = config
        return replace(self._chat_config, settings=self)


def with_settings(chat_config: ChatConfig) -> ChatConfig:
    """The configuration as an app needs it, its settings made anew where it was made without any."""
    return chat_config if chat_config.settings else replace(chat_config, settings=NoSettings(chat_config))


class NoPairs(LocalPairs):
    """A source without pairs. It answers everything itself, so that nothing derived from it asks this machine."""

    def __init__(self) -> None:
        pass

    def listed(self) -> Sequence[PairDescription]:
        return ()

    def judged(self) -> Sequence[PairDescription]:
        return ()

    def measure(self, may_go_on: Callable[[], bool]) -> bool:
        return False

    def fetch(self, pair_id: str, stop: Event) -> Generator[DownloadEvent, None, None]:
        yield from ()

    def queued(self) -> Sequence[QueuedDownload]:
        return ()

    def keep_queue(self, queue: Sequence[QueuedDownload]) -> None:
        pass

    def calls_tools(self, pair_id: str) -> str:
        return ""

    def place(self) -> str:
        return ""

    def chat_config(self, pair_id: str) -> ChatConfig:
        raise NotFoundError(f"There is no pair {pair_id!r} here.", "Start LocalSpec with --pair.")

    def remember(self, pair_id: str) -> None:
        pass

    def opened(self, target: Path, draft: Path | None) -> None:
        pass

    def search(self, text: str) -> Iterator[HubModel]:
        yield from ()

    def page(self, name: str) -> ModelPage:
        raise NotFoundError(f"There is no page of {name} here.", "Start LocalSpec with --pair.")

    def adopt(self, chosen: Quantisation) -> str:
        raise NotFoundError("Nothing can be added here.", "Start LocalSpec with --pair.")

    def collect(self, path: Path) -> str:
        return ""

    def drafts(self, pair_id: str) -> Iterator[DraftCandidate]:
        yield from ()

    def pair_with(self, pair_id: str, draft: str) -> str:
        raise NotFoundError("Nothing can be added here.", "Start LocalSpec with --pair.")
