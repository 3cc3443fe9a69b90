"""Likely causes of a changed figure: traits of replies that changed with it."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import median

from localspec.engine.settings import Sampling
from localspec.insight.stats.drift import REACH
from localspec.insight.stats.groups import BY
from localspec.insight.stats.subjects import Subject
from localspec.store import ModelFileRecord, ReplyRecord

_MOST, _FEW = 0.8, 0.2
"""A trait has changed if most replies since have a value that few had before."""
_SLOWER = 1.25

Traits = Mapping[str, str]
"""The traits of a reply by name; empty where unknown, as in replies of older versions."""

_CONTENT = "what is in the file of "


def traits_of(run: ReplyRecord, subject: Subject) -> Traits:
    """The traits of a reply that may explain its figures, named as in a sentence."""
    options = run.about.options
    return {
        "the draft": _file(run.about.draft),
        "the target": _file(run.about.target),
        f"{_CONTENT}the draft": _content(run.about.draft),
        f"{_CONTENT}the target": _content(run.about.target),
        "the chat template": "" if run.about.template is None else f"digest {run.about.template[:12]}",
        "the temperature": f"{options.sampling.temperature:.2g}",
        "another sampling option": _other_sampling(options.sampling),
        "the drafters": "auto" if options.spec is None else "+".join(options.spec) or "none",
        "the depth": "auto" if options.depth is None else str(options.depth),
        "the length of the prompt": BY["context"](run, None)[1] + " tokens",
        "the subject": subject,
    }


@lru_cache(maxsize=256)
def _other_sampling(sampling: Sampling) -> str:
    """Sampling without the temperature as text, cached because successive replies mostly have the same."""
    return repr(replace(sampling, temperature=0.0))


def _file(file: ModelFileRecord | None) -> str:
    if file is None:
        return "none"
    size = "" if file.size_bytes is None else f", {file.size_bytes:,} bytes"
    return f"{file.name}{size}"


def _content(file: ModelFileRecord | None) -> str:
    """The digest of a file's content, in which two files of one name and size differ."""
    return "" if file is None or file.sample is None else f"digest {file.sample[:12]}"


class Circumstances:
    """The traits of past replies: of the latest each, of older ones as counts."""

    def __init__(self) -> None:
        self._latest: deque[Traits] = deque()
        self._older: dict[str, Counter[str]] = {}
        self._verify_ms: array[float] = array("d")

    def add(self, run: ReplyRecord, subject: Subject) -> None:
        self._latest.append(traits_of(run, subject))
        self._verify_ms.append(run.timings.verify_ms / max(run.timings.rounds_n, 1))
        if len(self._latest) > REACH:
            _count(self._latest.popleft(), self._older)

    def changes(self, since_n: int) -> tuple[str, ...]:
        """Sentences, without full stops, about traits that the last replies have and earlier ones had not."""
        before = {name: Counter(values) for name, values in self._older.items()}
        since: dict[str, Counter[str]] = {}
        split = len(self._latest) - since_n
        for number, traits in enumerate(self._latest):
            _count(traits, before if number < split else since)
        found = {name: _change(name, before.get(name, Counter()), values) for name, values in since.items()}
        for model in ("the draft", "the target"):
            if found.get(model):
                # Another file implies another content.
                found[f"{_CONTENT}{model}"] = ""
        slower = _slower(self._verify_ms[:-since_n], self._verify_ms[-since_n:])
        return tuple(filter(None, [*found.values(), slower]))


def _count(traits: Traits, into: dict[str, Counter[str]]) -> None:
    for name, value in traits.items():
        if value:
            into.setdefault(name, Counter())[value] += 1


def _change(name: str, before: Counter[str], since: Counter[str]) -> str:
    (value, n), *_ = since.most_common(1)
    earlier_n = before.total()
    if not earlier_n or n < _MOST * since.total() or before[value] > _FEW * earlier_n:
        return ""
    if name == "another sampling option":
        return f"{name} changed"
    return f"{name} changed, from {before.most_common(1)[0][0]} to {value}"


def _slower(before: Sequence[float], since: Sequence[float]) -> str:
    if not before or not since or median(since) < _SLOWER * median(before):
        return ""
    ratio = median(since) / max(median(before), 1e-9)
    return f"the target needs {ratio:.1f} times as long for a round: other programs, heat, or less of it on the GPU"
