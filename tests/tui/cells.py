"""A screen as text: what each cell holds and how it looks, small enough to keep and to read as a difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from rich.cells import cell_len
from textual.app import App
from textual.color import Color
from textual.geometry import Region

from localspec.tui.tokens.palette import MIN_CONTRAST, contrast

_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")


@dataclass(frozen=True, slots=True)
class Cell:
    """One character and its look."""

    character: str
    colour: str
    background: str
    attributes: str
    look: str
    """Colour, background and attributes in one."""


@cache
def _cell(character: str, colour: str, background: str, attributes: str) -> Cell:
    """One object for all cells that are alike: a screen has thousands, and few are different."""
    look = " ".join(each for each in (colour, f"on {background}", attributes) if each)
    return Cell(character, colour, background, attributes, look)


def cells(app: App[Any]) -> list[list[Cell]]:
    """The screen on top, line by line; zero-width characters belong to the cell before."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        line: list[Cell] = []
        for text, style, control in strip:
            if control:
                continue
            attributes = " ".join(name for name in _ATTRIBUTES if style is not None and getattr(style, name))
            colour = style.color.name if style is not None and style.color is not None else "default"
            background = style.bgcolor.name if style is not None and style.bgcolor is not None else "default"
            line += [_cell(character, colour, background, attributes) for character in text]
        lines.append(line)
    return lines


def text(app: App[Any]) -> str:
    """What is written."""
    return "\n".join("".join(cell.character for cell in line).rstrip() for line in cells(app))


def looks(app: App[Any]) -> str:
    """How it looks: runs of cells that look the same, named by letters, and what these are; blank lines left out."""
    names: dict[str, str] = {}
    rows = []
    for n, line in enumerate(cells(app)):
        runs = []
        for look, run in groupby(line, key=lambda cell: cell.look):
            length = sum(cell_len(cell.character) for cell in run)
            runs.append(f"{names.setdefault(look, _letter(len(names)))}{length}")
        if len(runs) > 1:
            rows.append(f"{n:>2} {' '.join(runs)}")
    return "\n".join([*(f"{name} = {look}" for look, name in names.items()), *rows])


def _letter(n: int) -> str:
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[n]


def faint(app: App[Any], least: float = MIN_CONTRAST, within: Region | None = None) -> set[str]:
    """Words whose cells have less contrast than this; blank cells, bars and lines are no text.

    ``within`` is the part that is to be read; all of the screen by default.
    """
    found = set()
    part = within or app.screen.region
    for whole in cells(app)[part.y : part.bottom]:
        line = whole[part.x : part.right]
        for look, run in groupby(line, key=lambda cell: cell.look):
            word = "".join(cell.character for cell in run).strip()
            if any(each.isalnum() for each in word) and _contrast(line, look) < least:
                found.add(f"{word}: {look}")
    return found


def _contrast(line: list[Cell], look: str) -> float:
    cell = next(each for each in line if each.look == look)
    return contrast(Color.parse(cell.colour), Color.parse(cell.background))
