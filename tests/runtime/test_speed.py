"""The speed that is expected of models on a made-up machine, and how replies correct it."""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.config.table import MAX_DEPTH
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.events import Finished, FinishReason, Origin, Proposal, Round, Token
from localspec.engine.tally import Tally
from localspec.gguf import read_header
from localspec.models.pairs import ModelFile, Pair, load_catalogue
from localspec.models.pairs.expectation import EXPECTED, MEASURED
from localspec.models.token_work import TokenWork, mtp_work, token_work, work_of_size
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.speed import measurement
from localspec.runtime.speed.expectation import DraftWork, expect_pair, expected_chance, expected_speed
from localspec.runtime.speed.kernels import CONTEXT_N, KernelSpeeds
from localspec.runtime.speed.measurement import MeasuredKernels, known_speed, measure_kernels
from localspec.runtime.speed.recording import SpeedRecorder
from localspec.runtime.speed.sample_model import N_VOCAB, SampleShape, matrix_bytes, write_sample
from localspec.runtime.speed.speed_file import MachineSpeed, PairRun, SpeedFile, machine_name, run_key
from tests.gguf_files import F16, Q8_0, Tensor, model, write

GB = 10**9
KERNELS = KernelSpeeds(
    byte_s={"Q4_K": {1: 2e-11, 4: 2.5e-11, 16: 6e-11}, "F16": {1: 1e-11, 16: 2e-11}, "Q8_0": {1: 1.5e-11, 16: 2e-11}},
    layer_s={1: 1e-5, 16: 2e-5},
)
"""A machine that reads 50 GB of Q4_K a second."""
MACHINE = MachineSpeed("this one", KERNELS, steady=True)
TARGET = TokenWork({"Q4_K": 5 * GB}, n_layers=32)
DRAFT = DraftWork("draft", TokenWork({"Q8_0": GB // 2}, n_layers=28))


def plain_of(work: TokenWork, machine: MachineSpeed = MACHINE) -> float:
    found = expected_speed(work, machine)
    assert found is not None
    return found.plain_per_second


# The work of a token


def header_tensors(*, tied: bool) -> list[Tensor]:
    tensors = [
        Tensor("token_embd.weight", (32, 1000), F16),
        Tensor("blk.0.attn_q.weight", (32, 32), Q8_0),
        Tensor("blk.0.ffn_up_exps.weight", (32, 64, 8), F16),
        Tensor("blk.1.attn_q.weight", (32, 32), Q8_0),
    ]
    return tensors if tied else [*tensors, Tensor("output.weight", (32, 1000), Q8_0)]


def test_weights_are_read_but_for_rows_of_the_embedding_and_idle_experts(tmp_path: Path) -> None:
    moe = {"llama.block_count": 2, "llama.expert_count": 8, "llama.expert_used_count": 2}
    path = write(tmp_path / "m.gguf", model(tensors=header_tensors(tied=False), metadata=moe))

    work = token_work([read_header(path)])

    assert work.dense == {"Q8_0": 2 * 32 * 34 + 1000 * 34}
    assert work.experts == {"F16": 8 * 32 * 64 * 2}
    assert work.bytes_read == work.dense["Q8_0"] + work.experts["F16"] / 4
    assert (work.main_type, work.n_layers) == ("Q8_0", 2)


def test_an_embedding_that_is_the_output_too_is_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", model(tensors=header_tensors(tied=True), metadata={"llama.block_count": 2}))

    assert token_work([read_header(path)]).dense["F16"] == 1000 * 64


def test_mtp_layers_are_the_work_of_the_drafter(tmp_path: Path) -> None:
    metadata = {"llama.block_count": 2, "llama.nextn_predict_layers": 1}
    path = write(tmp_path / "m.gguf", model(tensors=header_tensors(tied=False), metadata=metadata))
    header = read_header(path)

    assert token_work([header]).dense["Q8_0"] == 32 * 34 + 1000 * 34
    assert (mtp_work([header]).dense["Q8_0"], mtp_work([header]).n_layers) == (32 * 34 + 1000 * 34, 1)


@pytest.mark.parametrize(
    ("file", "kind", "share"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K", 1.0),
        ("gemma-3-4b-it-UD-IQ2_XXS.gguf", "IQ2_XXS", 1.0),
        ("model.BF16-00001-of-00003.gguf", "BF16", 1.0),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4", 1.0),
        ("Qwen3-30B-A3B-Q8_0.gguf", "Q8_0", 0.1),
        ("anything.gguf", "Q4_K", 1.0),
    ],
)
def test_a_name_tells_the_type_and_the_share_of_experts(file: str, kind: str, share: float) -> None:
    work = work_of_size(30 * GB, file)

    assert work.main_type == kind
    assert work.bytes_read == pytest.approx(share * 30 * GB, rel=1e-6)


# Seconds for a round


def test_a_token_takes_its_bytes_its_layers_and_its_cache() -> None:
    work = TokenWork({"Q4_K": GB, "F16": GB}, n_layers=10, cache_bytes=1000)

    assert KERNELS.round_s(work) == pytest.approx(0.02 + 0.01 + 1e-4 + CONTEXT_N * 1000 * 1e-11)
    assert KERNELS.round_s(work, 10) == pytest.approx(
        GB * (2.5e-11 + 3.5e-11 / 2) + GB * 1.6e-11 + 10 * 1.6e-5 + CONTEXT_N * 1000 * 1e-11
    )


def test_a_batch_of_a_mixture_wakes_more_experts() -> None:
    mixture = TokenWork({}, {"Q4_K": 10 * GB}, 0.1, n_layers=1)

    assert KERNELS.round_s(mixture) == pytest.approx(0.02, rel=0.01)
    assert KERNELS.round_s(mixture, 4) > 3 * KERNELS.round_s(mixture)
    assert KERNELS.round_s(TARGET, 4) < 1.3 * KERNELS.round_s(TARGET)


def test_a_type_that_was_not_measured_is_as_its_neighbour() -> None:
    """Of fewer bits, no less time a weight; of as many, the same time a byte."""
    of = {
        kind: KERNELS.round_s(TokenWork({kind: GB}, n_layers=0)) for kind in ("Q4_K", "Q3_K", "IQ4_XS", "BF16", "F32")
    }

    assert of["Q3_K"] == pytest.approx(of["Q4_K"] * 144 / 110)
    assert of["IQ4_XS"] == pytest.approx(of["Q4_K"] * 144 / 136)
    assert of["BF16"] == of["F32"] == KERNELS.round_s(TokenWork({"F16": GB}, n_layers=0))


# With what drafts


@given(st.floats(0, 0.99), st.floats(0.01, 1.2), st.floats(0, 0.5), st.booleans())
def test_the_rate_is_that_of_the_best_depth(chance: float, step: float, slope: float, block: bool) -> None:
    """As trying all depths finds it; never less than plain decoding."""
    costs = Costs(
        {b: 0.1 * (1 + slope * (b - 1)) for b in range(1, MAX_DEPTH + 2)},
        {"draft": QueryCost(0.1 * step, 0.01, row_s=0.002 if block else None)},
    )

    def rate(n: int) -> float:
        drafting_s = costs.query_s("draft", 1, n) + (0 if block else (n - 1) * 0.1 * step)
        return sum(chance**i for i in range(n + 1)) / (costs.round_s(n + 1) + (drafting_s if n else 0))

    found = costs.speedup("draft", chance, MAX_DEPTH) / costs.plain_s

    assert found == pytest.approx(max(map(rate, range(MAX_DEPTH + 1))), rel=0.005)
    assert found >= 10


def test_a_draft_gains_by_its_chance_and_its_price() -> None:
    found = expected_speed(TARGET, MACHINE, DRAFT)
    dear = expected_speed(TARGET, MACHINE, DraftWork("draft", TARGET))
    assert found is not None
    assert dear is not None
    assert found.with_draft_per_second is not None

    assert 1.2 < found.with_draft_per_second / found.plain_per_second < 2.5
    assert dear.with_draft_per_second == dear.plain_per_second
    assert found.source == EXPECTED


def test_chances_are_learned_by_kind() -> None:
    before = expected_chance(TARGET, DRAFT, {})

    assert (
        expected_chance(TARGET, DRAFT, {"draft": (200, 1000)})
        < before
        < expected_chance(TARGET, DRAFT, {"draft": (950, 1000)})
    )
    assert expected_chance(TARGET, DRAFT, {"mtp": (0, 1000)}) == before
    assert expected_chance(TARGET, replace(DRAFT, work=TARGET), {}) > before


# What replies teach


def run_of(per_second: float, work: TokenWork = TARGET, *, faster: float = 1.5) -> PairRun:
    return PairRun(work, per_second, per_second * faster, drafted=True)


def test_a_pair_that_ran_shows_its_own_figures() -> None:
    pair = Pair(
        id="x", title="x", target=ModelFile(file="a/big-Q4_K_M.gguf", path=None, repo="o/n", about_bytes=5 * GB)
    )
    machine = MACHINE.with_run(run_key("big-Q4_K_M.gguf"), run_of(4.0), {})

    expected, measured = expect_pair(pair, MACHINE), expect_pair(pair, machine)

    projector = ModelFile(file="mmproj.gguf", path=None, repo="o/n", about_bytes=GB)
    assert expect_pair(replace(pair, projector=projector), machine) == measured, "images are none of it"
    assert expected is not None
    assert (expected.source, expected.with_draft_per_second) == (EXPECTED, None)
    assert measured is not None
    assert (measured.source, measured.plain_per_second, measured.per_second) == (MEASURED, 4.0, 6.0)


def test_figures_are_not_those_of_another_file_of_the_same_name(tmp_path: Path) -> None:
    """Jan calls every file ``model.gguf``."""
    shapes = {"large": header_tensors(tied=False), "small": header_tensors(tied=True)}
    files = {
        name: write(tmp_path / name / "model.gguf", model(tensors=tensors, metadata={"llama.block_count": 2}))
        for name, tensors in shapes.items()
    }
    large, small = (Pair(id=n, title=n, target=ModelFile(file=str(p), path=p)) for n, p in files.items())
    machine = MACHINE.with_run("model.gguf", run_of(9, token_work([read_header(files["small"])])), {})
    machine = machine.with_run("model.gguf", run_of(3, token_work([read_header(files["large"])])), {})

    measured, other = expect_pair(large, machine), expect_pair(small, machine)

    assert measured is not None
    assert (measured.source, measured.plain_per_second) == (MEASURED, 3)
    assert other is not None
    assert other.source == EXPECTED


def test_figures_follow_the_latest_replies() -> None:
    machine = MACHINE
    for per_second in (10.0, 20.0, *[30.0] * 20):
        machine = machine.with_run("x", run_of(per_second), {"draft": (3, 4)})
        if per_second == 20:
            assert machine.runs["x"].plain_per_second == 15

    assert machine.runs["x"].plain_per_second == pytest.approx(30, rel=0.02)
    assert machine.runs["x"].replies_n == 22
    assert machine.acceptance["draft"] == (66, 88)


def test_a_run_corrects_what_is_expected_of_its_type_alone() -> None:
    half = MACHINE.with_run("x", run_of(plain_of(TARGET) / 2), {}).corrected()
    wild = MACHINE.with_run("x", run_of(plain_of(TARGET) / 1000), {}).corrected()
    other, eight = TokenWork({"Q4_K": 2 * GB}), TokenWork({"Q8_0": 2 * GB})

    assert plain_of(other, half) == pytest.approx(plain_of(other) / 2)
    assert plain_of(eight, half) == plain_of(eight)
    assert plain_of(other, wild) == pytest.approx(plain_of(other) / 4), "bounded: a run can be disturbed"


def test_a_toy_shows_its_own_figures_and_teaches_nothing() -> None:
    """After an hour with the built-in pair a real one is not promised what only a toy gains."""
    toy = replace(TARGET, dense={"Q4_K": 2 * 10**7})
    machine = MACHINE.with_run("toy", run_of(200, toy), {"draft": (970, 971)})

    assert machine.runs["toy"].expectation.plain_per_second == 200
    assert expected_speed(TARGET, machine.corrected(), DRAFT) == expected_speed(TARGET, MACHINE, DRAFT)


def test_old_pairs_make_room() -> None:
    machine = MACHINE
    for n in range(250):
        machine = machine.with_run(f"pair {n}", run_of(5), {})

    assert len(machine.runs) == 200
    assert "pair 249" in machine.runs


def test_replies_are_recorded_as_they_come_unasked(tmp_path: Path) -> None:
    file = SpeedFile("m", tmp_path / "s.json")
    recorder = SpeedRecorder(file, "x", TARGET)

    def reply(options: ReplyOptions, n: int) -> None:
        tally = Tally()
        for i in range(n):
            tokens = tuple(Token(1, "a", Origin.ACCEPTED, "draft") for _ in range(2))
            round_ = Round(i, "draft", 3, tokens, (Proposal(2, "b", "draft"),), (), 0.01, 0.1, 0.11, price=1.0)
            tally.add(round_)
            recorder.observe(round_, options)
        recorder.observe(Finished(FinishReason.STOP, "", tally.timings()), options)

    for options in (ReplyOptions(depth=3), ReplyOptions(spec=("draft",))):
        reply(options, 20)
    reply(ReplyOptions(), 3)
    assert not file.load().runs, "asked for otherwise, or too short"
    reply(ReplyOptions(), 20)

    run = file.load().runs["x"]
    assert [run.plain_per_second, run.per_second] == pytest.approx([10, 2 / 0.11])
    assert file.load().acceptance["draft"] == (40, 60)


# What is kept


def test_what_is_known_is_kept_for_this_machine_alone(tmp_path: Path) -> None:
    path = tmp_path / "speed" / "machine.json"
    name = machine_name("AVX2 = 1", 2, [])
    file = SpeedFile(name, path)
    file.keep_kernels(KERNELS, steady=True)
    file.keep_run("x", run_of(5), {"draft": (1, 2)})

    known = file.load()
    assert known == MachineSpeed(name, KERNELS, True, {"x": run_of(5)}, {"draft": (1, 2)})
    others = [
        machine_name("AVX512 = 1", 2, []),
        machine_name("AVX2 = 1", 1, []),
        machine_name("AVX2 = 1", 2, ["CUDA0"]),
    ]
    for other in others:
        assert SpeedFile(other, path).load() == MachineSpeed(other)


@pytest.mark.parametrize("data", ["", "[]", "{}", '{"format": 1}', "\0", '{"format": 1, "kernels": {"byte_s": {}}}'])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, data: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(data)

    assert SpeedFile("m", path).load() == MachineSpeed("m")
    assert SpeedFile("m", path).keep_kernels(KERNELS, steady=True).kernels == KERNELS


@pytest.mark.parametrize(
    ("number", "damage"), [('"replies_n": 1', '"replies_n": -1'), ("[1, 2]", "[1, NaN]"), ("[1, 2]", "[-200, -200]")]
)
def test_figures_that_cannot_be_are_damage(tmp_path: Path, number: str, damage: str) -> None:
    """Reckoned with, they would end the next reply, or the list of pairs."""
    path = tmp_path / "machine.json"
    text = json.dumps(MachineSpeed("m", None, False, {"x": run_of(5)}, {"draft": (1, 2)}).to_dict())
    path.write_text(text.replace(number, damage))

    file = SpeedFile("m", path)
    assert file.load() == MachineSpeed("m")
    file.keep_run("x", run_of(5), {"draft": (1, 2)})
    assert file.load().runs["x"] == run_of(5)


def test_a_machine_is_measured_once_and_again_if_it_was_disturbed(tmp_path: Path) -> None:
    file = SpeedFile("m", tmp_path / "machine.json")
    results = iter([None, MeasuredKernels(KERNELS, steady=False), MeasuredKernels(KERNELS, steady=True)])
    asked: list[int] = []

    def measure(threads: int) -> MeasuredKernels | None:
        asked.append(threads)
        return next(results)

    found = [known_speed(file, 2, measure).kernels for _ in range(5)]

    assert found == [None, KERNELS, KERNELS, KERNELS, KERNELS]
    assert asked == [2, 2, 2]


# Measuring


def child(code: str) -> Sequence[str]:
    return (sys.executable, "-c", code)


def test_a_child_that_fails_or_is_stopped_measures_nothing() -> None:
    waiting = child("import threading; threading.Event().wait()")

    assert measure_kernels(1, command=child("raise SystemExit(3)")) is None
    assert measure_kernels(1, command=child("print('{}')")) is None
    assert measure_kernels(1, command=("/none/python",)) is None
    assert measure_kernels(1, command=waiting, timeout_s=0.1) is None
    answers = itertools.chain([True], itertools.repeat(False))
    assert measure_kernels(1, lambda: next(answers), command=waiting) is None


def test_the_measured_network_is_one_that_llama_cpp_runs(tmp_path: Path) -> None:
    shape = SampleShape(256, 512, 2)
    for kind in ("Q4_K", "Q8_0", "F16", "MXFP4"):
        path = tmp_path / f"{kind}.gguf"
        write_sample(path, shape, kind, 64)
        assert token_work([read_header(path)]).dense[kind] == matrix_bytes(shape, kind)
        sample = LlamaModel.open(LoadSettings(path, 4, n_ctx=64, threads=1), Cancellation())
        assert sample.logits(range(10), 4).shape == (4, N_VOCAB)
        sample.close()


def test_every_shipped_pair_has_an_expectation() -> None:
    """From sizes alone: more bytes read for a token, fewer tokens a second."""
    speeds = {pair.id: expect_pair(pair, MACHINE) for pair in load_catalogue().pairs if not pair.tour}

    assert all(speeds.values())
    known = {pair_id: speed for pair_id, speed in speeds.items() if speed}
    assert known["smollm2-1.7b"].per_second > known["qwen3-8b"].per_second > known["llama-3.3-70b"].per_second
    assert known["qwen3-coder-30b-a3b"].plain_per_second > 2 * known["qwen3-32b"].plain_per_second
    assert all(speed.per_second >= speed.plain_per_second for speed in known.values())


@pytest.mark.parametrize(
    ("free_n", "load", "idle"),
    [(1.9, 8.0, True), (1.1, 0.0, False), (math.inf, 0.5, True), (math.inf, 8.0, False)],
)
def test_a_machine_is_idle_if_others_leave_most_processors_free_now(
    free_n: float, load: float, idle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load of the last minute tells only where nothing else does: a compilation that has just ended is in it."""

    class Watch:
        def __init__(self, *, all_priorities: bool) -> None:
            assert all_priorities

        def free_n(self) -> float:
            return free_n

    monkeypatch.setattr(measurement, "ProcessorWatch", Watch)
    monkeypatch.setattr(measurement, "_WATCH_S", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert measurement.machine_is_idle() is idle
