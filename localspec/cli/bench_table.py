"""The result of a benchmark as tables that fit 80 columns, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.cli.tables import AMBER, DIM, GREEN, RED, coloured, columns, paragraph
from localspec.gguf.draft_heads import DRAFTERS
from localspec.insight.bench.compare import BenchChange, BenchComparison, losses
from localspec.insight.bench.result import BenchResult, PairResult
from localspec.insight.bench.summary import ALL, Cell, cells, series
from localspec.insight.bench.verdict import BenchVerdict, recommended, verdict
from localspec.runtime.figures import MISSING, length, percent, size, speed, times

_HEADS = ("SUBJECT", "PLAIN", "SPEC", "SPEED-UP", "BETWEEN", "ACCEPTED", "LENGTH", "DRAFT", "VERIFY", "HOST")
_GAP = " "
"""Ten columns fill a line."""
_COLOURS = {"pays": GREEN, "costs": RED, "equal": DIM, "mixed": AMBER, "open": AMBER}


@dataclass(frozen=True, slots=True)
class PairSummary:
    """A pair's figures with their verdict."""

    pair: PairResult
    cells: list[Cell]
    verdict: BenchVerdict

    @staticmethod
    def of(pair: PairResult) -> PairSummary:
        found = cells(pair.samples)
        return PairSummary(pair, found, verdict(found))

    @property
    def sentence(self) -> str:
        if self.pair.error and not self.pair.samples:
            return f"Cannot be used: {self.pair.error}"
        return self.verdict.sentence

    @property
    def advice(self) -> str | None:
        """The recommended options."""
        way = recommended(self.verdict)
        return None if way is None else options_of(way)


def options_of(way: str) -> str:
    """The options of a condition on the command line."""
    if way == "plain":
        return "--spec off"
    name, _, depth = way.partition(" at ")
    return f"--spec {name.replace('+', ',')} --depth {depth or 'auto'}"


def as_text(result: BenchResult) -> str:
    """The whole result for a terminal."""
    lines: list[str] = []
    if result.cut_short:
        lines += [coloured(f"Cut short: {result.cut_short}. These are the replies measured until then.", AMBER), ""]
    for pair in result.pairs:
        summary = PairSummary.of(pair)
        lines += [*_pair_lines(summary), ""]
    lines.append(paragraph("Speeds are tokens/s, medians over replies; BETWEEN holds the true median 19 times of 20."))
    return "\n".join(lines)


def as_markdown(result: BenchResult) -> str:
    """The whole result as Markdown."""
    lines = ["# localspec bench", ""]
    if result.cut_short:
        lines += [f"*Cut short: {result.cut_short}.*", ""]
    for pair in result.pairs:
        summary = PairSummary.of(pair)
        lines += [f"## {pair.pair}", "", f"**{summary.sentence}**", ""]
        if summary.advice:
            lines += [f"Recommended: `{summary.advice}`", ""]
        for title, group in series(summary.cells).items():
            lines += [f"### {title}", "", "| " + " | ".join(_HEADS) + " |", "| --- " + "| ---: " * 9 + "|"]
            lines += ["| " + " | ".join(_row(cell)) + " |" for cell in group]
            lines += ["", *(f"- {line}" for line in _asides(group)), ""]
        lines += [f"- {line}" for line in _pair_asides(pair)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def comparison_text(found: Sequence[BenchComparison]) -> str:
    """The changes, one a line, and their summary."""
    if not found:
        return "Nothing to compare: the earlier run has no pair, way and prompt in common with this one."
    colours = {BenchChange.SLOWER: RED, BenchChange.FASTER: GREEN, BenchChange.SAME: None, BenchChange.OPEN: DIM}
    rows = [
        (
            each.pair,
            f"{each.way}, temp. {each.temperature:g}",
            each.subject,
            f"{each.ratio - 1:+.1%}",
            each.change.value,
        )
        for each in found
    ]
    table = columns(rows, right=(3,), gap=_GAP)
    lines = [coloured(line, colours[each.change]) for line, each in zip(table, found, strict=True)]
    lost = losses(found)
    open_n = sum(each.change is BenchChange.OPEN for each in found)
    if lost:
        sentence = f"{len(lost)} of {len(found)} speeds are lower than before."
    elif open_n:
        sentence = f"{open_n} of {len(found)} speeds have too few replies to tell; measure both with more --repeats."
    else:
        sentence = "No speed was lost."
    plain = [each for each in lost if each.way == "plain"]
    if plain:
        sentence += " Plain decoding is slower too, so it is not speculation alone: look at the machine, and its load."
    return "\n".join([*lines, "", paragraph(sentence)])


def _pair_lines(summary: PairSummary) -> Iterable[str]:
    facts = summary.pair.facts
    yield f"{summary.pair.pair}{' on ' + str(facts['device']) if facts else ''}"
    for title, group in series(summary.cells).items():
        yield ""
        yield title
        yield from columns([_HEADS, *map(_row, group)], right=range(1, len(_HEADS)), gap=_GAP)
        yield from (paragraph(line) for line in _asides(group))
    yield ""
    yield from (paragraph(line) for line in _pair_asides(summary.pair))
    yield coloured(paragraph(summary.sentence), _COLOURS[summary.verdict.judgement.value])
    if summary.advice:
        yield f"Recommended: {summary.advice}"


def _row(cell: Cell) -> tuple[str, ...]:
    between = MISSING if cell.interval is None else f"{cell.interval.low:.2f}-{cell.interval.high:.2f}"
    return (
        cell.subject,
        speed(cell.plain_per_second),
        speed(cell.per_second),
        times(cell.speedup),
        between,
        percent(cell.draft_acceptance_rate),
        length(cell.mean_acceptance_length),
        percent(cell.draft_share),
        percent(cell.verify_share),
        percent(cell.host_share),
    )


def _asides(group: Sequence[Cell]) -> Iterable[str]:
    """Lines on the cell of all subjects: the prompt, the first token, and acceptance by position."""
    whole = next((cell for cell in group if cell.subject == ALL), None)
    if whole is None:
        return
    yield (
        f"Prompt {speed(whole.plain_prompt_per_second)} tokens/s plain, {speed(whole.prompt_per_second)} with "
        f"speculation; first token after {_ms(whole.plain_first_token_ms)} and {_ms(whole.first_token_ms)}."
    )
    if whole.acceptance_per_pos:
        shares = ", ".join(percent(share) for share in whole.acceptance_per_pos[:8])
        yield f"Accepted at positions 1, 2, ...: {shares}."


def _pair_asides(pair: PairResult) -> Iterable[str]:
    facts = pair.facts
    if facts:
        sizes = size(facts["target_size_bytes"] + facts["draft_size_bytes"])
        held = f", {size(facts['resident_bytes'])} of memory held" if facts.get("resident_bytes") else ""
        yield f"Models {sizes}{held}; {len(pair.samples)} replies measured."
        if not set(facts.get("drafters", DRAFTERS)) & set(DRAFTERS):
            yield "A single model: it drafts from its own text (suffix), and gains where it repeats text."
    if pair.left_out:
        yield f"Left out: {', '.join(f'{prompt} ({reason})' for prompt, reason in pair.left_out.items())}."
    yield from pair.notes
    if pair.error and pair.samples:
        yield f"Broke off: {pair.error}"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 9999 else f"{milliseconds / 1e3:.1f} s"
