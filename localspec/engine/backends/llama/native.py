"""llama.cpp as a library: loaded once a process, its talk caught, its stop callback free of Python.

Everything llama.cpp says goes to the logger ``localspec.llama`` and, for error messages, into a short
memory of the latest lines; nothing reaches the terminal. Knows nothing of models or contexts.
"""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import dropwhile, takewhile
from threading import Lock
from typing import Any

from localspec.base.child_exit import BUILD_HINT
from localspec.base.errors import EngineError
from localspec.base.visible import visible_line

logger = logging.getLogger("localspec.llama")

# ggml's log levels; 5 continues the line before.
_LEVELS = {0: logging.INFO, 1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}
_CONTINUED = 5
_REMEMBERED_LINES = 400


class NativeLog:
    """llama.cpp's log, line by line. Called from any thread."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED_LINES)
        self._level = logging.INFO
        self._partial = ""
        self._listeners: list[list[tuple[int, str]]] = []

    def write(self, ggml_level: int, text: bytes) -> None:
        """Take a piece of a line, a line or several."""
        if ggml_level != _CONTINUED:
            self._flush()
            self._level = _LEVELS.get(ggml_level, logging.INFO)
        *lines, self._partial = (self._partial + text.decode("utf-8", errors="replace")).split("\n")
        for line in lines:
            self._line(line)

    @contextmanager
    def heard(self) -> Iterator[list[tuple[int, str]]]:
        """The lines logged during a ``with``, as (level, line); the list grows until it ends."""
        lines: list[tuple[int, str]] = []
        self._listeners.append(lines)
        try:
            yield lines
        finally:
            self._flush()
            # By identity: two listeners that heard the same are equal.
            self._listeners = [listener for listener in self._listeners if listener is not lines]

    def last_error(self) -> str:
        """The latest error, of several in a row the first, without the name of the C++ function; empty without any."""
        # A copy: another thread may add a line meanwhile.
        latest = list(dropwhile(lambda line: not _is_error(line), reversed(tuple(self._lines))))
        return reason(list(takewhile(_is_error, latest))[::-1])

    def _flush(self) -> None:
        line, self._partial = self._partial, ""
        self._line(line)

    def _line(self, line: str) -> None:
        if not line.strip(" ."):
            return  # an empty line, or the dots that stand for progress
        line = visible_line(line)  # it may quote the file, and goes to logs and into errors
        self._lines.append((self._level, line))
        for listener in self._listeners:
            listener.append((self._level, line))
        logger.log(self._level, "%s", line)


def reason(lines: list[tuple[int, str]]) -> str:
    """The first error among ``lines``: the later ones only pass it on. Empty if there is none."""
    line = next((line for _, line in filter(_is_error, lines)), "")
    _, separator, rest = line.partition(": ")
    return (rest if separator else line).strip()


def _is_error(line: tuple[int, str]) -> bool:
    return line[0] >= logging.ERROR


class Native:
    """The C functions, and what must live as long as they do."""

    def __init__(self) -> None:
        """Raises EngineError where llama.cpp is not installed or does not load."""
        self.c: Any = _llama_h()
        """llama.h, function by function; untyped, since its stubs do not pass a strict check."""
        c = self.c
        self.ggml = _ggml(c)
        """The functions of ggml.h about devices."""
        self.log = NativeLog()
        self.log_callback = c.llama_log_callback(lambda level, text, _: self.log.write(level, text))
        c.llama_log_set(self.log_callback, ctypes.c_void_p(0))
        c.llama_backend_init()
        self.abort_if_set = _atoi_as(c.ggml_abort_callback)
        """Stops a graph once its data, a C string, reads "1"."""

    @property
    def build(self) -> str:
        """The build, and what it uses of the processor, in llama.cpp's own words."""
        words = [self.c.llama_print_system_info(), *map(self._word, ("ggml_version", "ggml_commit"))]
        return " ".join(word.decode(errors="replace") for word in words)

    def _word(self, function_name: str) -> bytes:
        """The result of a function without arguments; empty where the library has no such function."""
        function = getattr(self.c._lib, function_name, None)
        if function is None:
            return b""
        function.restype, function.argtypes = ctypes.c_char_p, []
        return function() or b""


def _llama_h() -> Any:
    try:
        # Importing the package installs a callback that prints to standard error; ours replaces it at once.
        from llama_cpp import llama_cpp
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "llama_cpp"
        why = "the package llama-cpp-python is not installed" if missing else str(error).rstrip(".")
        raise EngineError(f"llama.cpp cannot be loaded: {why}.", BUILD_HINT) from error
    return llama_cpp


def declare(library: Any, *functions: tuple[str, Any, Sequence[Any]]) -> None:
    """Declare functions: their names, results and arguments. Raises AttributeError for one that is not there."""
    for name, result, arguments in functions:
        function = getattr(library, name)
        function.restype, function.argtypes = result, list(arguments)


def _ggml(c: Any) -> Any:
    """The functions of ggml that llama_cpp does not declare; they lie in the library it has loaded."""
    pointer = ctypes.c_void_p
    declare(
        c._lib,
        ("ggml_backend_dev_count", ctypes.c_size_t, ()),
        ("ggml_backend_dev_get", pointer, (ctypes.c_size_t,)),
        ("ggml_backend_dev_name", ctypes.c_char_p, (pointer,)),
        ("ggml_backend_dev_description", ctypes.c_char_p, (pointer,)),
        ("ggml_backend_dev_type", ctypes.c_int, (pointer,)),
        ("ggml_backend_dev_memory", None, (pointer, pointer, pointer)),
    )
    return c._lib


def _atoi_as(kind: Any) -> Any:
    """The C library's ``atoi`` as a callback: llama.cpp can ask it without waiting for Python's lock."""
    atoi = ctypes.CDLL(None).atoi
    return ctypes.cast(atoi, kind)


_loading = Lock()
"""Held while the library is loaded: of two threads that load it, llama.cpp would talk to the later one alone."""


def native() -> Native:
    """The library of this process; the first call loads it, and raises EngineError where it cannot."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> Native:
    # Without any handler Python would print warnings to standard error by itself.
    logging.getLogger("localspec").addHandler(logging.NullHandler())
    return Native()
