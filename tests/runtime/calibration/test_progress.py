"""The progress of a measurement: its steps by name, and the time that is left."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from localspec.engine.cancel import Cancellation
from localspec.runtime.calibration_file import CalibrationFile
from localspec.runtime.tuning import Tuning
from tests.runtime.calibration.timed_models import Clock, model


class TestProgress:
    """Measuring a slow target takes half a minute: a reader sees that it goes on, at what, and for how long."""

    TOKEN_S = 0.5
    """Two tokens a second."""
    PROMPT = tuple(range(40)) * 2

    def seen(self, clock: Clock, folder: Path, token_s: float = TOKEN_S) -> list[tuple[float, str, float]]:
        """When, what and how far, until all is measured."""
        target = model(clock, lambda batch, threads: token_s * (1 + (batch - 1) / 4))
        draft = model(clock, lambda batch, threads: token_s / 12)
        seen: list[tuple[float, str, float]] = []
        tuning = Tuning(target, {"draft": draft}, tune_target=True, tune_drafters=True, largest=17)
        file = CalibrationFile(folder, "key")
        tuning.fit(self.PROMPT, file, Cancellation(), lambda what, part: seen.append((clock.now_s, what, part)))
        return [*seen, (clock.now_s, "", 1.0)]

    def test_it_moves_all_the_time_and_never_back(self, clock: Clock, tmp_path: Path) -> None:
        seen = self.seen(clock, tmp_path)
        parts = [part for _, _, part in seen]
        steps_s = [after[0] - before[0] for before, after in pairwise(seen)]
        assert parts == sorted(parts)
        assert next(at_s for at_s, _, part in seen if part > 0) < 0.1 * seen[-1][0]
        assert max(steps_s) < 0.2 * seen[-1][0], "no step is long"
        assert max(after[2] - before[2] for before, after in pairwise(seen)) < 0.2, "and none leaps"

    @pytest.mark.parametrize("again", [False, True], ids=["the first load", "a later load"])
    def test_the_time_left_is_about_right(self, clock: Clock, tmp_path: Path, again: bool) -> None:
        """Within two fifths, or two seconds, from the first estimate on; also where only plain speed is measured."""
        if again:
            self.seen(clock, tmp_path)
        begun_s = clock.now_s
        seen = self.seen(clock, tmp_path)
        said = [
            (seen[-1][0] - at_s, float(left[1]))
            for at_s, what, _ in seen
            if (left := re.search(r", (\d+) s left", what))
        ]
        assert seen[-1][0] - begun_s > (10 if again else 25)
        assert len(said) > 3
        for true_s, said_s in said:
            assert abs(said_s - true_s) < max(2, 0.4 * true_s), (true_s, said_s)

    def test_each_step_is_named(self, clock: Clock, tmp_path: Path) -> None:
        named = [what.partition(",")[0] for _, what, _ in self.seen(clock, tmp_path)]
        expected = [
            "a test text",
            "threads",
            "plain speed",
            "one token",
            "batches of 4",
            "drafter draft",
            "is it steady?",
        ]
        assert [name for name in dict.fromkeys(named) if name in expected] == expected

    def test_what_is_over_at_once_is_not_counted_down(self, clock: Clock, tmp_path: Path) -> None:
        assert not any("left" in what for _, what, _ in self.seen(clock, tmp_path, token_s=0.001))
