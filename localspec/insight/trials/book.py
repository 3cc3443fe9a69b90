"""The file of trials: ``trials.json`` beside the conversations, an array, oldest first.

It is a file and not a table of the database for three reasons: a trial decides about the next turn also where the
database cannot be opened; its figures stay when conversations are deleted; and a person can read it. Several programs
may change it: each change is made under a lock to the current file.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.errors import OWN_FOLDER, NotFoundError, StoreError, UsageError, explaining
from localspec.base.file_lock import file_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import file_stamp, replace_file
from localspec.insight.trials.records import trial_from_dict, trial_to_dict
from localspec.insight.trials.trial import Trial, TrialEnd

_MOST_BYTES = 64_000_000


def trials_file() -> Path:
    return user_paths().data / "trials.json"


def _new_id() -> str:
    return secrets.token_hex(4)


class TrialBook:
    """The stored trials. The file is read again whenever it has changed."""

    def __init__(self, path: Path | None = None, new_id: Callable[[], str] = _new_id) -> None:
        self.path = path or trials_file()
        self._new_id = new_id
        self._stamp: tuple[int, int] | None = None
        self._trials: tuple[Trial, ...] = ()

    def trials(self) -> tuple[Trial, ...]:
        """All trials, oldest first. Raises StoreError."""
        stamp = file_stamp(self.path)
        if stamp != self._stamp:
            self._trials, self._stamp = self._read(), stamp
        return self._trials

    def running(self, pair: str | None) -> Trial | None:
        """The running trial on a pair, of which there is at most one. Raises StoreError."""
        return next((trial for trial in self.trials() if trial.end is None and trial.pair == pair), None)

    def find(self, beginning: str) -> Trial:
        """The trial whose id has this beginning. Raises NotFoundError for none, UsageError for several, StoreError."""
        found = [trial for trial in self.trials() if trial.id.startswith(beginning.lower())]
        if not found or not beginning:
            raise NotFoundError(f"No trial has an id that begins with {beginning!r}.", "`localspec trials` lists them.")
        if len(found) > 1:
            raise UsageError(
                f"{len(found)} trials begin with {beginning!r}: {', '.join(trial.id for trial in found)}.",
                "Give more of the id.",
            )
        return found[0]

    def begin(self, trial: Trial) -> Trial:
        """Store a new trial with a new id. Raises UsageError if one runs on that pair, StoreError."""
        with self._changing():
            running = self.running(trial.pair)
            if running is not None:
                raise UsageError(
                    f"The trial {running.id} already runs on {trial.pair}; two at once would disturb each other.",
                    f"End it first: localspec trials stop {running.id}",
                )
            taken = {each.id for each in self.trials()}
            begun = replace(trial, id=next(each for each in iter(self._new_id, "") if each not in taken))
            self._write((*self.trials(), begun))
        return begun

    def end(self, trial_id: str, end: Callable[[Trial], TrialEnd]) -> Trial | None:
        """End a running trial with the result of ``end``; None if it has ended meanwhile.

        ``end`` is called under the lock, so that only one of several programs acts. Raises StoreError, and what ``end``
        raises; the trial then goes on.
        """
        with self._changing():
            trial = self.find(trial_id)
            if trial.end is not None:
                return None
            return self._replaced(replace(trial, end=end(trial)))

    def amend(self, trial: Trial) -> Trial:
        """Replace a stored trial that has ended. Raises StoreError."""
        with self._changing():
            return self._replaced(trial)

    def _replaced(self, trial: Trial) -> Trial:
        self._write(tuple(trial if each.id == trial.id else each for each in self.trials()))
        return trial

    def _read(self) -> tuple[Trial, ...]:
        try:
            records = json.loads(read_file(self.path, _MOST_BYTES))
            if not isinstance(records, list):
                raise TypeError("not an array")
            return tuple(map(trial_from_dict, records))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(
                f"The trials in {self.path} cannot be read: {error.strerror or error}.", "Check its permissions."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"The trials in {self.path} cannot be understood.", "Move the file away; trials then begin anew."
            ) from error

    def _write(self, trials: tuple[Trial, ...]) -> None:
        text = json.dumps([trial_to_dict(trial) for trial in trials], indent=1) + "\n"
        with self._storing():
            replace_file(self.path, text.encode())
        self._trials, self._stamp = trials, file_stamp(self.path)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock for changing the file.

        It is a file of its own: a promotion writes settings meanwhile, which takes the lock of their folder.
        """
        with self._storing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = ExitStack()
            lock.enter_context(file_lock(self.path.with_suffix(".lock")))
        with lock:
            self._stamp = (-1, -1)
            yield

    def _storing(self) -> AbstractContextManager[None]:
        return explaining(StoreError, f"Trials cannot be stored in {self.path}", OWN_FOLDER)
