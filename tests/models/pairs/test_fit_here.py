"""The memory of a pair, its fit, and the recommendation."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.machine import MachineMemory
from localspec.config.table import AUTO_MAX_DEPTH, DEFAULT_N_CTX
from localspec.gguf import GgufHeader
from localspec.models.fit import Room
from localspec.models.pairs import ModelFile, Pair, describe, describe_all, load_catalogue, recommendation
from localspec.models.pairs import estimate as estimate_module
from localspec.models.pairs.estimate import N_CTX, Estimate, estimate
from localspec.models.pairs.expectation import Expectation
from localspec.models.pairs.free_space import reserve_bytes
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.recommendation import reads_quickly, recommend
from localspec.models.pairs.split_files import read_parts
from localspec.models.pairs.suitability import AMBER, GREEN, RED, UNKNOWN, Suitability, judge_fit
from localspec.runtime.speed.expectation import expect_pair
from localspec.runtime.speed.kernels import KernelSpeeds
from localspec.runtime.speed.speed_file import MachineSpeed
from tests.gguf_files import write
from tests.models.pairs.support import BIG, SMALL, model_bytes

GB = 10**9
NEED = Estimate(6 * GB, 2 * GB, 1 * GB, from_headers=False)
FITS = Suitability(GREEN, 1, 2, "")


def pair_of(pair_id: str, target_gb: float | None, draft_gb: float | None = None, *, verified: bool = True) -> Pair:
    def file(name: str, gb: float | None) -> ModelFile:
        size = None if gb is None else int(gb * GB)
        return ModelFile(file=name, path=None, repo="Owner/Name", size_bytes=size, verified=verified)

    draft = None if draft_gb is None else file("draft.gguf", draft_gb)
    return Pair(id=pair_id, title=pair_id, target=file("target.gguf", target_gb), draft=draft)


@pytest.fixture(autouse=True)
def large_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk these tests run on has no say in what is judged by memory."""
    monkeypatch.setattr("localspec.models.pairs.description.free_bytes", lambda folder: 10**15)


def ram(physical: int | None, available: int | None) -> Room:
    return Room(MachineMemory(physical, available))


def test_the_context_is_the_one_taken_unasked() -> None:
    """The registry may not import where these are decided, so that they could drift apart."""
    assert N_CTX == DEFAULT_N_CTX
    assert estimate_module._OUTPUTS == AUTO_MAX_DEPTH + 1


