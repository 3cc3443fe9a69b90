"""The values of the metrics in ``names``, and their page.

The format is OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from localspec.insight.metrics.names import METRIC, METRICS, Metric, MetricKind

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Labels = tuple[str, ...]
"""The values of a metric's labels, in order."""


@dataclass(slots=True)
class _Histogram:
    buckets: list[int]
    """The count of each bucket, not cumulative; the last is above all bounds."""
    total: float = 0.0


@dataclass(slots=True)
class Registry:
    """The current values of all metrics. Not thread-safe."""

    _numbers: dict[tuple[str, Labels], float] = field(default_factory=dict)
    _histograms: dict[tuple[str, Labels], _Histogram] = field(default_factory=dict)

    def count(self, name: str, amount: float, *labels: str) -> None:
        """Add to a counter, or to a gauge that counts."""
        key = (name, labels)
        self._numbers[key] = self._numbers.get(key, 0) + amount

    def set(self, name: str, value: float | None, *labels: str) -> None:
        """Set a gauge; None leaves it as it is."""
        if value is not None:
            self._numbers[name, labels] = value

    def observe(self, name: str, value: float | None, *labels: str) -> None:
        """Add a value to a histogram; None is ignored."""
        if value is None:
            return
        bounds = METRIC[name].bounds
        histogram = self._histograms.setdefault((name, labels), _Histogram([0] * (len(bounds) + 1)))
        histogram.buckets[bisect_left(bounds, value)] += 1
        histogram.total += value

    def page(self) -> str:
        """The OpenMetrics text, without families that have no value."""
        lines = [line for metric in METRICS for line in self._family(metric)]
        return "\n".join([*lines, "# EOF", ""])

    def _family(self, metric: Metric) -> Iterator[str]:
        samples = list(self._samples(metric))
        if samples:
            yield f"# TYPE {metric.name} {metric.kind}"
            yield f"# HELP {metric.name} {_escaped(metric.about)}."
            yield from samples

    def _samples(self, metric: Metric) -> Iterator[str]:
        suffix = "_total" if metric.kind is MetricKind.COUNTER else ""
        for (name, labels), value in sorted(self._numbers.items()):
            if name == metric.name:
                yield f"{name}{suffix}{_labels(metric, labels)} {_number(value)}"
        for (name, labels), histogram in sorted(self._histograms.items(), key=lambda item: item[0]):
            if name == metric.name:
                yield from _histogram_lines(metric, labels, histogram)


def _histogram_lines(metric: Metric, labels: Labels, histogram: _Histogram) -> Iterator[str]:
    passed = 0
    for bound, n in zip((*metric.bounds, math.inf), histogram.buckets, strict=True):
        passed += n
        le = "+Inf" if bound == math.inf else repr(bound)
        yield f"{metric.name}_bucket{_labels(metric, labels, le=le)} {passed}"
    yield f"{metric.name}_sum{_labels(metric, labels)} {_number(histogram.total)}"
    yield f"{metric.name}_count{_labels(metric, labels)} {passed}"


def _labels(metric: Metric, values: Labels, **more: str) -> str:
    named = [*zip(metric.labels, values, strict=True), *more.items()]
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in named) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
