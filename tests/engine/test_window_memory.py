"""What is kept of layers that see a window, by what llama.cpp says it still has."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.memory import WindowMemory

WINDOW = 16


@dataclass(slots=True)
class ToldCells:
    """As much of llama.cpp as a memory asks: ``lowest`` is the first position it says it has."""

    lowest: int = 0
    deeds: list[tuple[str, int]] = field(default_factory=list)

    def llama_get_memory(self, context: object) -> object:
        return context

    def llama_model_n_swa(self, model: object) -> int:
        return WINDOW

    def llama_memory_seq_pos_min(self, memory: object, sequence: int) -> int:
        return self.lowest

    def llama_memory_seq_rm(self, memory: object, sequence: int, begin: int, end: int) -> bool:
        self.deeds.append(("cut", begin))
        return True

    def llama_memory_clear(self, memory: object, data: bool) -> None:
        self.deeds.append(("forget", 0))


def memory_of(cells: ToldCells, held_n: int) -> WindowMemory:
    loaded = SimpleNamespace(native=SimpleNamespace(c=cells), context=object(), model=object())
    memory = WindowMemory(cast(LoadedModel, cast(Any, loaded)))
    memory.added(list(range(held_n)))
    return memory


@pytest.mark.parametrize(
    ("lowest", "n", "kept"),
    [
        (0, 90, 90),
        (90 - WINDOW, 90, 90),  # all that position 90 sees is there
        (90 - WINDOW + 1, 90, 0),  # one token of it is not
        (-1, 90, 0),  # nothing is
        (0, 100 - 64, 36),
        (0, 100 - 65, 0),  # so far back cells may have been reused in another order
        (84, 100, 100),  # nothing is taken back
        (0, 8, 0),
    ],
)
def test_a_window_is_gone_back_in_only_where_all_that_is_seen_is_there(lowest: int, n: int, kept: int) -> None:
    """As llama.cpp says itself, whatever follows from how it is used; else all is read again."""
    cells = ToldCells(lowest)
    memory = memory_of(cells, 100)
    assert memory.reach(n) == kept
    memory.rewind(n)
    assert len(memory.held) == kept
    assert cells.deeds == ([] if n == 100 else [("cut", n)] if kept else [("forget", 0)])


def test_a_short_text_is_within_the_window() -> None:
    """What a window is longer than is whole if its first token is there."""
    assert memory_of(ToldCells(0), 12).reach(5) == 5
    assert memory_of(ToldCells(1), 12).reach(5) == 0