@pytest.mark.parametrize(
    ("room", "colour", "against"),
    [
        (ram(16 * GB, 9 * GB), GREEN, 9 * GB),
        (ram(16 * GB, 9 * GB - 1), AMBER, 9 * GB - 1),
        (ram(9 * GB - 1, 9 * GB - 1), RED, 9 * GB - 1),
        (ram(16 * GB, 3 * GB - 1), RED, 3 * GB - 1),
        (ram(9 * GB, None), GREEN, 9 * GB),
        (ram(None, None), UNKNOWN, None),
        (Room(MachineMemory(1, 1), device_bytes=9 * GB), GREEN, 9 * GB),
        (Room(MachineMemory(16 * GB, 16 * GB), device_bytes=8 * GB), AMBER, 8 * GB),
        (Room(MachineMemory(8 * GB, 8 * GB), device_bytes=8 * GB), AMBER, 8 * GB),
        (Room(MachineMemory(2 * GB, 2 * GB), device_bytes=6 * GB), RED, 8 * GB),
        (Room(MachineMemory(8 * GB, GB // 2), device_bytes=6 * GB), RED, 13 * GB // 2),
        (Room(MachineMemory(16 * GB, 8 * GB), device_bytes=12 * GB, device_shares_ram=True), AMBER, 8 * GB),
        (Room(MachineMemory(16 * GB, 10 * GB), device_bytes=9 * GB, device_shares_ram=True), GREEN, 10 * GB),
        (Room(MachineMemory(16 * GB, 10 * GB), device_bytes=9 * GB - 1, device_shares_ram=True), AMBER, 9 * GB - 1),
        (Room(MachineMemory(8 * GB, 8 * GB), device_bytes=5 * GB, device_shares_ram=True), RED, 8 * GB),
    ],
)
def test_fit_is_told_with_the_number_it_is_held_against(room: Room, colour: str, against: int | None) -> None:
    fit = judge_fit(NEED, room)

    assert (fit.colour, fit.need_bytes, fit.room_bytes) == (colour, 9 * GB, against)
    assert fit.reason.endswith(".")
    assert fit.word in ("fits", "tight", "too big", "unknown")


def test_what_is_not_known_is_said_to_be() -> None:
    assert judge_fit(estimate(pair_of("x", None)), ram(GB, GB)).colour == UNKNOWN


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_more_room_never_fits_worse(need: int, available: int, more: int) -> None:
    order = [RED, AMBER, GREEN]
    estimated = Estimate(need, need, need, from_headers=True)
    before = judge_fit(estimated, ram(30, available))
    after = judge_fit(estimated, ram(30 + more, available + more))

    assert order.index(after.colour) >= order.index(before.colour)


def test_a_file_that_is_not_here_is_reckoned_from_its_size() -> None:
    """The formula is stated in the module: a quarter for the cache, 3 % and 30 MB for buffers."""
    need = estimate(pair_of("x", 4.0, 0.4))

    assert need == Estimate(4 * GB + GB * 4 // 10, GB + GB // 10, GB * 132 // 1000 + 60_000_000, from_headers=False)


def test_what_the_catalogue_knows_of_the_cache_is_believed() -> None:
    target = ModelFile(file="x", path=None, repo="a/b", about_bytes=GB, cache_bytes_per_token=1000, context_length=100)

    need = estimate(Pair(id="x", title="x", target=target))

    assert need is not None
    assert (need.weights, need.cache) == (GB, 100 * 1000)


def test_files_that_are_here_are_counted_from_their_headers(tmp_path: Path) -> None:
    target = ModelFile(file="x", path=write(tmp_path / "x.gguf", BIG), about_bytes=GB)

    need = estimate(Pair(id="x", title="x", target=target))

    assert need is not None
    assert need.from_headers
    assert need.weights == 4000 * 8 * 4


def test_memory_and_speed_take_one_reading_of_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header of a real model has hundreds of thousands of strings: a second listing reads none."""
    mtp = model_bytes(4000, metadata={"llama.nextn_predict_layers": 1})
    big, small = (ModelFile(file=n, path=write(tmp_path / n, data)) for n, data in (("big", mtp), ("small", SMALL)))
    pairs = [Pair(id="two", title="two", target=big, draft=small), Pair(id="mtp", title="x", target=big, drafter="mtp")]
    kernels = KernelSpeeds(byte_s={"F16": {1: 1e-9, 16: 2e-9}}, layer_s={1: 1e-5, 16: 2e-5})
    machine = MachineSpeed("this one", kernels)
    read: list[Path] = []

    def noted(path: Path) -> list[GgufHeader]:
        read.append(path)
        return read_parts(path)

    monkeypatch.setattr(estimate_module, "read_parts", noted)

    def listed() -> list[Expectation | None]:
        return [pair.speed for pair in describe_all(pairs, ram(GB, GB), lambda pair: expect_pair(pair, machine))]

    first = listed()

    assert None not in first
    assert Counter(path.name for path in read) == {"big": 2, "small": 1}, "once for each way to use it"
    assert listed() == first
    assert len(read) == 3
    write(tmp_path / "big", BIG)
    listed()
    assert len(read) == 5, "the file has changed"


def test_heads_are_counted_beside_their_target() -> None:
    pair = pair_of("x", 4.0, 1.0)
    with_heads = dataclasses.replace(pair, drafter="eagle3")
    alone, both = estimate(pair_of("x", 4.0)), estimate(with_heads)

    assert alone is not None
    assert both is not None
    assert both.weights == alone.weights + GB


# The recommendation


@pytest.mark.parametrize(
    ("pairs", "best"),
    [
        ([pair_of("small", 2, 0.2), pair_of("large", 8, 0.8)], "large"),
        ([pair_of("guessed", 9, 0.9, verified=False), pair_of("verified", 8, 0.8)], "verified"),
        ([pair_of("guessed", 9, 0.9, verified=False), pair_of("verified", 5, 0.5)], "guessed"),
        ([pair_of("close", 8, 4), pair_of("apart", 8, 0.8)], "apart"),
        ([pair_of("first", 8, 0.7), pair_of("second", 8, 0.8)], "first"),
        ([pair_of("alone", 8), pair_of("pair", 2, 0.2)], "alone"),
        ([pair_of("alone", 9), pair_of("pair", 8, 0.8, verified=False)], "pair"),
    ],
)
def test_the_rule(pairs: list[Pair], best: str) -> None:
    chosen = recommend([(pair, FITS) for pair in pairs])

    assert chosen is not None
    assert chosen[0].id == best
    assert chosen[1].startswith(f"Recommended: {best}, ")
    assert chosen[1].count(".") == 1


@pytest.mark.parametrize(
    ("sizes", "best"), [((20, 5, 2), "5"), ((20, 8), "8"), ((6, 2), "6"), ((6.1, 2), "2")], ids=str
)
def test_without_a_gpu_what_would_crawl_is_not_recommended(sizes: tuple[float, ...], best: str) -> None:
    judged = [(pair_of(f"{size:g}", size, size / 10), FITS) for size in sizes]

    chosen = recommend(judged, quick=False)

    assert chosen is not None
    assert chosen[0].id == best


@pytest.mark.parametrize(
    ("speeds", "best", "why"),
    [
        ({"20": 4, "8": 11.6, "2": 40}, "8", "the best model here that is fast enough to read along: about 12 "),
        ({"20": 8, "8": 30, "2": 90}, "20", "the best model here that is fast enough to read along: about 8 "),
        ({"20": 0.2, "8": 3, "2": 6.4}, "2", "the fastest here, at about 6 tokens a second: none is fast enough"),
        ({"8": 2}, "8", "the fastest here"),
        ({}, "2", "by this rule"),
    ],
)
def test_the_best_model_that_people_can_read_along_with_is_recommended(
    speeds: dict[str, float], best: str, why: str
) -> None:
    """By the expected speed with the draft, wherever it lies; those of unknown speed only if all are."""
    judged = [(pair_of(f"{size}", size, size / 10), FITS) for size in (20, 8, 2)]
    expected = {name: Expectation(speed / 2, speed) for name, speed in speeds.items()}

    chosen = recommend(judged, expected, quick=False)

    assert chosen is not None
    assert chosen[0].id == best
    assert why in chosen[1]
    assert chosen[1].count(".") == 1


@pytest.mark.parametrize(
    ("room", "platform", "quickly"),
    [
        (ram(64 * GB, 60 * GB), "linux", False),
        (Room(MachineMemory(64 * GB, 60 * GB), device_bytes=8 * GB), "linux", True),
        (Room(MachineMemory(64 * GB, 60 * GB), device_bytes=60 * GB, device_shares_ram=True), "linux", False),
        (Room(MachineMemory(64 * GB, 60 * GB), device_bytes=48 * GB, device_shares_ram=True), "darwin", True),
    ],
)
def test_where_large_weights_are_read_quickly(room: Room, platform: str, quickly: bool) -> None:
    assert reads_quickly(room, platform) is quickly


@pytest.mark.parametrize("colour", [AMBER, RED, UNKNOWN])
def test_what_does_not_fit_is_not_recommended(colour: str) -> None:
    assert recommend([(pair_of("x", 8, 0.8), Suitability(colour, 1, 2, ""))]) is None


@pytest.mark.parametrize(
    ("drafter", "architecture", "recommended"),
    [
        ("eagle3", "qwen3", True),
        ("dflash", "gpt-oss", True),
        ("mtp", "glm4moe", True),
        ("mtp", "gemma4", True),
        ("eagle3", "gemma3", False),
        ("dflash", "qwen2", False),
        ("mtp", "llama", False),
        ("draft", "gemma3", True),
    ],
)
def test_heads_are_recommended_where_llama_cpp_can_run_them(drafter: str, architecture: str, recommended: bool) -> None:
    pair = pair_of("x", 8, 0.8)
    with_heads = dataclasses.replace(
        pair, drafter=drafter, target=dataclasses.replace(pair.target, architecture=architecture)
    )

    assert (recommend([(with_heads, FITS)]) is not None) is recommended


def test_a_file_may_change_while_pairs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = chain([8], repeat(1))
    monkeypatch.setattr(recommendation, "target_bytes", lambda pair: next(sizes))
    assert recommend([(pair_of("x", 8, 0.8), FITS)]) is not None


def test_what_gains_little_is_not_recommended_and_a_single_model_says_what_drafts() -> None:
    little = dataclasses.replace(pair_of("x", 8, 0.8), recommended=False)
    alone = "it is a single model, which drafts from its own text (suffix)."

    assert recommend([(little, FITS)]) is None
    for speeds in ({}, {"y": Expectation(9.0)}, {"y": Expectation(2.0)}):
        chosen = recommend([(little, FITS), (pair_of("y", 8), FITS)], speeds)
        assert chosen is not None
        assert chosen[0].id == "y"
        assert chosen[1].endswith(alone)
    with_heads = recommend([(dataclasses.replace(pair_of("z", 8), drafter="mtp"), FITS)])
    assert with_heads is not None
    assert alone not in with_heads[1]


@pytest.mark.parametrize(("gb", "best"), [(1, "builtin"), (6, "qwen3.5-4b-mtp"), (12, "qwen3-8b"), (64, "qwen3-8b")])
def test_what_a_machine_of_a_class_is_recommended(gb: int, best: str) -> None:
    described = describe_all(load_catalogue().pairs, ram(gb * GB, int(gb * GB * 0.85)))

    assert [pair.id for pair in described if pair.recommended_here] == [best]


def test_every_shipped_pair_can_be_judged() -> None:
    """There is a size for every file, so that no fit is unknown; and a class of machine from 1 to 96 GB."""
    described = describe_all(load_catalogue().pairs, ram(128 * GB, 128 * GB))

    assert len(described) >= 14
    for pair in described:
        assert pair.fit is not None
        assert pair.fit.colour == GREEN, pair.id
        assert pair.memory is not None
        assert pair.memory_gb is not None, pair.id
        assert pair.memory.total <= pair.memory_gb * 2**30, f"{pair.id} does not fit its own class"


def test_a_disk_without_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.models.pairs.description.free_bytes", lambda folder: GB)
    described = {pair.id: pair for pair in describe_all(load_catalogue().pairs, ram(64 * GB, 64 * GB))}

    assert described["qwen3-8b"].fit is not None
    assert described["qwen3-8b"].fit.colour == RED
    assert "disk" in described["qwen3-8b"].fit.reason
    assert described["builtin"].fit is not None
    assert described["builtin"].fit.colour == GREEN


@pytest.mark.parametrize(("spare", "colour"), [(-1, RED), (0, GREEN)])
def test_a_disk_has_room_for_what_downloads_leave_free_too(
    monkeypatch: pytest.MonkeyPatch, spare: int, colour: str
) -> None:
    """Without that room the download would be refused."""
    pair = load_catalogue().find("qwen3-8b")
    free = describe(pair).missing_bytes + reserve_bytes(hub_cache()) + spare
    monkeypatch.setattr("localspec.models.pairs.description.free_bytes", lambda folder: free)
    fit = describe(pair, ram(64 * GB, 64 * GB)).fit
    assert fit is not None
    assert fit.colour == colour


def test_a_header_is_read_once_until_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a sixth of a second for a vocabulary of 150,000 tokens, and a list is often shown again."""
    read = []

    def counted(path: Path) -> list[GgufHeader]:
        read.append(path)
        return read_parts(path)

    monkeypatch.setattr(estimate_module, "read_parts", counted)
    path = write(tmp_path / "x.gguf", SMALL)
    pair = Pair(id="x", title="X", target=ModelFile(file="x.gguf", path=path))
    small = estimate(pair)
    assert small is not None
    assert estimate(pair) == small
    assert read == [path]
    write(path, BIG)
    big = estimate(pair)
    assert big is not None
    assert big.weights > small.weights


def test_one_pair_is_judged_as_in_the_list() -> None:
    room = ram(16 * GB, 14 * GB)
    pairs = load_catalogue().pairs

    for alone, listed in zip((describe(pair, room) for pair in pairs), describe_all(pairs, room), strict=True):
        assert alone == dataclasses.replace(listed, recommended_here=False, recommended_because="")
