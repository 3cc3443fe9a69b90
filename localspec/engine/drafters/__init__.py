"""The drafters there are, each a file of this package, named as the user names it (``_`` for ``-``).

A file has a function ``make(inputs: DrafterInputs) -> Drafter``. There is no list to add it to.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from localspec.base.errors import UsageError
from localspec.engine.drafter import Drafter, DrafterInputs


def drafter_names() -> tuple[str, ...]:
    """All drafters there are, as ``--spec`` takes them."""
    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(__path__)))


def make_drafter(name: str, parts: DrafterInputs) -> Drafter:
    """The drafter called ``name``. Raises UsageError if there is none, or if it lacks what it is made from."""
    if name not in drafter_names():
        raise UsageError(f"There is no drafter {name!r}.", f"Known drafters: {', '.join(drafter_names())}.")
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    drafter: Drafter = module.make(parts)
    return drafter
