"""What those who follow replies have to say, on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.witness import Witness


def print_news(witness: Witness, wait_s: float = 0.0) -> None:
    """Print what was not told yet; waits at most so long for what is still being found out."""
    for news in witness.news(wait_s):
        print(f"localspec: {news.text}", file=sys.stderr, flush=True)
