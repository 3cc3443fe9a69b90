"""A child process that measures llama.cpp's kernels, about a second in all, and writes the figures as JSON.

It runs as ``python -m localspec.runtime.speed.measuring_child THREADS``. A crash affects only this process.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from localspec.engine.backends.llama.devices import choose, list_devices
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.runtime.speed.kernels import KernelSpeeds
from localspec.runtime.speed.sample_model import N_VOCAB, SampleShape, matrix_bytes, write_sample

KINDS = ("Q4_K", "F16", "Q8_0", "Q4_0", "Q6_K", "Q5_K", "MXFP4")
"""The types that are measured: those of most files, the most frequent first."""
_BATCHES = (1, 2, 3, 4, 8, 16)
_REPEATS, _SINGLE_REPEATS = 4, 12
"""Evaluations of a batch, and of a single token, whose time counts most."""
_N_CTX = 256
_NARROW = SampleShape(64, 128, 32)
_WIDE, _FEED_FORWARD = 2048, 6144
_RAM_BYTES, _DEVICE_BYTES = 96 * 2**20, 768 * 2**20
"""Bytes of the matrices of one type: several times the processor's caches, or a GPU's."""
_BYTES_OF = {kind: matrix_bytes(SampleShape(_WIDE, _FEED_FORWARD, 1), kind) for kind in KINDS}
_STEADY = 1.5
"""The most that the slowest of several times may be of the fastest on a quiet machine."""
_WAITING_S = 0.002
"""A narrow layer that takes longer waits for a thread that does not run."""
_ENOUGH_S, _FEWEST_KINDS = 6.0, 2
"""Further types are left out after so long, but not of the first."""


def measure(threads: int, kinds: Sequence[str] = KINDS) -> tuple[KernelSpeeds, bool]:
    """The speeds, and True if the machine took the same time for the same work. Raises LocalSpecError."""
    size_bytes = _DEVICE_BYTES if choose(list_devices(native()), None) else _RAM_BYTES
    layer_s = {batch: spent_s / _NARROW.n_layers for batch, (spent_s, _) in _times(_NARROW, "F16", threads).items()}
    byte_s: dict[str, dict[int, float]] = {}
    spreads: list[float] = []
    deadline = time.monotonic() + _ENOUGH_S
    for kind in kinds:
        if time.monotonic() > deadline and len(byte_s) >= _FEWEST_KINDS:
            break
        n_layers = max(1, round(size_bytes / _BYTES_OF[kind]))
        shape = SampleShape(_WIDE, _FEED_FORWARD, n_layers)
        measured = _times(shape, kind, threads)
        whole = matrix_bytes(shape, kind)
        byte_s[kind] = {
            batch: max(spent_s - n_layers * layer_s[batch], 0.1 * spent_s) / whole
            for batch, (spent_s, _) in measured.items()
        }
        spreads.append(measured[1][1])
    steady = sorted(spreads)[len(spreads) // 2] < _STEADY and layer_s[1] < _WAITING_S
    return KernelSpeeds(byte_s, layer_s), steady


def _times(shape: SampleShape, kind: str, threads: int) -> Mapping[int, tuple[float, float]]:
    """Seconds for each batch of ``_BATCHES``, the fastest of several times, and the slowest as a multiple of it."""
    with TemporaryDirectory(prefix="localspec-") as folder:
        path = Path(folder) / "sample.gguf"
        write_sample(path, shape, kind, _N_CTX)
        settings = LoadSettings(path, max(_BATCHES), n_ctx=_N_CTX, threads=threads, batch_tokens=max(_BATCHES))
        model = LlamaModel.open(settings, Cancellation())
        try:
            return {batch: _batch_s(model, batch) for batch in _BATCHES}
        finally:
            model.close()


def _batch_s(model: LlamaModel, batch: int) -> tuple[float, float]:
    tokens = [n % N_VOCAB for n in range(_BATCHES[-1] + 1)]
    spent_s = []
    for _ in range(1 + (_SINGLE_REPEATS if batch == 1 else _REPEATS)):
        started = time.perf_counter()
        model.logits(tokens, batch)
        spent_s.append(time.perf_counter() - started)
    return min(spent_s[1:]), max(spent_s[1:]) / min(spent_s[1:])


def main() -> None:
    speeds, steady = measure(int(sys.argv[1]))
    sys.stdout.write(json.dumps(speeds.to_dict() | {"steady": steady}))


if __name__ == "__main__":
    main()
