"""The latest rounds as one row of bars: how many proposals of each were accepted."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.engine.events import Round

_BARS = "▁▂▄▅▆▇█"
_NO_DRAFT = "·"


def sparkline(rounds: Sequence[Round], cells: int) -> str:
    """The last ``cells`` rounds, the newest on the right, always ``cells`` wide.

    A bar has a fixed height for each number of accepted proposals (the lowest is none, the highest six and
    more), so the row never rescales; a dot is a round without proposals.
    """
    return "".join(_bar(round_) for round_ in rounds[-cells:] if cells > 0).rjust(max(cells, 0))


def _bar(round_: Round) -> str:
    return _BARS[min(round_.accepted_n, len(_BARS) - 1)] if round_.proposed_n else _NO_DRAFT
