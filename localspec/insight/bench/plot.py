"""The plot of speed-ups, made with matplotlib, an optional extra that is imported only here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localspec.base.errors import OutputError, UsageError, explaining
from localspec.base.extras import install_extra
from localspec.insight.bench.summary import ALL, Cell, series

SUFFIXES = (".svg", ".png")
_COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7")
"""Okabe and Ito's palette, which is safe for colour blindness."""


def check_plot(path: Path) -> None:
    """Raise UsageError, before anything is measured, if the plot cannot be made."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path.name} is not the name of a picture.", f"It must end with {' or '.join(SUFFIXES)}.")
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        text = "Plots need matplotlib, which is not installed."
        raise UsageError(text, f"Install it: {install_extra('plot')}") from None


def draw(path: Path, pairs: Mapping[str, Sequence[Cell]]) -> None:
    """Draw speed-up by subject and acceptance by position, a row for each pair. Raises OutputError."""
    # The object interface: no window, no global state.
    from matplotlib.figure import Figure

    shown = {name: cells for name, cells in pairs.items() if cells}
    figure = Figure(figsize=(10, 3.6 * max(1, len(shown))), layout="constrained")
    axes = figure.subplots(max(1, len(shown)), 2, squeeze=False, width_ratios=(3, 2))
    for (name, cells), (left, right) in zip(shown.items(), axes, strict=False):
        _speedups(left, name, cells)
        _acceptance(right, cells)
    with explaining(OutputError, f"{path} cannot be written", "choose another file"):
        figure.savefig(path, dpi=150)


def _speedups(axes: Any, name: str, cells: Sequence[Cell]) -> None:
    subjects = list(dict.fromkeys(cell.subject for cell in cells))
    shown = series(cells)
    width = 0.8 / len(shown)
    for index, (label, own) in enumerate(shown.items()):
        places = [subjects.index(cell.subject) + (index - (len(shown) - 1) / 2) * width for cell in own]
        spreads = [
            [cell.speedup - cell.interval.low if cell.interval else 0 for cell in own],
            [cell.interval.high - cell.speedup if cell.interval else 0 for cell in own],
        ]
        heights = [cell.speedup for cell in own]
        colour = _COLOURS[index % len(_COLOURS)]
        axes.bar(places, heights, width * 0.92, yerr=spreads, label=label, color=colour, capsize=2)
    axes.axhline(1, color="0.3", linewidth=1)
    # Names are no formulas: "$" is a character of them.
    axes.set_xticks(range(len(subjects)), subjects, parse_math=False)
    axes.set_ylabel("speed-up over plain")
    axes.set_title(name, parse_math=False)
    axes.legend(fontsize="small")


def _acceptance(axes: Any, cells: Sequence[Cell]) -> None:
    deepest = 0
    for index, (label, own) in enumerate(series(cells).items()):
        for cell in own:
            if cell.subject == ALL and cell.acceptance_per_pos:
                depth = len(cell.acceptance_per_pos)
                colour = _COLOURS[index % len(_COLOURS)]
                axes.plot(range(1, depth + 1), cell.acceptance_per_pos, marker="o", color=colour, label=label)
                deepest = max(deepest, depth)
    axes.set_xticks(range(1, deepest + 1))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("position in the draft")
    axes.set_ylabel("accepted of those judged")
