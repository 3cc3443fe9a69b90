"""The pairs that can be asked, and the user's settings for each."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock, Thread

from localspec.base.errors import LocalSpecError
from localspec.base.paths import user_paths
from localspec.base.shared_file import file_stamp
from localspec.config import read_config
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.split_files import parts_of
from localspec.models.pairs.state import HERE, state_of
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.server.service import ServedModel

logger = logging.getLogger("localspec.server")

_LISTED_S = 5.0
"""The age at which the list of pairs is made anew, in a thread: with thousands of pairs it takes seconds."""


class ServedPairs:
    """The server's own pair, and every pair of the catalogue whose files are here.

    Settings are read again when their file has changed.
    """

    def __init__(self, own: ChatConfig) -> None:
        """``own`` has been resolved from settings. Reads the list of pairs, which may take a while."""
        self.own_id = own.pair_id or own.load.target.stem
        self._own = own
        self._known: dict[str, ChatConfig] = {}
        self._stamp = _stamp()
        self._names = frozenset[str]()
        """The ids of all pairs that there are, here or not."""
        self._read_names()
        self._listing = Lock()
        self._models = [self._described_own()]
        self._list()

    def id_of(self, model: str) -> str:
        """The id of the pair that a client names."""
        return model or self.own_id

    def answering(self, model: str) -> str:
        """As ``Service.answering``."""
        self._follow_files()
        return model if model in self._names else self.own_id

    def settings(self, model: str) -> ChatConfig:
        """The configuration of a pair. Raises NotFoundError, or UsageError for settings that contradict the pair."""
        self._follow_files()
        pair_id = self.id_of(model)
        if pair_id == self.own_id:
            return self._own
        if pair_id not in self._known:
            self._known[pair_id] = self._resolved(pair_id)
        return self._known[pair_id]

    def models(self) -> Sequence[ServedModel]:
        """The server's own pair, and the others as they were when they were last listed."""
        if self._is_old and self._listing.acquire(blocking=False):
            Thread(target=self._list_anew, name="list of pairs", daemon=True).start()
        return self._models

    def refresh(self) -> None:
        """List the pairs anew if that was some seconds ago. It may take seconds itself."""
        with self._listing:
            if self._is_old:
                self._list()

    def _follow_files(self) -> None:
        """Read the settings and the names of pairs again if their files have changed."""
        if (stamp := _stamp()) == self._stamp:
            return
        self._stamp = stamp
        self._known.clear()
        with _unless_wrong():
            self._own = self._resolved(self._own.pair_id)
        self._read_names()

    def _read_names(self) -> None:
        with _unless_wrong():
            self._names = frozenset(pair.id for pair in load_catalogue().pairs)

    def _resolved(self, pair_id: str | None) -> ChatConfig:
        settings = self._own.settings
        assert settings is not None
        if pair_id is not None:
            settings = settings.for_pair(pair_id)
        resolved = settings.resolve(read_config())
        for problem in settings.problems:
            logger.warning("%s", problem)
        return resolved

    def _list_anew(self) -> None:
        try:
            self._list()
        finally:
            self._listing.release()

    @property
    def _is_old(self) -> bool:
        return time.monotonic() - self._listed_at > _LISTED_S

    def _list(self) -> None:
        with suppress(LocalSpecError, OSError):  # pairs.toml is wrong, or a file has just gone: the list stays
            self._models = [self._described_own(), *_here(but=self.own_id)]
        self._listed_at = time.monotonic()

    def _described_own(self) -> ServedModel:
        target = self._own.load.target
        created = int(target.stat().st_mtime) if target.is_file() else 0
        size = size_of(self._own.load)
        return ServedModel(self.own_id, self._own.title, created, size, loaded=False, target=target)


@contextmanager
def _unless_wrong() -> Iterator[None]:
    """Leave what counted before where a file is being written, or wrong; the log says why."""
    try:
        yield
    except LocalSpecError as error:
        logger.warning("%s", error)


def size_of(load: LoadOptions) -> int:
    """The bytes of all files of a pair."""
    files = [path for path in (load.target, load.draft, load.projector) if path is not None]
    parts = [part for path in files for part in parts_of(path)]
    return sum(part.stat().st_size for part in parts if part.is_file())


def _here(but: str) -> list[ServedModel]:
    found = []
    for pair in load_catalogue().pairs:
        state = state_of(pair)
        target = state.files[0].path
        if state.state != HERE or pair.id == but or target is None:
            continue
        size = sum(file.size_bytes or 0 for file in state.files)
        created = int(target.stat().st_mtime)
        found.append(ServedModel(pair.id, pair.title, created, size, loaded=False, target=target))
    return found


def _stamp() -> tuple[tuple[int, int] | None, ...]:
    """Times and sizes of the files that settings come from."""
    folder = user_paths().config
    return tuple(file_stamp(folder / name) for name in ("config.toml", "pairs.toml"))
