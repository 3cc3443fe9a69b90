"""Plug-ins: modules that a package finds by their file names. They are listed without being imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path


def plugin_files(package: str) -> Mapping[str, Path]:
    """The modules of ``package`` by the names that people use, ``-`` for ``_``, in alphabetical order.

    Imports the parents of ``package`` alone.
    """
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    paths = [path for folder in folders or () for path in Path(folder).glob("*.py") if path.stem != "__init__"]
    return {path.stem.replace("_", "-"): path for path in sorted(paths, key=lambda path: path.stem)}
