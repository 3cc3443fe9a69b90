"""Writes GGUF files of tiny projectors with random weights, for the targets of ``tests.tiny_models``; and pictures.

There is one kind for each way that llama.cpp reads an image: in order (LLaVA), all of it at once (Gemma 3), with
positions in a plane (Qwen-VL), and in several pieces (Idefics 3).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import gguf
import numpy as np

from tests.tiny_models import WIDTH, Shapes, Weights, finish, weights_for

SIDE = 32
"""Pixels of an image's side; what is larger is scaled down, or cut in pieces."""
_PATCH, _INNER, _FF, _LAYERS_N = 8, 32, 48, 2
_PATCHES_N = (SIDE // _PATCH) ** 2
_MERGED = 4
"""Patches that become one token where they are merged."""


def write_projector(
    path: Path,
    kind: str = "mlp",
    *,
    width: int = WIDTH,
    seed: int = 7,
    spoil: Callable[[str, Weights], None] | None = None,
) -> Path:
    """A projector of ``kind``, one of ``KINDS``, for targets that are ``width`` wide."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_name(f"tiny {kind} projector")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", kind)
    writer.add_bool("clip.use_gelu", True)
    for key, value in {
        "embedding_length": _INNER,
        "attention.head_count": 2,
        "feed_forward_length": _FF,
        "block_count": _LAYERS_N,
        "projection_dim": width,
        "image_size": SIDE,
        "patch_size": _PATCH,
        "spatial_merge_size": 2,
        "projector.scale_factor": 2,
        "preproc_image_size": 2 * SIDE,
    }.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    for key in ("image_mean", "image_std"):
        writer.add_array(f"clip.vision.{key}", [0.5, 0.5, 0.5])
    random = np.random.default_rng(seed)
    for name, shape in (_shared(merged=kind == "qwen3vl_merger") | KINDS[kind](width)).items():
        values = weights_for(random, "norm" if name.endswith(("ln1.weight", "ln2.weight")) else name, shape)
        if spoil:
            spoil(name, values)
        writer.add_tensor(name, values)
    finish(writer)
    return path


def write_png(path: Path, width: int = 64, height: int = 48, seed: int = 0) -> Path:
    """A picture of stripes and noise, in another colour for each of three seeds."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 256, (height, width, 3), np.uint8)
    rows[::3] //= 4
    rows[:, :, seed % 3] |= 192
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(struct.pack(">I", len(data)) + tag + data + _sum(tag + data) for tag, data in chunks)
    )
    return path


def _sum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _shared(*, merged: bool) -> Shapes:
    shapes: Shapes = {
        "v.patch_embd.weight": (_INNER, 3, _PATCH, _PATCH),
        "v.position_embd.weight": (_PATCHES_N, _INNER),
        "v.post_ln.weight": (_INNER,),
        "v.post_ln.bias": (_INNER,),
    }
    for i in range(_LAYERS_N):
        for norm in ("ln1", "ln2"):
            shapes |= {f"v.blk.{i}.{norm}.weight": (_INNER,), f"v.blk.{i}.{norm}.bias": (_INNER,)}
        matrices: Shapes = {"attn_out": (_INNER, _INNER), "ffn_up": (_FF, _INNER), "ffn_down": (_INNER, _FF)}
        if merged:
            matrices["attn_qkv"] = (3 * _INNER, _INNER)
        else:
            matrices |= {f"attn_{name}": (_INNER, _INNER) for name in "qkv"}
        for name, shape in matrices.items():
            shapes |= {f"v.blk.{i}.{name}.weight": shape, f"v.blk.{i}.{name}.bias": shape[:1]}
    return shapes


def _mlp(width: int) -> Shapes:
    return {
        "mm.0.weight": (width, _INNER),
        "mm.0.bias": (width,),
        "mm.2.weight": (width, width),
        "mm.2.bias": (width,),
    }


def _gemma3(width: int) -> Shapes:
    return {"mm.input_projection.weight": (_INNER, width), "mm.soft_emb_norm.weight": (_INNER,)}


def _qwen3vl(width: int) -> Shapes:
    together = _MERGED * _INNER
    return {
        "v.patch_embd.weight.1": (_INNER, 3, _PATCH, _PATCH),
        "v.patch_embd.bias": (_INNER,),
        "mm.0.weight": (together, together),
        "mm.0.bias": (together,),
        "mm.2.weight": (width, together),
        "mm.2.bias": (width,),
    }


def _idefics3(width: int) -> Shapes:
    return {"mm.model.fc.weight": (width, _MERGED * _INNER)}


KINDS: Mapping[str, Callable[[int], Shapes]] = {
    "mlp": _mlp,
    "gemma3": _gemma3,
    "qwen3vl_merger": _qwen3vl,
    "idefics3": _idefics3,
}
