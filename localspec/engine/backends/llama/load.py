"""A GGUF file into memory: weights, a context to evaluate in, and where they ended up.

Every failure becomes an error with a sentence; llama.cpp itself only writes its log.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from localspec.base.errors import CapacityError, ModelFileError
from localspec.engine.backends.llama.cores import physical_cores
from localspec.engine.backends.llama.devices import Device
from localspec.engine.backends.llama.early_end import EarlyEnd
from localspec.engine.backends.llama.large_pages import ask_for_large_pages
from localspec.engine.backends.llama.native import Native, reason
from localspec.engine.backends.llama.report import (
    OUT_OF_MEMORY,
    all_offloaded,
    cache_types,
    flash_attn_enabled,
    is_locked,
    offloaded_layers,
    only_cuda,
)
from localspec.engine.backends.llama.short_context import SHORT_CELLS_N, short_value_type, takes_short_texts
from localspec.engine.cancel import Cancellation, Cancelled

_BATCH_TOKENS = 512
_UNFUSED_BATCH_TOKENS = 128
"""The batch without flash attention, which keeps the scores of a whole batch against the whole cache; no slower."""
_DEFAULT_N_CTX = 8192
_MANY_TOKENS = 16_384
"""The size of a vocabulary from which fetching and searching all scores takes a good part of a draft's step."""

CACHE_TYPES = {
    "f32": 0,
    "f16": 1,
    "bf16": 30,
    "q8_0": 8,
    "q5_1": 7,
    "q5_0": 6,
    "q4_1": 3,
    "q4_0": 2,
    "iq4_nl": 20,
}
"""ggml's numbers of the types a cache may have."""
_FLASH_ATTN = {None: -1, False: 0, True: 1}
_LOAD_MODES = {(False, False): 0, (True, False): 1, (False, True): 2, (True, True): 3}
"""llama_load_mode by whether weights are mapped and locked."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """The file to load, and the ways of loading it."""

    path: Path
    max_outputs: int
    """The most rows of scores that one evaluation may give."""
    n_ctx: int | None = None
    """None takes what the model was trained for, at most 8192."""
    threads: int | None = None
    """None takes the number of physical cores, or one for a tiny model."""
    gpu_layers: int | None = None
    """None offloads all layers where there is a GPU."""
    devices: tuple[Device, ...] | None = None
    """The devices to offload to; empty for the CPU, None leaves it to llama.cpp."""
    require_gpu: bool = False
    cache_type_k: str = "f16"
    """One of ``CACHE_TYPES``."""
    cache_type_v: str = "f16"
    flash_attn: bool | None = None
    """None leaves it to llama.cpp, which turns it on where the device has it; a quantised ``cache_type_v`` needs it."""
    short_fused: bool = False
    """True to evaluate short texts with flash attention, where ``flash_attn`` is False: in a context of their own."""
    mmap: bool | None = None
    mlock: bool = False
    repack: bool = True
    """True to copy weights into the order that this CPU reads fastest; without it mapped ones stay in their file."""
    large_pages: bool = True
    """True to ask for memory in large pages, where the system has them."""
    swa_full: bool = True
    """True if layers that see a window keep what lies behind it, so that a context can be taken back far."""
    ranked_on_device: bool | None = None
    """True to ask a device for the likeliest tokens instead of all scores; None does so where it pays."""
    ranked_outputs: int = 1
    """The most rows of scores that a device may rank in one evaluation."""
    read_singly: bool | None = None
    """True to read a few tokens one by one; None does so where it pays."""
    snapshots: int = 0
    """The number of tokens that a recurrent state can be taken back by, where the architecture can at all."""
    sequences: int = 1
    """Sequences that share the cells of the context."""
    batch_tokens: int = _BATCH_TOKENS
    """The most tokens that are evaluated at once."""
    at_once: bool = False
    """True to evaluate each batch at once also without flash attention, as images need whose rows see each other."""
    dspark: bool = False
    """True for a DFlash head with the Markov head of DSpark."""
    confidence: bool = False
    """True for a DSpark head that tells how likely its proposals are accepted."""
    mtp: bool = False
    """True to load the layers that predict several tokens ahead too; of a head, to evaluate those of its file."""
    draft_tokens: int = 32_768
    """The first tokens of a large vocabulary, which are frequent; a draft proposes these and those that were read."""
    draft_vocabulary: bool | None = None
    """True to have it propose no others; None does so where that is quicker, False proposes any token.

    The file with the output matrix is mapped for it. So with False for ``mmap`` any token is proposed, too.
    """
    early_end: bool = False
    """True to make evaluations that can end early; not for a model on a device, which would be waited for."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """The native handles, and facts about them. The owner calls ``free`` once."""

    native: Native
    path: Path
    model: Any = field(repr=False)
    context: Any = field(repr=False)
    cancel: Cancellation = field(repr=False)
    """The stop signal, which llama.cpp reads during evaluations: it has to live as long as the context."""
    max_outputs: int
    n_ctx: int
    log_lines: tuple[str, ...] = field(repr=False)
    """llama.cpp's log of loading the weights."""
    cache_type_k: str | None
    """As llama.cpp reports it; None if the model keeps no keys."""
    cache_type_v: str | None
    flash_attn: bool | None
    swa_full: bool
    ranked_on_device: bool
    read_singly: bool
    owns_model: bool = True
    """False if the context is one more of a model that another owns."""
    short: Any = field(default=None, repr=False)
    """The context for short texts, if there is one (``short_context.py``)."""
    early_end: EarlyEnd | None = field(default=None, repr=False)
    """Called by llama.cpp during evaluations: it has to live as long as the contexts."""

    def metadata(self, key: str) -> str:
        """An entry of the file's metadata as text; empty if it is not there."""
        room = ctypes.create_string_buffer(64)
        self.native.c.llama_model_meta_val_str(self.model, key.encode(), room, len(room))
        return room.value.decode(errors="replace")

    def value_type(self, context: Any) -> int:
        """Ggml's number of the type of the values that one of the two contexts keeps."""
        value_type = CACHE_TYPES[self.cache_type_v or "f16"]
        return short_value_type(value_type) if context == self.short else value_type

    def free_short(self) -> LoadedModel:
        """Free the context for short texts; returns what is left."""
        if self.short:
            self.native.c.llama_free(self.short)
        return replace(self, short=None)

    def free(self) -> None:
        self.free_short()
        self.native.c.llama_free(self.context)
        if self.owns_model:
            self.native.c.llama_model_free(self.model)


