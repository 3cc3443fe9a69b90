"""The syntax trees of files, for laws about the code."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def syntax_tree(path: Path) -> ast.Module:
    """The tree of a Python file.

    Without garbage collection meanwhile: a finalizer of another test's object that fails has its traceback formatted,
    which parses a line, and Python 3.11 raises SystemError where that happens within ``ast.parse`` (gh-106905).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if collects:
            gc.enable()
