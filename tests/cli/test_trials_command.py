"""``localspec trials``: begun, looked at, ended, promoted and taken back, without a model; and in the line mode."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import ModelFileError
from localspec.config import config_file, read_config
from localspec.engine.cancel import Cancellation
from localspec.insight.trials.assignment import arm_of
from localspec.insight.trials.book import TrialBook, trials_file
from localspec.insight.trials.trial import Outcome, PromotedSetting, TrialEnd
from localspec.models.pairs.user_pairs import own_file, own_pairs
from localspec.runtime.load import OpenPair
from localspec.runtime.options import LoadOptions, Progress
from localspec.store import Arm, ConversationDocument, RecordFilter, Store
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld
from tests.config.support import configure
from tests.gguf_files import write
from tests.insight.stats.support import Kind, conversation
from tests.insight.trials.support import NOW, TRIAL
from tests.models.pairs.support import BIG, OTHER_TOKENS, SMALL, model_bytes


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def own(tmp_path: Path) -> list[Path]:
    """A pair of one's own, its target, its draft and another draft."""
    files = [
        write(tmp_path / name, data)
        for name, data in (("big.gguf", BIG), ("small.gguf", SMALL), ("new.gguf", SMALL), ("odd.gguf", OTHER))
    ]
    own_file().parent.mkdir(parents=True)
    own_file().write_text(
        "# Mine.\n"
        f'[[pairs]]\nid = "mine"\ntitle = "Mine"\n[pairs.target]\nfile = "{files[0]}"\n'
        f'[pairs.draft]\nfile = "{files[1]}"\n'
    )
    return files


OTHER = model_bytes(tokens=OTHER_TOKENS)


def begun(localspec: Localspec, *arguments: str | Path) -> dict[str, Any]:
    """A trial, as ``--json`` tells it."""
    done = localspec("trials", "start", "--json", *(arguments or ("--depth", "6")))
    assert (done.code, done.err) == (0, "")
    record: dict[str, Any] = json.loads(done.out)
    return record


def replies_for(trial_id: str, slow: float, n: int = 60) -> None:
    """Replies in the store that count for it, those of the candidate so many times as slow."""
    store = Store.open()
    document = conversation([Kind(pair="builtin", rounds_n=20)] * n)
    messages = []
    for message in document.messages:
        arm = arm_of(trial_id, message.node.parent or "", 0.2)
        parts = []
        for part in message.parts:
            assert part.finished is not None
            timings = part.finished.timings
            factor = slow if arm is Arm.CANDIDATE else 1.0
            assert timings.predicted_per_second is not None
            timings = replace(timings, predicted_per_second=timings.predicted_per_second / factor)
            about = replace(part.about, trial=trial_id, arm=arm)
            parts.append(replace(part, about=about, finished=replace(part.finished, timings=timings)))
        messages.append(replace(message, parts=tuple(parts)))
    store.add([ConversationDocument(document.heading, tuple(messages))])
    store.close()


def test_nothing_yet_says_what_to_do(localspec: Localspec) -> None:
    """And no file is made by looking."""
    for arguments in (("trials",), ("trials", "list")):
        done = localspec(*arguments)
        assert (done.code, done.err) == (0, "")
        assert "localspec trials start --depth 6" in done.out
    assert json.loads(localspec("trials", "list", "--json").out) == []
    assert not trials_file().exists()


