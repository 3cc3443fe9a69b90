"""A drafter is one file: put beside the others it can be named, is made, priced, marked, counted and documented."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.color import Color

from localspec.base.errors import DrafterUnavailableError, UsageError
from localspec.chat.tokens.facts import acceptance
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.tokens.marking import MarkMode, kinds_of
from localspec.cli.options import param_of
from localspec.config import setting
from localspec.config.file import read_config
from localspec.config.kinds import RefusedValue
from localspec.engine import drafters
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import DrafterInputs
from localspec.engine.drafters import available_drafters, drafter_declarations, drafter_names, make_drafter
from localspec.engine.events import Event, Origin, Round
from localspec.engine.inspection import Inspection, Opinion
from localspec.engine.loop import Request, generate
from localspec.engine.sampling import Greedy
from localspec.engine.tally import Tally
from localspec.insight.stats.groups import BY
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.figures import drafters_used
from localspec.runtime.pair_drafters import PairDrafters
from localspec.runtime.tuning import Tuning
from localspec.store import ReplyRecord, ReplyState
from localspec.tui.tokens.palette import DRAFTER_MARKS, palette_for
from tests import readme
from tests.config.support import configure
from tests.fakes import TableModel, letters
from tests.insight.stats.support import START, Kind, about_of
from tests.runtime.calibration.conftest import clock
from tests.runtime.calibration.timed_models import Clock, model

__all__ = ["clock"]

NAME = "echo-last"
SOURCE = '''
"""The echo drafter proposes the latest token again. It needs a draft model, and does not use it well."""

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.dist import Dist
from localspec.engine.drafter import NextProposal

MARK = "purple"
POINT_MASS = True


def make(inputs):
    if inputs.draft is None:
        raise DrafterUnavailableError("There is nothing to echo with.", "Load a draft.")
    return Echo(inputs.draft)


class Echo:
    name = "echo-last"

    def __init__(self, model):
        self.model = model

    def prefill(self, context):
        pass

    def begin(self, context, sampler):
        return Cursor(context[-1])

    def learn(self, proposals, target_dists):
        pass


class Cursor:
    lag = 1

    def __init__(self, token):
        self.token = token

    def peek(self):
        return NextProposal("echo-last", Dist.point(self.token), "echo", 0.5)

    def step(self, token):
        self.token = token
'''
PROMPT = [1, 2, 3]


@pytest.fixture(autouse=True)
def dropped_in(tmp_path: Path) -> Iterator[None]:
    """A file put beside the others."""
    folder = tmp_path / "more_drafters"
    folder.mkdir()
    (folder / "echo_last.py").write_text(SOURCE.lstrip())
    drafters.__path__.append(str(folder))
    drafters.drafter_files.cache_clear()
    yield
    drafters.__path__.remove(str(folder))
    drafters.drafter_files.cache_clear()
    sys.modules.pop(f"{drafters.__name__}.echo_last", None)
    vars(drafters).pop("echo_last", None)


def inputs() -> DrafterInputs:
    return DrafterInputs(letters(6), TableModel(letters(6), order=0))


def reply() -> list[Event]:
    """By the drafter alone; the target likes one token, whatever came before."""
    target = TableModel(letters(6), order=0)
    request = Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(2), max_tokens=9)
    return list(generate(target, [make_drafter(NAME, inputs())], request, Cancellation()))


def rounds() -> list[Round]:
    return [event for event in reply() if isinstance(event, Round)]


def test_it_is_declared_without_being_imported() -> None:
    """Its sentence, its mark, and whether it names its guesses."""
    declaration = drafter_declarations()[NAME]
    assert (declaration.about, declaration.mark) == ("The echo drafter proposes the latest token again.", "purple")
    assert declaration.point_mass
    assert f"{drafters.__name__}.echo_last" not in sys.modules


def test_every_drafter_declares_a_sentence_and_a_mark_of_its_own() -> None:
    """The ones there are, too."""
    declarations = drafter_declarations()
    assert set(declarations) == set(drafter_names()) == {"dflash", "draft", NAME, "eagle3", "grammar", "mtp", "suffix"}
    assert all(each.about and each.mark in DRAFTER_MARKS for each in declarations.values())
    assert len({each.mark for each in declarations.values()}) == len(declarations)


def test_settings_know_its_name() -> None:
    """The option, the file, the settings screen's choices and the table of the documentation."""
    assert param_of("spec").convert("echo-last,suffix", None, None) == (NAME, "suffix")
    configure(f'[speculation]\nspec = "{NAME}"\n')
    config = read_config()
    assert (config.values["speculation.spec"], config.problems) == (NAME, ())
    assert NAME in setting("spec").kind.form
    assert f"draft, eagle3, {NAME}, grammar, mtp, suffix" in readme.settings()
    with pytest.raises(RefusedValue, match=NAME):
        setting("spec").kind.check("no-such-drafter")


