"""Benchmarks on a virtual clock: what is measured, and whether the verdict is right."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import CapacityError, InputError, NotFoundError, PairMismatchError, UsageError
from localspec.cli.bench_table import PairSummary, as_markdown, as_text, comparison_text
from localspec.insight.bench.compare import BenchChange, compare, losses, unlike
from localspec.insight.bench.result import BenchResult, PairResult, read_result
from localspec.insight.bench.run import FEWEST_TOKENS, INTERRUPTED, OUT_OF_TIME
from localspec.insight.bench.summary import ALL, cells
from localspec.insight.bench.trials import conditions, schedule
from localspec.insight.bench.verdict import Judgement, judge, recommended, verdict
from tests.insight.bench.support import GOOD, PARTLY, PROMPTS, TOO_SLOW, USELESS, Kind, VirtualPair, VirtualWorld


def summary(kind: Kind, **orders: Any) -> PairSummary:
    world = VirtualWorld({"pair": kind})
    return PairSummary.of(world.bench("pair", **orders).result.pairs[0])


# --- the four constructed pairs -------------------------------------------------------------------


def test_a_good_pair_is_to_be_used() -> None:
    """It is, on everything, and by how much is said."""
    found = summary(GOOD)
    assert found.verdict.judgement is Judgement.PAYS
    assert found.sentence.startswith("Use it: ")
    assert all(subject in found.sentence for subject in ("code", "prose", "chat"))
    assert "x on " in found.sentence
    assert found.advice == "--spec auto --depth 3"
    whole = next(cell for cell in found.cells if cell.subject == ALL)
    assert 2 < whole.speedup < 3.2


def test_a_useless_pair_is_to_be_left_off() -> None:
    """Hardly anything is accepted."""
    found = summary(USELESS)
    assert found.verdict.judgement is Judgement.COSTS
    assert found.sentence.startswith("Leave it off: 0.")
    assert found.advice == "--spec off"


def test_a_draft_that_is_too_slow_is_to_be_left_off() -> None:
    """Nearly everything is accepted, and it takes longer to draft than to do without."""
    found = summary(TOO_SLOW)
    assert found.verdict.judgement is Judgement.COSTS
    assert (found.cells[-1].draft_acceptance_rate or 0) > 0.6
    assert found.advice == "--spec off"


def test_a_pair_with_another_vocabulary_cannot_be_used() -> None:
    """That is its verdict, and the others are measured all the same."""
    world = VirtualWorld({"good": GOOD})
    done = world.bench("other", "good")
    other, good = map(PairSummary.of, done.result.pairs)
    assert other.sentence.startswith("Cannot be used: Token 7")
    assert good.verdict.judgement is Judgement.PAYS
    assert isinstance(done.errors[0], PairMismatchError)


# --- other verdicts -------------------------------------------------------------------------------


def test_a_pair_that_pays_in_places_is_told_apart() -> None:
    """Used for most, left off for the rest."""
    found = summary(PARTLY)
    assert found.verdict.judgement is Judgement.MIXED
    use, _, off = found.sentence.partition("; leave it off for ")
    assert use.startswith("Use it: ")
    assert "code" in use
    assert off.startswith("prose (0.")


def test_a_pair_that_mostly_costs_is_left_off_but_for_the_rest() -> None:
    """The half that weighs more comes first."""
    found = summary(Kind({"": 0.02, "code": 0.95}, draft_s=0.04, noise=0.01))
    assert found.verdict.judgement is Judgement.MIXED
    assert found.sentence.startswith("Leave it off, but for code (")
    assert found.advice == "--spec off"


def test_too_few_replies_allow_no_verdict() -> None:
    """Not even of a good pair."""
    world = VirtualWorld({"pair": GOOD})
    world_orders = world.bench("pair", repeats=1).result.pairs[0]
    few = dataclasses.replace(world_orders, samples=[each for each in world_orders.samples if each.subject == "code"])
    found = PairSummary.of(few)
    assert found.verdict.judgement is Judgement.OPEN
    assert "too few" in found.sentence
    assert found.advice is None


def test_a_wide_spread_allows_no_verdict() -> None:
    """The machine is so unsteady that 1.0x is as likely as any."""
    found = summary(Kind({"": 0.24}, noise=0.9))
    assert found.verdict.judgement is Judgement.OPEN
    assert found.sentence.startswith("No verdict: ")
    assert recommended(found.verdict) is None


def test_a_pair_that_changes_nothing_makes_no_difference() -> None:
    """As when auto turns itself off."""
    found = summary(Kind({"": 0.0}, draft_s=0.0, noise=0.005, auto_depth=0), depths=(None,))
    assert found.verdict.judgement is Judgement.EQUAL
    assert found.sentence.startswith("It makes no difference: ")
    assert found.advice == "--spec off"


def test_the_best_of_several_ways_is_named() -> None:
    """Depth 1 is a poor choice for a good draft."""
    found = summary(GOOD, depths=(1, 4))
    assert found.verdict.way == "auto at 4"
    assert "Use it with auto at 4: " in found.sentence
    single = PairSummary.of(VirtualWorld({"pair": GOOD}).bench("pair", depths=(4,)).result.pairs[0])
    # The error is shared among the ways that are compared, so six replies are not enough for an interval now.
    assert single.cells[0].interval is not None
    assert found.cells[0].interval is None


def test_a_machine_that_slows_down_changes_no_verdict() -> None:
    """To a third of its speed in the course of the benchmark: neighbours still have the same conditions."""
    steady, drifting = summary(GOOD), summary(dataclasses.replace(GOOD, drift=0.03))
    slowest = max(each.predicted_ms for each in drifting.pair.samples if each.way == "plain")
    assert slowest > 2 * max(each.predicted_ms for each in steady.pair.samples if each.way == "plain")
    assert drifting.verdict.judgement is Judgement.PAYS
    by_subject = {cell.subject: cell.speedup for cell in steady.cells}
    assert {cell.subject for cell in drifting.cells} == by_subject.keys() != set()
    for cell in drifting.cells:
        assert cell.speedup == pytest.approx(by_subject[cell.subject], rel=0.15)


# --- what is measured -----------------------------------------------------------------------------


def test_every_way_of_a_prompt_comes_right_after_the_other() -> None:
    """In blocks, each repetition in an order of its own, everything once."""
    listed = conditions([None, ("suffix",)], [None, 3], [0.0, 1.0])
    assert len(listed) == 2 * (1 + 4)
    trials = schedule(PROMPTS, listed, range(3), seed=1)
    assert Counter(trials) == dict.fromkeys(trials, 1)
    assert len(trials) == 3 * len(PROMPTS) * len(listed)
    blocks = [trials[i : i + 5] for i in range(0, len(trials), 5)]
    for block in blocks:
        assert len({(t.prompt.id, t.condition.temperature, t.repetition) for t in block}) == 1
    orders = {tuple(t.condition.way for t in block) for block in blocks}
    assert len(orders) > 10
    assert schedule(PROMPTS, listed, range(3), seed=1) == trials != schedule(PROMPTS, listed, range(3), seed=2)


@pytest.mark.parametrize("asked", [([()], [None]), ([None], [0])])
def test_plain_is_not_asked_for_twice(asked: tuple[list[tuple[str, ...] | None], list[int | None]]) -> None:
    """It is there anyway."""
    with pytest.raises(UsageError, match="measured anyway"):
        conditions(*asked, [0.0])


def test_every_measured_prompt_is_read_from_its_beginning() -> None:
    """Something else is asked in between, and nothing is measured that warms up."""
    world = VirtualWorld({"pair": GOOD})
    done = world.bench("pair", repeats=1)
    texts = [text.split()[0] for text, _ in world.pairs[0].asked]
    assert texts[:2] == ["Forget.", "Forget."]
    measured = texts[2:]
    assert set(measured[::2]) == {"Forget."}
    assert "Forget." not in measured[1::2]
    assert len(done.result.pairs[0].samples) == len(measured) / 2
    assert world.pairs[0].closed


def test_figures_are_those_of_the_clock() -> None:
    """Shares, time to first token and acceptance by position, against what the pair was made of."""
    pair = VirtualWorld({"pair": dataclasses.replace(GOOD, noise=0.0)}).bench("pair", repeats=4).result.pairs[0]
    whole = next(cell for cell in cells(pair.samples) if cell.subject == ALL)
    assert whole.plain_per_second == pytest.approx(10)
    assert whole.draft_share == pytest.approx(3 * 0.005 / (3 * 0.005 + 0.115), rel=0.05)
    assert whole.host_share == pytest.approx(0, abs=1e-9)
    assert whole.plain_prompt_per_second == pytest.approx(100)
    sample = next(each for each in pair.samples if each.way == "plain")
    assert sample.first_token_ms == pytest.approx(sample.prompt_ms + 100)
    assert sample.total_ms == pytest.approx(sample.prompt_ms + sample.predicted_ms)
    assert whole.acceptance_per_pos == pytest.approx([0.85] * 3, abs=0.08)


def test_time_that_is_up_ends_it_with_all_subjects_alike() -> None:
    """Whole repetitions come first, so a cut takes the last ones."""
    done = VirtualWorld({"pair": GOOD}).bench("pair", repeats=50, limit_s=100)
    pair = done.result.pairs[0]
    assert done.result.cut_short == OUT_OF_TIME
    counts = Counter(each.subject for each in pair.samples)
    assert max(counts.values()) - min(counts.values()) <= 4
    assert "Cut short: its time was up." in as_text(done.result)


def test_progress_only_grows_and_ends_at_the_end() -> None:
    """Over all pairs, by work; by time where that ends first."""
    world = VirtualWorld({"one": GOOD, "two": GOOD})
    world.bench("one", "two")
    assert world.shares == sorted(world.shares)
    assert (world.shares[0] < 0.05, world.shares[-1]) == (True, 1.0)
    hurried = VirtualWorld({"one": GOOD})
    hurried.bench("one", repeats=50, limit_s=100)
    assert hurried.shares[-1] == 1.0


def test_ctrl_c_keeps_what_was_measured() -> None:
    """The reply under way is dropped, those before it are there, and no other pair is begun."""
    world = VirtualWorld({"one": GOOD, "two": GOOD}, stop_after=10)
    done = world.bench("one", "two")
    assert done.result.cut_short == INTERRUPTED
    assert len(world.pairs) == 1
    assert world.pairs[0].closed
    assert len(done.result.pairs[0].samples) == 4  # two to warm up, two for each that is measured
    assert "stopped by Ctrl-C" in as_text(done.result)


def test_prompts_that_do_not_fit_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are measured."""
    real = VirtualPair.reply

    def short(self: VirtualPair, prompt: Any, options: Any) -> Any:
        if "prose" in str(prompt):
            raise CapacityError("too long")
        return real(self, prompt, options)

    monkeypatch.setattr(VirtualPair, "reply", short)
    pair = VirtualWorld({"pair": GOOD}).bench("pair").result.pairs[0]
    assert set(pair.left_out) == {"prose-1", "prose-2"}
    assert {each.subject for each in pair.samples} == {"code", "chat"}


