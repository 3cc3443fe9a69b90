"""The alert rules in docs/: every metric in them exists, and every alert has its paragraph."""

from __future__ import annotations

import re

from localspec.insight.metrics.names import METRICS, MetricKind
from tests.readme import DOCS

RULES = (DOCS / "examples" / "alerts.yml").read_text(encoding="utf-8")
SUFFIXES = {
    MetricKind.COUNTER: ("_total",),
    MetricKind.GAUGE: ("",),
    MetricKind.HISTOGRAM: ("_bucket", "_count", "_sum"),
}


def test_rules_ask_for_metrics_that_exist() -> None:
    """By the names on the page, or by those that the rules record themselves."""
    known = {metric.name + suffix for metric in METRICS for suffix in SUFFIXES[metric.kind]}
    recorded = set(re.findall(r"record: (\S+)", RULES))
    asked = set(re.findall(r"\b(?:vllm|localspec|llamacpp):[\w:]+", "\n".join(re.findall(r"expr: (.*)", RULES))))
    assert asked
    assert asked <= known | recorded
    assert recorded <= asked


def test_brackets_of_rules_match() -> None:
    for expression in re.findall(r"expr: (.*)", RULES):
        for opening, closing in ("()", "[]", "{}"):
            assert expression.count(opening) == expression.count(closing), expression


def test_a_share_of_failures_is_known_where_nothing_went_well() -> None:
    """A counter that nothing has counted is not on the page, and a sum with a missing series is none."""
    shares = re.findall(r"record: localspec:(?:failed|refused):.*\n +expr: (.*)", RULES)
    assert len(shares) == 8
    for share in shares:
        assert re.search(r" / \(sum\(rate\(.*\)\) \+ \(sum\(rate\(.*\)\) or vector\(0\)\)\)$", share), share


def test_a_figure_of_the_last_reply_counts_while_there_are_replies() -> None:
    """It stays on the page when nobody asks any more, as long as the server runs."""
    gauges = [
        metric.name for metric in METRICS if metric.kind is MetricKind.GAUGE and "of the last reply" in metric.about
    ]
    asked = [each for each in re.findall(r"expr: (.*)", RULES) if any(name in each for name in gauges)]
    assert asked
    for expression in asked:
        assert expression.endswith(" and increase(vllm:generation_tokens_total[30m]) > 0")


def test_every_alert_says_what_to_do() -> None:
    headings = re.findall(r"^## (\w+)$", (DOCS / "alerts.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == re.findall(r"alert: (\w+)", RULES)