def test_the_documentation_has_its_sentence() -> None:
    assert f"| `{NAME}` | The echo drafter proposes the latest token again. |" in readme.drafters()


def test_a_pair_that_has_what_it_needs_uses_it_unasked() -> None:
    """One that has not leaves it out, and says why it cannot be had."""
    assert set(available_drafters(inputs())) == {"draft", NAME, "grammar", "suffix"}
    assert [drafter.name for drafter in PairDrafters(inputs()).chosen(None)] == ["grammar", "suffix", "draft", NAME]
    alone = DrafterInputs(letters(6), None)
    assert [drafter.name for drafter in PairDrafters(alone).chosen(None)] == ["grammar", "suffix"]
    with pytest.raises(DrafterUnavailableError, match="nothing to echo with"):
        PairDrafters(alone).chosen((NAME,))
    with pytest.raises(UsageError, match=f"There is no drafter 'absent'.*{NAME}"):
        PairDrafters(inputs()).chosen(("absent",))


def test_its_model_is_priced_and_its_threads_are_chosen(clock: Clock, tmp_path: Path) -> None:
    """Beside the others, and remembered with them."""
    target, draft = model(clock, lambda batch, threads: 1e-3), model(clock, lambda batch, threads: 2e-4)
    models = PairDrafters(DrafterInputs(letters(40), draft)).models
    assert set(models) == {"draft", NAME}
    tuning = Tuning(target, models, tune_target=True, tune_drafters=True, largest=17)
    file = CalibrationFile(tmp_path, "key")
    costs = tuning.fit(list(range(24)), file, Cancellation(), lambda what, fraction: None)
    assert costs.query_s(NAME, 1) == pytest.approx(2e-4)
    kept = file.load()
    assert kept is not None
    assert (set(kept[0].queries), set(kept[1])) == ({"draft", NAME}, {"target", "draft", NAME})


def test_its_tokens_are_marked_as_its_own() -> None:
    """By name in the legend, by the mark of its file on the screen."""
    shown = InspectableReply()
    for event in reply():
        shown.receive(event)
    assert shown.counts(MarkMode.DRAFTER)[NAME] == sum(token.origin is Origin.ACCEPTED for token in shown.tokens) > 0
    named = ("dflash", "draft", "eagle3", NAME, "grammar", "mtp", "suffix")
    assert kinds_of(MarkMode.DRAFTER) == (*named, "other", "target")
    background = Color.parse("#000000")
    mark = palette_for(background, dark=True, no_color=True).mark(MarkMode.DRAFTER, NAME)
    assert mark == DRAFTER_MARKS["purple"].cue
    opinion = Opinion(0.3, 2, 0.4, ())
    at = next(index for index, token in enumerate(shown.tokens) if token.drafter == NAME)
    place, inspection = shown.place(at), Inspection(shown.tokens[at].id, opinion, opinion)
    assert list(acceptance(place, inspection)) == [f"0.40 = p: {NAME} guesses outright (q = 1)"]


def test_statistics_count_it() -> None:
    """Replies are grouped by it."""
    made = rounds()
    assert drafters_used(made) == (NAME,)
    record = ReplyRecord(1, "id", START, ReplyState.DONE, about_of(Kind()), Tally().timings(), rounds=tuple(made))
    assert BY["drafter"](record, None)[1] == NAME


def test_what_there_is_no_file_for_is_no_drafter() -> None:
    with pytest.raises(UsageError, match="absent"):
        make_drafter("absent", inputs())
