"""The options that say how to load, from the command line to what is opened and across the process boundary."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from localspec.config import setting
from localspec.config.kinds import Choice
from localspec.engine.backends.llama import devices as llama_devices
from localspec.engine.backends.llama.devices import NO_DEVICE
from localspec.engine.backends.llama.load import CACHE_TYPES as LOADABLE
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.codec import decode_request, encode
from localspec.runtime.worker.messages import Load
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld

GIVEN = {
    "projector": ("--projector", Path("eyes.gguf")),
    "n_ctx": ("--ctx", 300),
    "threads": ("--threads", 2),
    "draft_threads": ("--draft-threads", 1),
    "gpu_layers": ("--gpu-layers", 4),
    "draft_gpu_layers": ("--draft-gpu-layers", 0),
    "device": ("--device", "CUDA0,CUDA1"),
    "draft_device": ("--draft-device", "none"),
    "rpc": ("--rpc", "10.0.0.2:50052,gpu.local:50052"),
    "require_gpu": ("--require-gpu", True),
    "cache_type_k": ("--cache-type-k", "q8_0"),
    "cache_type_v": ("--cache-type-v", "q4_0"),
    "flash_attn": ("--flash-attn", "on"),
    "mmap": ("--no-mmap", False),
    "mlock": ("--mlock", True),
    "remember_replies": ("--remember-replies", True),
    "keep_caches": ("--keep-caches", True),
}
"""Every field of LoadOptions but the files, as it is said and as it arrives."""
ALL = LoadOptions(
    Path("big.gguf"),
    Path("small.gguf"),
    **{name: value for name, (_, value) in GIVEN.items()},  # type: ignore[arg-type]
)


def words() -> list[str]:
    said = ((option,) if isinstance(value, bool) else (option, str(value)) for option, value in GIVEN.values())
    return [word for words in said for word in words]


def test_no_option_is_forgotten_here() -> None:
    assert {field.name for field in fields(LoadOptions)} == {
        "target",
        "draft",
        "replies",
        "server",
        "server_pair",
        *GIVEN,
    }


@pytest.mark.parametrize("command", ["run", "chat"])
def test_every_option_arrives(localspec: Localspec, command: str) -> None:
    world = FakeWorld()
    done = localspec(command, *FILES, *words(), *(("hello",) if command == "run" else ("--plain",)), world=world)
    assert done.code == 0
    assert world.loads == [ALL]


def test_unsaid_they_are_the_defaults(localspec: Localspec) -> None:
    world = FakeWorld()
    localspec("run", *FILES, "hello", world=world)
    assert world.loads == [LoadOptions(Path("big.gguf"), Path("small.gguf"))]


def test_they_cross_to_the_engine_process() -> None:
    assert decode_request(encode(Load(ALL))) == Load(ALL)


@pytest.mark.parametrize("option", ["--draft-threads", "--draft-gpu-layers", "--draft-device"])
def test_an_option_for_a_draft_that_is_not_there_is_refused(localspec: Localspec, option: str) -> None:
    """Rather than ignored."""
    done = localspec("run", "--target", "big.gguf", option, "1", "hello", world=FakeWorld())
    assert done.code == 2
    assert f"{option} is for a draft" in done.err


def test_the_types_offered_are_those_that_can_be_loaded() -> None:
    assert setting("cache_type_k").kind == setting("cache_type_v").kind == Choice(tuple(LOADABLE))


def test_the_word_for_the_cpu_is_the_same_everywhere() -> None:
    assert llama_devices.NO_DEVICE == NO_DEVICE
