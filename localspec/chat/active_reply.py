"""The reply that is being written: all that is said of it goes to the reader, onto the record and to the witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localspec.base.errors import LocalSpecError
from localspec.chat.changes import Wrote
from localspec.chat.phase import Phase
from localspec.chat.reply_metadata import reply_about
from localspec.chat.thread import Talk
from localspec.chat.turn import Exchange
from localspec.engine.events import Event, Finished, FinishReason, Proposal, Round
from localspec.insight.observers import ReplyWitness, Witness
from localspec.insight.trials.live import Assigned, Trials
from localspec.runtime.launch import Launch
from localspec.runtime.load import PairInfo
from localspec.runtime.worker.messages import Generate
from localspec.store import Recorder, SummaryRecorder, summary_options


class Underway:
    """One run of the engine."""

    def __init__(
        self, asked: Generate, exchange: Exchange, recorder: Recorder | SummaryRecorder, witness: ReplyWitness
    ) -> None:
        self.asked = asked
        self.exchange = exchange
        self.phase = Phase.READING
        """READING or WRITING."""
        self._recorder = recorder
        self._witness = witness

    @property
    def over(self) -> bool:
        """Whether the last event has come."""
        return self.exchange.reply.done

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
        return Wrote(self.exchange, tuple(rounds), rejected)

    def _receive(self, event: Event) -> None:
        self.exchange.receive(event)
        self._recorder.receive(event)
        self._witness.receive(event)
        if isinstance(event, Round):
            self.phase = Phase.WRITING

    def fail(self, error: LocalSpecError) -> None:
        """The reply ends here; what came of it stays."""
        self.exchange.reply.fail(error)
        self._recorder.fail(error)
        self._witness.fail(error)

    def cut_short(self) -> None:
        """End the reply where the reader saw it end, whatever the engine has made since."""
        reply = self.exchange.reply
        self.exchange.receive(Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings()))
        self._recorder.follow(reply)
        self._witness.receive(Finished(FinishReason.CANCELLED, reply.text, reply.timings))

    def tick(self) -> None:
        """To be called now and then: see ``Recorder.tick``."""
        self._recorder.tick()


def begin(
    request_id: int,
    exchange: Exchange,
    talk: Talk,
    launch: Launch,
    info: PairInfo | None,
    trials: Trials,
    witness: Witness,
) -> Underway:
    """Say the message, if it has not been said, and begin its reply, or go on with it; ``asked`` is to be sent."""
    assigned = _assigned(exchange, talk, launch, trials)
    launch = assigned.launch
    about = reply_about(launch, info, trial=assigned.trial, arm=assigned.arm)
    recorder = talk.begin(exchange, about)
    recorder.keeps_figures = launch.keeps_figures
    exchange.reply.tally.plain_per_second = about.plain_per_second
    exchange.asked = Generate(request_id, tuple(talk.messages(exchange)), launch.reply, exchange.text)
    if not exchange.continued:
        exchange.trace.begin(exchange.asked, launch.load)
    return Underway(exchange.asked, exchange, recorder, witness.begin(about, recorder.message))


def _assigned(exchange: Exchange, talk: Talk, launch: Launch, trials: Trials) -> Assigned:
    """How the reply is to be made: a summary counts for no trial, nor what no message stands above."""
    if exchange.old is not None:
        return Assigned(replace(launch, reply=summary_options(launch.reply)))
    if exchange.continued and exchange.question is None:
        return Assigned(launch)
    return trials.assign(launch, talk.stored.id, talk.say(exchange))
