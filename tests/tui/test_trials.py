"""A trial in the app: decided between two turns, said in the notice, and in force from the next reply."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.pair_slot import Phase
from localspec.config import read_config
from localspec.insight.trials.book import TrialBook
from localspec.insight.trials.trial import Change
from localspec.store import Store
from tests.insight.trials.support import TRIAL
from tests.insight.trials.test_live import SAID, paced
from tests.tui.settings_support import chat_config
from tests.tui.support import Clock, FakeEngine, make_app, notice_text, rounds_of, send, session, wait_until


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The app closes it. Its ids are the same every time, and sides with them."""
    rng = random.Random(5)
    return Store.open(tmp_path / "history.db", ids=lambda: f"{rng.getrandbits(64):016x}")


async def test_a_faster_candidate_is_promoted_and_in_force_at_once(store: Store) -> None:
    """The file has it, and so has the next reply."""
    made = chat_config('[screen]\npace = "full"\n')
    depth = Change("depth", made.reply.depth, 6)
    trial = replace(TRIAL, pair=made.pair_id or "", changes=(depth,), share=0.5)
    TrialBook(new_id=lambda: "0badcafe").begin(trial)
    engine = FakeEngine()
    async with make_app(engine, made, Clock(), store).run_test(size=(100, 24)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        turns_n = 0
        while TrialBook().running(trial.pair) is not None:
            turns_n += 1
            assert turns_n < 60
            await send(pilot, "Why?")
            asked = engine.prompts[-1].options.depth
            engine.start()
            engine.write(paced(rounds_of(SAID), (0.5 if asked == 6 else 1.0) * (1 + 0.01 * (turns_n % 5))))
            engine.finish()
            await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        assert read_config().pairs == {made.pair_id: {"speculation.depth": 6}}
        await wait_until(pilot, lambda: "promoted" in notice_text(pilot))
        for _ in range(6):
            await send(pilot, "And now?")
            assert engine.prompts[-1].options.depth == 6
            engine.reply(SAID)
            await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
    store.close()
