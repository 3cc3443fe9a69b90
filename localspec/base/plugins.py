"""Plug-ins: modules that a package finds by their file names. They are listed without being imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules


def plugin_files(package: str) -> Mapping[str, Path]:
    """The modules of ``package`` by the names that people use, ``-`` for ``_``, in alphabetical order.

    Imports the parents of ``package`` alone.
    """
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    files = {
        module.name.replace("_", "-"): Path(folder) / f"{module.name}.py"
        for folder in folders or ()
        for module in iter_modules([folder])
    }
    return dict(sorted(files.items()))
