"""A GGUF file into memory: weights, a context to evaluate in, and where they ended up.

Knows what can go wrong on the way and says so in a sentence; llama.cpp itself tells only its log.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.engine.backends.cores import physical_cores
from localspec.engine.backends.native import Native, reason
from localspec.engine.cancel import Cancellation
from localspec.engine.model import Cancelled
from localspec.errors import CapacityError, ModelFileError

DEFAULT_N_CTX = 8192
"""The longest context taken unasked: its cache costs memory for every token."""
TOY_BYTES = 32 * 2**20
"""A model smaller than this is evaluated by one thread, unless told otherwise."""
_BATCH_TOKENS = 512

_OUT_OF_MEMORY = re.compile(r"alloc|out of memory|insufficient memory", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """What to load, and how."""

    path: Path
    max_outputs: int
    """The most rows of scores that one evaluation may give."""
    n_ctx: int | None = None
    """None takes what the model was trained for, at most ``DEFAULT_N_CTX``."""
    threads: int | None = None
    """None takes the number of physical cores, or one for a toy."""
    gpu_layers: int | None = None
    """None offloads all layers where there is a GPU."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The native handles, and what there is to say about them. Whoever holds it calls ``free`` once."""

    native: Native
    model: Any
    context: Any
    max_outputs: int
    n_ctx: int
    threads: int
    device: str
    """What evaluates the model, in words: "CPU, 2 threads" or "CUDA0 (...), 33/33 layers"."""

    def free(self) -> None:
        self.native.c.llama_free(self.context)
        self.native.c.llama_model_free(self.model)


def load(
    native: Native, settings: LoadSettings, cancel: Cancellation, progress: Callable[[float], None] | None = None
) -> Loaded:
    """Load the weights and make a context.

    Raises ModelFileError, CapacityError, or Cancelled if ``cancel`` is set meanwhile.
    """
    c = native.c
    with native.log.heard() as lines:
        model = _load_weights(native, settings, cancel, progress)
        if not model:
            if cancel.is_set():
                raise Cancelled
            raise _refused(settings.path, reason(lines))
    threads = settings.threads or default_threads(c.llama_model_size(model))
    device = describe_device([line for _, line in lines], threads)
    try:
        _check_generates(c, model, settings.path)
        n_ctx = settings.n_ctx or min(c.llama_model_n_ctx_train(model), DEFAULT_N_CTX)
        _check_cache_fits(c, model, n_ctx)
        context = _make_context(native, model, settings, n_ctx, threads)
    except BaseException:
        c.llama_model_free(model)
        raise
    c.llama_set_abort_callback(context, native.abort_if_set, ctypes.c_void_p(cancel.address))
    return Loaded(native, model, context, settings.max_outputs, n_ctx, threads, device)


def default_threads(size_bytes: int) -> int:
    """One for a toy, else one a physical core.

    Threads wait for each other several times a layer. In a toy that is most of the time: two threads win
    a quarter when nobody else wants the machine, and lose a hundredfold when somebody does.
    """
    return 1 if size_bytes < TOY_BYTES else physical_cores()


def describe_device(lines: list[str], threads: int) -> str:
    """What evaluates a model, from what llama.cpp said while loading it.

    It counts layers as offloaded even where there is no device to take them, so both are asked for.
    """
    said = "\n".join(lines)
    cpu = f"CPU, {threads} thread{'s' if threads != 1 else ''}"
    devices = re.findall(r"using device (\S+ \(.*?\)) \(", said)
    layers = re.search(r"offloaded (\d+)/(\d+) layers", said)
    if not devices or not layers or layers[1] == "0":
        return cpu
    gpu = f"{' and '.join(devices)}, {layers[1]}/{layers[2]} layers"
    return gpu if layers[1] == layers[2] else f"{gpu}; {cpu}"


def _load_weights(
    native: Native, settings: LoadSettings, cancel: Cancellation, progress: Callable[[float], None] | None
) -> Any:
    """The native model, or None."""
    c = native.c

    def on_progress(fraction: float, _: object) -> bool:
        if progress:
            progress(fraction)
        return not cancel.is_set()

    params = c.llama_model_default_params()
    if settings.gpu_layers is not None:
        params.n_gpu_layers = settings.gpu_layers
    callback = c.llama_progress_callback(on_progress)  # must outlive the call
    params.progress_callback = callback
    return c.llama_model_load_from_file(os.fsencode(settings.path), params)


def _make_context(native: Native, model: Any, settings: LoadSettings, n_ctx: int, threads: int) -> Any:
    c = native.c
    params = c.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    # Left at 0, llama.cpp would reserve room for the scores of a whole batch.
    params.n_outputs_max = settings.max_outputs
    # A batch of more than one token, hence every verification, uses n_threads_batch.
    params.n_threads = params.n_threads_batch = threads
    with native.log.heard() as lines:
        context = c.llama_init_from_model(model, params)
    if context and not c.llama_get_memory(context):
        c.llama_free(context)
        raise _no_generator(settings.path)
    if not context:
        raise CapacityError(
            f"llama.cpp cannot prepare a context of {n_ctx} tokens: {reason(lines) or 'it does not say why'}.",
            f"Choose a smaller one, for example --ctx {max(512, n_ctx // 2)}.",
        )
    return context


def _check_generates(c: Any, model: Any, path: Path) -> None:
    if c.llama_model_has_encoder(model) or not c.llama_model_has_decoder(model):
        raise _no_generator(path)


def _no_generator(path: Path) -> ModelFileError:
    """An embedding model keeps no cache, a translation model reads with an encoder: neither goes token by token."""
    return ModelFileError(f"{path.name} is not a model that writes text.", "Choose a chat or text model.")


def _refused(path: Path, why: str) -> ModelFileError | CapacityError:
    if _OUT_OF_MEMORY.search(why):
        return CapacityError(
            f"There is not enough memory to load {path.name}: {why}.",
            "Close other programs, offload fewer layers with --gpu-layers, or choose a smaller model.",
        )
    return ModelFileError(
        f"llama.cpp cannot load {path.name}: {why or 'it does not say why'}.",
        "It may need a newer LocalSpec, or be damaged; try another file of the same model.",
    )


def _check_cache_fits(c: Any, model: Any, n_ctx: int) -> None:
    """Refuse a cache larger than the machine: the system would grant it, and end the process when it is filled."""
    if c.llama_model_is_recurrent(model) or c.llama_model_is_hybrid(model):
        return  # no cell per token and layer
    head_width = c.llama_model_n_embd(model) / max(1, c.llama_model_n_head(model))
    keys_and_values_f16 = 2 * 2
    cells = n_ctx * c.llama_model_n_layer(model) * c.llama_model_n_head_kv(model)
    needed = cells * head_width * keys_and_values_f16
    present = _physical_memory_bytes()
    if present and needed > present:
        raise CapacityError(
            f"A context of {n_ctx} tokens takes {needed / 1e9:.0f} GB of memory; this machine has {present / 1e9:.0f}.",
            f"Choose a smaller one, for example --ctx {DEFAULT_N_CTX}.",
        )


def _physical_memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
