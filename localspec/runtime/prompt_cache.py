"""Caches of long conversations on disk, so that going back to one does not mean reading it again.

They are found by what they hold, so nobody has to know which conversation is which: the tokens of each are known in
blocks, and the one that has most in common with a prompt is taken. One folder for each pair of models and way to keep
a cache, all side by side, which share the room; a kept cache is a folder in it with a file for each model and, written
last, ``blocks.json``. Losing them costs time alone.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np

from localspec.base.errors import EngineError
from localspec.base.shared_file import replace_file
from localspec.engine.backends.llama.saved import Restored
from localspec.engine.cancel import Cancellation, Cancelled

_BLOCK_N = 64
"""Tokens in a block."""
_INDEX = "blocks.json"
_CACHE, _PART = ".cache", ".part"
"""A model's cache, and one that is being written."""
_BROKEN_AFTER_S = 3600.0
"""A cache that has no index after so long is no longer being written."""


class Keepable(Protocol):
    """A model whose cache can be kept."""

    @property
    def n_ctx(self) -> int: ...

    @property
    def held_tokens(self) -> Sequence[int]:
        """The tokens that its cache holds."""
        ...

    @property
    def keeps_parts(self) -> bool:
        """True if a part of what ``restore`` gives may stay."""
        ...

    @property
    def cache_bytes(self) -> int:
        """About the size of the file that ``save`` would write now."""
        ...

    def held(self, context: Sequence[int]) -> int: ...

    def go_back(self, context: Sequence[int]) -> None:
        """Hold no more than a beginning of ``context``."""
        ...

    def save(self, path: Path, cancel: Cancellation | None = None) -> None:
        """Raises EngineError, or Cancelled."""
        ...

    def restore(self, path: Path, cancel: Cancellation | None = None) -> Restored:
        """Raises Cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """A cache on disk."""

    folder: Path
    blocks: tuple[str, ...]
    """A digest for all tokens up to the end of each whole block."""
    used: float
    size_bytes: int

    def shared_n(self, blocks: Sequence[str]) -> int:
        """The number of leading tokens it has in common with other blocks, in whole blocks."""
        same = next((n for n, (a, b) in enumerate(zip(self.blocks, blocks, strict=False)) if a != b), None)
        return _BLOCK_N * (min(len(self.blocks), len(blocks)) if same is None else same)


@dataclass(frozen=True, slots=True)
class KeptCaches:
    """The kept caches of the models that are loaded."""

    folder: Path
    """The folder of this pair; folders beside it belong to others."""
    models: tuple[Keepable, ...]
    """Target first."""
    worth_n: int
    """Fewer tokens are sooner read than restored."""
    limit_bytes: int = 2**31

    def before_reply(self, prompt: Sequence[int], cancel: Cancellation) -> None:
        """Save the models' caches if they are about to be lost, and restore a saved one that helps with ``prompt``.

        With ``cancel`` set the rest is not done.
        """
        target = self.models[0]
        here_n = target.held(prompt)
        with suppress(Cancelled):
            if len(target.held_tokens) - here_n >= self.worth_n:
                self.keep(cancel)
            blocks = _blocks(prompt)
            fitting = (kept for kept in self._all() if self._fits(kept, blocks))
            best = max(fitting, key=lambda kept: kept.shared_n(blocks), default=None)
            if best is not None and best.shared_n(blocks) - here_n >= self.worth_n:
                self._restore(best, cancel)

    def after_reply(self, context: Sequence[int]) -> None:
        """Forget the refused proposals behind the reply, at the end of ``context``.

        Not every kind of memory can take back a few tokens of what comes from a file, so that must end with the text.
        """
        for model in self.models:
            model.go_back(context)

    def keep(self, cancel: Cancellation | None = None) -> None:
        """Keep what the models hold, if it is worth it; what is kept already and is a part of it goes.

        Raises Cancelled, having kept nothing.
        """
        held = self.models[0].held_tokens
        blocks = _blocks(held)
        if len(held) < self.worth_n or not blocks:
            return
        earlier = self._all()
        if any(kept.blocks[: len(blocks)] == blocks for kept in earlier):
            return
        if sum(model.cache_bytes for model in self.models) > self.limit_bytes:
            return  # it would push out all others, and then go itself
        folder = self.folder / blocks[-1]
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for number, model in enumerate(self.models):
                _check(cancel)
                model.save(folder / f"{number}{_CACHE}", cancel)
                (folder / f"{number}{_CACHE}").chmod(0o600)
            replace_file(folder / _INDEX, json.dumps(blocks).encode(), private=True)
        except Cancelled:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        except (OSError, EngineError):
            shutil.rmtree(folder, ignore_errors=True)  # the disk is full, or this cache cannot be kept
            return
        for kept in earlier:
            if blocks[: len(kept.blocks)] == kept.blocks:
                shutil.rmtree(kept.folder, ignore_errors=True)
        self._make_room()

    def _fits(self, kept: _Kept, blocks: Sequence[str]) -> bool:
        """True if the target has room for a kept cache, and can use what that has in common with these blocks."""
        target, n = self.models[0], len(kept.blocks)
        return _BLOCK_N * n <= target.n_ctx and (target.keeps_parts or kept.shared_n(blocks) == _BLOCK_N * n)

    def _restore(self, kept: _Kept, cancel: Cancellation) -> None:
        """Restore a kept cache; delete it if that fails, so that it can be kept anew."""
        for number, model in enumerate(self.models):
            _check(cancel)
            if model.restore(kept.folder / f"{number}{_CACHE}", cancel).reason:
                shutil.rmtree(kept.folder, ignore_errors=True)
                return
        with suppress(OSError):
            os.utime(kept.folder / _INDEX)

    def _make_room(self) -> None:
        """Let go of those unused longest, of whichever pair, until all fit; and of what was never wholly written."""
        beside = self.folder.parent
        for folder in beside.glob("*/*/"):
            if _is_broken(folder):
                shutil.rmtree(folder, ignore_errors=True)
        for part in beside.glob(f"*/*/*{_PART}"):
            with suppress(OSError):
                if _is_old(part):
                    part.unlink()
        size_bytes = 0
        for kept in sorted(_read(beside, f"*/*/{_INDEX}"), key=lambda kept: -kept.used):
            size_bytes += kept.size_bytes
            if size_bytes > self.limit_bytes:
                shutil.rmtree(kept.folder, ignore_errors=True)

    def _all(self) -> list[_Kept]:
        return list(_read(self.folder, f"*/{_INDEX}"))


def _read(folder: Path, indices: str) -> Iterator[_Kept]:
    """The kept caches that are whole."""
    for index in folder.glob(indices):
        with suppress(OSError, ValueError, TypeError, RecursionError):
            blocks = tuple(map(str, json.loads(index.read_text())))
            size_bytes = sum(file.stat().st_size for file in index.parent.iterdir())
            yield _Kept(index.parent, blocks, index.stat().st_mtime, size_bytes)


def _is_broken(folder: Path) -> bool:
    """True if a program was killed while it wrote this cache."""
    try:
        files = [file for file in folder.iterdir() if file.suffix in (_CACHE, _PART)]
        return bool(files) and not (folder / _INDEX).exists() and all(map(_is_old, files))
    except OSError:
        return False


def _is_old(file: Path) -> bool:
    return file.stat().st_mtime < time.time() - _BROKEN_AFTER_S


def _check(cancel: Cancellation | None) -> None:
    if cancel is not None and cancel.is_set():
        raise Cancelled


def _blocks(tokens: Sequence[int]) -> tuple[str, ...]:
    digest, found = sha256(), []
    numbers = np.asarray(tokens, np.int32)
    for end in range(_BLOCK_N, len(numbers) + 1, _BLOCK_N):
        digest.update(numbers[end - _BLOCK_N : end].tobytes())
        found.append(digest.hexdigest()[:32])
    return tuple(found)
