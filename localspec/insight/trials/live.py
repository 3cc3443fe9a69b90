"""The trials of a chat: which side the next turn is on, and what follows from each reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished
from localspec.insight.observers import News
from localspec.insight.trials.assignment import arm_of
from localspec.insight.trials.book import TrialBook
from localspec.insight.trials.comparison import Comparison
from localspec.insight.trials.decision import Clock, not_loaded, reason, settle
from localspec.insight.trials.trial import End, Outcome, Trial, in_words
from localspec.runtime.chat_config import ChatConfig
from localspec.store import Arm, RecordFilter, ReplyMetadata, Store


@dataclass(frozen=True, slots=True)
class Assigned:
    """How the next reply is to be made, and what it counts for."""

    chat_config: ChatConfig
    trial: str | None = None
    arm: Arm | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class Trials:
    """One chat's view of the book of trials. Belongs to one thread; never raises.

    Follows replies as a witness does: after the store has one, the evidence is looked at, and a trial that is
    decided ends. ``news`` says so.
    """

    def __init__(self, store: Store, book: TrialBook | None = None, clock: Clock = _now) -> None:
        self._store = store
        self._book = book or TrialBook()
        self._clock = clock
        self._news: list[News] = []
        self._said: set[str] = set()
        self._known: dict[str, tuple[Comparison, int]] = {}
        """By trial: what is counted, and up to which place in the store."""
        self._lent: Trial | None = None
        """The trial whose candidate is loaded."""
        self._wrote = False
        self._watched: str | None = None
        """Id of the trial that was under way when there was one last."""

    # Which side

    def to_load(self, chat_config: ChatConfig, conversation: str, *, begins: bool) -> ChatConfig:
        """What is to be loaded for the next turn of a conversation; ``chat_config`` is what is loaded.

        Another than that only where a conversation begins, or a trial has ended that was on loan.
        """
        chat_config = self._returned(chat_config)
        trial = self._running(chat_config)
        if trial is None or not trial.sticky or not begins:
            return chat_config
        arm = arm_of(trial.id, conversation, trial.share)
        self._lent = trial if arm is Arm.CANDIDATE else None
        if arm is Arm.CANDIDATE:
            self._say_once(f"For the trial {trial.id} this conversation is answered with {in_words(trial)}.")
        return trial.with_arm(chat_config, arm)

    def assign(self, chat_config: ChatConfig, conversation: str, turn: str) -> Assigned:
        """The side of a turn, by the id of its question; of a conversation, the one it began on."""
        trial = self._running(chat_config)
        if trial is None:
            return Assigned(chat_config)
        arm = arm_of(trial.id, conversation if trial.sticky else turn, trial.share)
        chosen = trial.with_arm(chat_config, arm)
        if trial.sticky and chosen.load != chat_config.load:
            # It began before the trial, or is gone back to: no load for that, and no evidence from it.
            return Assigned(chat_config)
        return Assigned(chosen, trial.id, arm)

    def instead_of(self, chat_config: ChatConfig, error: LocalSpecError) -> ChatConfig | None:
        """What to load in place of a candidate that cannot be loaded, whose trial ends; None if it is none."""
        trial = self._lent
        if trial is None or not trial.is_candidate(chat_config):
            return None
        self._lent = None
        self._tell_if_any(lambda: not_loaded(self._book, trial, error, self._counted(trial), self._clock))
        return trial.with_arm(chat_config, Arm.INCUMBENT)

    def _running(self, chat_config: ChatConfig) -> Trial | None:
        """The trial that the next turn counts for."""
        trial = self._looked_up(chat_config.pair_id)
        if trial is None or not chat_config.keeps_figures:
            return None
        if not trial.suits(chat_config) and not (trial.sticky and trial.is_candidate(chat_config)):
            self._say_once(
                f"The trial {trial.id}, {in_words(trial)}, rests: that is set otherwise now than when it began."
            )
            return None
        return trial

    def _looked_up(self, pair: str | None) -> Trial | None:
        try:
            running = self._book.running(pair)
        except LocalSpecError as error:
            self._say_once(str(error))
            return None
        self._watched = self._watched if running is None else running.id
        return running

    def _returned(self, chat_config: ChatConfig) -> ChatConfig:
        """The incumbent again, if the trial on loan has ended and not in a promotion."""
        trial = self._lent
        if trial is None or not trial.is_candidate(chat_config):
            return chat_config
        running = self._looked_up(trial.pair)
        if running is not None and running.id == trial.id:
            return chat_config
        self._lent = None
        ended = self._ended(trial.id)
        promoted = ended is not None and ended.outcome is Outcome.PROMOTED
        return chat_config if promoted else trial.with_arm(chat_config, Arm.INCUMBENT)

    def _ended(self, trial_id: str) -> End | None:
        try:
            return self._book.find(trial_id).end
        except LocalSpecError:
            return None

    # What follows

    def begin(self, about: ReplyMetadata, message: str = "") -> _Followed:
        """As ``Witness.begin``."""
        return _Followed(self, about.trial)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """As ``Witness.news``."""
        news, self._news = self._news, []
        return news

    def wrote_settings(self) -> bool:
        """Whether a promotion, here or in another program, has written settings since this was asked last.

        They are to be read anew then.
        """
        watched = self._watched
        ended = None if watched is None else self._ended(watched)
        if ended is not None:
            self._watched = None
            if ended.written:
                self._wrote = True
                self._say_once(f"The trial {watched} was promoted elsewhere, and is in force from the next reply on.")
        wrote, self._wrote = self._wrote, False
        return wrote

    def look(self, trial_id: str) -> None:
        """A reply of the trial has ended: see whether it is decided."""
        try:
            trial = self._book.find(trial_id)
            comparison = self._counted(trial)
        except LocalSpecError as error:
            self._say_once(str(error))
            return
        if trial.end is None:
            self._tell_if_any(lambda: settle(self._book, trial, comparison, self._clock))
            ended = self._ended(trial.id)
            if ended is not None:
                self._watched = None
                self._wrote |= bool(ended.written)
            self._suggest(trial, comparison)

    def _counted(self, trial: Trial) -> Comparison:
        """All replies of the trial that have ended. Raises StoreError."""
        comparison, place = self._known.get(trial.id) or (Comparison(trial), 0)
        for run in self._store.runs(place, asked=RecordFilter(texts=True, settled=True, trial=trial.id)):
            comparison.receive(run)
            place = run.place
        self._known[trial.id] = comparison, place
        return comparison

    def _suggest(self, trial: Trial, comparison: Comparison) -> None:
        """Say of a candidate that is better and not promoted unasked."""
        verdict = comparison.verdict()
        if not trial.promotes and verdict is not None and verdict.outcome is Outcome.PROMOTED:
            self._say_once(
                f"The candidate of trial {trial.id}, {in_words(trial)}, is better. "
                f"{reason(trial, comparison, verdict)} `localspec trials promote {trial.id}` keeps it."
            )

    def _tell_if_any(self, act: Callable[[], str]) -> None:
        try:
            sentence = act()
        except LocalSpecError as error:
            self._say_once(f"A trial was decided, but that cannot be written down: {error}")
            return
        if sentence:
            self._news.append(News(sentence, _short(sentence)))

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._news.append(News(sentence, _short(sentence)))


def _short(sentences: str) -> str:
    """The first of them; the command that shows the rest."""
    first, _, rest = sentences.partition(". ")
    return f"{first}; see `localspec trials`." if rest else sentences


class _Followed:
    """A reply, of which only the end matters."""

    def __init__(self, trials: Trials, trial_id: str | None) -> None:
        self._trials = trials
        self._trial_id = trial_id

    def receive(self, event: Event) -> None:
        if self._trial_id is not None and isinstance(event, Finished):
            self._trials.look(self._trial_id)

    def fail(self, error: LocalSpecError) -> None:
        if self._trial_id is not None:
            self._trials.look(self._trial_id)