def test_no_prompt_that_fits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than an empty table."""

    def refusing(self: VirtualPair, prompt: Any, options: Any) -> Any:
        if not isinstance(prompt, str):
            raise CapacityError("too long")
        return real(self, prompt, options)

    real = VirtualPair.reply
    monkeypatch.setattr(VirtualPair, "reply", refusing)
    done = VirtualWorld({"pair": GOOD}).bench("pair")
    assert isinstance(done.errors[0], CapacityError)
    assert "No prompt could be measured" in PairSummary.of(done.result.pairs[0]).sentence


def test_where_replies_are_too_short_a_larger_context_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a model that says nothing to these prompts."""
    real = VirtualPair.reply

    def short(self: VirtualPair, prompt: Any, options: Any) -> Any:
        return real(self, prompt, replace(options, max_tokens=FEWEST_TOKENS - 1))

    monkeypatch.setattr(VirtualPair, "reply", short)
    (error,) = VirtualWorld({"pair": GOOD}).bench("pair").errors
    assert (error.message, error.hint) == ("No prompt could be measured.", "Choose other prompts.")


# --- files and comparisons ------------------------------------------------------------------------


def result_of(kind: Kind, repeats: int = 4) -> BenchResult:
    return VirtualWorld({"pair": kind}).bench("pair", repeats=repeats).result


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    """Every reply of it."""
    result = result_of(GOOD)
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result.to_dict()))
    assert read_result(file) == result


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 9}', '{"format": 1, "pairs": [{}]}', "\xff"])
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    """With what would be one."""
    file = tmp_path / "result.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        read_result(file)
    with pytest.raises(NotFoundError):
        read_result(tmp_path / "none.json")


