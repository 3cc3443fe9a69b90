"""From runs to medians, and from medians to ratios: per prompt first, then their geometric mean."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

OWN_PLAIN, OWN_AUTO, SERVER_PLAIN = "own:plain", "own:auto", "server:plain"

Cell = tuple[str, float]
"""A prompt at a temperature."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """Median tokens per second of each contestant in each cell."""

    median: dict[str, dict[Cell, float]]
    kinds: dict[str, str]
    """Of the prompts."""

    @staticmethod
    def of(rows: Iterable[dict[str, Any]]) -> Speeds:
        seen: dict[str, dict[Cell, list[float]]] = {}
        kinds: dict[str, str] = {}
        for row in rows:
            kinds[row["prompt"]] = row["kind"]
            cells = seen.setdefault(row["contestant"], {})
            cells.setdefault((row["prompt"], row["temperature"]), []).append(row["predicted_per_second"])
        median = {name: {cell: statistics.median(all_) for cell, all_ in cells.items()} for name, cells in seen.items()}
        return Speeds(median, kinds)

    @property
    def contestants(self) -> list[str]:
        return list(self.median)

    def cells(self, temperature: float | None = None) -> list[Cell]:
        """All cells, by kind as the suite has them."""
        prompts = list(self.kinds)
        order = {prompt: (list(self.kinds.values()).index(self.kinds[prompt]), n) for n, prompt in enumerate(prompts)}
        cells = {cell for measured in self.median.values() for cell in measured}
        wanted = [cell for cell in cells if temperature in (None, cell[1])]
        return sorted(wanted, key=lambda cell: (cell[1], order[cell[0]]))

    @property
    def temperatures(self) -> list[float]:
        return sorted({temperature for measured in self.median.values() for _, temperature in measured})

    def ratios(self, one: str, other: str, cells: Sequence[Cell]) -> list[float]:
        """How many times as fast ``one`` is as ``other``, per cell that both were measured in."""
        a, b = self.median.get(one, {}), self.median.get(other, {})
        return [a[cell] / b[cell] for cell in cells if cell in a and b.get(cell)]

    def mean_ratio(self, one: str, other: str, cells: Sequence[Cell]) -> float | None:
        """The geometric mean of ``ratios``; None if there is none."""
        ratios = self.ratios(one, other, cells)
        return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None

    def best_server(self, cells: Sequence[Cell]) -> str | None:
        """The server with the highest geometric mean over these cells: chosen afterwards, in its favour."""
        servers = [name for name in self.median if name.startswith("server:")]
        complete = [name for name in servers if all(cell in self.median[name] for cell in cells)]
        return max(complete, key=lambda name: _log_mean(self.median[name], cells), default=None)


def _log_mean(speeds: dict[Cell, float], cells: Sequence[Cell]) -> float:
    return statistics.fmean(math.log(speeds[cell]) for cell in cells) if cells else 0.0


@dataclass(frozen=True, slots=True)
class Loss:
    """A cell in which one contestant is slower than another."""

    cell: Cell
    one: str
    other: str
    ratio: float


def losses(speeds: Speeds, one: str, others: Iterable[str]) -> list[Loss]:
    """Every cell where ``one`` is slower, by however little; the worst first."""
    found = []
    for other in others:
        for cell in speeds.cells():
            for ratio in speeds.ratios(one, other, [cell]):
                if ratio < 1:
                    found.append(Loss(cell, one, other, ratio))
    return sorted(found, key=lambda loss: loss.ratio)
