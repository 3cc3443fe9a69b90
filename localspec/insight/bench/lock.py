"""The lock that lets one benchmark run at a time: two would measure each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from localspec.base.errors import OWN_FOLDER, CapacityError, ConfigError, refused
from localspec.base.file_lock import file_lock
from localspec.base.paths import user_paths


@contextmanager
def bench_lock() -> Iterator[None]:
    """Hold the lock. Raises CapacityError if another benchmark of this user holds it, ConfigError."""
    file = user_paths().data / "bench.lock"
    lock = ExitStack()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.enter_context(file_lock(file, wait=False))
    except BlockingIOError:
        raise CapacityError(
            "Another localspec bench is running; two would measure each other.", "Wait until it has ended, or stop it."
        ) from None
    except OSError as error:
        raise ConfigError(*refused(f"{file} cannot be written", error, OWN_FOLDER)) from error
    with lock:
        yield
