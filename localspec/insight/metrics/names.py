"""The table of all metrics, from which the page and its documentation are made.

Metrics that vLLM and llama-server have too use their names (``vllm:``, ``llamacpp:``), so that dashboards for those
work; the others begin with ``localspec:``. Counters end in ``_total`` on the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

PAIR = "model_name"
"""The label for the pair, named as vLLM's label for its model."""


class MetricKind(StrEnum):
    """The types of metrics in OpenMetrics."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric family."""

    name: str
    """Without ``_total``."""
    kind: MetricKind
    about: str
    """Its description, without a full stop."""
    labels: tuple[str, ...] = (PAIR,)
    bounds: tuple[float, ...] = ()
    """The upper bounds of a histogram's buckets, without infinity."""


_TTFT_S = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_TOKEN_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_REPLY_S = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0)
_NATS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_LENGTHS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0)


def _counter(name: str, about: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.COUNTER, about, (PAIR, *labels))


def _gauge(name: str, about: str) -> Metric:
    return Metric(name, MetricKind.GAUGE, about)


def _histogram(name: str, about: str, bounds: tuple[float, ...]) -> Metric:
    return Metric(name, MetricKind.HISTOGRAM, about, bounds=bounds)


DRAFTS = ("num_drafts", "Rounds in which something was proposed")
DRAFT_TOKENS = ("num_draft_tokens", "Proposed tokens")
ACCEPTED_TOKENS = ("num_accepted_tokens", "Proposed tokens that the target accepted")
ACCEPTED_PER_POS = ("num_accepted_tokens_per_pos", "Accepted tokens by their position in the proposal, from 0")
SPEC_DECODE = ("vllm:spec_decode_", "llamacpp:spec_decode_")
"""The prefixes under which vLLM and llama-server have the same names."""


def _speculation() -> Iterator[Metric]:
    for prefix in SPEC_DECODE:
        for name, about in (DRAFTS, DRAFT_TOKENS, ACCEPTED_TOKENS):
            yield _counter(prefix + name, about)
        yield _counter(prefix + ACCEPTED_PER_POS[0], ACCEPTED_PER_POS[1], "position")


METRICS: tuple[Metric, ...] = (
    *_speculation(),
    _counter("vllm:prompt_tokens", "Prompt tokens that were read; those found in the cache are not"),
    _counter("vllm:generation_tokens", "Tokens of replies"),
    _counter("vllm:request_success", "Replies by how they ended", "finished_reason"),
    _gauge("vllm:num_requests_running", "Replies being written now"),
    _gauge("vllm:num_requests_waiting", "Requests that wait for a pair or for a place in its engine (`serve`)"),
    _histogram("vllm:request_queue_time_seconds", "Time that a reply waited before it began (`serve`)", _REPLY_S),
    _histogram("vllm:time_to_first_token_seconds", "Reading the prompt, and the first round", _TTFT_S),
    _histogram("vllm:request_time_per_output_token_seconds", "Time of all rounds of a reply over its tokens", _TOKEN_S),
    _histogram("vllm:e2e_request_latency_seconds", "Reading the prompt, and all rounds", _REPLY_S),
    _histogram("vllm:request_prefill_time_seconds", "Reading the prompt", _REPLY_S),
    _histogram("vllm:request_decode_time_seconds", "All rounds", _REPLY_S),
    _counter("llamacpp:prompt_tokens", "Prompt tokens that were read; those found in the cache are not"),
    _counter("llamacpp:prompt_seconds", "Time spent on reading prompts"),
    _counter("llamacpp:tokens_predicted", "Tokens of replies"),
    _counter("llamacpp:tokens_predicted_seconds", "Time spent in rounds"),
    _gauge("llamacpp:prompt_tokens_seconds", "Prompt tokens read in a second, of the last reply"),
    _gauge("llamacpp:predicted_tokens_seconds", "Tokens in a second, of the last reply"),
    _gauge("llamacpp:requests_processing", "Replies being written now"),
    _gauge("llamacpp:requests_deferred", "Requests that wait for a pair or for a place in its engine (`serve`)"),
    _counter("localspec:rounds", "Rounds of draft, verify and commit, those without a proposal included"),
    _counter("localspec:ignored_tokens", "Proposed tokens past the end of a reply, never judged"),
    _counter("localspec:tokens", "Tokens of replies by where they came from", "origin"),
    _counter("localspec:round_seconds", "Time spent in rounds by what it was spent on", "phase"),
    _counter("localspec:fallback_rounds", "Rounds without a proposal though speculation was on, by why", "reason"),
    _counter("localspec:drafter_failures", "Drafters that failed and were left out of the rest of a reply", "drafter"),
    _counter("localspec:failed_replies", "Replies that broke off with an error, or with the program"),
    _counter("localspec:refused_requests", "Requests that were refused before they began, by why (`serve`)", "reason"),
    _histogram("localspec:mean_acceptance_length", "Tokens a round, of a reply", _LENGTHS),
    _histogram(
        "localspec:draft_divergence_nats",
        "Divergence of draft and target at the first place of a round, in every fourth round",
        _NATS,
    ),
    _gauge("localspec:speedup_vs_plain", "Tokens in a second over those without speculation, of the last reply"),
)
"""All metrics, in the order of the page."""

METRIC = {metric.name: metric for metric in METRICS}


def documentation() -> str:
    """The documentation as a Markdown table."""
    lines = ["| Name | Type | Labels | What it is |", "|---|---|---|---|"]
    for metric in METRICS:
        suffix = "_total" if metric.kind is MetricKind.COUNTER else ""
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}{suffix}` | {metric.kind} | {labels} | {metric.about}. |")
    return "\n".join(lines) + "\n"