@pytest.mark.parametrize(("figure", "wrong"), [("predicted_ms", 10**400), ("prompt_ms", "3")])
def test_a_figure_that_is_no_number_makes_a_file_no_result(tmp_path: Path, figure: str, wrong: object) -> None:
    """Nothing could be compared with it."""
    data = json.loads(json.dumps(result_of(GOOD).to_dict()))
    data["pairs"][0]["samples"][0][figure] = wrong
    file = tmp_path / "result.json"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match="is not a result"):
        read_result(file)


@pytest.mark.parametrize(
    ("form", "said"), [("localspec-conversations", "is not a result of localspec bench"), (9, "of another version")]
)
def test_a_file_of_another_kind_is_told_from_a_result_of_another_version(
    tmp_path: Path, form: object, said: str
) -> None:
    """Measuring again helps only with the second."""
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"format": form}))
    with pytest.raises(InputError, match=said):
        read_result(file)


def test_nothing_changed_is_no_regression() -> None:
    """The same pair with other noise, ten times."""
    old = result_of(GOOD)
    for number in range(10):
        world = VirtualWorld({"pair": dataclasses.replace(GOOD, noise=0.03 + number * 1e-6)})
        assert losses(compare(old, world.bench("pair", repeats=4).result)) == []


def test_a_worse_draft_is_a_regression_and_plain_speed_is_not() -> None:
    """Only replies with speculation are slower."""
    found = compare(result_of(GOOD), result_of(dataclasses.replace(GOOD, acceptance={"": 0.5})))
    lost = losses(found)
    assert {each.way for each in lost} == {"auto at 3"}
    assert ALL in {each.subject for each in lost}
    assert all(each.ratio < 0.95 for each in lost)
    assert "speeds are lower than before" in comparison_text(found)
    assert "Plain decoding is slower too" not in comparison_text(found)


