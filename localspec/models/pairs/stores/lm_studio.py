"""LM Studio: ``models/OWNER/NAME/FILE`` in its present or its former folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from localspec.models.pairs.stores.found import Found, home, in_folder

NAME = "LM Studio"


def find(environ: Mapping[str, str]) -> Iterator[Found]:
    for folder in (home(environ) / ".lmstudio" / "models", home(environ) / ".cache" / "lm-studio" / "models"):
        yield from in_folder(folder, NAME)
