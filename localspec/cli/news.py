"""The output of observers' messages on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.cli.report import remark

if TYPE_CHECKING:
    from localspec.insight.observers import Observer


def print_news(observer: Observer, wait_s: float = 0.0) -> None:
    """Print new messages; waits at most so long for a pending evaluation."""
    for news in observer.news(wait_s):
        remark(news.text)
