"""The memory a model takes, told before it is loaded, held against what llama.cpp says once it is."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.errors import CapacityError
from localspec.base.machine import MachineMemory, memory, waited_s
from localspec.engine.backends.llama.load import CACHE_TYPES
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.short_context import SHORT_CELLS_N, takes_short_texts
from localspec.gguf import GgufHeader, read_header
from localspec.gguf.dimensions import Hyperparameters
from localspec.gguf.tensors import TensorInfo
from localspec.models.fit import Room, Wanted, check_fits, fits
from localspec.models.memory_estimate import CELL_TOKENS, ContextShape, footprint
from localspec.models.token_work import token_work
from tests.builtin import DRAFT, TARGET
from tests.tiny_heads import write_mtp_target
from tests.tiny_models import ARCHITECTURES, add_tokenizer, write_tiny

MIB = 2**20
BY_SIZE = ("f32", "f16", "q8_0", "q5_1", "q5_0", "q4_0")
"""Cache types, the largest first."""
AMPLE = Room(MachineMemory(10**18, 10**18))


header_of = cache(read_header)


def writer_of(
    path: Path, architecture: str, width: int, ff: int, heads: int, kv_heads: int, n_layers: int
) -> gguf.GGUFWriter:
    """A header with these dimensions."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(131072)
    writer.add_embedding_length(width)
    writer.add_block_count(n_layers)
    writer.add_feed_forward_length(ff)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    return writer


def write_header(
    path: Path, width: int, ff: int, heads: int, kv_heads: int, n_layers: int, n_vocab: int, window: int = 0
) -> Path:
    """A model of these dimensions whose weights are a hole in the file: as large as wanted, and no work.

    With a window it is a Gemma 3, else a Llama.
    """
    architecture = "gemma3" if window else "llama"
    writer = writer_of(path, architecture, width, ff, heads, kv_heads, n_layers)
    head = width // heads
    if window:
        writer.add_sliding_window(window)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["<|end|>", "Ċ", "t", "h", "th", *(f"x{i}" for i in range(n_vocab - 5))])
    writer.add_token_types([1] * n_vocab)
    writer.add_token_merges(["t h"])
    layer: dict[str, tuple[int, ...]] = dict.fromkeys(("attn_norm", "ffn_norm"), (width,))
    layer |= dict.fromkeys(("attn_q", "attn_output"), (width, width))
    layer |= dict.fromkeys(("attn_k", "attn_v"), (kv_heads * head, width))
    layer |= dict.fromkeys(("ffn_gate", "ffn_up"), (ff, width)) | {"ffn_down": (width, ff)}
    if window:
        layer |= {"attn_q_norm": (head,), "attn_k_norm": (head,)}
        layer |= {"post_attention_norm": (width,), "post_ffw_norm": (width,)}
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd": (n_vocab, width),
        "output": (n_vocab, width),
        "output_norm": (width,),
    }
    shapes |= {f"blk.{i}.{name}": shape for i in range(n_layers) for name, shape in layer.items()}
    return with_holes(writer, path, {f"{name}.weight": shape for name, shape in shapes.items()})


def write_gemma4_header(path: Path, shared_layers: int) -> Path:
    """A Gemma 4 whose last layers read the cache of the first; every third sees all, and has wider heads."""
    width, ff, heads, n_layers, n_vocab = 1536, 6144, 8, 9, 1000
    sees_window = [i % 3 != 2 for i in range(n_layers)]
    writer = writer_of(path, "gemma4", width, ff, heads, 1, n_layers)
    for key, head in (("", 512), ("_swa", 256)):
        writer.add_uint32(f"gemma4.attention.key_length{key}", head)
        writer.add_uint32(f"gemma4.attention.value_length{key}", head)
        writer.add_uint32(f"gemma4.rope.dimension_count{key}", head)
    writer.add_sliding_window(512)
    writer.add_array("gemma4.attention.sliding_window_pattern", sees_window)
    writer.add_uint32("gemma4.embedding_length_per_layer_input", 0)
    writer.add_shared_kv_layers(shared_layers)
    add_tokenizer(writer, n_vocab=n_vocab)
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (n_vocab, width), "output_norm": (width,), "rope_freqs": (256,)}
    for i, narrow in enumerate(sees_window):
        head = 256 if narrow else 512
        norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        layer: dict[str, tuple[int, ...]] = dict.fromkeys(norms, (width,))
        layer |= dict.fromkeys(("attn_q_norm", "attn_k_norm"), (head,))
        layer |= dict.fromkeys(("attn_k", "attn_v"), (head, width))
        layer |= {"attn_q": (heads * head, width), "attn_output": (width, heads * head)}
        layer |= dict.fromkeys(("ffn_gate", "ffn_up"), (ff, width)) | {"ffn_down": (width, ff)}
        shapes |= {f"blk.{i}.{name}": shape for name, shape in layer.items()}
    return with_holes(writer, path, {f"{name}.weight": shape for name, shape in shapes.items()})


