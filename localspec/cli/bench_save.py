"""``localspec bench --save``: writes the recommended options into the settings of the pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localspec.base.errors import UsageError

if TYPE_CHECKING:
    from localspec.config import Value
    from localspec.insight.bench.result import BenchResult
    from localspec.runtime.chat_config import ChatConfig

_PAIR, _SPEC, _DEPTH = "model.pair", "speculation.spec", "speculation.depth"


def check_save(launches: Sequence[ChatConfig]) -> None:
    """Raise UsageError, before anything is measured, if it is not clear what to save."""
    if len({launch.pair_id for launch in launches}) > 1:
        raise UsageError("--save is for one pair, and several are measured.", "Leave it out, or name one pair.")
    if launches[0].pair_id is None:
        raise UsageError("--save needs a pair, and --target is a file.", "`localspec pairs add` makes a pair of it.")


def save(result: BenchResult, chat_config: ChatConfig) -> str:
    """Write the recommended drafters and depth for the pair, and use it if another is set; what was written, in words.

    Raises ConfigError.
    """
    from localspec.cli.bench_table import PairSummary
    from localspec.config import find_setting, read_config
    from localspec.config.file import write_value
    from localspec.config.kinds import shown
    from localspec.insight.bench.verdict import recommended
    from localspec.models.pairs import BUILTIN_ID

    way = recommended(PairSummary.of(result.pairs[0]).verdict) if result.pairs and not result.cut_short else None
    if way is None:
        why = f"the benchmark was cut short: {result.cut_short}" if result.cut_short else "the figures do not say"
        return f"Nothing was saved; {why}."
    pair = chat_config.pair_id
    assert pair is not None, "check_save has seen to that"
    before = read_config()
    wanted: list[tuple[str, Value | None, str | None]] = []
    if pair != before.values.get(_PAIR, BUILTIN_ID):
        wanted.append((_PAIR, pair, None))
    wanted += [(name, value, pair) for name, value in values_of(way).items()]
    lines = []
    for name, value, scope in wanted:
        setting = find_setting(name)
        assert setting is not None
        if before.of_pair(scope).get(name) != value:
            write_value(setting, value, scope)
            written = setting.name_in(scope)
            lines.append(f"no {written}" if value is None else f"{written} = {shown(value)}")
    if not lines:
        return f"{before.path} says so already."
    return f"Saved to {before.path}: {', '.join(lines)}."


def values_of(way: str) -> dict[str, Value | None]:
    """The settings that make replies in this way; None where nothing is to be set.

    >>> values_of("draft+suffix at 3")
    {'speculation.spec': 'draft,suffix', 'speculation.depth': 3}
    >>> values_of("auto"), values_of("plain")["speculation.spec"]
    ({'speculation.spec': 'auto', 'speculation.depth': 'auto'}, 'off')
    """
    from localspec.insight.bench.trials import AUTO, PLAIN

    if way == PLAIN:
        return {_SPEC: "off", _DEPTH: None}
    name, _, depth = way.partition(" at ")
    return {_SPEC: name.replace("+", ","), _DEPTH: int(depth) if depth else AUTO}
