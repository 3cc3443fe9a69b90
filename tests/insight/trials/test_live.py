"""A chat under a trial: sides are drawn turn by turn, recorded with the replies, and the worse one goes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.pacing import Pacer
from localspec.chat.pair_slot import Phase
from localspec.chat.session import ChatSession
from localspec.engine.events import Round
from localspec.insight.trials.assignment import arm_of
from localspec.insight.trials.book import TrialBook
from localspec.insight.trials.comparison import compared
from localspec.insight.trials.trial import Change, Outcome, PromotedSetting, Trial, TrialEnd
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Generate, Load
from localspec.store import Arm, RecordFilter, ReplyRecord, Store
from tests.insight.trials.support import NOW, TRIAL
from tests.tui.support import LAUNCH, Clock, FakeEngine, rounds_of

SAID = "The sea is blue because water takes the red out of the light that falls into it from above, as they say."
TRY_DEPTH = replace(TRIAL, pair="built-in", share=0.3)
STOPPED = TrialEnd(Outcome.STOPPED, NOW, "A person ended it.", "person")
TRY_DRAFT = replace(TRY_DEPTH, changes=(Change("draft", Path("draft.gguf"), Path("new.gguf")),), share=0.5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """With ids that are the same every time, and sides with them."""
    rng = random.Random(11)
    opened = Store.open(tmp_path / "history.db", ids=lambda: f"{rng.getrandbits(64):016x}")
    yield opened
    opened.close()


def begin(trial: Trial) -> Trial:
    return TrialBook(new_id=lambda: "0badcafe").begin(trial)


class Chat:
    """A session whose engine is as fast as a test says."""

    def __init__(self, store: Store, chat_config: ChatConfig = LAUNCH) -> None:
        self.engine = FakeEngine()
        self.session = ChatSession(chat_config, self.engine, Pacer(None, Clock()), store)
        self.slow: Sequence[int | None] = ()
        """Depths at which a reply takes twice as long."""
        self.n = 0
        self.load()

    def load(self) -> None:
        self.engine.load()
        self.hear()

    def hear(self) -> None:
        for answer in self.engine.inbox.take():
            self.session.receive(answer)
            self.session.advance()
        self.session.advance()

    def say(self, text: str = "Why?") -> Generate:
        """A turn; pairs that are asked for are loaded."""
        self.session.ask(text)
        while self.session.phase is Phase.LOADING:
            self.load()
        where = self.engine.prompts[-1]
        self.n += 1
        factor = 2.0 if where.options.depth in self.slow else 1.0
        self.engine.start()
        self.engine.write(paced(rounds_of(SAID), factor * (1 + 0.02 * (self.n % 5))))
        self.engine.finish()
        self.hear()
        return where

    @property
    def loads(self) -> list[str]:
        """Drafts that were asked for."""
        return [str(request.options.draft) for request in self.engine.sent if isinstance(request, Load)]

    def news(self) -> str:
        return " ".join(news.text for news in self.session.observer.news())


def paced(rounds: list[Round], factor: float) -> list[Round]:
    return [replace(each, total_s=each.total_s * factor) for each in rounds]


def runs_of(store: Store, trial: Trial) -> list[ReplyRecord]:
    return list(store.runs(where=RecordFilter(texts=True, trial=trial.id)))


def test_sides_are_drawn_by_turn_and_recorded(store: Store) -> None:
    """What the engine was asked is what the record says, and anybody can draw it again."""
    trial = begin(TRY_DEPTH)
    chat = Chat(store)
    depths = [chat.say().options.depth for _ in range(30)]
    runs = runs_of(store, trial)
    assert [6 if run.about.arm is Arm.CANDIDATE else None for run in runs] == depths
    assert {6, None} == set(depths)
    for run in runs:
        assert run.question is not None
        assert run.about.arm is arm_of(trial.id, run.question, trial.share)
        assert run.about.options.depth == (6 if run.about.arm is Arm.CANDIDATE else None)
    assert len(chat.loads) == 0, "drafters and depth need none"


def test_a_question_asked_again_stays_on_its_side(store: Store) -> None:
    begin(TRY_DEPTH)
    chat = Chat(store)
    for _ in range(10):
        depth = chat.say().options.depth
        assert chat.session.last is not None
        chat.session.queue(chat.session.thread.again(chat.session.last))
        assert chat.engine.prompts[-1].options.depth == depth
        chat.engine.reply(SAID)
        chat.hear()


def test_a_worse_candidate_is_rolled_back_by_itself(store: Store) -> None:
    """It is said with figures, the evidence is kept, and from then on all turns are the incumbent's."""
    trial = begin(TRY_DEPTH)
    chat = Chat(store)
    chat.slow = (6,)
    turns_n = 0
    while TrialBook().running("built-in") is not None:
        chat.say()
        turns_n += 1
        assert turns_n < 120
    said = chat.news()
    assert f"Trial {trial.id}, depth 6 instead of auto: rolled back." in said
    assert "% slower" in said
    ended = TrialBook().find(trial.id).end
    assert ended is not None
    assert (ended.outcome, ended.by, ended.written) == (Outcome.ROLLED_BACK, "test", ())
    assert ended.figures == compared(trial, runs_of(store, trial)).to_dict()
    assert {chat.say().options.depth for _ in range(20)} == {None}
    assert len(runs_of(store, trial)) == turns_n
    assert chat.news() == ""


