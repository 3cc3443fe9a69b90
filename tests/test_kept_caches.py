"""A conversation one goes back to is not read again, and says the same; caches take no more room than they may."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from localspec.chat import Message, ReplyOptions, Role
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished, Started
from localspec.engine.settings import Sampling
from localspec.errors import EngineError
from localspec.kept_caches import KeptCaches
from localspec.load import LoadOptions, open_pair
from tests.builtin import DRAFT, TARGET

LONG = list(range(1000, 1200))
OTHER = list(range(5000, 5300))


@dataclass(frozen=True)
class Came:
    tokens: tuple[int, ...]


@dataclass
class Cache:
    """A model that is nothing but its cache."""

    held_tokens: list[int] = field(default_factory=list)
    full: bool = False

    def held(self, context: Sequence[int]) -> int:
        pairs = zip(self.held_tokens, context, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(self.held_tokens), len(context)))

    def save(self, path: Path) -> None:
        if self.full:
            raise EngineError("The disk is full.", "Make room.")
        path.write_text(json.dumps(self.held_tokens))

    def restore(self, path: Path) -> Came:
        self.held_tokens = json.loads(path.read_text())
        return Came(tuple(self.held_tokens))


def caches(folder: Path, *models: Cache, limit_bytes: int = 2**20) -> KeptCaches:
    return KeptCaches(folder, models, worth_n=100, limit_bytes=limit_bytes)


def test_what_would_be_lost_is_kept_and_comes_back(tmp_path: Path) -> None:
    target, draft = Cache(list(LONG)), Cache(LONG[:-1])
    caches(tmp_path, target, draft).turn_to(OTHER)
    target.held_tokens, draft.held_tokens = list(OTHER), list(OTHER)
    caches(tmp_path, target, draft).turn_to([*LONG, 7, 8])
    assert (target.held_tokens, draft.held_tokens) == (LONG, LONG[:-1])


def test_a_part_in_common_is_enough(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    caches(tmp_path, target).keep()
    target.held_tokens = []
    caches(tmp_path, target).turn_to([*LONG[:130], 1, 2, 3])
    assert target.held([*LONG[:130], 1]) == 130


def test_nothing_is_brought_back_for_less_than_it_is_worth(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    caches(tmp_path, target).keep()
    target.held_tokens = LONG[:90]
    caches(tmp_path, target).turn_to(LONG[:180])
    assert target.held_tokens == LONG[:90]


def test_a_conversation_that_goes_on_is_kept_once(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    kept = caches(tmp_path, target)
    kept.keep()
    target.held_tokens = [*LONG, *OTHER]
    kept.keep()
    target.held_tokens = list(LONG)
    kept.keep()
    assert len(list(tmp_path.iterdir())) == 1


def test_room_is_made_by_letting_go_of_what_was_unused_longest(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    size_bytes = len(json.dumps(OTHER))
    kept = caches(tmp_path, target, limit_bytes=size_bytes + size_bytes // 2)
    kept.keep()
    target.held_tokens = list(OTHER)
    kept.keep()
    target.held_tokens = []
    kept.turn_to(LONG)
    assert target.held_tokens == []
    kept.turn_to(OTHER)
    assert target.held_tokens == OTHER


def test_a_full_disk_and_a_damaged_index_cost_nothing_else(tmp_path: Path) -> None:
    target = Cache(list(LONG), full=True)
    caches(tmp_path, target).turn_to(OTHER)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "blocks.json").write_text("{")
    caches(tmp_path, target).turn_to(OTHER)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_pair_goes_back_without_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps: bool) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))
    monkeypatch.setattr("localspec.session._WORTH_S", 0.0)
    talk = [Message(Role.USER, "Repeat: " + " ".join(f"word{n}" for n in range(60)))]
    options = ReplyOptions(sampling=Sampling(temperature=0), max_tokens=12)
    texts, cached = [], []
    for _ in range(2):
        pair = open_pair(LoadOptions(TARGET, DRAFT, n_ctx=512, keep_caches=keeps), Cancellation())
        for event in pair.reply(talk, options):
            if isinstance(event, Started):
                cached.append(event.cache_n)
            elif isinstance(event, Finished):
                texts.append(event.text)
        pair.close()
    assert texts[0] == texts[1]
    assert cached[0] == 0
    assert (cached[1] > 150) is keeps
    assert bool(list(tmp_path.rglob("*.cache"))) is keeps