def load(
    native: Native,
    settings: LoadSettings,
    cancel: Cancellation,
    progress: Callable[[float], None] | None = None,
    *,
    target: LoadedModel | None = None,
) -> LoadedModel:
    """Load the weights and make a context; with ``target``, those of a head for it, which may use its weights.

    Raises ModelFileError, CapacityError, or Cancelled if ``cancel`` is set meanwhile.
    """
    c = native.c
    model, log_lines = load_model(native, settings, cancel, progress)
    try:
        if target is None and (c.llama_model_has_encoder(model) or not c.llama_model_has_decoder(model)):
            raise _no_generator(settings.path)
        mtp = settings.mtp and target is not None
        return _with_context(native, model, log_lines, settings, cancel, other=target, mtp=mtp)
    except BaseException:
        c.llama_model_free(model)
        raise


def load_mtp(native: Native, settings: LoadSettings, target: LoadedModel, cancel: Cancellation) -> LoadedModel:
    """A context for the MTP layers of ``target``, which was loaded with them. Raises CapacityError."""
    loaded = _with_context(native, target.model, list(target.log_lines), settings, cancel, other=target, mtp=True)
    return replace(loaded, owns_model=False)


def _with_context(
    native: Native,
    model: Any,
    log_lines: list[str],
    settings: LoadSettings,
    cancel: Cancellation,
    *,
    other: LoadedModel | None,
    mtp: bool,
) -> LoadedModel:
    """A model whose weights are loaded, with a new context. Raises CapacityError or ModelFileError."""
    c = native.c
    threads = settings.threads or physical_cores()
    _check_wishes(settings, log_lines)
    n_ctx = settings.n_ctx or min(c.llama_model_n_ctx_train(model), _DEFAULT_N_CTX)
    early_end = EarlyEnd.of(native) if settings.early_end else None
    context, said_then = _make_context(native, model, settings, n_ctx, threads, early_end, other=other, mtp=mtp)
    short = None
    if settings.short_fused and settings.flash_attn is False and other is None and takes_short_texts(c, model):
        short = _make_short_context(native, model, settings, threads, early_end)
    if settings.large_pages:
        ask_for_large_pages()  # for what evaluations work in
    for each in (context, short):
        if each:
            c.llama_set_abort_callback(each, native.abort_if_set, ctypes.c_void_p(cancel.address))
    type_k, type_v = cache_types(said_then)
    return LoadedModel(
        native=native,
        path=settings.path,
        model=model,
        context=context,
        cancel=cancel,
        max_outputs=settings.max_outputs,
        n_ctx=n_ctx,
        log_lines=tuple(log_lines),
        cache_type_k=type_k,
        cache_type_v=type_v,
        flash_attn=None if type_k is None else flash_attn_enabled(said_then, _wanted_flash_attn(settings)),
        swa_full=_swa_full(c, model, settings),
        ranked_on_device=_or_else(settings.ranked_on_device, ranks_on_device(c, model, log_lines)),
        read_singly=_or_else(settings.read_singly, only_cuda(log_lines)),
        short=short,
        early_end=early_end,
    )


