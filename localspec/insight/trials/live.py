"""The trials in a chat: the side of the next turn, and the evaluation after each reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished
from localspec.insight.observers import News
from localspec.insight.trials.assignment import arm_of
from localspec.insight.trials.book import TrialBook
from localspec.insight.trials.comparison import TrialComparison
from localspec.insight.trials.decision import decide, not_loaded, reason
from localspec.insight.trials.trial import Outcome, Trial, TrialEnd, in_words
from localspec.runtime.chat_config import ChatConfig
from localspec.store import Arm, RecordFilter, ReplyMetadata, Store


@dataclass(frozen=True, slots=True)
class Assigned:
    """The configuration of the next reply, with the trial and the side that it counts for."""

    chat_config: ChatConfig
    trial: str | None = None
    arm: Arm | None = None


class Trials:
    """The trials of one chat, as an observer. Not thread-safe; never raises.

    After a reply is stored, the evidence is evaluated, and a decided trial ends, which is reported in ``news``.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._book = TrialBook()
        self._news: list[News] = []
        self._reported: set[str] = set()
        self._known: dict[str, tuple[TrialComparison, int]] = {}
        """The comparisons by trial, with the place in the store up to which they are complete."""
        self._loaned: Trial | None = None
        """The trial whose candidate is loaded."""
        self._wrote = False
        self._watched: str | None = None
        """The id of the latest running trial."""

    # The side of a turn

    def to_load(self, chat_config: ChatConfig, conversation: str, *, begins: bool) -> ChatConfig:
        """The configuration to load for the next turn of a conversation; ``chat_config`` is the loaded one.

        They differ only where a conversation begins, or the trial of a loaded candidate has ended.
        """
        chat_config = self._returned(chat_config)
        trial = self._running(chat_config)
        if trial is None or not trial.sticky or not begins:
            return chat_config
        arm = arm_of(trial.id, conversation, trial.share)
        self._loaned = trial if arm is Arm.CANDIDATE else None
        if arm is Arm.CANDIDATE:
            self._report_once(f"For the trial {trial.id} this conversation is answered with {in_words(trial)}.")
        return trial.with_arm(chat_config, arm)

    def assign(self, chat_config: ChatConfig, conversation: str, turn: str) -> Assigned:
        """Assign a turn by the id of its question, or its conversation to the side on which it began."""
        trial = self._running(chat_config)
        if trial is None:
            return Assigned(chat_config)
        arm = arm_of(trial.id, conversation if trial.sticky else turn, trial.share)
        chosen = trial.with_arm(chat_config, arm)
        if trial.sticky and chosen.load != chat_config.load:
            # The conversation began before the trial, or is continued: it is not reloaded and does not count.
            return Assigned(chat_config)
        return Assigned(chosen, trial.id, arm)

    def instead_of(self, chat_config: ChatConfig, error: LocalSpecError) -> ChatConfig | None:
        """The incumbent's configuration after a candidate failed to load, which ends its trial; None for others."""
        trial = self._loaned
        if trial is None or not trial.is_candidate(chat_config):
            return None
        self._loaned = None
        self._report_result(lambda: not_loaded(self._book, trial, error, self._counted(trial)))
        return trial.with_arm(chat_config, Arm.INCUMBENT)

    def _running(self, chat_config: ChatConfig) -> Trial | None:
        """The running trial that the next turn counts for; None if there is none."""
        trial = self._looked_up(chat_config.pair_id)
        if trial is None or not chat_config.keeps_figures:
            return None
        if not trial.suits(chat_config) and not (trial.sticky and trial.is_candidate(chat_config)):
            self._report_once(
                f"The trial {trial.id}, {in_words(trial)}, is paused: these settings have changed since it began."
            )
            return None
        return trial

    def _looked_up(self, pair: str | None) -> Trial | None:
        try:
            running = self._book.running(pair)
        except LocalSpecError as error:
            self._report_once(str(error))
            return None
        self._watched = self._watched if running is None else running.id
        return running

    def _returned(self, chat_config: ChatConfig) -> ChatConfig:
        """The incumbent's configuration if the loaded candidate's trial has ended without a promotion."""
        trial = self._loaned
        if trial is None or not trial.is_candidate(chat_config):
            return chat_config
        running = self._looked_up(trial.pair)
        if running is not None and running.id == trial.id:
            return chat_config
        self._loaned = None
        ended = self._ended(trial.id)
        promoted = ended is not None and ended.outcome is Outcome.PROMOTED
        return chat_config if promoted else trial.with_arm(chat_config, Arm.INCUMBENT)

    def _ended(self, trial_id: str) -> TrialEnd | None:
        try:
            return self._book.find(trial_id).end
        except LocalSpecError:
            return None

    # The evaluation

    def begin(self, about: ReplyMetadata, message: str = "") -> _Followed:
        """Begin to observe a reply, as ``Observer.begin``."""
        return _Followed(self, about.trial)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """Return new messages, as ``Observer.news``."""
        news, self._news = self._news, []
        return news

    def wrote_settings(self) -> bool:
        """Return True if a promotion, here or elsewhere, has written settings since the last call.

        The settings must then be read again.
        """
        watched = self._watched
        ended = None if watched is None else self._ended(watched)
        if ended is not None:
            self._watched = None
            if ended.written:
                self._wrote = True
                self._report_once(
                    f"The trial {watched} was promoted elsewhere, and is in force from the next reply on."
                )
        wrote, self._wrote = self._wrote, False
        return wrote

    def evaluate(self, trial_id: str) -> None:
        """Evaluate a trial after one of its replies, and end it if it is decided."""
        try:
            trial = self._book.find(trial_id)
            comparison = self._counted(trial)
        except LocalSpecError as error:
            self._report_once(str(error))
            return
        if trial.end is None:
            self._report_result(lambda: decide(self._book, trial, comparison))
            ended = self._ended(trial.id)
            if ended is not None:
                self._watched = None
                self._wrote |= bool(ended.written)
            self._suggest(trial, comparison)

    def _counted(self, trial: Trial) -> TrialComparison:
        """The comparison with all ended replies of the trial. Raises StoreError."""
        comparison, place = self._known.get(trial.id) or (TrialComparison(trial), 0)
        for run in self._store.runs(place, where=RecordFilter(texts=True, settled=True, trial=trial.id)):
            comparison.receive(run)
            place = run.place
        self._known[trial.id] = comparison, place
        return comparison

    def _suggest(self, trial: Trial, comparison: TrialComparison) -> None:
        """Report a better candidate that is not promoted automatically."""
        verdict = comparison.verdict()
        if not trial.promotes and verdict is not None and verdict.outcome is Outcome.PROMOTED:
            self._report_once(
                f"The candidate of trial {trial.id}, {in_words(trial)}, is better. "
                f"{reason(trial, comparison, verdict)} `localspec trials promote {trial.id}` keeps it."
            )

    def _report_result(self, act: Callable[[], str]) -> None:
        try:
            sentence = act()
        except LocalSpecError as error:
            self._report_once(f"A trial was decided, but the result cannot be stored: {error}")
            return
        if sentence:
            self._news.append(News(sentence, _short(sentence)))

    def _report_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._news.append(News(sentence, _short(sentence)))


def _short(sentences: str) -> str:
    """The first sentence, with the command that shows the rest."""
    first, _, rest = sentences.partition(". ")
    return f"{first}; see `localspec trials`." if rest else sentences


class _Followed:
    """The observer of one reply, for its end only."""

    def __init__(self, trials: Trials, trial_id: str | None) -> None:
        self._trials = trials
        self._trial_id = trial_id

    def receive(self, event: Event) -> None:
        if self._trial_id is not None and isinstance(event, Finished):
            self._trials.evaluate(self._trial_id)

    def fail(self, error: LocalSpecError) -> None:
        if self._trial_id is not None:
            self._trials.evaluate(self._trial_id)
