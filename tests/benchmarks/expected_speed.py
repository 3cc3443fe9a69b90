"""The expected speed of models on this machine beside the measured one.

    python -m tests.benchmarks.expected_speed --target bench-target.gguf --types q4_0 q4_k_m q8_0 --threads 1 2

Each type is made of the target with llama.cpp's own quantisation. For each number of threads the kernels are measured
in a child process, then every model is asked for plain tokens in turns, and with ``--draft`` the pair for replies.
Prints a table; the last column is expected over measured.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished
from localspec.gguf import read_header
from localspec.gguf.draft_heads import DRAFT
from localspec.models.token_work import token_work
from localspec.runtime.load import open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.speed.expectation import DraftWork, expected_speed
from localspec.runtime.speed.measurement import measure_kernels
from localspec.runtime.speed.speed_file import MachineSpeed

_FILE_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 7, "q4_k_m": 15, "q5_k_m": 17, "q6_k": 18, "iq4_xs": 30}
_BEFORE_N, _TOKENS_N = 48, 24
_PROMPTS = ("What is speculative decoding?", "Count from 1 to 20.", "Tell me a story about a fox.")


def quantised(path: Path, kind: str, folder: Path) -> Path:
    """The same network at another type; its text is of no interest."""
    c, out = native().c, folder / f"{path.stem}-{kind}.gguf"
    params = c.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = _FILE_TYPES[kind], True
    if c.llama_model_quantize(os.fsencode(path), os.fsencode(out), params) != 0:
        raise SystemExit(f"{path.name} cannot be quantised as {kind}")
    return out


def plain_per_second(path: Path, threads: int) -> float:
    """Tokens a second without a draft, behind a short context, by the fastest of two dozen evaluations."""
    model = LlamaModel.open(LoadSettings(path, 1, n_ctx=512, threads=threads), Cancellation())
    try:
        text = [n % model.vocab.n_vocab for n in range(100, 100 + _BEFORE_N + _TOKENS_N)]
        model.logits(text[:_BEFORE_N], 0)
        spent_s = []
        for end in range(_BEFORE_N + 1, len(text) + 1):
            started = time.perf_counter()
            model.logits(text[:end], 1)
            spent_s.append(time.perf_counter() - started)
        return 1 / min(spent_s)
    finally:
        model.close()


def replies_per_second(target: Path, draft: Path, threads: int) -> tuple[float, float]:
    """Tokens a second with the draft over a few prompts, and the accepted share of its proposals."""
    pair = open_pair(LoadOptions(target, draft, n_ctx=1024, threads=threads), Cancellation())
    speeds, accepted, proposed = [], 0, 0
    for prompt in _PROMPTS:
        for event in pair.reply([Message(Role.USER, prompt)], ReplyOptions(max_tokens=120)):
            if isinstance(event, Finished) and event.timings.predicted_per_second:
                speeds.append(event.timings.predicted_per_second)
                accepted += event.timings.draft_n_accepted
                proposed += event.timings.draft_n
    pair.close()
    return median(speeds), accepted / max(1, proposed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--types", nargs="+", default=["q4_0", "q4_k_m", "q8_0"], choices=_FILE_TYPES)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print("| model | threads | expected | measured | expected / measured |\n| --- | ---: | ---: | ---: | ---: |")
    with TemporaryDirectory(prefix="localspec-") as folder:
        models = {args.target.stem: args.target} | ({args.draft.stem: args.draft} if args.draft else {})
        for kind in args.types:
            models[f"target at {kind}"] = quantised(args.target, kind, Path(folder))
        for threads in args.threads:
            compare(models, threads, args.repeats)
            if args.draft:
                with_draft(args.target, args.draft, threads)


def machine_now(threads: int) -> MachineSpeed:
    """The machine as it is measured now."""
    measured = measure_kernels(threads, timeout_s=120)
    if measured is None:
        raise SystemExit("the kernels could not be measured")
    return MachineSpeed("", measured.kernels, measured.steady)


def compare(models: Mapping[str, Path], threads: int, repeats: int) -> None:
    """A row for each model: medians of what is expected and of what is measured, in turns."""
    expected: dict[str, list[float]] = {name: [] for name in models}
    measured: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(repeats):
        machine = machine_now(threads)
        for name, path in models.items():
            found = expected_speed(token_work([read_header(path)]), machine)
            assert found is not None
            expected[name].append(found.plain_per_second)
            measured[name].append(plain_per_second(path, threads))
    for name in models:
        row(name, threads, median(expected[name]), median(measured[name]))


def with_draft(target: Path, draft: Path, threads: int) -> None:
    """The pair, at the usual chance of its kind, and at the chance that its proposals really had."""
    machine = machine_now(threads)
    speed, chance = replies_per_second(target, draft, threads)
    works = [token_work([read_header(path)]) for path in (target, draft)]
    for name, known in (("unknown", {}), (f"{chance:.2f}", {DRAFT: (chance * 1e6, 1e6)})):
        learned = replace(machine, acceptance=known)
        found = expected_speed(works[0], learned, DraftWork(DRAFT, works[1]))
        assert found is not None
        row(f"with draft, acceptance {name}", threads, found.per_second, speed)


def row(name: str, threads: int, expected: float, measured: float) -> None:
    print(f"| {name} | {threads} | {expected:.1f} | {measured:.1f} | {expected / measured:.2f} |", flush=True)


if __name__ == "__main__":
    main()