def test_what_an_earlier_chat_saw_counts(store: Store) -> None:
    """The evidence is that of all replies on record, whichever program they were made in."""
    trial = begin(TRY_DEPTH)
    for _ in range(40):
        if TrialBook().running("built-in") is None:
            break
        chat = Chat(store)
        chat.slow = (6,)
        for _ in range(3):
            chat.say()
    assert TrialBook().find(trial.id).end is not None


def test_a_trial_rests_while_what_it_tries_is_set_otherwise(store: Store) -> None:
    """It is said once, and nothing counts."""
    trial = begin(TRY_DEPTH)
    chat = Chat(store, replace(LAUNCH, reply=replace(LAUNCH.reply, depth=2)))
    assert {chat.say().options.depth for _ in range(8)} == {2}
    assert chat.news().count("is paused") == 1
    assert runs_of(store, trial) == []


def test_another_pair_is_no_business_of_it(store: Store) -> None:
    trial = begin(TRY_DEPTH)
    chat = Chat(store, replace(LAUNCH, pair_id="other"))
    chat.say()
    assert (runs_of(store, trial), chat.news()) == ([], "")


# Where the candidate has to be loaded


def test_a_conversation_stays_on_its_side(store: Store) -> None:
    """The other draft is loaded when a conversation begins, and never in its midst."""
    trial = begin(TRY_DRAFT)
    chat = Chat(store)
    for _ in range(12):
        before = len(chat.loads)
        chat.say()
        began = len(chat.loads)
        for _ in range(3):
            chat.say()
        assert len(chat.loads) == began <= before + 1
        arm = arm_of(trial.id, chat.session.thread.stored.id, trial.share)
        assert chat.session.chat_config.load.draft == Path("new.gguf" if arm is Arm.CANDIDATE else "draft.gguf")
        chat.session.turn_to(chat.session.store.begin())
    runs = runs_of(store, trial)
    assert len(runs) == 48
    assert {run.about.arm for run in runs} == set(Arm)
    assert all(run.about.arm is arm_of(trial.id, run.conversation, trial.share) for run in runs)


def test_a_conversation_from_before_is_no_evidence(store: Store) -> None:
    """And is not loaded for."""
    chat = Chat(store)
    chat.say()
    trial = begin(replace(TRY_DRAFT, share=0.999))
    chat.say()
    assert (chat.loads, runs_of(store, trial)) == ([], [])


def test_a_candidate_that_cannot_be_loaded_is_rolled_back_at_once(store: Store) -> None:
    """The message is answered by the incumbent."""
    trial = begin(replace(TRY_DRAFT, share=0.999))
    chat = Chat(store)
    chat.session.ask("Why?")
    assert chat.loads == ["new.gguf"]
    chat.engine.refuse_load()
    chat.hear()
    assert chat.loads == ["new.gguf", "draft.gguf"]
    chat.load()
    assert [message.content for message in chat.engine.prompts[-1].prompt] == ["Why?"]  # type: ignore[union-attr]
    assert "cannot be loaded" in chat.news()
    ended = TrialBook().find(trial.id).end
    assert ended is not None
    assert ended.outcome is Outcome.ROLLED_BACK


def test_after_the_trial_the_incumbent_is_loaded_again(store: Store) -> None:
    """With the next message, in the same conversation too."""
    trial = begin(replace(TRY_DRAFT, share=0.999))
    chat = Chat(store)
    chat.say()
    book = TrialBook()
    book.end(trial.id, lambda _: STOPPED)
    chat.say()
    assert chat.loads == ["new.gguf", "draft.gguf"]
    assert chat.session.chat_config.load == LoadOptions(Path("target.gguf"), Path("draft.gguf"))


@pytest.mark.parametrize(
    ("outcome", "written"),
    [(Outcome.PROMOTED, (PromotedSetting("speculation.depth", None, 6, "built-in"),)), (Outcome.STOPPED, ())],
)
def test_what_another_program_has_promoted_is_noticed(
    store: Store, outcome: Outcome, written: tuple[PromotedSetting, ...]
) -> None:
    """Once, so that settings are read anew; of a trial that only ended there is nothing to read."""
    trial = begin(TRY_DEPTH)
    chat = Chat(store)
    chat.say()
    assert not chat.session.trials.wrote_settings()
    TrialBook().end(trial.id, lambda _: TrialEnd(outcome, NOW, "A person decided so.", "person", written=written))
    assert chat.session.trials.wrote_settings() is bool(written)
    assert ("promoted elsewhere" in chat.news()) is bool(written)
    assert not chat.session.trials.wrote_settings()
    assert chat.say().options.depth is None
    assert not chat.session.trials.wrote_settings()