def test_a_trial_is_begun_shown_and_ended(localspec: Localspec) -> None:
    """In sentences that fit 80 columns; JSON has the same."""
    record = begun(localspec, "--depth", "6", "--share", "30", "--error", "1")
    assert (record["pair"], record["share"], record["error"]) == ("builtin", 0.3, 0.01)
    assert (record["tried"], record["per"]) == ("depth 6 instead of auto", "turns")
    out = localspec("trials").out
    assert "under way" in out
    assert "30 %" in out
    assert "No reply counts for it yet." in localspec("trials", "show", record["id"][:4]).out
    done = localspec("trials", "stop", record["id"][:4])
    assert (done.code, done.err) == (0, "")
    assert "stopped. A person ended it" in " ".join(done.out.split())
    assert "stopped" in localspec("trials").out
    assert read_config().values == {}
    for again in ("stop", "promote", "rollback"):
        done = localspec("trials", again, record["id"])
        assert done.code == 2
        assert "has ended" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 2),
        (("--depth", "auto"), 2),
        (("--depth", "17"), 2),
        (("--depth", "2", "--share", "0"), 2),
        (("--depth", "2", "--error", "nan"), 2),
        (("--spec", "no-such-drafter"), 2),
        (("--spec", "off", "--depth", "4"), 2),
        (("--depth", "2", "--pair", "nope"), 4),
        (("--draft", "nope.gguf"), 4),
        (("--draft", "x.gguf", "--draft-of", "builtin"), 2),
        (("--draft-of", "nope"), 4),
        (("--draft-of", "builtin"), 2),
    ],
)
def test_what_makes_no_sense_is_refused(localspec: Localspec, arguments: tuple[str, ...], code: int) -> None:
    """Before anything is written; in a sentence, with what to do."""
    done = localspec("trials", "start", *arguments)
    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err
    assert not trials_file().exists()


def test_one_trial_at_a_time_on_a_pair(localspec: Localspec) -> None:
    record = begun(localspec)
    done = localspec("trials", "start", "--depth", "4")
    assert done.code == 2
    assert f"localspec trials stop {record['id']}" in done.err
    assert localspec("trials", "show", "zz").code == 4


def test_without_figures_there_is_nothing_to_go_by(localspec: Localspec) -> None:
    configure("[stats]\nrecord_figures = false\n")
    done = localspec("trials", "start", "--depth", "6")
    assert done.code == 2
    assert "record_figures" in done.err


def test_the_evidence_is_shown_and_kept(localspec: Localspec) -> None:
    """Both sides beside each other; after the end what it rested on, though the replies be gone."""
    trial = TrialBook(new_id=lambda: "0badcafe").begin(replace(TRIAL, pair="builtin"))
    replies_for(trial.id, slow=1.5)
    out = localspec("trials", "show", trial.id).out
    assert max(map(len, out.splitlines())) <= 80
    assert "CANDIDATE   INCUMBENT" in out
    assert "% slower" in out
    now = json.loads(localspec("trials", "show", trial.id, "--json").out)["now"]
    assert now["evidence_worse"] > now["evidence_to_decide"] == 20
    assert sum(side["units_n"] for side in now["arms"].values()) == 60
    localspec("trials", "rollback", trial.id)
    with_replies = localspec("trials", "show", trial.id).out
    for conversation_id in [each["id"] for each in json.loads(localspec("history", "list", "--json").out)]:
        assert localspec("history", "rm", conversation_id, "--forever", "--yes").code == 0
    assert localspec("trials", "show", trial.id).out == with_replies
    assert "% slower" in with_replies


@pytest.mark.parametrize(
    ("name", "value"),
    [("arms", {"candidate": 3}), ("gain", "much"), ("evidence_worse", None), ("evidence_to_decide", 10**400)],
)
def test_figures_that_were_changed_by_hand(localspec: Localspec, name: str, value: object) -> None:
    """They are no unexpected error, and leave the rest of the trial to be shown."""
    trial = TrialBook(new_id=lambda: "0badcafe").begin(replace(TRIAL, pair="builtin"))
    replies_for(trial.id, slow=1.5)
    localspec("trials", "rollback", trial.id)
    (record,) = json.loads(trials_file().read_text())
    record["end"]["figures"][name], record["end"]["why"] = value, "\x1b[31mRed."
    trials_file().write_text(json.dumps([record]))
    shown = localspec("trials", "show", trial.id)
    assert shown.code == 0
    assert "Rolled back" in shown.out
    assert "␛[31mRed." in shown.out
    assert "Its figures cannot be understood" in shown.out


