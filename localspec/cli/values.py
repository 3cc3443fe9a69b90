"""What the values of options are made of."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

from localspec.base.errors import NotFoundError, UsageError
from localspec.config.kinds import RefusedValue, excess
from localspec.config.record_kinds import NONE, PortOrFile
from localspec.config.record_kinds import OutFile as OutFileKind
from localspec.config.texts import read_text
from localspec.engine.settings import BANNED

_LONGEST_NAME = 256


class NumberParam(click.ParamType[int | float | None]):
    """A finite number within a range, or ``auto`` (None) where that is allowed.

    click's own ranges let NaN and infinity through, and repeat in the help what the sentence there says.
    """

    name = "number"

    def __init__(self, within: click.IntRange | click.FloatRange, *, auto: bool = False) -> None:
        self._within = within
        self._auto = auto

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float | None:
        if self._auto and value == "auto":
            return None
        number = self._within.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        if self._within.max is None and (bound := excess(number)):
            self.fail(f"{value!r} is too large; it should be {bound}.", param, ctx)
        return number

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        letter = "N" if isinstance(self._within, click.IntRange) else "F"
        return f"auto|{letter}" if self._auto else letter


class TextOrFileParam(click.ParamType[str]):
    """A text, or ``@`` and the name of a UTF-8 file that has it."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.startswith("@"):
            if "\n" not in value and len(value) < _LONGEST_NAME and Path(value).is_file():
                raise UsageError(f"{value} is a file, and taken as the text itself.", f"Write @{value} to read it.")
            return str(value)
        path = Path(value[1:]).expanduser()
        return read_text(path)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "TEXT|@FILE"


class LogitBias(click.ParamType[tuple[int, float]]):
    """``ID=BIAS`` with a number or ``ban``; llama.cpp's ``ID+BIAS`` and ``ID-BIAS`` too."""

    name = "bias"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, float]:
        form = re.fullmatch(r"(?P<id>\d{1,9})(=(?P<bias>[^=]+)|(?P<signed>[+-].+))", value)
        if form is None:
            self.fail(f"{value!r} is not of the form ID=BIAS.", param, ctx)
        bias = form["bias"] or form["signed"]
        try:
            return int(form["id"]), BANNED if bias == "ban" else float(bias)
        except ValueError:
            self.fail(f"{bias!r} is neither a number nor 'ban'.", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "ID=BIAS"


class OutFileParam(click.ParamType[int | Path | None]):
    """A file to write, or where allowed a port of this machine; ``none`` (None) is neither."""

    name = "file"

    def __init__(self, *, or_port: bool = False) -> None:
        self._or_port = or_port
        self._kind = PortOrFile() if or_port else OutFileKind()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | Path | None:
        if value is None or isinstance(value, Path):
            return value
        try:
            checked = self._kind.check(value)
        except RefusedValue as refusal:
            self.fail(f"{refusal}.".replace("it should", "It should", 1), param, ctx)
        if isinstance(checked, int):
            return checked
        try:
            return None if checked == NONE else Path(str(checked)).expanduser()
        except RuntimeError:
            raise NotFoundError(f"There is no home for {checked}.", "Name the file with all of its folders.") from None

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"PORT|FILE|{NONE}" if self._or_port else f"FILE|{NONE}"
