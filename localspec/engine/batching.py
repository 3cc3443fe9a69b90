"""Continuous batching: several replies at once over the same models, what they ask of a model answered together.

Each reply runs the loop of ``loop.py`` as it is, in a thread of its own, with a ``SequenceModel`` in place of each
model. Threads take turns: at any moment one reply runs, or a model evaluates, so nothing within a reply needs a lock.
A reply runs until it needs scores. When all wait, the questions to one model are answered by one evaluation, those to
a draft before those to the target: all that draft share their passes, and one pass verifies what all of them proposed.
A long text is read piece by piece beside the others' rounds, so that nobody waits for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Semaphore, Thread
from typing import Protocol

from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.model import Logits, Vocab

PIECE_N = 16
"""Tokens of long texts that are read beside the others' rounds, by all readers together."""
_SHORT_N = 32
"""Questions that lack no more tokens than this are answered at once: verifications, and drafts that catch up."""


@dataclass(frozen=True, slots=True)
class Question:
    """A call of ``Model.logits`` for one sequence."""

    sequence: int
    context: Sequence[int]
    last: int


class BatchModel(Protocol):
    """A network that holds several sequences and evaluates tokens of all of them at once."""

    @property
    def vocab(self) -> Vocab: ...

    @property
    def n_ctx(self) -> int:
        """The most tokens that a sequence may hold."""
        ...

    @property
    def batch_n(self) -> int:
        """The most tokens that one call of ``answer`` may have to evaluate."""
        ...

    def held(self, sequence: int, context: Sequence[int]) -> int:
        """As ``Model.held``."""
        ...

    def answer(self, questions: Sequence[Question]) -> Sequence[Logits]:
        """The rows of each question, as ``Model.logits``; at most one question a sequence.

        Rows are valid until the next call.
        """
        ...


class SequenceModel:
    """One sequence of a ``BatchModel``, as a ``Model`` for the reply that runs on it."""

    def __init__(self, batch: ContinuousBatch, model: BatchModel, sequence: int) -> None:
        self._batch = batch
        self._model = model
        self._sequence = sequence

    @property
    def vocab(self) -> Vocab:
        return self._model.vocab

    @property
    def n_ctx(self) -> int:
        return self._model.n_ctx

    def held(self, context: Sequence[int]) -> int:
        return self._model.held(self._sequence, context)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        return self._batch.ask(self._model, Question(self._sequence, context, last))


@dataclass(frozen=True, slots=True)
class BatchEvaluation:
    """One evaluation for several replies."""

    model: BatchModel
    tokens_n: int
    replies_n: int
    spent_s: float
    """Of the last model in order, with all work of the replies since its last evaluation; of others, by itself."""
    reading: bool
    """True if it read a long text for one of them."""


