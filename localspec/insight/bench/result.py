"""The result of a benchmark, and its JSON file with every reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from localspec.base.bounded_file import UnfitFileError, read_file
from localspec.base.errors import InputError, NotFoundError
from localspec.insight.bench.sample import Sample

FORMAT = 1
_MOST_BYTES = 64_000_000


@dataclass(slots=True)
class PairResult:
    """The measurements of one pair, or the reason why there are none."""

    pair: str
    """The id of the pair, or the names of its files."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Device, threads, sizes and memory, as JSON values."""
    samples: list[Sample] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Prompts that could not be measured, with the reason."""
    notes: list[str] = field(default_factory=list)
    """Remarks about other activity of the machine."""
    error: str | None = None

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PairResult:
        samples = [Sample.from_dict(each) for each in data["samples"]]
        return PairResult(
            str(data["pair"]),
            dict(data["facts"]),
            samples,
            dict(data["left_out"]),
            list(data["notes"]),
            data.get("error"),
        )


@dataclass(slots=True)
class BenchResult:
    """One run of ``localspec bench``."""

    created: str = ""
    cut_short: str | None = None
    """The reason why it ended early, if it did."""
    settings: dict[str, Any] = field(default_factory=dict)
    pairs: list[PairResult] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


def read_result(path: Path) -> BenchResult:
    """Read the file of an earlier run. Raises NotFoundError, InputError."""
    hint = "Name a file that localspec bench --out has written."
    try:
        data = json.loads(read_file(path, _MOST_BYTES))
        if not isinstance(form := data["format"], int):
            raise TypeError(form)
        if form != FORMAT:
            raise InputError(f"{path} is of another version of LocalSpec (format {form}).", "Measure again.")
        pairs = [PairResult.from_dict(pair) for pair in data["pairs"]]
        return BenchResult(str(data["created"]), data.get("cut_short"), dict(data["settings"]), pairs)
    except UnfitFileError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", hint) from error
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}.", hint) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a result of localspec bench.", hint) from error
