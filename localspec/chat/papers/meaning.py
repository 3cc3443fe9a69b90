"""Passages ranked by meaning: the cosine of their vectors with the question's, where an embedding model is there.

A thread of its own asks the embedding process, the question first, then passage after passage. Nobody has to wait for
it: until all passages of a file are known, they are ranked by words alone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from localspec.base.errors import LocalSpecError
from localspec.chat.papers.passages import Passage, PassageIndex
from localspec.runtime.embedding.process import EmbeddingProcess

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_PASSAGES = 5000
"""Files with more, some 4 MB, are searched by words alone: a small model reads ten a second."""
MOST_MEANT = 20
MIDWAY = 0.5
"""A passage is near if its cosine is at least midway between the mean and the best: what counts as near differs from
model to model."""
PATIENCE_S = 20.0
"""Without a screen a message waits for its passages, at most so long; what is known by then is kept for the next."""
_LOOK_S = 0.1
IDLE_S = 300.0
"""The process ends when nothing was asked of it for so long."""
_MOST_QUESTIONS = 32


class Embedder(Protocol):
    """As ``EmbeddingProcess``."""

    model: str
    width: int

    def embed(self, text: str, *, question: bool) -> NDArray[np.float32]: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class _Rows:
    """The vectors of an index's passages, as far as they are known."""

    vectors: NDArray[np.float32]
    done_n: int = 0

    @property
    def complete(self) -> bool:
        return self.done_n == len(self.vectors)


class Meaning:
    """Ranks passages by meaning, as far as it knows. All methods may be called from any thread."""

    def __init__(
        self, start: Callable[[], Embedder] = EmbeddingProcess, news: Callable[[], object] = lambda: None
    ) -> None:
        """``news`` is called in a thread of its own when more is known."""
        self.news = news
        self.trouble: LocalSpecError | None = None
        """The reason why passages are ranked by words alone, where that is not for want of a model."""
        self._start = start
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._embedder: Embedder | None = None
        self._over = False
        """True once there is nothing more to be known."""
        self._question = ""
        self._indexes: tuple[PassageIndex, ...] = ()
        self._questions: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._rows: WeakKeyDictionary[PassageIndex, _Rows] = WeakKeyDictionary()
        self._ranked: tuple[tuple[object, ...], tuple[Passage, ...]] = (), ()
        """The latest ranking, with what it is of."""

    def want(self, question: str, indexes: Sequence[PassageIndex]) -> None:
        """Learn what is near to this question from now on; no indexes to learn nothing."""
        with self._changed:
            self._question = question
            self._indexes = tuple(index for index in indexes if question and len(index.passages) <= MOST_PASSAGES)
            if self._indexes and self._thread is None and not self._over:
                self._thread = threading.Thread(target=self._learn, name="meaning", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def learn(
        self, question: str, indexes: Sequence[PassageIndex], progress: Callable[[float], None] = lambda share: None
    ) -> None:
        """Wait until it is known what a question is near to, where anything is searched; at most ``PATIENCE_S``.

        ``progress`` is told the share of the passages that are known.
        """
        self.want(question, indexes)
        for _ in range(round(PATIENCE_S / _LOOK_S)):
            if self.wait(_LOOK_S, passages=True):
                return
            rows = [self._rows.get(index) for index in self._indexes]
            done_n, all_n = sum(each.done_n for each in rows if each), sum(len(each.passages) for each in self._indexes)
            progress(done_n / max(1, all_n))

    def ranked(self, question: str, indexes: Sequence[PassageIndex]) -> tuple[Passage, ...]:
        """The passages near to a question, the nearest first; none as long as that is not known."""
        with self._changed:
            asked = self._questions.get(question)
            known = [(index, rows) for index in indexes if (rows := self._rows.get(index)) and rows.complete]
        if asked is None or not known:
            return ()
        key = (question, *(index for index, _ in known))
        if self._ranked[0] != key:  # a screen asks at every pause
            self._ranked = key, self._rank(asked, known)
        return self._ranked[1]

    def _rank(self, asked: NDArray[np.float32], known: Sequence[tuple[PassageIndex, _Rows]]) -> tuple[Passage, ...]:
        near = [
            (float(cosine), passage)
            for index, rows in known
            for cosine, passage in zip(rows.vectors @ asked, index.passages, strict=True)
        ]
        best, mean = max(cosine for cosine, _ in near), sum(cosine for cosine, _ in near) / len(near)
        near = [each for each in near if each[0] >= mean + MIDWAY * (best - mean)]
        return tuple(passage for _, passage in sorted(near, key=lambda each: -each[0])[:MOST_MEANT])

    def knows(self, question: str) -> bool:
        """True if there is nothing to wait for before this question is sent."""
        with self._changed:
            return self._over or question in self._questions

    @property
    def wanted(self) -> bool:
        return bool(self._indexes)

    def wait(self, max_s: float, *, passages: bool = False) -> bool:
        """Wait until the question that is wanted is known, and with ``passages`` those too; True if they are."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_known(passages=passages), max_s)

    def close(self) -> None:
        """Learn nothing more, and end the process."""
        with self._changed:
            self._over, embedder = True, self._embedder
            self._changed.notify_all()
        if embedder is not None:
            embedder.close()

    def _is_known(self, *, passages: bool) -> bool:
        if self._over or not self._indexes:
            return True
        return self._question in self._questions and (not passages or self._next_index() is None)

    # In the thread

    def _learn(self) -> None:
        works = again = False
        try:
            self._embedder = embedder = self._start()
            while embedder.model and self._learn_next(embedder):
                pass
            works = bool(embedder.model)
        except LocalSpecError as error:
            self.trouble = None if self._over else error
        finally:
            with self._changed:
                embedder_then, self._embedder, self._thread = self._embedder, None, None
                self._over = self._over or not works
                again = not self._is_known(passages=True)  # wanted while this thread was at its end
                self._changed.notify_all()
            if embedder_then is not None:
                embedder_then.close()
        if self.trouble:
            self.news()
        if again:
            self.want(self._question, self._indexes)

    def _learn_next(self, embedder: Embedder) -> bool:
        """Have one text embedded; False if there is none for a long time, or this is closed."""
        with self._changed:
            has_work = self._changed.wait_for(lambda: self._over or not self._is_known(passages=True), IDLE_S)
            if self._over or not has_work:
                return False
            question, index = self._question, self._next_index()
            asked = question not in self._questions
        if asked:
            vector = embedder.embed(question, question=True)
            with self._changed:
                self._questions[question] = vector
                while len(self._questions) > _MOST_QUESTIONS:
                    self._questions.popitem(last=False)
                self._changed.notify_all()
            self.news()
        elif index is not None:
            self._read(embedder, index)
        return True

    def _read(self, embedder: Embedder, index: PassageIndex) -> None:
        """Have the next passage of an index embedded."""
        import numpy as np

        with self._changed:
            rows = self._rows.get(index)
            if rows is None:
                rows = self._rows[index] = _Rows(np.zeros((len(index.passages), embedder.width), np.float32))
        if rows.complete:
            return
        passage = index.passages[rows.done_n]
        rows.vectors[rows.done_n] = embedder.embed(passage.text, question=False)
        with self._changed:
            rows.done_n += 1
            self._changed.notify_all()
        if rows.complete:
            self.news()

    def _next_index(self) -> PassageIndex | None:
        """The first index whose passages are not all known."""
        looked_up = ((index, self._rows.get(index)) for index in self._indexes)
        return next((index for index, rows in looked_up if rows is None or not rows.complete), None)
