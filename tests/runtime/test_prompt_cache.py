"""A conversation one goes back to is not read again, and says the same; caches take no more room than they may."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localspec.base.errors import EngineError
from localspec.engine.backends.llama.saved import Restored
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.settings import Sampling
from localspec.runtime.loaded_pair import LoadedPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.prompt_cache import KeptCaches
from tests.builtin import DRAFT, TARGET
from tests.runtime.opened_pairs import follow, open_unmeasured

LONG = list(range(1000, 1200))
OTHER = list(range(5000, 5300))
DAMAGED = "damaged"


@dataclass
class Cache:
    """A model that is nothing but its cache."""

    held_tokens: list[int] = field(default_factory=list)
    full: bool = False
    cancels: bool = False
    """Whether somebody presses Cancel while it writes or reads."""
    n_ctx: int = 1000
    keeps_parts: bool = True

    @property
    def cache_bytes(self) -> int:
        return len(json.dumps(self.held_tokens))

    def held(self, context: Sequence[int]) -> int:
        pairs = zip(self.held_tokens, context, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(self.held_tokens), len(context)))

    def go_back(self, context: Sequence[int]) -> None:
        del self.held_tokens[self.held(context) :]

    def save(self, path: Path, cancel: Cancellation | None = None) -> None:
        if self.full:
            raise EngineError("The disk is full.", "Make room.")
        path.write_text(json.dumps(self.held_tokens))
        if self.cancels and cancel:
            cancel.set()

    def restore(self, path: Path, cancel: Cancellation | None = None) -> Restored:
        text = path.read_text()
        if text == DAMAGED or len(json.loads(text)) > self.n_ctx:
            return Restored((), "it is damaged")
        self.held_tokens = json.loads(text)
        if self.cancels and cancel:
            cancel.set()
        return Restored(tuple(self.held_tokens))


def caches(folder: Path, *models: Cache, limit_bytes: int = 2**20, pair: str = "pair") -> KeptCaches:
    return KeptCaches(folder / pair, models, worth_n=100, limit_bytes=limit_bytes)


def test_what_would_be_lost_is_kept_and_comes_back(tmp_path: Path) -> None:
    target, draft = Cache(list(LONG)), Cache(LONG[:-1])
    caches(tmp_path, target, draft).before_reply(OTHER, Cancellation())
    target.held_tokens, draft.held_tokens = list(OTHER), list(OTHER)
    caches(tmp_path, target, draft).before_reply([*LONG, 7, 8], Cancellation())
    assert (target.held_tokens, draft.held_tokens) == (LONG, LONG[:-1])


def test_a_part_in_common_is_enough(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    caches(tmp_path, target).keep()
    target.held_tokens = []
    caches(tmp_path, target).before_reply([*LONG[:130], 1, 2, 3], Cancellation())
    assert target.held([*LONG[:130], 1]) == 130


@pytest.mark.parametrize("shared_n", [130, len(LONG)])
def test_nothing_is_brought_back_to_be_forgotten(tmp_path: Path, shared_n: int) -> None:
    """A recurrent state, or a window, is of use to a text that goes on from its end alone."""
    target = Cache(list(LONG), keeps_parts=False)
    caches(tmp_path, target).keep()
    target.held_tokens = LONG[:20]
    caches(tmp_path, target).before_reply([*LONG[:shared_n], 1, 2, 3], Cancellation())
    assert target.held_tokens == (LONG if shared_n == len(LONG) else LONG[:20])


def test_a_cache_that_is_larger_than_the_context_stays_for_one_that_it_fits(tmp_path: Path) -> None:
    """A conversation that begins alike is read if the pair is loaded with a smaller context."""
    large, small = Cache(list(LONG)), Cache(n_ctx=len(LONG) - 40)
    caches(tmp_path, large).keep()
    caches(tmp_path, small).before_reply(LONG[:150], Cancellation())
    assert small.held_tokens == []
    large.held_tokens = []
    caches(tmp_path, large).before_reply(LONG, Cancellation())
    assert large.held_tokens == LONG


def test_nothing_is_brought_back_for_less_than_it_is_worth(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    caches(tmp_path, target).keep()
    target.held_tokens = LONG[:90]
    caches(tmp_path, target).before_reply(LONG[:180], Cancellation())
    assert target.held_tokens == LONG[:90]


def test_a_conversation_that_goes_on_is_kept_once(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    kept = caches(tmp_path, target)
    kept.keep()
    target.held_tokens = [*LONG, *OTHER]
    kept.keep()
    target.held_tokens = list(LONG)
    kept.keep()
    assert len(list((tmp_path / "pair").iterdir())) == 1


def test_room_is_made_by_letting_go_of_what_was_unused_longest(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    size_bytes = len(json.dumps(OTHER))
    kept = caches(tmp_path, target, limit_bytes=size_bytes + size_bytes // 2)
    kept.keep()
    target.held_tokens = list(OTHER)
    kept.keep()
    target.held_tokens = []
    kept.before_reply(LONG, Cancellation())
    assert target.held_tokens == []
    kept.before_reply(OTHER, Cancellation())
    assert target.held_tokens == OTHER


def test_a_cache_that_is_larger_than_the_room_pushes_nothing_out(tmp_path: Path) -> None:
    target = Cache(list(LONG))
    kept = caches(tmp_path, target, limit_bytes=2 * target.cache_bytes)
    kept.keep()
    target.held_tokens = OTHER * 3
    kept.keep()
    target.held_tokens = []
    kept.before_reply(LONG, Cancellation())
    assert target.held_tokens == LONG


def test_proposals_that_were_refused_are_not_kept(tmp_path: Path) -> None:
    target, draft = Cache([*LONG, 7, 8, 9]), Cache([*LONG[:-2], 5])
    kept = caches(tmp_path, target, draft)
    kept.after_reply([*LONG, 6])
    assert (target.held_tokens, draft.held_tokens) == (LONG, LONG[:-2])


def test_what_does_not_come_back_is_kept_anew(tmp_path: Path) -> None:
    """It goes, the draft keeps what it holds, and what is read again takes its place."""
    target, draft = Cache(list(LONG)), Cache(list(LONG))
    kept = caches(tmp_path, target, draft)
    kept.keep()
    (damaged,) = tmp_path.glob("pair/*/0.cache")
    damaged.write_text(DAMAGED)
    target.held_tokens, draft.held_tokens = [], [3]
    kept.before_reply(LONG, Cancellation())
    assert draft.held_tokens == [3]
    assert not damaged.exists()
    target.held_tokens = list(LONG)
    kept.keep()
    assert damaged.read_text() == json.dumps(LONG)


@pytest.mark.parametrize("pressed", ["before", "between"])
def test_cancel_ends_keeping(tmp_path: Path, pressed: str) -> None:
    """Nothing half kept stays; the program's end, which sets the same signal, keeps all the same."""
    cancel = Cancellation()
    target, draft = Cache(list(LONG), cancels=pressed == "between"), Cache(list(LONG))
    kept = caches(tmp_path, target, draft)
    if pressed == "before":
        cancel.set()
    kept.before_reply(OTHER, cancel)
    assert cancel.is_set()
    assert list((tmp_path / "pair").iterdir()) == []
    kept.keep()
    assert len(list(tmp_path.glob("pair/*/blocks.json"))) == 1


