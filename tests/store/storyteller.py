"""A program that records replies without end, to be killed.

python -m tests.store.storyteller DATABASE SEED

Writes a line before each question (``ask``, its number) and after every event that was recorded: the fake seconds
that have passed, and the text so far. Time passes by the event, not by the clock, so that a test need not wait.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

from localspec.engine.events import Finished, FinishReason, Started
from localspec.engine.tally import Tally
from localspec.store import Store
from tests.store.support import ABOUT, FakeTime, round_of

ROUND_S = 0.03
PATIENCE_S = 60.0
"""A write that gives up waits for the next, which is never if the program is killed; how soon is no matter here."""


def tell(path: Path, seed: int) -> None:
    """Until killed."""
    rng = random.Random(seed)
    time = FakeTime()
    store = Store.open(path, busy_s=PATIENCE_S, monotonic=time.monotonic)
    thread = store.begin("be long")
    for number in itertools.count():
        say("ask", number)
        thread.ask(f"Question {number}")
        recorder, text = thread.begin_reply(ABOUT), ""
        recorder.receive(Started(3, 0, seed))
        for index in range(rng.randrange(1, 60)):
            round_ = round_of(index, [f"{rng.randrange(1000)} " for _ in range(rng.randrange(1, 5))])
            time.seconds += ROUND_S
            recorder.receive(round_)
            text += "".join(token.text for token in round_.tokens)
            say(time.seconds, text)
        recorder.receive(Finished(FinishReason.STOP, text, Tally().timings()))


def say(*what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    tell(Path(sys.argv[1]), int(sys.argv[2]))
