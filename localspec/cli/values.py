"""The numbers of options that are no settings."""

from __future__ import annotations

import math
from typing import Any

import click

from localspec.config.kinds import excess

_LONGEST_NAME = 256


class NumberParam(click.ParamType[int | float]):
    """A finite number within a range, of an option that is no setting.

    click's own ranges let NaN and infinity through, and repeat in the help what the sentence there says.
    """

    name = "number"

    def __init__(self, within: click.IntRange | click.FloatRange) -> None:
        self._within = within

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        number = self._within.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        if self._within.max is None and (bound := excess(number)):
            self.fail(f"{value!r} is too large; it should be {bound}.", param, ctx)
        return number

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "N" if isinstance(self._within, click.IntRange) else "F"
