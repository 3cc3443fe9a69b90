"""A race recorded on a pair of a real size, for comparison: the built-in pair is too small to gain by speculation.

The figures stand in ``docs/benchmarks.md``, which a test holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from localspec.runtime import figures

_BAR_CELLS = 36


@dataclass(frozen=True, slots=True)
class RecordedRace:
    """Speeds for one prompt with and without guesses, with the pair and the machine they were measured on."""

    prompt: str
    pair: str
    machine: str
    plain_per_second: float
    speculative_per_second: float

    def rows(self) -> list[str]:
        """A sentence about the recording, then a bar with the speed of each of the two runs."""
        speedup = figures.times(self.speculative_per_second / self.plain_per_second)
        return [
            f"For comparison, a recording: {self.pair}, {self.machine}, {self.prompt}.",
            self._bar("without guesses", self.plain_per_second),
            f"{self._bar('with guesses', self.speculative_per_second)}, {speedup}",
        ]

    def _bar(self, name: str, per_second: float) -> str:
        cells = round(_BAR_CELLS * per_second / self.speculative_per_second)
        return f"{name:<15} {'━' * cells:<{_BAR_CELLS}} {figures.speed(per_second)} tokens/s"


RECORDED = RecordedRace(
    prompt="a story about a fox",
    pair="a target of 1.4 billion parameters and a draft of 95 million (the built-in pair padded to that size)",
    machine="two cores of a Xeon",
    plain_per_second=11.0,
    speculative_per_second=25.8,
)