def test_a_slower_machine_is_told_from_a_worse_draft() -> None:
    """Plain decoding is slower as well, and that is said."""
    found = compare(result_of(GOOD), result_of(dataclasses.replace(GOOD, plain_s=0.13, draft_s=0.0065)))
    assert "Plain decoding is slower too" in comparison_text(found)
    faster = compare(result_of(dataclasses.replace(GOOD, plain_s=0.13)), result_of(GOOD))
    assert losses(faster) == []
    assert BenchChange.FASTER in {each.change for each in faster}


def test_other_circumstances_are_named() -> None:
    """A comparison of unlike runs is made, and said to be one."""
    old, new = result_of(GOOD), VirtualWorld({"pair": GOOD}).bench("pair", tokens=24).result
    new.pairs[0].facts["device"] = "GPU"
    assert unlike(old, new) == ["tokens were 48, now 24", "pair was measured on CPU, 1 thread, now on GPU"]
    assert unlike(old, old) == []


def test_a_single_reply_each_is_too_little_to_compare() -> None:
    """However large the difference."""
    old, new = result_of(GOOD, repeats=1), result_of(USELESS, repeats=1)
    assert {each.change for each in compare(old, new)} == {BenchChange.OPEN}
    new.pairs[0].pair = "another"
    assert compare(old, new) == []
    assert "Nothing to compare" in comparison_text([])


# --- tables ---------------------------------------------------------------------------------------


def test_tables_fit_80_columns() -> None:
    """Whatever the speeds."""
    quick = Kind({"": 0.85}, plain_s=0.0002, draft_s=0.00001)
    world = VirtualWorld({"good": GOOD, "quick": quick, "slow": TOO_SLOW})
    text = as_text(world.bench("good", "quick", "slow", "unknown").result)
    assert max(map(len, text.splitlines())) <= 80
    for words in ("SPEED-UP", "code", "all", "Use it: ", "Leave it off: ", "Cannot be used: ", "Recommended: "):
        assert words in text


def test_markdown_has_the_same_rows() -> None:
    """A heading, a verdict and a table for each pair."""
    text = as_markdown(VirtualWorld({"good": GOOD}).bench("good").result)
    assert text.startswith("# localspec bench\n\n## good\n\n**Use it: ")
    assert text.count("| code |") == 1
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {11}


def test_a_pair_without_replies_has_a_verdict_too() -> None:
    """That there is none."""
    found = verdict(cells([]))
    assert (found.judgement, found.way, found.use) == (Judgement.OPEN, None, None)
    assert "nothing was measured" in PairSummary.of(PairResult("empty")).sentence


def test_a_judgement_looks_at_the_interval_alone() -> None:
    """A median above 1 with an interval around 1 decides nothing."""
    (cell,) = [cell for cell in summary(GOOD).cells if cell.subject == ALL]
    assert cell.interval is not None
    wide = dataclasses.replace(cell, interval=dataclasses.replace(cell.interval, low=0.9))
    assert (judge(cell), judge(wide)) == (Judgement.PAYS, Judgement.OPEN)
