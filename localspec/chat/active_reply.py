"""The life of a reply: one request to the engine, its events in order, and one end.

The same for every front end and every source of events: the engine process's answers, which ``ChatSession`` hands in as
they arrive, or an iterator in this process, which ``follow`` reads to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from localspec.base.errors import LocalSpecError
from localspec.chat.pair_slot import InProcessPair, Phase
from localspec.chat.reply_check import Check, CheckedEvents, check_of
from localspec.chat.reply_metadata import reply_about
from localspec.chat.turn import Turn
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.engine.tally import Tally
from localspec.insight.observers import Observer
from localspec.runtime.messages import Message, Reply
from localspec.runtime.worker.messages import Generate
from localspec.store import Recorder, ReplyMetadata, SummaryRecorder


class ActiveReply:
    """A reply while it is made.

    Each event goes to the turn, then to the recorder, then to the observer. The reply ends once: with ``Finished``, by
    ``fail`` or by ``cut_short``. Whatever comes after that is dropped.
    """

    def __init__(
        self,
        asked: Generate,
        turn: Turn,
        about: ReplyMetadata,
        observer: Observer,
        recorder: Recorder | SummaryRecorder | None = None,
        check: Check | None = None,
    ) -> None:
        """``asked`` is the request to the engine. Without a recorder the reply is not stored.

        ``check`` sees all text before the reply does.
        """
        self.asked = asked
        self.turn = turn
        self.about = about
        self.phase = Phase.READING
        """READING or WRITING."""
        turn.asked = asked
        turn.reply.tally.plain_per_second = about.plain_per_second
        self._earlier_n = len(turn.reply.rounds)
        self._recorder = recorder
        self._checked = CheckedEvents(check) if check is not None else None
        self._observer = observer.begin(about, recorder.message if recorder is not None else "")

    @property
    def over(self) -> bool:
        return self.turn.reply.done

    @property
    def held_back(self) -> bool:
        """True if events wait for the check."""
        return self._checked is not None and self._checked.holding

    def passed(self, event: Event | None = None) -> list[Event]:
        """The events that may be received now that ``event`` has come. Raises ReplyStoppedError."""
        if self._checked is None or self.over:
            return [event] if event is not None else []
        if event is not None:
            self._checked.push(event)
        return self._checked.due()

    def receive(self, event: Event) -> None:
        if self.over:
            return
        self.turn.reply.receive(event)
        if self._recorder is not None:
            self._recorder.receive(event)
        self._observer.receive(event)
        if isinstance(event, Round):
            self.phase = Phase.WRITING
        self._close_check()

    def fail(self, error: LocalSpecError) -> None:
        """End the reply with an error. The text received so far stays."""
        if self.over:
            return
        self.turn.reply.fail(error)
        if self._recorder is not None:
            self._recorder.fail(error)
        self._observer.fail(error)
        self._close_check()

    def cut_short(self) -> None:
        """End the reply as cancelled at the last event received, whatever the engine has made since."""
        if not self.over:
            self.receive(self._cancelled())

    def follow(self, events: Iterable[Event], show: Callable[[Event], object]) -> None:
        """Receive every event, once the check has let it pass, and then show it.

        Raises what ``events`` and ``show`` raise, after ending the reply: a LocalSpecError fails it; anything else, as
        when the reader of a pipe has gone, cuts it short.
        """
        try:
            for event in self._checked.passing(events) if self._checked is not None else events:
                self.receive(event)
                show(event)
        except LocalSpecError as error:
            self.fail(error)
            raise
        except BaseException:
            self.cut_short()
            raise

    def tick(self) -> None:
        """Write to the store what is due; see ``Recorder.tick``."""
        if self._recorder is not None:
            self._recorder.tick()

    def _close_check(self) -> None:
        if self._checked is not None and self.over:
            self._checked.close()

    def _cancelled(self) -> Finished:
        """The end that the engine would report here: about this run alone, even if the reply had earlier ones."""
        reply = self.turn.reply
        if not self._earlier_n:
            return Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings())
        run = Tally(plain_per_second=self.about.plain_per_second)
        if reply.prompt is not None:
            run.cache_n, run.prompt_n = reply.prompt.cache_n, reply.prompt.prompt_n - reply.prompt.cache_n
        rounds = reply.rounds[self._earlier_n :]
        for round_ in rounds:
            run.add(round_)
        text = "".join(token.text for round_ in rounds for token in round_.tokens)
        return Finished(FinishReason.CANCELLED, text, run.timings())


def reply_once(
    pair: InProcessPair, prompt: tuple[Message, ...] | str, observer: Observer, show: Callable[[Event], object]
) -> Reply:
    """Reply to a prompt outside any conversation, without storing it. Raises as ``ActiveReply.follow``."""
    turn, request = Turn(""), Generate(1, prompt, pair.chat_config.reply)
    check = check_of(pair.chat_config.outlets.reply_check)
    reply = ActiveReply(request, turn, reply_about(pair.chat_config, pair.info), observer, check=check)
    reply.follow(pair.reply(request), show)
    return turn.reply
