"""The replies of other conversations, in memory for the suffix drafter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from localspec.base.paths import user_paths
from localspec.engine.suffix_automaton import SuffixAutomaton
from localspec.runtime.past_replies import PastReplies


@dataclass(frozen=True, slots=True)
class ReplyMemory:
    """Past replies on disk and, the same, as an automaton."""

    file: PastReplies
    automaton: SuffixAutomaton = field(default_factory=SuffixAutomaton)

    @staticmethod
    def open(vocabulary: str) -> ReplyMemory:
        """The replies kept for a vocabulary, known by its fingerprint."""
        memory = ReplyMemory(PastReplies(user_paths().data / "replies", vocabulary[:32]))
        for reply in memory.file.load():
            memory.automaton.extend_apart(reply)
        return memory

    def add(self, reply: Sequence[int]) -> None:
        """Keep a reply, here and on disk."""
        if reply:
            self.automaton.extend_apart(reply)
            self.file.add(reply)