class ContinuousBatch:
    """Runs replies in turns, and has their models evaluate. All methods but ``ask`` are for one thread."""

    def __init__(self, models: Sequence[BatchModel]) -> None:
        """``models`` in the order in which they are to answer: drafts, then the target."""
        self._models = models
        self.evaluated: Callable[[BatchEvaluation], object] | None = None
        """Hears of every evaluation."""
        self.piece_n = PIECE_N
        """Tokens of long texts that are read beside the others' rounds, by all readers together."""
        self._host_s = 0.0
        """Time of the replies' own work since the last model in order evaluated."""
        self._ready: deque[_Turn] = deque()
        self._waiting: list[_Turn] = []
        """In the order in which they began."""
        self._running: _Turn | None = None

    @property
    def replies_n(self) -> int:
        """Replies under way."""
        return len(self._ready) + len(self._waiting)

    def begin(self, reply: Callable[[], None], cancel: Cancellation) -> None:
        """Run ``reply`` from the next step on; ``cancel`` ends it within a step.

        It handles its own errors: whatever it raises, the step raises, and the other replies go on with the next.
        """
        self._ready.append(_Turn(reply, cancel))

    def step(self) -> bool:
        """Let each reply that can go on do so, or have one model evaluate; False if no reply is under way."""
        for turn in [turn for turn in self._waiting if turn.cancel.is_set()]:
            self._hand_over(turn)
        if self._ready:
            started = time.perf_counter()
            while self._ready:
                self._go_on(self._ready.popleft())
            self._host_s += time.perf_counter() - started
            return True
        for model in self._models:
            if asking := [turn for turn in self._waiting if turn.model is model]:
                self._evaluate(model, asking)
                return True
        return False

    def close(self) -> None:
        """End all replies."""
        for turn in [*self._ready, *self._waiting]:
            turn.cancel.set()
        while self.step():
            pass

    def ask(self, model: BatchModel, question: Question) -> Logits:
        """The answer to a question of the reply that runs; its thread waits meanwhile. Raises ``Cancelled``.

        Between two steps, where no reply runs, whoever asks is answered at once.
        """
        turn = self._running
        return self._alone(model, question) if turn is None else turn.ask(model, question)

    def _go_on(self, turn: _Turn) -> None:
        """Let a reply run until it asks something, or is over."""
        if turn.cancel.is_set():
            turn.error = Cancelled()
        self._running = turn
        turn.resume()
        self._running = None
        if not turn.over:
            self._waiting.append(turn)
        elif turn.failure is not None:
            raise turn.failure

    def _evaluate(self, model: BatchModel, asking: Sequence[_Turn]) -> None:
        """Answer what can be answered now, and read a piece for each of the others."""
        whole, pieces = self._plan(model, asking)
        served = [*whole, *pieces]
        questions = [*(turn.question for turn in whole), *pieces.values()]
        tokens_n = sum(self._lacking_n(model, question) for question in questions)
        started = time.perf_counter()
        try:
            answers = model.answer(questions)
        except Exception as error:  # noqa: BLE001 -- it is for each reply to say what failed
            for turn in served:
                self._hand_over(turn, error=error)
            return
        self._tell(model, tokens_n, len(served), time.perf_counter() - started, reading=bool(pieces))
        for turn, rows in zip(whole, answers, strict=False):
            self._hand_over(turn, rows)

    def _plan(self, model: BatchModel, asking: Sequence[_Turn]) -> tuple[list[_Turn], dict[_Turn, Question]]:
        """The questions to answer now, as many as one evaluation takes, and the pieces to read for long ones."""
        lacking = {turn: self._lacking_n(model, turn.question) for turn in asking}
        readers = [turn for turn in asking if lacking[turn] > _SHORT_N]
        whole: list[_Turn] = []
        pieces: dict[_Turn, Question] = {}
        room = model.batch_n
        for turn in asking:
            if turn not in readers and lacking[turn] <= room:
                whole.append(turn)
                room -= lacking[turn]
        piece_n = room if self.replies_n == 1 else min(room, self.piece_n)
        for number, turn in enumerate(readers):
            n = piece_n // (len(readers) - number)
            piece_n -= n
            if lacking[turn] <= n:
                whole.append(turn)
            elif n:
                pieces[turn] = self._piece(model, turn.question, n)
        return whole, pieces

    def _tell(self, model: BatchModel, tokens_n: int, replies_n: int, spent_s: float, *, reading: bool) -> None:
        if model is self._models[-1]:
            spent_s, self._host_s = spent_s + self._host_s, 0.0
        if self.evaluated:
            self.evaluated(BatchEvaluation(model, tokens_n, replies_n, spent_s, reading))

    def _alone(self, model: BatchModel, question: Question) -> Logits:
        for turn in self._ready:
            turn.keep_answer()
        while self._lacking_n(model, question) > max(model.batch_n, question.last):
            model.answer([self._piece(model, question, model.batch_n)])
        return model.answer([question])[0]

    def _hand_over(self, turn: _Turn, rows: Logits | None = None, error: Exception | None = None) -> None:
        turn.answer, turn.error = rows, error
        self._waiting.remove(turn)
        self._ready.append(turn)

    @staticmethod
    def _lacking_n(model: BatchModel, question: Question) -> int:
        """Tokens to evaluate for a question."""
        n = len(question.context)
        return n - min(model.held(question.sequence, question.context), n - question.last)

    @staticmethod
    def _piece(model: BatchModel, question: Question, n: int) -> Question:
        """The reading of the next ``n`` tokens that a question lacks."""
        end = model.held(question.sequence, question.context) + n
        return Question(question.sequence, question.context[: min(end, len(question.context) - question.last)], 0)


class _Turn:
    """A reply in a thread of its own, which runs between ``resume`` and the next question."""

    def __init__(self, reply: Callable[[], None], cancel: Cancellation) -> None:
        self.cancel = cancel
        self.over = False
        self.answer: Logits | None = None
        self.error: Exception | None = None
        """The error that the reply's thread raises when it goes on, in place of an answer."""
        self.failure: BaseException | None = None
        """The exception that the reply itself raised."""
        self._asked: tuple[BatchModel, Question] | None = None
        self._may_run, self._has_stopped = Semaphore(0), Semaphore(0)
        self._thread = Thread(target=self._run, args=(reply,), name="reply", daemon=True)
        self._thread.start()

    @property
    def model(self) -> BatchModel:
        """The model that is asked."""
        assert self._asked
        return self._asked[0]

    @property
    def question(self) -> Question:
        assert self._asked
        return self._asked[1]

    def resume(self) -> None:
        """Let the thread run until it asks something or ends."""
        self._may_run.release()
        self._has_stopped.acquire()
        if self.over:
            self._thread.join()

    def keep_answer(self) -> None:
        """Have rows that have not been looked at survive the next evaluation."""
        if self.answer is not None:
            self.answer = self.answer.copy()

    def ask(self, model: BatchModel, question: Question) -> Logits:
        """Wait for an answer; called by the thread."""
        self._asked = model, question
        self._has_stopped.release()
        self._may_run.acquire()
        answer, error = self.answer, self.error
        self.answer = self.error = None
        if error is not None:
            raise error
        assert answer is not None
        return answer

    def _run(self, reply: Callable[[], None]) -> None:
        self._may_run.acquire()
        try:
            reply()
        except BaseException as error:  # noqa: BLE001 -- the step raises it
            self.failure = error
        self.over = True
        self._has_stopped.release()
