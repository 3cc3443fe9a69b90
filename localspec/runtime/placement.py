"""From what is asked for to what each model is loaded with; everything that can be refused is refused here.

Files have been read up to their headers, nothing has been loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.base.errors import LocalSpecError, UsageError
from localspec.base.hidden_architectures import FINAL_ARCHITECTURES
from localspec.base.machine import MachineMemory, memory
from localspec.config.table import AUTO_MAX_DEPTH, DEFAULT_N_CTX, MAX_DEPTH
from localspec.engine.backends.llama.block_head import BLOCK_BATCH_TOKENS
from localspec.engine.backends.llama.devices import NO_DEVICE, Device, choose, list_devices, require_gpu
from localspec.engine.backends.llama.fused_attention import fused_value_type
from localspec.engine.backends.llama.head import OUTPUTS_N
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.rpc import addresses_of, remote_devices
from localspec.gguf import GgufHeader, read_header
from localspec.gguf.dimensions import Hyperparameters
from localspec.gguf.draft_heads import DFLASH, DRAFT, MTP, drafter_kind, has_confidence, is_dspark, read_layers
from localspec.models.fit import Room, Wanted, check_fits, fits
from localspec.models.heads import mtp_fault
from localspec.models.memory_estimate import ContextShape
from localspec.models.pairs.split_files import parts_of
from localspec.models.projectors import ENCODING_BYTES
from localspec.models.projectors import at_once as needs_one_batch
from localspec.runtime.options import LoadOptions

SNAPSHOTS_N = 8
"""Recurrent states kept of a verification, so that fewer rejected tokens than that cost nothing. A state of a
large model is some hundred megabytes; deeper drafts, which are seldom worth it, are read again in part."""
_OUTPUTS_N = {**OUTPUTS_N, DFLASH: MAX_DEPTH + 1}
"""Rows of scores to prepare for, by the kind of a head; one where it is not there."""
_UNQUANTISED = ("f32", "f16", "bf16")


@dataclass(frozen=True, slots=True)
class Placement:
    """The settings by which both files will be loaded."""

    target: LoadSettings
    draft: LoadSettings | None
    """The settings of a draft model, or of a head of the target."""
    projector: Path | None = None
    """The projector through which the target reads images."""

    @property
    def mtp(self) -> LoadSettings | None:
        """The settings of the context of the target's own MTP layers; None if it has none."""
        outputs_n = max(OUTPUTS_N[MTP], self.target.sequences)
        return replace(self.target, max_outputs=outputs_n, snapshots=0) if self.target.mtp else None


def place_models(
    options: LoadOptions,
    target: GgufHeader,
    draft: GgufHeader | None,
    projector: GgufHeader | None = None,
    *,
    sequences: int = 1,
) -> Placement:
    """Settings that the machine has room for; ``sequences`` share the cells of a context.

    Raises UsageError for contradictions and unknown devices, CapacityError where memory or a GPU is missing,
    EngineError for an RPC server that does not answer.
    """
    _check_contradictions(options)
    present = _devices(options)
    if options.require_gpu:
        require_gpu(present)
    plan = Placement(_target(options, target, present), _draft(options, target, draft, present) if draft else None)
    if sequences > 1:
        is_block_head = draft is not None and drafter_kind(draft) == DFLASH
        plan = _for_sequences(plan, sequences, places_n=MAX_DEPTH + 1 if is_block_head else 1)
    for settings, header in ((plan.target, target), (plan.draft, draft)):
        if settings and header:
            _check_quantised(settings, header)
    if projector:
        plan = replace(
            plan, projector=options.projector, target=replace(plan.target, at_once=needs_one_batch(projector))
        )
    # A projector takes memory, and so does what it works in.
    image_bytes = projector.size_bytes + ENCODING_BYTES if projector else 0
    return _fitting(plan, options, target, draft, image_bytes)


def _for_sequences(plan: Placement, n: int, places_n: int) -> Placement:
    """The plan with scores for ``n`` sequences: a verification's rows of the target, ``places_n`` of the drafter."""
    draft = plan.draft
    if draft:
        rows_n = max(n * places_n, draft.max_outputs)
        draft = replace(draft, sequences=n, max_outputs=rows_n, batch_tokens=max(rows_n, draft.batch_tokens))
    # A reply may have planned a deeper draft while it was alone: the rows of the sequence for questions are free then.
    return replace(plan, target=replace(plan.target, sequences=n, max_outputs=n * (MAX_DEPTH + 1)), draft=draft)


def _devices(options: LoadOptions) -> tuple[Device, ...]:
    """The devices of other machines, then those of this one, which is llama.cpp's order of layers."""
    remote = remote_devices(native(), addresses_of(options.rpc)) if options.rpc else ()
    return remote + list_devices(native())


