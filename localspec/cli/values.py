"""The values of options, of the kinds that settings have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from localspec.config.kinds import RefusedValue, ValueKind


class ValueParam(click.ParamType[Any]):
    """A value of a kind, as the program takes it.

    In place of click's own types: they let NaN and infinity through.
    """

    name = "value"

    def __init__(self, kind: ValueKind) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._kind.from_option(value)
        except RefusedValue as refusal:
            self.fail(f"{refusal}.", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self._kind.metavar


class PathParam(click.Path[Path]):
    """The path of a file or a folder. An empty one is refused: to pathlib it is the folder where the program runs."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value == "":
            self.fail("it is empty.", param, ctx)
        return super().convert(value, param, ctx)