@pytest.mark.parametrize("pressed", ["before", "between"])
def test_cancel_ends_bringing_back(tmp_path: Path, pressed: str) -> None:
    """And costs nothing that was kept."""
    target, draft = Cache(list(LONG)), Cache(list(LONG))
    kept = caches(tmp_path, target, draft)
    kept.keep()
    target.held_tokens, draft.held_tokens = [], []
    target.cancels = pressed == "between"
    cancel = Cancellation()
    if pressed == "before":
        cancel.set()
    kept.before_reply(LONG, cancel)
    assert (target.held_tokens, draft.held_tokens) == (LONG if target.cancels else [], [])
    target.held_tokens, target.cancels = [], False
    kept.before_reply(LONG, Cancellation())
    assert (target.held_tokens, draft.held_tokens) == (LONG, LONG)


def test_all_pairs_share_the_room(tmp_path: Path) -> None:
    """What a pair keeps may push out what another has kept, the one unused longest first."""
    target = Cache(list(LONG))
    limit_bytes = 2 * len(json.dumps(OTHER))
    for number, pair in enumerate(("one", "two", "three")):
        target.held_tokens = [number, *OTHER[1:]]
        caches(tmp_path, target, limit_bytes=limit_bytes, pair=pair).keep()
        for index in tmp_path.glob(f"{pair}/*/blocks.json"):
            os.utime(index, (1000.0 + number, 1000.0 + number))
    assert [path.parent.parent.name for path in tmp_path.glob("*/*/blocks.json")] == ["three"]