def _check_contradictions(options: LoadOptions) -> None:
    if _quantises_values(options) and options.flash_attn == "off":
        raise UsageError(
            f"--cache-type-v {options.cache_type_v} needs flash attention, and --flash-attn off turns it off.",
            "Leave one of them out.",
        )
    if options.require_gpu and (options.gpu_layers == 0 or options.device == NO_DEVICE):
        raise UsageError("--require-gpu contradicts evaluating the target on the CPU.", "Leave one of them out.")
    for device, layers, prefix in (
        (options.device, options.gpu_layers, "--"),
        (options.draft_device or options.device, options.draft_gpu_layers, "--draft-"),
    ):
        if device == NO_DEVICE and layers:
            raise UsageError(
                f"Device {NO_DEVICE} leaves no GPU for {prefix}gpu-layers {layers}.", "Leave one of them out."
            )


def _check_quantised(settings: LoadSettings, header: GgufHeader) -> None:
    types = [name for name in (settings.cache_type_k, settings.cache_type_v) if name not in _UNQUANTISED]
    if types and not Hyperparameters(header).can_quantise_cache():
        raise UsageError(
            f"The cache of {header.source} cannot be kept as {types[0]}: its heads are no whole blocks wide.",
            "Choose f16, or bf16.",
        )


def _target(options: LoadOptions, header: GgufHeader, present: Sequence[Device]) -> LoadSettings:
    devices = choose(present, options.device)
    flash_attn = _flash_attn(options, on_gpu=bool(devices) and options.gpu_layers != 0)
    return LoadSettings(
        options.target,
        AUTO_MAX_DEPTH + 1,
        context_tokens(options, header),
        options.threads,
        options.gpu_layers,
        devices=devices,
        require_gpu=options.require_gpu,
        cache_type_k=options.cache_type_k,
        cache_type_v=options.cache_type_v or default_value_type(devices, options.gpu_layers, fused=flash_attn is True),
        flash_attn=flash_attn,
        short_fused=options.flash_attn == "auto" and options.projector is None,
        mmap=options.mmap,
        mlock=options.mlock,
        snapshots=_snapshots(header),
        mtp=not mtp_fault(_parts(options.target, header)),
    )


def _draft(
    options: LoadOptions, target: GgufHeader, header: GgufHeader, present: Sequence[Device]
) -> LoadSettings | None:
    """As the target, but for what the draft has options of its own for; the same context."""
    if options.draft is None:
        return None
    settings = _target(options, target, present)
    devices = _draft_devices(options, header, present)
    flash_attn = _flash_attn(options, on_gpu=bool(devices) and options.draft_gpu_layers != 0)
    value_type = default_value_type(devices, options.draft_gpu_layers, fused=flash_attn is True)
    if drafter_kind(header) == DFLASH:
        confidence = has_confidence(header)
        settings = replace(settings, batch_tokens=BLOCK_BATCH_TOKENS, dspark=is_dspark(header), confidence=confidence)
    return replace(
        settings,
        path=options.draft,
        max_outputs=_OUTPUTS_N.get(drafter_kind(header), 1),
        mtp=drafter_kind(header) == MTP and header.architecture in FINAL_ARCHITECTURES,
        threads=options.draft_threads or options.threads,
        gpu_layers=options.draft_gpu_layers,
        devices=devices,
        cache_type_v=options.cache_type_v or value_type,
        flash_attn=flash_attn,
        require_gpu=False,
        snapshots=0,  # it goes on token by token, after which no state can be taken back
    )


def _draft_devices(options: LoadOptions, header: GgufHeader, present: Sequence[Device]) -> tuple[Device, ...]:
    """The devices of a draft model are those here unless told otherwise: over a network each token waits for an answer.

    A head computes with the target's own tensors, and stays with them.
    """
    if options.draft_device is not None:
        return choose(present, options.draft_device)
    if drafter_kind(header) != DRAFT:
        return choose(present, options.device)
    if options.device is None:
        return choose([device for device in present if not device.remote], None)
    return tuple(device for device in choose(present, options.device) if not device.remote)


def context_tokens(options: LoadOptions, header: GgufHeader) -> int:
    """Tokens of context for a reply; ``header`` is the target's."""
    return options.n_ctx or min(header.context_length or DEFAULT_N_CTX, DEFAULT_N_CTX)


def default_value_type(devices: Sequence[Device], gpu_layers: int | None, *, fused: bool) -> str:
    """The type of a cache's values unless asked otherwise.

    The fused step of a CPU may be twice as quick with bf16 (``fused_attention.py``).
    """
    on_gpu = bool(devices) and gpu_layers != 0
    return fused_value_type() if fused and not on_gpu else "f16"


def _quantises_values(options: LoadOptions) -> bool:
    return options.cache_type_v is not None and options.cache_type_v not in _UNQUANTISED


