"""A disk that refuses one thing, whichever: a sentence, nothing lost, nothing wrong, and the next run ends well."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import DownloadError, refused
from localspec.models.pairs.hub_cache import cached_files
from tests.hub import Cut, Refuse
from tests.models.download.support import BIG, World, noise

DATA = noise(300_000)
HELD = 100_000
"""The part of it that an earlier run has left."""
_CALLS = [(os, name) for name in ("open", "mkdir", "symlink", "replace", "fsync", "unlink")] + [(io, "open")]


class Refusing:
    """Refuses the ``number``-th call that changes the cache, and every one after it until it is over."""

    def __init__(self, number: int, code: int, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self._number, self._code, self._cache = number, code, str(cache)
        for module, name in _CALLS:
            monkeypatch.setattr(module, name, self._watched(getattr(module, name), name))

    def _watched(self, call: Any, name: str) -> Any:
        def watched(path: Any, *arguments: Any, **options: Any) -> Any:
            inside = isinstance(path, int) or str(path).startswith(self._cache)
            reading = name == "open" and (not arguments or arguments[0] in ("r", "rb", os.O_RDONLY))
            if inside and not reading:
                self.calls.append(name)
                if len(self.calls) > self._number:
                    raise OSError(self._code, os.strerror(self._code), path if isinstance(path, str) else None)
            return call(path, *arguments, **options)

        return watched


@pytest.fixture
def half(world: World) -> World:
    """A part of the file is here."""
    world.server.add(BIG, "big.gguf", DATA)
    world.server.faults = [Cut(HELD), *[Refuse(503)] * 7]
    with pytest.raises(DownloadError):
        world.fetch()
    world.events.clear()
    assert world.layout().held_bytes == HELD
    return world


def counted(world: World, monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patch:
        calls = Refusing(10**9, 0, world.cache, patch).calls
        world.fetch()
        world.events.clear()
    return len(calls)


def start_over(world: World) -> None:
    """To where a part of the file is here."""
    layout = world.layout()
    layout.snapshot.unlink(missing_ok=True)
    layout.blob.unlink(missing_ok=True)
    layout.part.write_bytes(DATA[:HELD])
    (layout.repo_folder / "refs" / "main").unlink(missing_ok=True)
    world.server.sent_bytes = 0


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_whichever_step_the_disk_refuses(half: World, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = half
    steps = counted(world, monkeypatch)
    assert steps >= 6
    for number in range(steps):
        start_over(world)
        with monkeypatch.context() as patch:
            refusing = Refusing(number, code, world.cache, patch)
            with pytest.raises(DownloadError) as caught:
                world.fetch()
        where = f"step {number}, {refusing.calls[-1]}: {caught.value}"
        assert caught.value.message.endswith("."), where
        assert caught.value.hint, where
        reason, _ = refused("", OSError(code, os.strerror(code)), "")
        assert caught.value.message.endswith(reason) or "is full" in caught.value.message, where
        layout = world.layout()
        assert layout.held_bytes >= HELD, where
        for name in (layout.snapshot, layout.blob):
            assert not name.exists() or name.read_bytes() == DATA, where

        world.events.clear()
        world.fetch()
        assert layout.snapshot.read_bytes() == DATA, where
        assert world.server.sent_bytes == len(DATA) - HELD, f"{where}: fetched twice"
        world.events.clear()


def test_a_file_that_is_here_needs_no_leave_to_write(half: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache on a medium that cannot be written serves what it holds; ``pull`` then fetches nothing."""
    (path,) = half.fetch()
    with monkeypatch.context() as patch:
        Refusing(0, errno.EROFS, half.cache, patch)
        assert cached_files(BIG, "big.gguf") == [path]
        assert path.read_bytes() == DATA