def test_what_a_killed_program_left_goes(tmp_path: Path) -> None:
    """But not what another is writing at this moment, nor anything that is no cache."""
    files = ("left/0.cache", "being written/0.cache", "left early/0.cache.12.part", "begun/0.cache.13.part")
    for file in files:
        place = tmp_path / "pair" / file
        place.parent.mkdir(parents=True)
        place.write_text("half of")
        if file.startswith("left"):
            os.utime(place, (1000.0, 1000.0))
    (tmp_path / "pair" / "notes").mkdir()
    os.utime(tmp_path / "pair" / "notes", (1000.0, 1000.0))
    caches(tmp_path, Cache(list(LONG))).keep()
    kept = {path.name for path in (tmp_path / "pair").iterdir() if not (path / "blocks.json").exists()}
    assert kept == {"being written", "begun", "notes"}


def test_a_part_beside_a_whole_cache_goes(tmp_path: Path) -> None:
    """As when two programs kept the same conversation, and one was killed."""
    target = Cache(list(LONG))
    caches(tmp_path, target).keep()
    (whole,) = tmp_path.glob("pair/*/0.cache")
    part = whole.with_name("0.cache.12.part")
    part.write_text("half of")
    os.utime(part, (1000.0, 1000.0))
    target.held_tokens = list(OTHER)
    caches(tmp_path, target).keep()
    assert whole.exists()
    assert not part.exists()


def test_a_full_disk_and_a_damaged_index_cost_nothing_else(tmp_path: Path) -> None:
    target = Cache(list(LONG), full=True)
    caches(tmp_path, target).before_reply(OTHER, Cancellation())
    assert list((tmp_path / "pair").iterdir()) == []
    (tmp_path / "pair" / "odd").mkdir()
    (tmp_path / "pair" / "odd" / "blocks.json").write_text("{")
    caches(tmp_path, target).before_reply(OTHER, Cancellation())


def pair_with(caches: Any, closed: Callable[[], object], refreshed: Callable[[], object] = lambda: None) -> LoadedPair:
    """A pair of which nothing is there but what closing it does."""
    resources = ExitStack()
    resources.callback(closed)
    adaptive = SimpleNamespace(costs=None, reading=None)
    calibration = SimpleNamespace(refresh=lambda costs, reading: refreshed())
    rest: Any = SimpleNamespace(prompter=None, inspector=None)
    return LoadedPair(rest, rest, rest, adaptive, calibration, caches, resources)  # type: ignore[arg-type]


def test_a_pair_is_closed_whatever_becomes_of_its_caches() -> None:
    """What rounds have taught is safe by then, and no native memory stays."""
    done: list[str] = []

    class Broken:
        def keep(self, cancel: Cancellation | None = None) -> None:
            done.append("kept")
            raise RuntimeError("a mistake of ours")

    with pytest.raises(RuntimeError):
        pair_with(Broken(), lambda: done.append("closed"), lambda: done.append("refreshed")).close()
    assert done == ["refreshed", "kept", "closed"]


def test_a_pair_is_closed_without_its_caches_when_nobody_wants_to_wait() -> None:
    """The signal of whoever closes it ends the keeping; that of the replies does not."""
    asked: list[Cancellation | None] = []

    class Cancelling:
        def keep(self, cancel: Cancellation | None = None) -> None:
            asked.append(cancel)
            raise Cancelled

    cancel = Cancellation()
    with pytest.raises(Cancelled):
        pair_with(Cancelling(), lambda: asked.append(None)).close(cancel)
    assert asked == [cancel, None]


@pytest.mark.parametrize("keeps", [True, False])
def test_a_pair_goes_back_without_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps: bool) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))
    monkeypatch.setattr("localspec.runtime.loaded_pair._WORTH_S", 0.0)
    thread = [Message(Role.USER, "Repeat: " + " ".join(f"word{n}" for n in range(60)))]
    options = ReplyOptions(sampling=Sampling(temperature=0), max_tokens=12)
    texts, cached = [], []
    for _ in range(2):
        with closing(open_unmeasured(LoadOptions(TARGET, DRAFT, n_ctx=512, threads=1, keep_caches=keeps))) as pair:
            reply = follow(pair, thread, options)
        texts.append(reply.text)
        cached.append(reply.timings.cache_n)
    assert texts[0] == texts[1]
    assert cached[0] == 0
    assert (cached[1] > 150) is keeps
    assert bool(list(tmp_path.rglob("*.cache"))) is keeps
