"""The optional extras (plots, traces, the browser) and the command that installs one."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from shlex import join, quote


def install_extra(extra: str) -> str:
    """The command that installs the requirements of ``extra`` into this Python.

    It names the requirements, not LocalSpec: a package index may have a stranger's project of that name.
    """
    python = quote(sys.executable)
    tool = f"uv pip install --python {python}" if find_spec("pip") is None else f"{python} -m pip install"
    return f"{tool} {join(_requirements(extra) or [f'{Path(__file__).parents[2]}[{extra}]'])}"


def _requirements(extra: str) -> list[str]:
    """The requirements in the package metadata; none in a checkout that is not installed."""
    try:
        lines = requires("localspec") or []
    except PackageNotFoundError:
        return []
    split = (line.partition(";") for line in lines)
    return [need.strip() for need, _, marker in split if re.search(rf"\bextra == ['\"]{extra}['\"]", marker)]