def _flash_attn(options: LoadOptions, *, on_gpu: bool) -> bool | None:
    """Unasked, on a GPU as llama.cpp thinks best, and on the CPU only for short texts or where a cache needs it.

    The CPU's fused step reads the whole cache anew for every row of a batch, the unfused one once for all of them:
    with 1,500 tokens of context a verification of 16 takes nearly four times as long fused. Reading one takes up to
    two thirds longer unfused (docs/benchmarks.md).
    """
    if options.flash_attn == "auto":
        return None if on_gpu or _quantises_values(options) else False
    return options.flash_attn == "on"


def _snapshots(header: GgufHeader) -> int:
    model = Hyperparameters(header)
    return SNAPSHOTS_N if model.takes_snapshots and model.has_states else 0


def _fitting(
    plan: Placement, options: LoadOptions, target: GgufHeader, draft: GgufHeader | None, image_bytes: int
) -> Placement:
    """The plan if it fits, else one that remembers less and may have to read more again, last one without MTP layers.

    Raises CapacityError.
    """
    room = _without(image_bytes, _room(plan, options.mmap is not False and not options.mlock, memory()))

    def wanted(plan: Placement) -> list[Wanted]:
        return [
            _wanted(settings, header, head, may_fuse=options.flash_attn != "off")
            for settings, header, head in ((plan.target, target, draft), (plan.draft, draft, None))
            if settings and header
        ]

    smallest = _smaller(plan, snapshots=0)
    without_mtp = replace(smallest, target=replace(smallest.target, mtp=False))
    for candidate in (plan, _smaller(plan, snapshots=plan.target.snapshots), smallest, without_mtp):
        if fits(wanted(candidate), room):
            # Copies of mapped weights would have to be free memory like all else.
            copied = fits(wanted(candidate), replace(room, mapped=False))
            return candidate if copied else _without_copies(candidate)
    check_fits(wanted(without_mtp), room)
    return without_mtp


def _smaller(plan: Placement, snapshots: int) -> Placement:
    """The plan with windows kept only while they are seen, so many recurrent states, and no context for short texts."""
    return replace(
        plan,
        target=replace(plan.target, swa_full=False, short_fused=False, snapshots=snapshots),
        draft=replace(plan.draft, swa_full=False, short_fused=False) if plan.draft else None,
    )


def _without_copies(plan: Placement) -> Placement:
    draft = replace(plan.draft, repack=False) if plan.draft else None
    return replace(plan, target=replace(plan.target, repack=False), draft=draft)


def _wanted(settings: LoadSettings, header: GgufHeader, head: GgufHeader | None, *, may_fuse: bool) -> Wanted:
    """``head`` is what drafts for the model, if that has a file."""
    layers = 0
    if settings.devices:
        most = (header.block_count or 0) + 1
        layers = most if settings.gpu_layers is None else min(settings.gpu_layers, most)
    shape = ContextShape(
        n_ctx=settings.n_ctx or DEFAULT_N_CTX,
        type_k=settings.cache_type_k,
        type_v=settings.cache_type_v,
        flash_attn=settings.flash_attn is not False,
        short_fused=settings.short_fused and settings.flash_attn is False,
        swa_full=settings.swa_full,
        snapshots=settings.snapshots,
        max_outputs=settings.max_outputs,
        batch_tokens=settings.batch_tokens,
        mtp=settings.mtp,
        hidden_layers=settings.sequences * (settings.mtp + (read_layers(head) if head else 0)),
    )
    return Wanted(_parts(settings.path, header), shape, layers, may_fuse)


def _parts(path: Path, header: GgufHeader) -> list[GgufHeader]:
    """The headers of all files of a model; those that are missing are llama.cpp's to complain about."""
    parts = [header]
    with suppress(LocalSpecError):
        parts += map(read_header, parts_of(path)[1:])
    return parts


def _without(image_bytes: int, room: Room) -> Room:
    """The room that a projector leaves; it lies where the target's first layers would, on a device if there is one."""
    if room.device_bytes is not None:
        return replace(room, device_bytes=max(0, room.device_bytes - image_bytes))
    ram = room.memory
    left = [None if size is None else max(0, size - image_bytes) for size in (ram.physical, ram.available)]
    return replace(room, memory=replace(ram, physical=left[0], available=left[1]))


def _room(plan: Placement, mapped: bool, ram: MachineMemory) -> Room:
    used = {
        device.name: device for settings in (plan.target, plan.draft) if settings for device in settings.devices or ()
    }
    devices = used.values()
    # A device that reports nothing free does not tell.
    known = all(device.free_bytes for device in devices)
    return Room(
        ram,
        sum(device.free_bytes for device in devices) if devices and known else None,
        device_shares_ram=any(device.shares_ram for device in devices),
        mapped=mapped,
    )