def test_a_promotion_is_written_said_and_taken_back(localspec: Localspec) -> None:
    """Into the pair's table of the file of settings; what is set for all stays, and in the end all is as before."""
    before = "# Mine.\n[speculation]\nspec = 'draft'  # only\n\n[reply]\nseed = 7\n"
    configure(before)
    record = begun(localspec, "--depth", "6", "--spec", "draft,suffix")
    done = localspec("trials", "promote", record["id"])
    said = " ".join(done.out.split())
    assert (done.code, done.err) == (0, "")
    assert "pair.builtin.spec = draft,suffix, pair.builtin.depth = 6." in said
    assert f"`localspec trials rollback {record['id']}` undoes it" in said
    assert config_file().read_text().startswith(before)
    assert read_config().pairs == {"builtin": {"speculation.spec": "draft,suffix", "speculation.depth": 6}}
    done = localspec("trials", "rollback", record["id"])
    assert "pair.builtin.depth is no longer set" in " ".join(done.out.split())
    assert config_file().read_text() == before
    assert "rolled back" in localspec("trials").out


def test_what_was_changed_since_is_not_taken_back(localspec: Localspec) -> None:
    record = begun(localspec)
    localspec("trials", "promote", record["id"])
    config_file().write_text("[pair.builtin]\ndepth = 9\n")
    assert "was changed since, and stays" in " ".join(localspec("trials", "rollback", record["id"]).out.split())
    assert read_config().pairs == {"builtin": {"speculation.depth": 9}}


def test_what_a_pair_had_before_is_put_back(localspec: Localspec) -> None:
    """Also where the promotion went by what is set for all."""
    configure("[speculation]\ndepth = 4\n[pair.builtin]\nspec = 'draft'\n[pair.other]\ndepth = 1\n")
    before = read_config()
    record = begun(localspec, "--spec", "off")
    assert record["tried"] == "spec off instead of draft, depth auto instead of 4"
    localspec("trials", "promote", record["id"])
    assert read_config().pairs == {"builtin": {"speculation.spec": "off"}, "other": {"speculation.depth": 1}}
    assert localspec("config", "check").code == 0
    localspec("trials", "rollback", record["id"])
    assert (read_config().values, read_config().pairs) == (before.values, before.pairs)


def test_what_was_written_for_all_pairs_is_put_back_for_all(localspec: Localspec) -> None:
    """By a promotion of a LocalSpec that knew no other place."""
    configure("[speculation]\ndepth = 6\n")
    ended = TrialEnd(Outcome.PROMOTED, NOW, "It is faster.", written=(PromotedSetting("speculation.depth", 4, 6),))
    book = TrialBook()
    trial = book.begin(replace(TRIAL, pair="builtin"))
    book.end(trial.id, lambda _: ended)
    records = json.loads(trials_file().read_text())
    del records[0]["end"]["written"][0]["pair"]
    trials_file().write_text(json.dumps(records))
    assert "speculation.depth is 4 again" in " ".join(localspec("trials", "rollback", trial.id).out.split())
    assert read_config().values == {"speculation.depth": 4}


def test_another_draft_becomes_a_pair(localspec: Localspec, own: list[Path]) -> None:
    """Of one's own, which is then the one that is set; taking it back leaves both files as they were."""
    configure('[model]\npair = "mine"\n[pair.mine]\ntemperature = 0.3\ndepth = 2\n')
    before, settings = own_file().read_text(), config_file().read_text()
    record = begun(localspec, "--draft", own[2])
    assert (record["pair"], record["per"]) == ("mine", "conversations")
    assert record["tried"] == "draft new.gguf instead of small.gguf"
    assert localspec("trials", "promote", record["id"]).code == 0
    pair = own_pairs()[-1]
    assert read_config().values["model.pair"] == pair.id == "mine-with-new"
    assert pair.files().target == own[0]
    assert pair.files().draft == own[2]
    assert read_config().of_pair(pair.id) == {"sampling.temperature": 0.3, "speculation.depth": 2}
    assert localspec("trials", "rollback", record["id"]).code == 0
    assert read_config().values["model.pair"] == "mine"
    assert own_file().read_text().rstrip() == before.rstrip()
    assert config_file().read_text() == settings


