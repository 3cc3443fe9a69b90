"""The replies under way and the latest that ended, as figures: nothing here holds a text."""

from __future__ import annotations

import time
from collections import deque
from http import HTTPStatus
from itertools import count
from typing import Any

from localspec.chat.active_reply import ActiveReply
from localspec.runtime.messages import Reply
from localspec.server.failures import status_of

_ENDED_N = 20
_ROUNDS_N = 60
_DURATIONS_N = 20


class ServerActivity:
    """The replies under way and the latest that ended, for one event loop."""

    def __init__(self) -> None:
        self.refused_n = 0
        self.totals = {"replies_n": 0, "predicted_n": 0, "rounds_n": 0, "draft_n": 0, "draft_n_accepted": 0}
        """The sums over all replies that have ended; prompts that were refused are none."""
        self._numbers = count(1)
        self._running: dict[int, _Watched] = {}
        self._ended: deque[dict[str, Any]] = deque(maxlen=_ENDED_N)
        self._durations: deque[float] = deque(maxlen=_DURATIONS_N)

    def begin(self, pair: str, reply: ActiveReply) -> int:
        """Follow a reply; ``end`` takes the number."""
        number = next(self._numbers)
        self._running[number] = _Watched(number, pair, reply)
        return number

    def end(self, number: int) -> None:
        """Keep the figures of a reply that has ended, and nothing else."""
        watched = self._running.pop(number)
        figures = watched.figures()
        self._ended.appendleft(figures)
        if is_refused(watched.reply):
            return
        self._durations.append(watched.age_s)
        self.totals["replies_n"] += 1
        for name in ("predicted_n", "rounds_n", "draft_n", "draft_n_accepted"):
            self.totals[name] += figures[name]

    @property
    def replying_n(self) -> int:
        return len(self._running)

    @property
    def mean_s(self) -> float:
        """The mean duration of the latest replies; a second before there is any."""
        return sum(self._durations) / len(self._durations) if self._durations else 1.0

    def figures(self) -> list[dict[str, Any]]:
        """The replies under way, then those that ended, the latest first."""
        return [*(watched.figures() for watched in self._running.values()), *self._ended]


def is_refused(reply: Reply) -> bool:
    """True if the engine could not use the prompt, such as one that is too long: an error of whoever asked."""
    return reply.error is not None and reply.prompt is None and status_of(reply.error) is HTTPStatus.BAD_REQUEST


class _Watched:
    def __init__(self, number: int, pair: str, active: ActiveReply) -> None:
        self._number, self._pair, self._active = number, pair, active
        self._since = time.monotonic()

    @property
    def reply(self) -> Reply:
        return self._active.turn.reply

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._since

    def figures(self) -> dict[str, Any]:
        reply = self.reply
        timings = reply.timings
        return {
            "number": self._number,
            "pair": self._pair,
            "state": self._state(),
            "age_s": round(self.age_s, 3),
            "prompt_n": reply.prompt.prompt_n if reply.prompt else 0,
            "cache_n": timings.cache_n,
            "predicted_n": timings.predicted_n,
            "predicted_per_second": timings.predicted_per_second,
            "speedup_vs_plain": timings.speedup_vs_plain,
            "draft_n": timings.draft_n,
            "draft_n_accepted": timings.draft_n_accepted,
            "rounds_n": timings.rounds_n,
            "mean_acceptance_length": timings.mean_acceptance_length,
            "rounds": [[each.proposed_n, each.accepted_n, len(each.tokens)] for each in reply.rounds[-_ROUNDS_N:]],
        }

    def _state(self) -> str:
        if self.reply.error is not None:
            return "refused" if is_refused(self.reply) else "failed"
        return str(self.reply.finished or self._active.phase)