def load_model(
    native: Native, settings: LoadSettings, cancel: Cancellation, progress: Callable[[float], None] | None
) -> tuple[Any, list[str]]:
    """The native model, and llama.cpp's log of loading it. Raises as ``load`` does."""
    c = native.c
    pages_due = settings.large_pages

    def on_progress(fraction: float, _: object) -> bool:
        nonlocal pages_due
        if pages_due:
            # The first call comes when all memory for weights is allocated, and none of it written.
            ask_for_large_pages()
            pages_due = False
        if progress:
            progress(fraction)
        return not cancel.is_set()

    params = c.llama_model_default_params()
    if settings.gpu_layers is not None:
        params.n_gpu_layers = settings.gpu_layers
    if settings.mmap is not None or settings.mlock:
        params.load_mode = _LOAD_MODES[settings.mmap is not False, settings.mlock]
    params.use_extra_bufts = settings.repack
    params.load_mtp = settings.mtp
    if settings.devices is not None:
        handles = [device.handle for device in settings.devices]
        device_list = (ctypes.c_void_p * (len(handles) + 1))(*handles, None)  # must outlive the call
        params.devices = ctypes.cast(device_list, ctypes.c_void_p)
    callback = c.llama_progress_callback(on_progress)  # must outlive the call
    params.progress_callback = callback
    with native.log.heard() as lines:
        model = c.llama_model_load_from_file(os.fsencode(settings.path), params)
    if model:
        return model, [line for _, line in lines]
    if cancel.is_set():
        raise Cancelled
    raise _refused(settings.path, reason(lines))


def _make_context(
    native: Native,
    model: Any,
    settings: LoadSettings,
    n_ctx: int,
    threads: int,
    early_end: EarlyEnd | None,
    *,
    other: LoadedModel | None,
    mtp: bool,
) -> tuple[Any, list[str]]:
    """The context, and llama.cpp's log of making it."""
    c = native.c
    params = _context_params(c, model, settings, n_ctx, threads, early_end)
    if other is not None:
        params.ctx_other = other.context
    if mtp:
        params.ctx_type = c.LLAMA_CONTEXT_TYPE_MTP
    with native.log.heard() as lines:
        context = c.llama_init_from_model(model, params)
    if context and not c.llama_get_memory(context):
        c.llama_free(context)
        raise _no_generator(settings.path)
    if not context:
        raise CapacityError(
            f"llama.cpp cannot prepare a context of {n_ctx:,} tokens: {reason(lines) or 'it does not say why'}.",
            f"Choose a smaller one, for example --ctx {max(512, n_ctx // 2)}.",
        )
    return context, [line for _, line in lines]


def _make_short_context(
    native: Native, model: Any, settings: LoadSettings, threads: int, early_end: EarlyEnd | None
) -> Any:
    """The context for short texts; None if llama.cpp makes none, or none with flash attention."""
    fused = replace(settings, flash_attn=True, batch_tokens=min(settings.batch_tokens, SHORT_CELLS_N))
    params = _context_params(native.c, model, fused, SHORT_CELLS_N, threads, early_end)
    params.type_v = short_value_type(params.type_v)
    params.n_ubatch = min(fused.batch_tokens, _UNFUSED_BATCH_TOKENS)  # as in the other: it reads as much at once
    with native.log.heard() as lines:
        context = native.c.llama_init_from_model(model, params)
    if context and not flash_attn_enabled([line for _, line in lines], True):
        native.c.llama_free(context)
        return None
    return context


