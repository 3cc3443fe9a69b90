"""The reply that is being written: all that is said of it goes to the reader, onto the record and to the witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localspec.base.errors import LocalSpecError
from localspec.chat.changes import Wrote
from localspec.chat.phase import Phase
from localspec.chat.reply_metadata import reply_about
from localspec.chat.thread import Thread
from localspec.chat.turn import Turn
from localspec.engine.events import Event, Finished, FinishReason, Proposal, Round
from localspec.insight.observers import Observer, ReplyObserver
from localspec.insight.trials.live import Assigned, Trials
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Generate
from localspec.store import Recorder, SummaryRecorder, summary_options


class ActiveReply:
    """One run of the engine."""

    def __init__(
        self, asked: Generate, turn: Turn, recorder: Recorder | SummaryRecorder, observer: ReplyObserver
    ) -> None:
        self.asked = asked
        self.turn = turn
        self.phase = Phase.READING
        """READING or WRITING."""
        self._recorder = recorder
        self._observer = observer

    @property
    def over(self) -> bool:
        """Whether the last event has come."""
        return self.turn.reply.done

    def feed(self, events: Sequence[Event]) -> list[Wrote]:
        """Take in the next events; what they wrote becomes one change."""
        changes: list[Wrote] = []
        rounds: list[Round] = []
        for event in events:
            if isinstance(event, Round):
                rounds.append(event)
            elif rounds and isinstance(event, Finished):
                changes.append(self._wrote(rounds, ()))
                rounds = []
            self._receive(event)
        if rounds:
            changes.append(self._wrote(rounds, rounds[-1].rejected))
        return changes

    def _wrote(self, rounds: Sequence[Round], rejected: tuple[Proposal, ...]) -> Wrote:
        return Wrote(self.turn, tuple(rounds), rejected)

    def _receive(self, event: Event) -> None:
        self.turn.receive(event)
        self._recorder.receive(event)
        self._observer.receive(event)
        if isinstance(event, Round):
            self.phase = Phase.WRITING

    def fail(self, error: LocalSpecError) -> None:
        """The reply ends here; what came of it stays."""
        self.turn.reply.fail(error)
        self._recorder.fail(error)
        self._observer.fail(error)

    def cut_short(self) -> None:
        """End the reply where the reader saw it end, whatever the engine has made since."""
        reply = self.turn.reply
        self.turn.receive(Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings()))
        self._recorder.follow(reply)
        self._observer.receive(Finished(FinishReason.CANCELLED, reply.text, reply.timings))

    def tick(self) -> None:
        """To be called now and then: see ``Recorder.tick``."""
        self._recorder.tick()


def begin(
    request_id: int,
    turn: Turn,
    thread: Thread,
    chat_config: ChatConfig,
    info: PairInfo | None,
    trials: Trials,
    observer: Observer,
) -> ActiveReply:
    """Say the message, if it has not been said, and begin its reply, or go on with it; ``asked`` is to be sent."""
    assigned = _assigned(turn, thread, chat_config, trials)
    chat_config = assigned.chat_config
    about = reply_about(chat_config, info, trial=assigned.trial, arm=assigned.arm)
    recorder = thread.begin(turn, about)
    recorder.keeps_figures = chat_config.keeps_figures
    turn.reply.tally.plain_per_second = about.plain_per_second
    turn.asked = Generate(request_id, tuple(thread.messages(turn)), chat_config.reply, turn.text)
    if not turn.continued:
        turn.trace.begin(turn.asked, chat_config.load)
    return ActiveReply(turn.asked, turn, recorder, observer.begin(about, recorder.message))


def _assigned(turn: Turn, thread: Thread, chat_config: ChatConfig, trials: Trials) -> Assigned:
    """How the reply is to be made: a summary counts for no trial, nor what no message stands above."""
    if turn.old is not None:
        return Assigned(replace(chat_config, reply=summary_options(chat_config.reply)))
    if turn.continued and turn.question is None:
        return Assigned(chat_config)
    return trials.assign(chat_config, thread.stored.id, thread.say(turn))
