"""One benchmark at a time: two would measure each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from localspec.base.errors import OWN_FOLDER, CapacityError, ConfigError, refused
from localspec.base.paths import user_paths


@contextmanager
def alone() -> Iterator[None]:
    """Raises CapacityError if another benchmark of this user runs. The system drops the lock with its holder."""
    from filelock import FileLock, Timeout

    file = user_paths().data / "bench.lock"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file, timeout=0)
        lock.acquire()
    except Timeout:
        raise CapacityError(
            "Another localspec bench is running; two would measure each other.", "Wait until it has ended, or stop it."
        ) from None
    except OSError as error:
        raise ConfigError(*refused(f"{file} cannot be written", error, OWN_FOLDER)) from error
    try:
        yield
    finally:
        lock.release()
