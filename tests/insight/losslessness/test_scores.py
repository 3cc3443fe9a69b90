"""The scores a session shows are those its replies are made from."""

from __future__ import annotations

from localspec.engine.cancel import Cancellation
from localspec.engine.settings import Sampling
from localspec.insight.losslessness.subject import PLAIN, ScorablePair, ask
from localspec.runtime.load import open_pair
from localspec.runtime.messages import Message, Role
from localspec.runtime.options import LoadOptions
from tests.builtin import TARGET

PROMPT = (Message(Role.USER, "Tell me a story about a fox."),)


def test_the_best_score_is_the_greedy_token() -> None:
    """At every place of a reply, however many tokens are evaluated at a time."""
    pair = open_pair(LoadOptions(TARGET), Cancellation())
    try:
        assert isinstance(pair, ScorablePair)
        reply = ask(pair, PROMPT, PLAIN.options(Sampling(temperature=0), 0, 21)).ids
        for width in (1, 4, 17):
            rows = [int(row.argmax()) for row in pair.scores(PROMPT, reply, width)]
            assert rows == reply
    finally:
        pair.close()
