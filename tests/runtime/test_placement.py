"""What is loaded with what: contradictions and lacks are refused before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import CapacityError, UsageError
from localspec.base.machine import MachineMemory
from localspec.config.table import AUTO_MAX_DEPTH
from localspec.engine.backends.llama.devices import Device
from localspec.engine.backends.llama.load import LoadSettings
from localspec.gguf import read_header
from localspec.models.fit import Wanted
from localspec.models.memory_estimate import ContextShape
from localspec.runtime.options import LoadOptions
from localspec.runtime.placement import SNAPSHOTS_N, Placement, place_models
from tests.builtin import DRAFT, TARGET
from tests.gguf_files import model, write
from tests.tiny_heads import write_mtp_target
from tests.tiny_models import write_tiny

CUDA = Device("CUDA0", "NVIDIA H200", 1, 10**12, integrated=False)
SECOND = Device("CUDA1", "NVIDIA H200", 2, 10**12, integrated=False)
REMOTE = Device("RPC0", "10.0.0.2:50052", 4, 10**12, integrated=False, remote=True)
INTEGRATED = Device("Vulkan0", "Intel Iris", 3, 10**12, integrated=True)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """The devices there are; empty until a test puts some in."""
    present: list[Device] = []
    monkeypatch.setattr("localspec.runtime.placement.list_devices", lambda native: tuple(present))
    return present


def plan(target: Path = TARGET, draft: Path | None = DRAFT, **wishes: Any) -> Placement:
    options = LoadOptions(target, draft, **wishes)
    return place_models(options, read_header(target), read_header(draft) if draft else None)


def plan_both(target: Path = TARGET, draft: Path = DRAFT, **wishes: Any) -> tuple[LoadSettings, LoadSettings]:
    made = plan(target, draft, **wishes)
    assert made.draft is not None
    return made.target, made.draft


def names(devices: tuple[Device, ...] | None) -> list[str]:
    return [device.name for device in devices or ()]


class TestPlan:
    def test_unasked_all_is_left_to_llama_cpp(self, devices: list[Device]) -> None:
        target, draft = plan_both()
        assert (target.path, draft.path) == (TARGET, DRAFT)
        assert (target.max_outputs, draft.max_outputs) == (AUTO_MAX_DEPTH + 1, 1)
        assert target.n_ctx == draft.n_ctx == 1024
        for settings in (target, draft):
            assert (settings.devices, settings.gpu_layers, settings.threads) == ((), None, None)
            assert (settings.cache_type_k, settings.mmap, settings.mlock) == ("f16", None, False)
            assert settings.swa_full

    @pytest.mark.parametrize(
        ("wishes", "fused"),
        [
            ({}, (None, None)),
            ({"device": "none"}, (False, False)),
            ({"draft_device": "none"}, (None, False)),
            ({"draft_gpu_layers": 0}, (None, False)),
            ({"gpu_layers": 0}, (False, None)),
            ({"device": "none", "cache_type_v": "q8_0"}, (None, None)),
            ({"device": "none", "cache_type_k": "q8_0"}, (False, False)),
            ({"device": "none", "flash_attn": "on"}, (True, True)),
            ({"flash_attn": "off"}, (False, False)),
        ],
    )
    def test_unasked_attention_is_fused_where_that_is_quick_or_needed(
        self, devices: list[Device], wishes: dict[str, Any], fused: tuple[bool | None, bool | None]
    ) -> None:
        """By llama.cpp itself on a GPU, and where the cache is quantised."""
        devices.append(CUDA)
        assert tuple(settings.flash_attn for settings in plan_both(**wishes)) == fused

    @pytest.mark.parametrize(
        ("quickest", "wishes", "values"),
        [
            ("bf16", {}, ("f16", "f16")),
            ("bf16", {"flash_attn": "on"}, ("f16", "f16")),
            ("bf16", {"device": "none"}, ("f16", "f16")),
            ("bf16", {"device": "none", "flash_attn": "on"}, ("bf16", "bf16")),
            ("bf16", {"gpu_layers": 0, "flash_attn": "on"}, ("bf16", "f16")),
            ("bf16", {"device": "none", "flash_attn": "on", "cache_type_v": "f16"}, ("f16", "f16")),
            ("f16", {"device": "none", "flash_attn": "on"}, ("f16", "f16")),
        ],
    )
    def test_unasked_values_are_of_the_quickest_type_where_the_processor_fuses_attention(
        self,
        devices: list[Device],
        monkeypatch: pytest.MonkeyPatch,
        quickest: str,
        wishes: dict[str, Any],
        values: tuple[str, str],
    ) -> None:
        monkeypatch.setattr("localspec.runtime.placement.fused_value_type", lambda: quickest)
        devices.append(CUDA)
        assert tuple(settings.cache_type_v for settings in plan_both(**wishes)) == values

    def test_every_wish_arrives(self, devices: list[Device]) -> None:
        devices += [CUDA, SECOND]
        target, draft = plan_both(
            n_ctx=300,
            threads=3,
            draft_threads=2,
            gpu_layers=4,
            draft_gpu_layers=1,
            device="CUDA1",
            draft_device="CUDA0",
            require_gpu=True,
            cache_type_k="q8_0",
            cache_type_v="q4_0",
            flash_attn="on",
            mmap=False,
            mlock=True,
        )
        assert (target.threads, draft.threads) == (3, 2)
        assert (target.gpu_layers, draft.gpu_layers) == (4, 1)
        assert (names(target.devices), names(draft.devices)) == (["CUDA1"], ["CUDA0"])
        assert (target.require_gpu, draft.require_gpu) == (True, False)
        for settings in (target, draft):
            assert (settings.n_ctx, settings.cache_type_k, settings.cache_type_v) == (300, "q8_0", "q4_0")
            assert (settings.flash_attn, settings.mmap, settings.mlock) == (True, False, True)

    @pytest.mark.parametrize(
        ("wishes", "target", "draft"),
        [
            ({}, ["RPC0", "CUDA0"], ["CUDA0"]),
            ({"device": "RPC0"}, ["RPC0"], []),
            ({"device": "CUDA0,RPC0"}, ["CUDA0", "RPC0"], ["CUDA0"]),
            ({"device": "none", "draft_device": "RPC0"}, [], ["RPC0"]),
            ({"draft_device": "RPC0"}, ["RPC0", "CUDA0"], ["RPC0"]),
        ],
    )
    def test_a_draft_model_goes_to_another_machine_only_where_told(
        self,
        devices: list[Device],
        monkeypatch: pytest.MonkeyPatch,
        wishes: dict[str, Any],
        target: list[str],
        draft: list[str],
    ) -> None:
        devices.append(CUDA)
        monkeypatch.setattr("localspec.runtime.placement.remote_devices", lambda native, addresses: (REMOTE,))
        both = plan_both(rpc="10.0.0.2:50052", **wishes)
        assert [names(settings.devices) for settings in both] == [target, draft]

    def test_a_head_stays_with_its_target(self, devices: list[Device], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("localspec.runtime.placement.remote_devices", lambda native, addresses: (REMOTE,))
        _, head = plan_both(draft=DRAFT.with_name("builtin-eagle3.gguf"), rpc="10.0.0.2:50052")
        assert names(head.devices) == ["RPC0"]

    def test_the_draft_may_stay_on_the_cpu_beside_a_target_on_the_gpu(self, devices: list[Device]) -> None:
        devices.append(CUDA)
        target, draft = plan_both(draft_device="none")
        assert (names(target.devices), draft.devices) == (["CUDA0"], ())

    def test_the_draft_goes_where_the_target_goes(self, devices: list[Device]) -> None:
        devices += [CUDA, SECOND]
        for wish, expected in ((None, ["CUDA0", "CUDA1"]), ("CUDA1", ["CUDA1"]), ("none", [])):
            assert [names(settings.devices) for settings in plan_both(device=wish)] == [expected, expected]

    def test_an_integrated_gpu_is_taken_where_there_is_no_other(self, devices: list[Device]) -> None:
        devices.append(INTEGRATED)
        assert names(plan().target.devices) == ["Vulkan0"]
        devices.append(CUDA)
        assert names(plan().target.devices) == ["CUDA0"]

    def test_several_devices_are_taken_in_their_order(self, devices: list[Device]) -> None:
        devices += [CUDA, SECOND]
        assert names(plan(device="CUDA1, CUDA0").target.devices) == ["CUDA1", "CUDA0"]

    def test_states_that_can_be_taken_back_are_kept(self, tmp_path: Path, devices: list[Device]) -> None:
        """Only where the architecture has them, and only for the target: a draft goes token by token."""
        assert plan().target.snapshots == 0
        hybrid = write_tiny(tmp_path / "qwen35.gguf", "qwen35")
        assert [settings.snapshots for settings in plan_both(hybrid, hybrid)] == [SNAPSHOTS_N, 0]
        assert plan(write_tiny(tmp_path / "mamba.gguf", "mamba"), None).target.snapshots == 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("wishes", "sentence"),
        [
            ({"cache_type_v": "q4_0", "flash_attn": "off"}, "--cache-type-v q4_0 needs flash attention"),
            ({"require_gpu": True, "device": "none"}, "--require-gpu contradicts"),
            ({"require_gpu": True, "gpu_layers": 0}, "--require-gpu contradicts"),
            ({"device": "none", "gpu_layers": 3}, "Device none leaves no GPU for --gpu-layers 3"),
            ({"draft_device": "none", "draft_gpu_layers": 3}, "no GPU for --draft-gpu-layers 3"),
            ({"device": "none", "draft_gpu_layers": 3}, "no GPU for --draft-gpu-layers 3"),
            ({"device": "CUDA7"}, r"no device 'CUDA7'\. There are CUDA0 \(NVIDIA H200\), and none for the CPU"),
            ({"draft_device": "CUDA0,Metal"}, "no device 'Metal'"),
        ],
    )
    def test_contradictions(self, devices: list[Device], wishes: dict[str, Any], sentence: str) -> None:
        devices.append(CUDA)
        with pytest.raises(UsageError, match=sentence):
            plan(**wishes)

    def test_a_gpu_that_is_required_and_not_there(self, devices: list[Device]) -> None:
        with pytest.raises(CapacityError, match="finds none"):
            plan(require_gpu=True)

    def test_where_there_is_no_gpu_an_unknown_device_says_so(self, devices: list[Device]) -> None:
        with pytest.raises(UsageError, match="finds no GPU here; none is the CPU"):
            plan(device="CUDA0")

    def test_heads_that_cannot_be_quantised(self, tmp_path: Path, devices: list[Device]) -> None:
        """llama.cpp would find out only after the weights are there."""
        dimensions = {"llama.embedding_length": 48, "llama.attention.head_count": 1}
        odd = write(tmp_path / "odd.gguf", model(metadata=dimensions))
        with pytest.raises(UsageError, match="cannot be kept as q8_0"):
            plan(odd, None, cache_type_k="q8_0")

    def test_both_models_count_before_anything_is_loaded(
        self, devices: list[Device], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Room for the target alone is not room for the pair."""
        monkeypatch.setattr("localspec.runtime.placement.memory", lambda: MachineMemory(10**9, 38_500_000))
        plan(draft=None)
        with pytest.raises(CapacityError, match=r"builtin-target\.gguf and builtin-draft\.gguf.*--ctx \d+"):
            plan()

    def test_windows_are_cut_before_a_context_is_refused(
        self, tmp_path: Path, devices: list[Device], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A window kept whole only saves reading again after an edit; it is given up first."""
        windowed = write_tiny(tmp_path / "gemma3.gguf", "gemma3")
        monkeypatch.setattr("localspec.runtime.placement.memory", lambda: MachineMemory(10**9, 60_000_000))
        assert plan(windowed, None, n_ctx=8192).target.swa_full
        assert not plan(windowed, None, n_ctx=24000).target.swa_full

    def test_snapshots_are_given_up_before_a_context_is_refused(
        self, tmp_path: Path, devices: list[Device], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hybrid = write_tiny(tmp_path / "qwen35.gguf", "qwen35")
        shape = ContextShape(256, flash_attn=False, max_outputs=AUTO_MAX_DEPTH + 1)
        without = Wanted([read_header(hybrid)], shape).footprint.ram
        monkeypatch.setattr(
            "localspec.runtime.placement.memory", lambda: MachineMemory(10**9, without.cache + without.compute)
        )
        assert plan(hybrid, None, n_ctx=256).target.snapshots == 0

    def test_mtp_layers_are_given_up_before_a_target_is_refused(
        self, tmp_path: Path, devices: list[Device], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They are loaded wherever there is room, with a context of their own."""
        file = write_mtp_target(tmp_path / "glm4moe.gguf")
        made = plan(file, None, n_ctx=256)
        assert made.mtp is not None
        assert (made.target.mtp, made.mtp.path, made.mtp.n_ctx) == (True, file, 256)
        shape = ContextShape(256, flash_attn=False, max_outputs=AUTO_MAX_DEPTH + 1)
        without = Wanted([read_header(file)], shape).footprint.ram
        monkeypatch.setattr(
            "localspec.runtime.placement.memory", lambda: MachineMemory(10**9, without.cache + without.compute)
        )
        made = plan(file, None, n_ctx=256)
        assert (made.target.mtp, made.mtp) == (False, None)

    def test_weights_that_are_mapped_for_want_of_memory_are_not_copied(
        self, devices: list[Device], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """llama.cpp would copy them into another order, and run out of memory doing it."""
        assert plan().target.repack
        monkeypatch.setattr("localspec.runtime.placement.memory", lambda: MachineMemory(10**9, 44_000_000))
        assert not any(settings.repack for settings in plan_both())

    def test_what_is_on_the_device_counts_there(self, devices: list[Device]) -> None:
        devices.append(Device("CUDA0", "small", 1, 15_000_000, integrated=False))
        with pytest.raises(CapacityError, match=r"on the GPU.*--gpu-layers \d"):
            plan()
        plan(device="none")

    def test_all_files_of_a_model_count(
        self, tmp_path: Path, devices: list[Device], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = write(tmp_path / "big-00001-of-00002.gguf", TARGET.read_bytes())
        monkeypatch.setattr("localspec.runtime.placement.memory", lambda: MachineMemory(65_000_000, 65_000_000))
        plan(first, None)
        write(tmp_path / "big-00002-of-00002.gguf", TARGET.read_bytes())
        with pytest.raises(CapacityError, match="weights 42 MB"):
            plan(first, None)
