"""The optional extras, for pictures, traces and the browser: the command that installs what one of them needs."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from shlex import join, quote


def install_extra(extra: str) -> str:
    """The command that installs what ``extra`` needs, for this very Python.

    It names what is needed, not LocalSpec: an index of packages may have a stranger's project of that name.
    """
    python = quote(sys.executable)
    tool = f"uv pip install --python {python}" if find_spec("pip") is None else f"{python} -m pip install"
    return f"{tool} {join(_requirements(extra) or [f'{Path(__file__).parents[2]}[{extra}]'])}"


def _requirements(extra: str) -> list[str]:
    """As the metadata has them; none in a checkout that is run without having been installed."""
    try:
        lines = requires("localspec") or []
    except PackageNotFoundError:
        return []
    split = (line.partition(";") for line in lines)
    return [need.strip() for need, _, marker in split if re.search(rf"\bextra == ['\"]{extra}['\"]", marker)]