def test_a_draft_has_to_fit(localspec: Localspec, own: list[Path]) -> None:
    done = localspec("trials", "start", "--pair", "mine", "--draft", own[3])
    assert done.code == 6
    assert "cannot draft for" in done.err


def test_in_the_line_mode_turns_are_on_their_sides(localspec: Localspec) -> None:
    """As the record says."""
    record = begun(localspec, "--depth", "6", "--share", "50")
    world = FakeWorld()
    done = localspec("chat", "--plain", world=world, stdin=b"why?\n" * 20)
    assert done.code == 0
    depths = [options.depth for _, options in world.pairs[0].asked]
    assert set(depths) == {None, 6}
    with_arms = []
    store = Store.open()
    for run in store.runs(where=RecordFilter(trial=record["id"])):
        assert run.question is not None
        assert run.about.arm is arm_of(record["id"], run.question, 0.5)
        with_arms.append(6 if run.about.arm is Arm.CANDIDATE else None)
    store.close()
    assert with_arms
    assert with_arms == depths[: len(with_arms)]
    assert len(with_arms) == 20 or TrialBook().find(record["id"]).end is not None


def test_in_the_line_mode_a_reply_is_gone_on_with_on_its_side(localspec: Localspec) -> None:
    """As on the screen: the side is that of the turn."""
    begun(localspec, "--depth", "6", "--share", "50")
    done = localspec("chat", "--json", "--max-tokens", "2", stdin=b"hello there\n/continue\n/new\n" * 20)
    records = [json.loads(line) for line in done.out.splitlines()]
    depths: dict[str, list[int]] = {}
    for record in records:
        if record["event"] == "start":
            depths.setdefault(record["question"], []).append(record["options"]["depth"])
    continued = [each for each in depths.values() if len(each) > 1]
    assert {depth for each in continued for depth in each} == {None, 6}
    assert all(len(set(each)) == 1 for each in continued)


def test_in_the_line_mode_a_conversation_is_loaded_for(localspec: Localspec, own: list[Path]) -> None:
    """Once, where it begins."""
    begun(localspec, "--pair", "mine", "--draft", own[2], "--share", "90")
    world = FakeWorld()
    stdin = b"why?\nand?\n/new\n" * 8
    assert localspec("chat", "--plain", "--pair", "mine", world=world, stdin=stdin).code == 0
    drafts = [load.draft for load in world.loads]
    assert drafts[0] == own[1]
    assert own[2] in drafts
    assert all(one != other for one, other in pairwise(drafts))


def test_in_the_line_mode_a_candidate_that_cannot_be_loaded_is_rolled_back(
    localspec: Localspec, own: list[Path]
) -> None:
    """The incumbent answers, and it is said."""
    record = begun(localspec, "--pair", "mine", "--draft", own[2], "--share", "90")
    world = RefusingWorld(refused=own[2])
    stdin = b"why?\n/new\n" * 8
    done = localspec("chat", "--plain", "--pair", "mine", world=world, stdin=stdin)
    assert done.code == 0
    assert sum(len(pair.asked) for pair in world.pairs) == 8
    assert "rolled back. It cannot be loaded: Too new." in done.err
    assert [load.draft for load in world.loads].count(own[2]) == 1
    assert json.loads(localspec("trials", "show", record["id"], "--json").out)["end"]["outcome"] == "rolled back"


@dataclass(slots=True)
class RefusingWorld(FakeWorld):
    """In which one draft cannot be loaded."""

    refused: Path = Path()

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        if options.draft == self.refused:
            self.loads.append(options)
            raise ModelFileError("Too new.", "Update llama.cpp.")
        return FakeWorld.open_pair(self, options, cancel, progress)
