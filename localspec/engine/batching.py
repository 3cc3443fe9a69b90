"""Continuous batching: several replies at once over the same models, what they ask of a model answered together.

Each reply runs the loop of ``loop.py`` as it is, in a thread of its own, with a ``SequenceModel`` in place of each
model. Threads take turns: at any moment one reply runs, or a model evaluates, so nothing within a reply needs a lock.
A reply runs until it needs scores. When all wait, the questions to one network are answered by one evaluation, those
to a draft before those to the target: all that draft share their passes, and one pass verifies what all of them
proposed. A long text is read piece by piece beside the others' rounds, so that nobody waits for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Protocol, TypeGuard, TypeVar

from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.model import Logits, ScoreRows, Vocab, common_prefix

PIECE_N = 16
"""Tokens of long texts that are read beside the others' rounds, by all readers together, unless said otherwise."""
_SHORT_N = 32
"""Questions that lack no more tokens than this are answered at once: verifications, and drafts that catch up."""


class Question(Protocol):
    """A call of a network for one sequence."""

    def lacking_n(self, network: Any, /) -> int:
        """The number of tokens to evaluate for it."""
        ...

    def split(self, network: Any, n: int, /) -> tuple[Question, Question]:
        """The reading of the first ``n`` of them, whose answer is of no use, and the question that is left then."""
        ...


Q = TypeVar("Q", bound=Question, contravariant=True)
A = TypeVar("A", covariant=True)


class BatchNetwork(Protocol[Q, A]):
    """A network that holds several sequences and evaluates tokens of all of them at once."""

    @property
    def batch_n(self) -> int:
        """The most tokens that one call of ``answer`` may have to evaluate."""
        ...

    def answer(self, questions: Sequence[Q]) -> Sequence[A]:
        """The answer to each question, of which there is at most one a sequence.

        Answers are valid until the next call; those that are looked at later are copied (``copy``).
        """
        ...


@dataclass(frozen=True, slots=True)
class TextQuestion:
    """A call of ``Model.logits`` or of ``SelectiveModel.selected_logits`` for one sequence."""

    sequence: int
    context: Sequence[int]
    last: int
    unread: Collection[int] = ()

    def lacking_n(self, model: BatchModel, /) -> int:
        """As ``Question.lacking_n``."""
        return len(self.context) - self.known_n(model)

    def known_n(self, model: BatchModel) -> int:
        """The number of leading tokens that need not be evaluated again; the ``last`` do, for their scores."""
        return model.held(self.sequence, self.context[: len(self.context) - self.last])

    def split(self, model: BatchModel, n: int, /) -> tuple[TextQuestion, TextQuestion]:
        """As ``Question.split``."""
        end = self.known_n(model) + n
        return TextQuestion(self.sequence, self.context[: min(end, len(self.context) - self.last)], 0), self


class BatchModel(BatchNetwork[TextQuestion, ScoreRows], Protocol):
    """A model of several sequences: the answer to a question are the rows that it asks for."""

    @property
    def vocab(self) -> Vocab: ...

    @property
    def n_ctx(self) -> int:
        """The most tokens that a sequence may hold."""
        ...

    def held(self, sequence: int, context: Sequence[int]) -> int:
        """As ``Model.held``."""
        ...


class SharingModel(BatchModel, Protocol):
    """A model whose sequences can hold the same tokens once for all of them."""

    def borrow(self, sequence: int, context: Sequence[int]) -> None:
        """Let a sequence hold what another holds of ``context``, if that is clearly more than it holds itself."""
        ...


def can_share(network: BatchNetwork[Any, Any]) -> TypeGuard[SharingModel]:
    """True if ``network`` is a ``SharingModel``."""
    return hasattr(network, "borrow")


class SequenceModel:
    """One sequence of a ``BatchModel``, as a ``SelectiveModel`` for the reply that runs on it."""

    def __init__(self, batch: ContinuousBatch, model: BatchModel, sequence: int) -> None:
        self._batch = batch
        self._model = model
        self._sequence = sequence
        self.vocab, self.n_ctx = model.vocab, model.n_ctx

    def held(self, context: Sequence[int]) -> int:
        return self._model.held(self._sequence, context)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        rows = self.selected_logits(context, last, ())
        assert not isinstance(rows, list)
        return rows

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        return self._batch.ask(self._model, TextQuestion(self._sequence, context, last, unread))


