"""The memory of a llama.cpp context: the tokens it holds, and how far it can be taken back. One class for each kind.

llama.cpp says yes to more than it can do. A rollback of a recurrent state is right only once, directly after
an evaluation and by fewer tokens than that had; a window's cells are reused once they are out of sight. So
each kind keeps count of what is certain, and everything else is read again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.short_context import pointer

_SEQUENCE = 0
_PARTIAL = 1
"""LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: the recurrent states without the attention's cells."""


def make_memory(loaded: LoadedModel) -> ContextMemory:
    """The kind that the model needs."""
    c, model = loaded.native.c, loaded.model
    if c.llama_model_is_recurrent(model) or c.llama_model_is_hybrid(model):
        return StateMemory(loaded)
    if c.llama_model_n_swa(model) > 0 and not loaded.swa_full:
        return WindowMemory(loaded)
    return ContextMemory(loaded)


class ContextMemory:
    """A cell for every token, free to be forgotten from any token on.

    Where layers see a window they keep what lies behind it too, but a file does not: what comes from one
    (``_whole_from`` tokens) is forgotten whole or not at all.
    """

    replay_n = 0
    """About how many tokens are read again when some just evaluated are taken back."""
    can_pad = True
    """True if tokens of no meaning may be evaluated behind others, and taken back at once."""
    forgets_freely = True
    """True if the latest tokens can be forgotten at no cost, however often."""
    fold_n = sys.maxsize
    """Up to so many tokens are read again together with new ones; more of them alone, before the new ones."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._c = loaded.native.c
        self._context = loaded.context
        self._memory = self._c.llama_get_memory(loaded.context)
        self._windowed = self._c.llama_model_n_swa(loaded.model) > 0
        self._whole_from = 0
        self._saved: list[tuple[int, int]] = []
        """The end of each image that takes fewer positions than rows, and the positions saved up to there."""
        self.held: list[int] = []

    @property
    def why_not_saved(self) -> str:
        """The reason why what is held cannot be kept in a file, as a clause; empty if it can."""
        return "an image in it has positions of its own" if self._saved else ""

    @property
    def keeps_parts(self) -> bool:
        """True if a part of what comes from a file may stay; otherwise it is forgotten whole or not at all."""
        return not self._windowed

    @property
    def size_bytes(self) -> int:
        """The size of what is held, as llama.cpp writes it."""
        return int(self._c.llama_state_seq_get_size_ext(self._context, _SEQUENCE, 0))

    def batch_n(self, capacity: int) -> int:
        """The most tokens to evaluate at once, of what the context has been made for."""
        return capacity

    def move(self, context: Any) -> None:
        """Look after another context from now on, which holds the same."""
        self._context = context
        self._memory = self._c.llama_get_memory(context)

    def position(self, n: int) -> int:
        """The position after the first ``n`` tokens held."""
        return n - next((saved for end, saved in reversed(self._saved) if end <= n), 0)

    def reach(self, n: int) -> int:
        """The number of tokens that would stay if all but the first ``n`` were to be forgotten."""
        return min(n, len(self.held)) if n >= self._whole_from else 0

    def rewind(self, n: int) -> None:
        """Forget all but at most the first ``n`` tokens held; more where the memory cannot stop there."""
        if n < self._whole_from:
            self.forget()
        elif n < len(self.held):
            self._cut(n)

    def forget(self) -> None:
        """Hold nothing."""
        self._c.llama_memory_clear(self._memory, True)
        self._whole_from = 0
        self._saved.clear()
        self.held.clear()

    def before(self, n: int, last: int) -> None:
        """``n`` tokens are about to be evaluated, with scores wanted for the ``last`` of them."""

    def added(self, tokens: list[int]) -> None:
        """An evaluation of these went well."""
        self.held.extend(tokens)

    def added_image(self, places: list[int], positions_n: int) -> None:
        """A part of an image was evaluated, which takes so many positions."""
        self.added(places)
        if positions_n != len(places):
            saved = self._saved[-1][1] if self._saved else 0
            self._saved.append((len(self.held), saved + len(places) - positions_n))

    def drop_padding(self) -> None:
        """Take back what was evaluated behind the tokens held."""
        self._cut(len(self.held))

    def restored(self, tokens: list[int]) -> None:
        """The context, which held nothing, was given these from a file."""
        self.held = tokens
        self._whole_from = len(tokens) if self._windowed else 0

    def after(self, n: int, last: int, *, rewound: bool) -> None:
        """A question is answered: ``n`` tokens were evaluated for it, after going back or not."""

    def broke_off(self) -> None:
        """An evaluation failed: hold what was there before it, or less if llama.cpp does."""
        n = len(self.held)
        # Positions and tokens are the same but behind an image, whose cells do not tell how many there are.
        self._cut(n if self._saved else min(n, self._c.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1))

    def _cut(self, n: int) -> None:
        """Forget from position ``n`` on, or everything where llama.cpp cannot."""
        if self._c.llama_memory_seq_rm(self._memory, _SEQUENCE, self.position(n), -1):
            del self.held[n:]
            self._saved = [(end, saved) for end, saved in self._saved if end <= n]
        else:
            self.forget()


class WindowMemory(ContextMemory):
    """Some layers see only the latest tokens and have room for few more.

    llama.cpp reuses cells that are out of sight, lowest position first as long as the context is never cut
    far behind its furthest point and batches leave some cells free; then what is in sight is whole if its
    lowest position is there.
    """

    can_pad = False
    _FURTHEST_CUT_N = 64
    why_not_saved = "windows were cut to fit the memory"
    """Nothing is known of the order of cells that were read back."""

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded)
        self._window = self._c.llama_model_n_swa(loaded.model)
        self._peak = 0

    def batch_n(self, capacity: int) -> int:
        return max(1, capacity // 2, capacity - self._FURTHEST_CUT_N)

    def reach(self, n: int) -> int:
        if n >= len(self.held):
            return len(self.held)
        lowest = self._c.llama_memory_seq_pos_min(self._memory, _SEQUENCE)
        near = n >= self._peak - self._FURTHEST_CUT_N
        return n if near and 0 <= lowest <= max(0, self.position(n) - self._window) else 0

    def rewind(self, n: int) -> None:
        if n >= len(self.held):
            return
        if self.reach(n) == n > 0:
            self._cut(n)
        else:
            self.forget()

    def forget(self) -> None:
        super().forget()
        self._peak = 0

    def added(self, tokens: list[int]) -> None:
        super().added(tokens)
        self._peak = max(self._peak, len(self.held))

    def broke_off(self) -> None:
        self.forget()  # cells of the batch that failed may have taken the place of some in sight


@dataclass(frozen=True, slots=True)
class _Mark:
    """The recurrent states as they were after the first ``n`` tokens."""

    n: int
    data: NDArray[np.uint8]


class StateMemory(ContextMemory):
    """A recurrent state, which knows its past only where it was copied; perhaps beside a cell for every token.

    Some architectures keep states of the latest evaluation themselves (snapshots). For all else copies are
    made: of where the last prompt ended and of where the text was last known to go on.
    """

    forgets_freely = False
    keeps_parts = False
    fold_n = 8
    can_pad = False
    _PROMPT_N = 32
    """A prompt of fewer tokens is not worth a copy."""
    _DRIFT_N = 256
    """Tokens after which a copy is made even if nothing was taken back."""

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded)
        self._snapshots_n = int(self._c.llama_n_rs_seq(loaded.context))
        self._undo_n = 0
        """The number of tokens that the snapshots can take back now."""
        self._marks: dict[str, _Mark] = {}
        self.replay_n = 0 if self._snapshots_n else self.fold_n

    def reach(self, n: int) -> int:
        if n >= len(self.held):
            return len(self.held)
        if len(self.held) - n <= self._undo_n:
            return n
        return max((mark.n for mark in self._marks.values() if mark.n <= n), default=0)

    def rewind(self, n: int) -> None:
        if n >= len(self.held):
            return
        if len(self.held) - n <= self._undo_n:
            self._cut(n)
            # What llama.cpp took back once it takes back no further.
            self._undo_n = 0
            self._marks = {name: mark for name, mark in self._marks.items() if mark.n <= n}
        else:
            self._restore(n)

    def forget(self) -> None:
        super().forget()
        self._undo_n = 0
        self._marks.clear()

    def before(self, n: int, last: int) -> None:
        at = len(self.held)
        to_be_judged = last > 1 and not 1 < n <= self._snapshots_n + 1
        since = at - max((mark.n for mark in self._marks.values()), default=0)
        if since > (self.fold_n if to_be_judged else self._DRIFT_N):
            self._mark("text")

    def added(self, tokens: list[int]) -> None:
        super().added(tokens)
        self._undo_n = min(len(tokens) - 1, self._snapshots_n)

    def added_image(self, places: list[int], positions_n: int) -> None:
        super().added_image(places, positions_n)
        self._undo_n = 0

    def after(self, n: int, last: int, *, rewound: bool) -> None:
        if last == 0 and n >= self._PROMPT_N:
            self._mark("prompt")
        elif last == 1 and not self._snapshots_n and (rewound or n > 1):
            # A draft has caught up with the text and goes on by guesses, to be taken back to here.
            self._mark("text")

    def broke_off(self) -> None:
        # A state that was half written tells nothing, and half a batch of cells may be there.
        self._undo_n = 0
        self._restore(len(self.held))

    def _mark(self, name: str) -> None:
        size = self._c.llama_state_seq_get_size_ext(self._context, _SEQUENCE, _PARTIAL)
        data = np.empty(size, np.uint8)
        if self._c.llama_state_seq_get_data_ext(self._context, pointer(data), size, _SEQUENCE, _PARTIAL) == size:
            self._marks[name] = _Mark(len(self.held), data)

    def _restore(self, n: int) -> None:
        """Go back to the latest copy that is no further than ``n``, or to nothing."""
        self._marks = {name: mark for name, mark in self._marks.items() if mark.n <= n}
        mark = max(self._marks.values(), key=lambda mark: mark.n, default=None)
        if mark is None:
            self.forget()
            return
        data, size = pointer(mark.data), len(mark.data)
        if self._c.llama_state_seq_set_data_ext(self._context, data, size, _SEQUENCE, _PARTIAL) == size:
            self._undo_n = 0
            self._cut(mark.n)
        else:
            self.forget()
