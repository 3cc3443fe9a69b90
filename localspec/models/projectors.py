"""Projectors, which make rows of images for a target: recognised by their header, judged, and found beside a model.

llama.cpp checks most of this itself; some of it ends the process. The kinds were read from the source of the build
0c1e570 (llama-cpp-python 0.3.36): ``tools/mtmd/clip.cpp`` and ``mtmd.cpp``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from localspec.base.errors import LocalSpecError, PairMismatchError
from localspec.gguf import GgufHeader, read_header

ENCODING_BYTES = 300_000_000
"""Memory for encoding an image, beside the projector's weights, and for the rows that are kept of it."""
_ARCHITECTURE = "clip"
_OUTPUTS = {
    **dict.fromkeys(("mlp", "phi4", "pixtral", "lightonocr", "dots_ocr"), ("mm.2.weight", 1)),
    **dict.fromkeys(("qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger", "mimovl"), ("mm.2.weight", 1)),
    **dict.fromkeys(("gemma3", "gemma3nv"), ("mm.input_projection.weight", 0)),
    **dict.fromkeys(("gemma4v", "gemma4uv"), ("mm.input_projection.weight", 1)),
    "idefics3": ("mm.model.fc.weight", 1),
    "internvl": ("mm.3.weight", 1),
}
"""The tensor that gives the rows, and the dimension that is their width, by kind."""
_AT_ONCE = {"gemma3", "gemma4v", "gemma4uv"}
"""Kinds whose rows see each other in both directions, so that all have to be evaluated at once."""
_UNSUPPORTED = {"hunyuanvl", "deepseek4v"}
"""Kinds whose rows depend on what stands before the image, which LocalSpec does not give them."""
_NEEDS_SECTIONS = {"glm4", "glm4moe"}
"""Architectures that end the process over an image if their file was made without multimodal positions."""
_DEEPSTACK = re.compile(r"v\.deepstack\.(\d+)\.")
_NO_NAME = re.compile(
    r"mmproj[-._]?(?:model(?![a-z0-9]))?|[-._]?(?<![a-z0-9])(?:bf16|f16|f32|i?q\d[a-z0-9_]*)(?![a-z0-9])"
)
"""The parts of a projector's name that do not tell the model: the word itself, and the quantisation."""


def is_projector(header: GgufHeader) -> bool:
    """True for a file that makes rows of images or sounds, and is no model of its own."""
    return header.architecture == _ARCHITECTURE


def has_projector(header: GgufHeader) -> bool:
    """True for a model with its projector in the same file, as Ollama makes some, which llama.cpp refuses to load."""
    return not is_projector(header) and any(tensor.name.startswith("v.blk.") for tensor in header.tensors)


def at_once(projector: GgufHeader) -> bool:
    """True if all rows of an image have to be evaluated in one batch."""
    return _kind(projector) in _AT_ONCE


def check_projector(target: GgufHeader, projector: GgufHeader) -> None:
    """Raise PairMismatchError unless ``target`` can read what ``projector`` makes of images."""
    if misfit := projector_misfit(target, projector):
        raise projector_refusal(target, projector, misfit)


def projector_refusal(target: GgufHeader, projector: GgufHeader, misfit: str) -> PairMismatchError:
    """The error for a projector that does not fit."""
    return PairMismatchError(
        f"{projector.source} cannot read images for {target.source}: {misfit}.",
        "Choose the projector that was published with this model (mmproj-*.gguf).",
    )


def projector_misfit(target: GgufHeader, projector: GgufHeader) -> str:
    """The reason why ``target`` cannot read images through ``projector``, as a clause; empty if it can."""
    kind = _kind(projector)
    if not is_projector(projector):
        return f"it is no projector but a model of the architecture {projector.architecture!r}"
    if projector.metadata.get("clip.has_vision_encoder") is not True:
        return "it reads no images"
    if kind in _UNSUPPORTED:
        return f"LocalSpec cannot run projectors of the kind {kind!r}"
    if target.architecture in _NEEDS_SECTIONS and not target.metadata.get(
        f"{target.architecture}.rope.dimension_sections"
    ):
        return "the target's file was made without positions for images"
    ours, theirs = _read_width(target), _made_width(projector)
    if theirs is not None and ours != theirs:
        return f"it makes rows {theirs:,} wide, and the target reads rows {ours:,} wide"
    return ""


def find_projector(target: Path) -> Path | None:
    """The projector that lies beside a target and fits it; None if there is none, or none that is surely its own."""
    try:
        beside = {path.name: path.stat().st_size for path in target.parent.iterdir() if _may_belong(path.name, target)}
        if not beside:
            return None
        header = read_header(target)
        fitting = {name: size for name, size in beside.items() if _fits(header, target.with_name(name))}
        chosen = choose_projector(target.name, fitting)
        return None if chosen is None else target.with_name(chosen)
    except (LocalSpecError, OSError):
        return None


def choose_projector(target: str, files: Mapping[str, int]) -> str | None:
    """The file, of those with their sizes, that is named as the projector of ``target``; None if there is none.

    One that names the model comes before one that names none, then a smaller one.
    """
    named = [name for name in files if _may_belong(name, Path(target))]
    return min(named, key=lambda name: (not _base(name), files[name]), default=None)


def _fits(target: GgufHeader, projector: Path) -> bool:
    try:
        return not projector_misfit(target, read_header(projector))
    except LocalSpecError:
        return False


def _may_belong(name: str, target: Path) -> bool:
    return "mmproj" in name.lower() and name.lower().endswith(".gguf") and _base(name) in target.stem.lower()


def _base(name: str) -> str:
    """The model in the name of a projector; empty if it names none."""
    return _NO_NAME.sub("", Path(name).stem.lower()).strip("-._")


def _kind(projector: GgufHeader) -> str:
    return projector.text("clip.projector_type") or projector.text("clip.vision.projector_type") or ""


def _read_width(target: GgufHeader) -> int:
    """The width of the rows that a target reads in place of tokens."""
    own = target.integer(f"{target.architecture}.embedding_length") or 0
    return own * (1 + (target.integer(f"{target.architecture}.n_deepstack_layers") or 0))


def _made_width(projector: GgufHeader) -> int | None:
    """The width of the rows that a projector makes; None for kinds whose output is not known here."""
    name, dimension = _OUTPUTS.get(_kind(projector), ("", 0))
    shape = next((tensor.shape for tensor in projector.tensors if tensor.name == name), ())
    if dimension >= len(shape):
        return None
    stacked = {match[1] for tensor in projector.tensors if (match := _DEEPSTACK.match(tensor.name))}
    return int(shape[dimension]) * (1 + len(stacked))