@dataclass(frozen=True, slots=True)
class BatchEvaluation:
    """One evaluation for several replies."""

    network: BatchNetwork[Any, Any]
    tokens_n: int
    replies_n: int
    spent_s: float
    """Of the last network in order, with the replies' own work since its last evaluation, without that before a reply's
    first question; of others, by itself."""
    reading: bool
    """True if it read a long text for one of them."""
    unscored_n: int = 0
    """Tokens whose scores were left out, because nobody reads them."""


class ContinuousBatch:
    """Runs replies in turns, and has their networks evaluate. All methods but ``ask`` are for one thread."""

    def __init__(self, networks: Sequence[BatchNetwork[Any, Any]]) -> None:
        """``networks`` in the order in which they are to answer: drafts, then the target."""
        self._networks = networks
        self.evaluated: Callable[[BatchEvaluation], object] | None = None
        """Called after every evaluation."""
        self.piece_n: Callable[[BatchNetwork[Any, Any]], int] = lambda _: PIECE_N
        """Tokens of long texts that a network reads beside the others' rounds, for all readers together."""
        self._host_s = 0.0
        """Time of the replies' own work since the last network in order evaluated."""
        self._ready: deque[_Turn] = deque()
        self._waiting: list[_Turn] = []
        """The turns that wait, in the order in which they began."""
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
        """Let each reply that can go on do so, or have networks evaluate; False if no reply is under way.

        They do so in their order, up to one after whose answers a reply can go on: where a draft only reads long
        texts, the others' verification does not wait.
        """
        for turn in [turn for turn in self._waiting if turn.cancel.is_set()]:
            self._hand_over(turn)
        if self._ready:
            while self._ready:
                turn, started = self._ready.popleft(), time.perf_counter()
                begins = turn.begins
                self._go_on(turn)
                if not begins:  # its template and its grammar are no part of a round
                    self._host_s += time.perf_counter() - started
            return True
        for network in self._networks:
            asking = [turn for turn in self._waiting if turn.network is network]
            if asking and self._evaluate(network, asking):
                break
        return self.replies_n > 0

    def close(self) -> None:
        """End all replies."""
        for turn in [*self._ready, *self._waiting]:
            turn.cancel.set()
        while self.step():
            pass

    def ask(self, network: BatchNetwork[Q, A], question: Q) -> A:
        """The answer to a question of the reply that runs; its thread waits meanwhile. Raises ``Cancelled``.

        Between two steps, where no reply runs, the answer comes at once.
        """
        turn = self._running
        answer: A = self._alone(network, question) if turn is None else turn.ask(network, question)
        return answer

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

    def _evaluate(self, network: BatchNetwork[Any, Any], asking: Sequence[_Turn]) -> bool:
        """Answer what can be answered now, and read a piece for each of the others; True if a reply can go on."""
        lacking = self._lacking(network, asking)
        whole, pieces = self._plan(network, lacking)
        questions = [*(turn.question for turn in whole), *(turn.split(n) for turn, n in pieces.items())]
        tokens_n = sum(lacking[turn] for turn in whole) + sum(pieces.values())
        started = time.perf_counter()
        try:
            answers = network.answer(questions)
        except Exception as error:  # noqa: BLE001 -- it is for each reply to say what failed
            for turn in [*whole, *pieces]:
                self._hand_over(turn, error=error)
            return True
        spent_s = time.perf_counter() - started
        if network is self._networks[-1]:
            spent_s, self._host_s = spent_s + self._host_s, 0.0
        if self.evaluated:
            unscored_n = sum(len(each.unread) for each in questions if isinstance(each, TextQuestion))
            made = BatchEvaluation(network, tokens_n, len(questions), spent_s, bool(pieces), unscored_n)
            self.evaluated(made)
        for turn, answer in zip(whole, answers, strict=False):
            self._hand_over(turn, answer)
        return bool(whole)

    def _lacking(self, network: BatchNetwork[Any, Any], asking: Sequence[_Turn]) -> dict[_Turn, int]:
        """The turns to evaluate now, each with the number of tokens that it lacks.

        Of readers whose texts begin alike the first reads; the others wait, and take over what it has read.
        """
        lacking: dict[_Turn, int] = {}
        readers: list[TextQuestion] = []
        for turn in asking:
            question, n = turn.question, turn.question.lacking_n(network)
            if n > _SHORT_N and can_share(network) and isinstance(question, TextQuestion):
                network.borrow(question.sequence, question.context[: len(question.context) - question.last])
                n, known_n = question.lacking_n(network), question.known_n(network)
                if any(common_prefix(list(each.context), question.context) > known_n + _SHORT_N for each in readers):
                    continue
                readers.append(question)
            lacking[turn] = n
        return lacking

    def _plan(
        self, network: BatchNetwork[Any, Any], lacking: Mapping[_Turn, int]
    ) -> tuple[list[_Turn], dict[_Turn, int]]:
        """The turns to answer now, as many as one evaluation takes, and how many tokens to read for the others."""
        readers = [turn for turn in lacking if lacking[turn] > _SHORT_N]
        whole: list[_Turn] = []
        pieces: dict[_Turn, int] = {}
        room = network.batch_n
        for turn in lacking:
            if turn not in readers and lacking[turn] <= room:
                whole.append(turn)
                room -= lacking[turn]
        piece_n = room if self.replies_n == 1 else min(room, self.piece_n(network))
        for number, turn in enumerate(readers):
            n = piece_n // (len(readers) - number)
            piece_n -= n
            if lacking[turn] <= n:
                whole.append(turn)
            elif n:
                pieces[turn] = n
        return whole, pieces

    def _alone(self, network: BatchNetwork[Any, Any], question: Question) -> Any:
        for turn in self._ready:
            turn.keep_answer()
        while question.lacking_n(network) > network.batch_n:
            piece, question = question.split(network, network.batch_n)
            network.answer([piece])
        return network.answer([question])[0]

    def _hand_over(self, turn: _Turn, answer: Any = None, error: Exception | None = None) -> None:
        turn.answer, turn.error = answer, error
        self._waiting.remove(turn)
        self._ready.append(turn)