def _context_params(
    c: Any, model: Any, settings: LoadSettings, n_ctx: int, threads: int, early_end: EarlyEnd | None
) -> Any:
    """llama_context_params, but for what a head's context needs."""
    params = c.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = settings.batch_tokens
    unfused = _wanted_flash_attn(settings) is False and not settings.at_once
    params.n_ubatch = min(settings.batch_tokens, _UNFUSED_BATCH_TOKENS) if unfused else settings.batch_tokens
    # Left at 0, llama.cpp would reserve room for the scores of a whole batch.
    params.n_outputs_max = settings.max_outputs
    params.n_outputs_max_per_seq = settings.ranked_outputs
    # A batch of more than one token, hence every verification, uses n_threads_batch.
    params.n_threads = params.n_threads_batch = threads
    params.type_k, params.type_v = CACHE_TYPES[settings.cache_type_k], CACHE_TYPES[settings.cache_type_v]
    params.flash_attn_type = _FLASH_ATTN[_wanted_flash_attn(settings)]
    params.swa_full = _swa_full(c, model, settings)
    params.n_rs_seq = settings.snapshots
    if early_end:
        params.cb_eval = early_end.callback
    if settings.sequences > 1:
        params.n_seq_max, params.kv_unified = settings.sequences, True
    return params


def _wanted_flash_attn(settings: LoadSettings) -> bool | None:
    """llama.cpp turns it on for a quantised cache by itself; asked for explicitly, it can be reported."""
    if settings.flash_attn is None and settings.cache_type_v not in ("f32", "f16", "bf16"):
        return True
    return settings.flash_attn


def _swa_full(c: Any, model: Any, settings: LoadSettings) -> bool:
    """A recurrent state beside a window is copied with it, and nothing is known of a window's cells after that."""
    return settings.swa_full or bool(c.llama_model_is_recurrent(model) or c.llama_model_is_hybrid(model))


def _or_else(wish: bool | None, default: bool) -> bool:
    return default if wish is None else wish


def on_cpu(native: Native, settings: LoadSettings) -> bool:
    """True if no layer can come to a device."""
    return settings.gpu_layers == 0 or settings.devices == () or not native.c.llama_supports_gpu_offload()


def ranks_on_device(c: Any, model: Any, log_lines: Sequence[str]) -> bool:
    """True if a device had better rank the scores: it has them, for the last layer gives them, and they are many."""
    return all_offloaded(log_lines) and c.llama_vocab_n_tokens(c.llama_model_get_vocab(model)) >= _MANY_TOKENS


def _check_wishes(settings: LoadSettings, log_lines: list[str]) -> None:
    """Raise CapacityError for what was required, and llama.cpp only warns of or does not mention."""
    if settings.require_gpu and not offloaded_layers(log_lines):
        raise CapacityError(
            f"A GPU is required, and llama.cpp put no layer of {settings.path.name} on one.",
            "Check --device and --gpu-layers, or leave --require-gpu out.",
        )
    if settings.mlock and not is_locked(log_lines):
        raise CapacityError(
            f"The system does not let {settings.path.name} be locked in memory.",
            "Raise the limit of locked memory (ulimit -l), or leave --mlock out.",
        )


def _no_generator(path: Path) -> ModelFileError:
    """An embedding model keeps no cache, a translation model reads with an encoder: neither goes token by token."""
    return ModelFileError(f"{path.name} is not a model that writes text.", "Choose a chat or text model.")


def _refused(path: Path, why: str) -> ModelFileError | CapacityError:
    if OUT_OF_MEMORY.search(why):
        return CapacityError(
            f"There is not enough memory to load {path.name}: {why}.",
            "Close other programs, offload fewer layers with --gpu-layers, or choose a smaller model.",
        )
    return ModelFileError(
        f"llama.cpp cannot load {path.name}: {why or 'it does not say why'}.",
        "It may need a newer LocalSpec, or be damaged; try another file of the same model.",
    )
