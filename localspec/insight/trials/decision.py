"""The end of a trial: the decision, the stored result, and the sentences about it."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import LocalSpecError, UsageError
from localspec.insight.stats.objectives import seconds
from localspec.insight.trials.book import TrialBook
from localspec.insight.trials.comparison import TrialComparison, TrialVerdict
from localspec.insight.trials.promotion import promote, undo
from localspec.insight.trials.trial import Outcome, Trial, TrialEnd, in_words
from localspec.runtime.figures import speed
from localspec.store import Arm
from localspec.store.timestamps import Clock, local_time, now


def reason(trial: Trial, comparison: TrialComparison, verdict: TrialVerdict) -> str:
    """The reason for a verdict in a sentence."""
    ours, theirs = comparison.sides[Arm.CANDIDATE], comparison.sides[Arm.INCUMBENT]
    basis = f"{comparison.units_n:,} {trial.units}, {ours.units_n:,} of them the candidate's"
    if verdict.measure == "failures":
        failed, failed_else = (f"{side.failed_n:,} of" for side in (ours, theirs))
        return f"{failed} its {ours.replies_n:,} replies failed, {failed_else} {theirs.replies_n:,} else."
    if verdict.measure == "ttft_s":
        pair = f"{seconds(ours.median('ttft_s'))} against {seconds(theirs.median('ttft_s'))}"
        return f"Its first token comes later: {pair} (medians; {basis})."
    if verdict.measure == "tokens_per_second":
        return f"{_speeds(comparison)} ({basis})."
    return f"{basis.capitalize()}, show no difference; the incumbent stays."


def _speeds(comparison: TrialComparison) -> str:
    ours, theirs = (comparison.sides[arm].median("tokens_per_second") for arm in (Arm.CANDIDATE, Arm.INCUMBENT))
    medians = f"medians {speed(ours)} against {speed(theirs)} tokens/s"
    gain = comparison.gain
    if gain is None:
        return medians[:1].upper() + medians[1:]
    return f"On like replies it is {abs(gain - 1) * 100:.0f} % {'faster' if gain > 1 else 'slower'}; {medians}"


def decide(book: TrialBook, trial: Trial, comparison: TrialComparison, clock: Clock = now) -> str:
    """End the trial if the evidence supports it; returns the sentences for the user, empty if it goes on.

    Raises StoreError if the end cannot be stored, and what writing settings raises; the trial then goes on.
    """
    verdict = comparison.verdict()
    if verdict is None or (verdict.outcome is Outcome.PROMOTED and not trial.promotes):
        return ""
    why = reason(trial, comparison, verdict)
    return end(book, trial, verdict.outcome, why, comparison, clock)


def end(
    book: TrialBook,
    trial: Trial,
    outcome: Outcome,
    why: str,
    comparison: TrialComparison,
    clock: Clock = now,
    *,
    by: str = "test",
) -> str:
    """End the trial with an outcome; returns the sentences, empty if it has ended meanwhile. Raises as ``decide``."""
    sentences: list[str] = []

    def act(current: Trial) -> TrialEnd:
        ended = TrialEnd(outcome, clock(), why, by, comparison.to_dict())
        if outcome is Outcome.PROMOTED:
            promoted = promote(current)
            sentences.extend(promoted.sentences)
            ended = replace(ended, written=promoted.written, added_pair=promoted.added_pair)
        return ended

    if book.end(trial.id, act) is None:
        return ""
    if outcome is Outcome.PROMOTED:
        sentences.append(f"`localspec trials rollback {trial.id}` undoes it.")
    return " ".join([f"Trial {trial.id}, {in_words(trial)}: {outcome}.", why, *sentences])


def take_back(book: TrialBook, trial: Trial) -> str:
    """Undo a promotion; returns sentences about the restored settings. Raises UsageError if there was none."""
    if trial.end is None or trial.end.outcome is not Outcome.PROMOTED:
        raise UsageError(f"The trial {trial.id} has ended without a promotion.", "There is nothing to undo.")
    sentences = undo(trial.end.written, trial.end.added_pair)
    why = f"{trial.end.why} Promoted {local_time(trial.end.at)}, and taken back."
    undone = replace(
        trial.end, outcome=Outcome.ROLLED_BACK, at=now(), why=why, by="person", written=(), added_pair=None
    )
    book.amend(replace(trial, end=undone))
    return " ".join([f"Trial {trial.id}, {in_words(trial)}: taken back.", *sentences])


def not_loaded(book: TrialBook, trial: Trial, error: LocalSpecError, comparison: TrialComparison) -> str:
    """End a trial whose candidate cannot be loaded. Raises as ``decide``."""
    return end(book, trial, Outcome.ROLLED_BACK, f"It cannot be loaded: {error.message}", comparison)