def with_holes(writer: gguf.GGUFWriter, path: Path, shapes: dict[str, tuple[int, ...]]) -> Path:
    """Write the file with tensors of these shapes, whose data are a hole."""
    for name, shape in shapes.items():
        kind = np.dtype(np.int64 if name == "d2t" else np.float16 if len(shape) > 1 else np.float32)
        writer.add_tensor_info(name, shape, kind, int(np.prod(shape)) * kind.itemsize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    size = sum(tensor.nbytes for part in writer.tensors for tensor in part.values())
    os.truncate(path, path.stat().st_size + size + 32 * len(shapes))
    return path


def write_head_header(path: Path, architecture: str, n_vocab: int, n_proposed: int = 0) -> Path:
    """A head of the size that an 8B model has, likewise."""
    width, ff, kv_width = 4096, 14336, 1024
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(131072)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(ff)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_head_count(32)
    writer.add_head_count_kv(8)
    writer.add_array(f"{architecture}.target_layers", [1, 2, 3])
    writer.add_uint32("eagle3.target_hidden_size", width)
    add_tokenizer(writer, n_vocab=n_vocab)
    inputs = 2 * width if architecture == "eagle3" else width
    layer: dict[str, tuple[int, ...]] = dict.fromkeys(("attn_norm", "attn_norm_2", "ffn_norm"), (width,))
    layer |= {"attn_q": (width, inputs), "attn_output": (width, width)}
    layer |= dict.fromkeys(("attn_k", "attn_v"), (kv_width, inputs))
    layer |= dict.fromkeys(("ffn_gate", "ffn_up"), (ff, width)) | {"ffn_down": (width, ff)}
    if architecture == "dflash":
        del layer["attn_norm_2"]
        layer |= {"attn_q_norm": (128,), "attn_k_norm": (128,)}
    shapes: dict[str, tuple[int, ...]] = {"fc.weight": (width, 3 * width), "output_norm.weight": (width,)}
    shapes |= {"enc.output_norm.weight": (width,)} if architecture == "dflash" else {}
    shapes |= {"d2t": (n_proposed,), "output.weight": (n_proposed, width)} if n_proposed else {}
    return with_holes(writer, path, shapes | {f"blk.0.{name}.weight": shape for name, shape in layer.items()})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The file that a function writes for these arguments, written once: vocabularies take long."""
    folder = tmp_path_factory.mktemp("holes")

    @cache
    def written(write: Callable[..., Path], *arguments: object) -> Path:
        return write(folder / "-".join(map(str, (write.__name__, *arguments, ".gguf"))), *arguments)

    return written


def reported_bytes(path: Path, shape: ContextShape, target: Path | None = None) -> tuple[float, float]:
    """The cache and the buffers that llama.cpp reports; it plans the allocations without making them.

    Of a head with its ``target``, the head's own; with ``shape.mtp``, of both contexts of a model.
    """
    c, params = native().c, context_parameters(shape)
    if target is None:
        return reported_by(planned(path, shape.mtp), params, shape)
    params.ctx_other = other = c.llama_init_from_model(planned(target), params)
    reported = reported_by(planned(path), params, ContextShape(shape.n_ctx))
    c.llama_free(other)
    return reported


@cache
def planned(path: Path, mtp: bool = False) -> Any:
    """The model, of which only the header was read; once for all shapes, as vocabularies take long. It stays."""
    c = native().c
    params = c.llama_model_default_params()
    params.no_alloc = True
    params.devices = ctypes.cast((ctypes.c_void_p * 1)(), ctypes.c_void_p)  # none: all in RAM
    params.load_mode = c.LLAMA_LOAD_MODE_NONE
    params.load_mtp = mtp
    return c.llama_model_load_from_file(os.fsencode(path), params)


def context_parameters(shape: ContextShape) -> Any:
    c = native().c
    params = c.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = shape.n_ctx, 512, 512 if shape.flash_attn else 128
    params.n_outputs_max = shape.max_outputs
    params.type_k, params.type_v = CACHE_TYPES[shape.type_k], CACHE_TYPES[shape.type_v]
    params.flash_attn_type = int(shape.flash_attn)
    params.swa_full = shape.swa_full
    params.n_rs_seq = shape.snapshots
    return params


def reported_by(model: Any, params: Any, shape: ContextShape) -> tuple[float, float]:
    c = native().c
    with native().log.heard() as lines:
        contexts = [c.llama_init_from_model(model, params)]
        if shape.short_fused and takes_short_texts(c, model):
            params.n_ctx, params.flash_attn_type = SHORT_CELLS_N, 1
            contexts.append(c.llama_init_from_model(model, params))
        if shape.mtp:
            params.ctx_type, params.ctx_other = c.LLAMA_CONTEXT_TYPE_MTP, contexts[0]
            params.n_outputs_max, params.n_rs_seq = 1, 0
            contexts.append(c.llama_init_from_model(model, params))
    for context in reversed(contexts):
        c.llama_free(context)
    said = "\n".join(line for _, line in lines)
    cache = sum(float(size) for size in re.findall(r"(?:cache|recurrent): size = +([\d.]+) MiB", said))
    compute = sum(float(size) for size in re.findall(r"compute buffer size = +([\d.]+) MiB", said))
    return cache * MIB, compute * MIB


SHAPES = (
    ContextShape(1024),
    ContextShape(4096, max_outputs=17),
    ContextShape(2048, flash_attn=False),
    ContextShape(2048, flash_attn=False, short_fused=True),
    ContextShape(2048, "q8_0", "q4_0"),
    ContextShape(4096, swa_full=False),
)


class TestFootprint:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("path", [TARGET, DRAFT], ids=["target", "draft"])
    def test_the_built_in_pair_takes_what_is_told(self, path: Path, shape: ContextShape) -> None:
        """The cache to the last per cent, the buffers within a tenth, all weights."""
        self.hold(path, shape, tolerance=0.12)
        weights = footprint([read_header(path)], shape).ram.weights
        assert weights == pytest.approx(path.stat().st_size, rel=0.15)

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_every_kind_of_memory_takes_what_is_told(
        self, written: Callable[..., Path], architecture: str, shape: ContextShape
    ) -> None:
        """Tiny models: their buffers are so small that some rounding shows."""
        self.hold(written(write_tiny, architecture), shape, tolerance=0.35)

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize(
        "dimensions",
        [(1024, 2816, 16, 4, 4, 32000), (4096, 14336, 32, 8, 32, 128256), (2048, 8192, 8, 8, 13, 32000, 1024)],
        ids=["small", "8B", "windows"],
    )
    def test_models_of_real_size_take_what_is_told(
        self, written: Callable[..., Path], dimensions: tuple[int, ...], shape: ContextShape
    ) -> None:
        self.hold(written(write_header, *dimensions), shape, tolerance=0.25)

    @pytest.mark.parametrize("snapshots", [0, 4, 16])
    def test_recurrent_states_are_counted_with_their_snapshots(
        self, written: Callable[..., Path], snapshots: int
    ) -> None:
        self.hold(written(write_tiny, "qwen35"), ContextShape(256, snapshots=snapshots), tolerance=0.35)

    @pytest.mark.parametrize("shape", [ContextShape(4096, max_outputs=32), ContextShape(4096, flash_attn=False)])
    @pytest.mark.parametrize(
        ("architecture", "n_proposed"), [("eagle3", 0), ("eagle3", 32000), ("dflash", 0)], ids=["all", "part", "dflash"]
    )
    def test_heads_of_real_size_take_what_is_told(
        self, written: Callable[..., Path], architecture: str, n_proposed: int, shape: ContextShape
    ) -> None:
        """They give scores for a whole batch, which is most of what they take."""
        target = written(write_header, 4096, 14336, 32, 8, 4, 128256)
        head = written(write_head_header, architecture, 128256, n_proposed)
        self.hold(head, shape, tolerance=0.3, target=target)

    @pytest.mark.parametrize("mtp", [False, True])
    @pytest.mark.parametrize("architecture", ["glm4moe", "qwen35"])
    def test_mtp_layers_take_what_is_told_and_nothing_where_they_are_left_out(
        self, written: Callable[..., Path], architecture: str, mtp: bool
    ) -> None:
        path = written(write_mtp_target, architecture)
        self.hold(path, ContextShape(1024, mtp=mtp), tolerance=0.35)
        with_, without = (footprint([read_header(path)], ContextShape(1024, mtp=each)) for each in (True, False))
        assert with_.ram.weights > without.ram.weights
        assert with_.ram.cache > without.ram.cache

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("shared", [0, 3])
    def test_layers_of_several_widths_and_those_that_share_a_cache_take_what_is_told(
        self, written: Callable[..., Path], shared: int, shape: ContextShape
    ) -> None:
        """Without flash attention all layers take as much for values as the widest."""
        self.hold(written(write_gemma4_header, shared), shape, tolerance=0.25)

    def test_states_that_are_kept_for_a_head_are_counted(self) -> None:
        header = read_header(TARGET)
        without, with_ = (footprint([header], ContextShape(1024, hidden_layers=n)) for n in (0, 3))
        assert with_.ram.compute - without.ram.compute == 3 * 3 * 512 * 4 * Hyperparameters(header).width

    def hold(self, path: Path, shape: ContextShape, tolerance: float, target: Path | None = None) -> None:
        """The cache within what llama.cpp rounds in its log; all together within a tenth."""
        told = footprint([header_of(path)], shape).ram
        cache, compute = reported_bytes(path, shape, target)
        assert told.cache == pytest.approx(cache, rel=0.01, abs=0.02 * MIB)
        assert told.compute == pytest.approx(compute, rel=tolerance, abs=0.5 * MIB)
        if told.weights > 100 * MIB:
            assert told.total == pytest.approx(told.weights + cache + compute, rel=0.05 if target else 0.02)

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_layers_on_a_device_are_no_longer_in_ram(self, written: Callable[..., Path], architecture: str) -> None:
        """Nothing is counted twice or lost: weights and cache are the same in all, wherever they are."""
        header = read_header(written(write_tiny, architecture))
        shape = ContextShape(1024)
        at_home = footprint([header], shape)
        for layers in range(6):
            split = footprint([header], shape, layers)
            assert split.ram.weights + split.device.weights == at_home.ram.weights
            assert split.ram.cache + split.device.cache == at_home.ram.cache
        assert footprint([header], shape, 5).ram.cache == 0
        assert footprint([header], shape, 0).device.total == 0

    @given(n_ctx=st.integers(1, 200_000), more=st.integers(0, 100_000), i=st.integers(0, 5), j=st.integers(0, 5))
    def test_a_longer_context_and_a_wider_type_take_no_less(self, n_ctx: int, more: int, i: int, j: int) -> None:
        header = header_of(TARGET)
        small, large = ContextShape(n_ctx), ContextShape(n_ctx + more)
        narrow, wide = BY_SIZE[max(i, j)], BY_SIZE[min(i, j)]
        assert footprint([header], small).ram.total <= footprint([header], large).ram.total
        for less, most in (
            (replace(small, type_k=narrow), replace(small, type_k=wide)),
            (replace(small, type_v=narrow), replace(small, type_v=wide)),
        ):
            assert footprint([header], less).ram.total <= footprint([header], most).ram.total


def wanted(n_ctx: int = 8192, gpu_layers: int = 0, path: Path = TARGET) -> Wanted:
    return Wanted([header_of(path)], ContextShape(n_ctx), gpu_layers)


def room_for(*items: Wanted) -> Room:
    """Just enough RAM."""
    needs = sum(item.footprint.ram.total for item in items)
    return Room(MachineMemory(needs, needs))


class TestCheck:
    def test_both_models_have_to_fit_together(self) -> None:
        """Room for each of them is not enough."""
        room = room_for(wanted(), wanted(path=DRAFT))
        check_fits([wanted(), wanted(path=DRAFT)], room)
        with pytest.raises(CapacityError, match=r"builtin-target\.gguf and builtin-draft\.gguf take"):
            check_fits([wanted(), wanted(path=DRAFT)], room_for(wanted()))

    def test_mapped_weights_need_not_be_free_but_present(self) -> None:
        need = wanted().footprint.ram
        check_fits([wanted()], Room(MachineMemory(need.total, need.cache + need.compute)))
        with pytest.raises(CapacityError):
            check_fits([wanted()], Room(MachineMemory(need.total, need.cache + need.compute), mapped=False))
        with pytest.raises(CapacityError):
            check_fits([wanted()], Room(MachineMemory(need.total - 1, need.total)))

    def test_unknown_memory_refuses_nothing(self) -> None:
        check_fits([wanted(2_000_000_000)], Room(MachineMemory(None, None)))

    def test_the_figures_are_named(self) -> None:
        with pytest.raises(
            CapacityError, match=r"context of 8,192 tokens.*free memory \(cache 0\.3 GB.*there are 40 MB free"
        ):
            check_fits([wanted()], Room(MachineMemory(10**9, 40_000_000)))

    def test_the_longest_context_that_fits_is_named(self) -> None:
        """The advised length fits, and 256 tokens more would not."""
        path_room = Room(MachineMemory(10**9, wanted(700).footprint.ram.cache + wanted(700).footprint.ram.compute))
        with pytest.raises(CapacityError) as refusal:
            check_fits([wanted()], path_room)
        found = re.search(r"--ctx (\d+)", refusal.value.hint)
        assert found
        longest = int(found[1])
        assert longest % CELL_TOKENS == 0
        assert fits([wanted(longest)], path_room)
        assert not fits([wanted(longest + CELL_TOKENS)], path_room)

    def test_a_smaller_cache_is_named_if_it_is_enough(self) -> None:
        header = [read_header(TARGET)]
        q8 = Wanted(header, ContextShape(8192, "q8_0", "q8_0"))
        need = q8.footprint.ram
        with pytest.raises(CapacityError, match=r"--cache-type-k q8_0 --cache-type-v q8_0"):
            check_fits([wanted()], Room(MachineMemory(10**9, need.cache + need.compute)))
        without = Wanted(header, ContextShape(8192), may_fuse=False)
        with pytest.raises(CapacityError) as refusal:
            check_fits([without], Room(MachineMemory(10**9, without.footprint.ram.compute + need.cache)))
        assert "q8_0" not in refusal.value.hint

    def test_a_smaller_cache_is_judged_with_the_attention_that_it_needs(self) -> None:
        """Fused, though the model is wanted without."""
        need = Wanted([header_of(TARGET)], ContextShape(8192, "q8_0", "q8_0")).footprint.ram
        unfused = Wanted([header_of(TARGET)], ContextShape(8192, flash_attn=False))
        with pytest.raises(CapacityError) as refusal:
            check_fits([unfused], Room(MachineMemory(10**9, need.cache + need.compute)))
        assert "--cache-type-k q8_0" in refusal.value.hint

    def test_no_smaller_cache_is_named_for_heads_that_cannot_be_quantised(self) -> None:
        header = header_of(TARGET)
        odd = {**header.metadata, f"{header.architecture}.attention.key_length": 40}
        item = Wanted([replace(header, metadata=odd)], ContextShape(8192))
        need = replace(item, shape=ContextShape(8192, "q8_0", "q8_0")).footprint.ram
        with pytest.raises(CapacityError) as refusal:
            check_fits([item], Room(MachineMemory(10**9, need.cache + need.compute)))
        assert "q8_0" not in refusal.value.hint

    def test_no_context_is_named_that_the_model_was_not_trained_for(self) -> None:
        trained = header_of(TARGET).context_length
        assert trained
        with pytest.raises(CapacityError) as refusal:
            check_fits([wanted(4 * trained)], room_for(wanted(2 * trained)))
        assert f"--ctx {trained}" in refusal.value.hint

    def test_a_file_that_is_loaded_twice_is_named_once(self) -> None:
        with pytest.raises(CapacityError, match=r"^With a context of 8,192 tokens, builtin-target\.gguf take "):
            check_fits([wanted(), wanted()], room_for(wanted()))

    def test_the_most_layers_that_fit_on_the_device_are_named(self) -> None:
        """The built-in target has six layers and an output."""
        three = wanted(gpu_layers=3).footprint.device.total
        room = replace(AMPLE, device_bytes=three)
        check_fits([wanted(gpu_layers=3)], room)
        with pytest.raises(CapacityError, match=r"on the GPU.*--gpu-layers 3"):
            check_fits([wanted(gpu_layers=7)], room)

    def test_a_device_that_shares_ram_takes_from_it(self) -> None:
        need = wanted(gpu_layers=7).footprint
        total = need.ram.total + need.device.total
        room = Room(MachineMemory(total - 1, total), total, device_shares_ram=True)
        with pytest.raises(CapacityError, match="in all"):
            check_fits([wanted(gpu_layers=7)], room)

    def test_where_nothing_helps_another_model_is_advised(self) -> None:
        with pytest.raises(CapacityError, match="smaller model"):
            check_fits([wanted()], Room(MachineMemory(1000, 1000)))


class TestMemory:
    def test_this_machine_has_some(self) -> None:
        found = memory()
        assert found.physical is None or found.physical > 2**20

    def test_the_tightest_container_counts(self, tmp_path: Path) -> None:
        """Version 2: a limit anywhere above bounds, what files occupy can be had again."""
        proc, groups = tmp_path / "proc", tmp_path / "cgroup"
        (proc / "self").mkdir(parents=True)
        (groups / "a" / "b").mkdir(parents=True)
        (proc / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 900 kB\n")
        (proc / "self" / "cgroup").write_text("0::/a/b\n")
        (groups / "a" / "memory.max").write_text("500000\n")
        (groups / "a" / "memory.current").write_text("300000\n")
        (groups / "a" / "memory.stat").write_text("anon 1\ninactive_file 60000\nactive_file 40000\n")
        (groups / "a" / "b" / "memory.max").write_text("max\n")
        (groups / "a" / "b" / "memory.current").write_text("300000\n")
        assert memory(proc, groups) == MachineMemory(500000, 300000)

    def test_version_1_is_understood(self, tmp_path: Path) -> None:
        proc, groups = tmp_path / "proc", tmp_path / "cgroup"
        (proc / "self").mkdir(parents=True)
        (groups / "memory").mkdir(parents=True)
        (proc / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 900 kB\n")
        (proc / "self" / "cgroup").write_text("5:cpu:/x\n4:memory:/host/path\n0::/\n")
        (groups / "memory" / "memory.limit_in_bytes").write_text("400000\n")
        (groups / "memory" / "memory.usage_in_bytes").write_text("200000\n")
        (groups / "memory" / "memory.stat").write_text("active_file 1\ntotal_active_file 100000\n")
        assert memory(proc, groups) == MachineMemory(400000, 300000)

    def test_a_system_that_tells_nothing_bounds_nothing(self, tmp_path: Path) -> None:
        assert memory(tmp_path, tmp_path).available is None


def test_the_wait_for_a_processor_is_read_where_the_system_counts_it(tmp_path: Path) -> None:
    assert waited_s(tmp_path) == 0
    (tmp_path / "thread-self").mkdir()
    (tmp_path / "thread-self" / "schedstat").write_text("81000000 2500000000 7\n")
    assert waited_s(tmp_path) == 2.5


class TestHyperparameters:
    def test_nothing_a_file_leaves_out_is_an_error(self) -> None:
        """A header without any of the keys has no memory to count."""
        bare = GgufHeader("x", 3, {"general.architecture": "qwen35"}, (), 0, 0, read_header(TARGET).vocabulary)
        model = Hyperparameters(bare)
        assert (model.n_layers, model.has_states, model.window) == (0, False, 0)
        assert footprint([bare], ContextShape(256)).ram.cache == 0

    def test_a_layer_may_have_a_number_of_any_length(self) -> None:
        """llama.cpp refuses such a file with a sentence; until then it is one among others in a list."""
        tensor = TensorInfo(f"blk.{'9' * 5000}.ffn_up.weight", (32,), 0, 0)
        bare = GgufHeader("x", 3, {"general.architecture": "llama"}, (tensor,), 0, 0, read_header(TARGET).vocabulary)
        assert footprint([bare], ContextShape(256)).ram.weights == token_work([bare]).bytes_read == 128

    def test_of_gemma3n_the_first_twenty_layers_have_a_cache(self) -> None:
        """As llama.cpp has it in its code: no file says so."""
        numbers = {"block_count": 35, "embedding_length": 64, "attention.head_count": 2}
        metadata = {"general.architecture": "gemma3n"} | {f"gemma3n.{key}": n for key, n in numbers.items()}
        model = Hyperparameters(GgufHeader("x", 3, metadata, (), 0, 0, read_header(TARGET).vocabulary))
        assert [model.key_value_widths(layer) for layer in range(35)] == [(64, 64)] * 20 + [(0, 0)] * 15