class _Turn:
    """A reply in a thread of its own, which runs between ``resume`` and the next question."""

    def __init__(self, reply: Callable[[], None], cancel: Cancellation) -> None:
        self.cancel = cancel
        self.over = False
        self.answer: Any = None
        self.error: Exception | None = None
        """The error that the reply's thread raises when it goes on, in place of an answer."""
        self.failure: BaseException | None = None
        """The exception that the reply itself raised."""
        self._asked: tuple[BatchNetwork[Any, Any], Question] | None = None
        # Locks that one thread takes and the other frees: a semaphore of Python's takes several times as long.
        self._may_run, self._has_stopped = Lock(), Lock()
        self._may_run.acquire()
        self._has_stopped.acquire()
        self._thread = Thread(target=self._run, args=(reply,), name="reply", daemon=True)
        self._thread.start()

    @property
    def begins(self) -> bool:
        """True until the first question."""
        return self._asked is None

    @property
    def network(self) -> BatchNetwork[Any, Any]:
        """The network that is asked."""
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

    def split(self, n: int) -> Question:
        """The first ``n`` tokens of the question, which is the rest from now on."""
        piece, rest = self.question.split(self.network, n)
        self._asked = self.network, rest
        return piece

    def keep_answer(self) -> None:
        """Have an answer that has not been looked at survive the next evaluation."""
        if isinstance(self.answer, list):
            self.answer = [row.copy() for row in self.answer]
        elif self.answer is not None:
            self.answer = self.answer.copy()

    def ask(self, network: BatchNetwork[Any, Any], question: Question) -> Any:
        """Wait for an answer; called by the thread."""
        self._asked = network, question
        self._has_stopped.release()
        self._may_run.acquire()
        answer, error = self.answer, self.error
        self.answer = self.error = None
        if error is not None:
            raise error
        return answer

    def _run(self, reply: Callable[[], None]) -> None:
        self._may_run.acquire()
        try:
            reply()
        except BaseException as error:  # noqa: BLE001 -- the step raises it
            self.failure = error
        self.over = True
        self._has_stopped.release()
