"""A comparison of several pairs: the same message to each, one after the other, each with its own options.

One engine holds one pair, so that a comparison needs no more memory than a reply, and no run takes time from another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from localspec.base.errors import UsageError
from localspec.base.fuzzy import nearest
from localspec.chat.race import Lane, Runs
from localspec.runtime import figures
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Request

MOST = 4
"""Pairs in one comparison: a column each."""


class Comparison(Runs):
    """A lane for each pair, which is loaded for it. A pair that cannot be loaded leaves its lane empty."""

    statement = "The same message to each pair, one at a time: only one is in memory."
    _stopped = "The comparison was stopped."

    def __init__(
        self,
        send: Callable[[Request], None],
        new_id: Callable[[], int],
        prompt: tuple[Message, ...] | str,
        chat_configs: Sequence[ChatConfig],
        load: Callable[[ChatConfig], PairInfo | None],
    ) -> None:
        """``load`` begins to load a pair; it returns the pair if that is loaded already. No tool is called."""
        lanes = [Lane(_name(each), replace(each.reply, tools=()), each) for each in chat_configs]
        super().__init__(send, new_id, prompt, lanes)
        self._load = load

    def loaded(self, info: PairInfo) -> None:
        lane = self.running
        if lane is not None and lane.info is None:
            lane.info = info
            super()._run(lane)

    def load_failed(self, why: str) -> bool:
        """Take in that a pair cannot be loaded, and go on with the next; False if none is being loaded."""
        lane = self.running
        if lane is None or lane.info is not None:
            return False
        self._give_up(lane, why)
        return True

    def fail(self, request_id: int | None, why: str, *, died: bool = False) -> bool:
        lane = self.running
        if died or lane is None or request_id is None or request_id != lane.request_id:
            return super().fail(request_id, why, died=died)
        self._give_up(lane, why)
        return True

    def stop(self) -> None:
        if self.running is not None and self.running.info is None:
            self.running, self.failure = None, self._stopped  # the load itself ends when the next pair is loaded
        else:
            super().stop()

    def verdict(self) -> str:
        """The fastest pair, and why others have no reply."""
        speeds = {lane.name: lane.tokens_n / lane.took_s for lane in self.shown if lane.finished and lane.took_s}
        said = [f"{lane.name} has no reply: {lane.failure}" for lane in self.shown if lane.failure]
        return " ".join(filter(None, (fastest(speeds), *said))) or "All have replied."

    def _give_up(self, lane: Lane, why: str) -> None:
        lane.failure, self.running = why, None
        self._go_on()

    def _run(self, lane: Lane) -> None:
        assert lane.chat_config is not None
        self.running = lane
        if (info := self._load(lane.chat_config)) is not None:
            self.loaded(info)


def _name(chat_config: ChatConfig) -> str:
    return chat_config.pair_id or chat_config.load.target.stem


def fastest(speeds: Mapping[str, float]) -> str:
    """The fastest pair in a sentence, of their tokens a second; empty with fewer than two."""
    if len(speeds) < 2:
        return ""
    name = max(speeds, key=lambda name: speeds[name])
    return f"{name} was the fastest, with {figures.speed(speeds[name])} tokens/s."


def named_pairs(text: str, known: Collection[str], in_use: str | None) -> tuple[list[str], str]:
    """The ids of the pairs that ``text`` begins with, and the message behind them. Raises UsageError.

    A single pair is compared with the one in use.

    >>> named_pairs("a B why?", {"a", "b"}, None)
    (['a', 'b'], 'why?')
    """
    ids: list[str] = []
    rest = text.strip()
    while rest and (word := rest.split(maxsplit=1)[0].lower()) in known:
        ids += [word] if word not in ids else []
        rest = rest[len(word) :].strip()
    if len(ids) == 1 and in_use is not None and in_use not in ids:
        ids.insert(0, in_use)
    if not 1 < len(ids) <= MOST:
        word = rest.split(maxsplit=1)[0] if rest and len(ids) <= 1 else ""
        meant = nearest(word, known) if word and not ids else None
        none = f"There is no pair {word[:40]}; " if word else ""
        raise UsageError(
            f"A comparison needs 2 to {MOST} different pairs: /compare PAIR [PAIR ...] [MESSAGE].",
            f"{none}did you mean {meant}?" if meant else f"{none}/pair lists the pairs.",
        )
    return ids, rest
