"""The words of llama.cpp, and facts that are read in them."""

from __future__ import annotations

import logging
import subprocess
import sys
from threading import Event, Thread

import pytest

from localspec.engine.backends.llama.native import NativeLog, reason
from localspec.engine.backends.llama.report import (
    cache_types,
    flash_attn_enabled,
    is_locked,
    offloaded_layers,
    only_cuda,
)


class TestReport:
    """Reading what llama.cpp says, where no machine at hand says it."""

    def test_layers_count_as_offloaded_only_with_a_device(self) -> None:
        using = "x: using device CUDA0 (NVIDIA H200) (0000:01:00.0) - 99 MiB free"
        offloaded = "y: offloaded 20/33 layers to GPU"
        assert offloaded_layers([offloaded]) is None
        assert offloaded_layers([using]) is None
        assert offloaded_layers([using, offloaded]) == (20, 33)

    @pytest.mark.parametrize(
        ("devices", "layers", "yes"),
        [
            (["CUDA0 (NVIDIA H200)"], "33/33", True),
            (["CUDA0 (NVIDIA H200)", "CUDA1 (NVIDIA H200)"], "33/33", True),
            (["CUDA0 (NVIDIA H200)"], "32/33", False),
            (["CUDA0 (NVIDIA H200)", "Vulkan1 (Arc)"], "33/33", False),
            (["Metal (Apple M3)"], "33/33", False),
            ([], "33/33", False),
        ],
    )
    def test_cuda_alone_is_cuda_with_every_layer(self, devices: list[str], layers: str, yes: bool) -> None:
        said = [f"x: using device {device} (id) - 99 MiB free" for device in devices]
        assert only_cuda([*said, f"y: offloaded {layers} layers to GPU"]) is yes

    def test_flash_attention_the_device_lacks_is_off(self) -> None:
        assert flash_attn_enabled([], None)
        assert not flash_attn_enabled(["f: Flash Attention not supported, set to disabled"], None)
        assert not flash_attn_enabled(["i: flash_attn is not compatible with Grok - forcing off"], True)
        assert not flash_attn_enabled([], False)

    def test_a_model_without_a_cache_has_no_types(self) -> None:
        assert cache_types(["a: nothing of the kind"]) == (None, None)

    def test_a_lock_the_system_refuses_is_noticed(self) -> None:
        assert is_locked(["all well"])
        assert not is_locked(["warning: failed to mlock 123-byte buffer (after previously locking 0 bytes): no"])


AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from localspec.engine.backends.llama.native import native

barrier = Barrier(4)
with ThreadPoolExecutor(4) as threads:
    print(len(set(threads.map(lambda _: (barrier.wait(), native())[1], range(4)))))
"""


class TestLog:
    def test_threads_that_load_the_library_at_once_have_one_log(self) -> None:
        """A server checks the grammars of its first requests at once."""
        done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=True)
        assert done.stdout == "1\n"

    def test_listeners_that_heard_the_same_are_told_apart(self) -> None:
        """The inner one goes, the outer one hears on."""
        log = NativeLog()
        with log.heard() as outer:
            with log.heard() as inner:
                log.write(3, b"a\n")
            log.write(3, b"b\n")
        assert ([line for _, line in outer], [line for _, line in inner]) == (["a", "b"], ["a"])

    def test_pieces_become_lines(self, caplog: pytest.LogCaptureFixture) -> None:
        """Text without an end of line waits for the rest; dots that stand for progress are no line."""
        log = NativeLog()
        with caplog.at_level(logging.DEBUG, "localspec.llama"), log.heard() as lines:
            log.write(4, b"f: no ")
            log.write(5, b"room\ng: ")
            log.write(5, b"left")
            log.write(2, b".....")
            log.write(2, b"ready\n")
        assert lines == [(logging.ERROR, "f: no room"), (logging.ERROR, "g: left"), (logging.INFO, "ready")]
        assert [(record.levelno, record.message) for record in caplog.records] == lines

    def test_the_first_error_is_the_reason(self) -> None:
        """Later errors only pass it on; the name of the C++ function is no news to a person."""
        log = NativeLog()
        with log.heard() as lines:
            log.write(3, b"a: odd\n")
            log.write(4, b"b: magic is wrong\n")
            log.write(4, b"c: failed\n")
        assert reason(lines) == log.last_error() == "magic is wrong"
        assert reason([]) == ""

    def test_an_error_of_long_ago_is_no_reason(self) -> None:
        log = NativeLog()
        assert log.last_error() == ""
        for line in (b"a: magic is wrong\n", b"b: failed\n"):
            log.write(4, line)
        log.write(2, b"c: loaded another\n")
        for line in (b"d: no room\n", b"e: failed\n"):
            log.write(4, line)
        log.write(2, b"f: goes on\n")
        assert log.last_error() == "no room"

    def test_the_latest_error_is_found_while_another_thread_talks(self) -> None:
        log, over = NativeLog(), Event()

        def talk() -> None:
            while not over.is_set():
                log.write(1, b"a: goes on\n")

        interval_s = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        thread = Thread(target=talk)
        thread.start()
        try:
            assert {log.last_error() for _ in range(5000)} == {""}
        finally:
            over.set()
            thread.join()
            sys.setswitchinterval(interval_s)
