"""One conversation with one engine: what was asked, what waits, what the engine is doing.

A plain object. Requests go out through ``Engine.send``; answers come in through ``receive``, and
``advance`` hands out what became of them as facts for whoever draws. Knows nothing of widgets or time
(the pacer has the clock).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import count

from localspec.chat import Message, ReplyOptions
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Proposal, Round, Started
from localspec.errors import LocalSpecError, error_from_code
from localspec.launch import Launch
from localspec.load import PairInfo
from localspec.store import Recorder, Store, StoredConversation
from localspec.store.opening import Opened, open_memory
from localspec.tui.changes import Began, Change, Counted, Ended, Learned, LoadFailed, PairReady, Wrote
from localspec.tui.engine import Engine
from localspec.tui.exchange import Exchange
from localspec.tui.insights import Insights, Looked
from localspec.tui.pacing import Pacer
from localspec.tui.pair_slot import PairSlot
from localspec.tui.race import Race
from localspec.tui.talk import Talk, reply_about
from localspec.worker.messages import (
    Answer,
    Cancel,
    CountTokens,
    Dropped,
    Emitted,
    Failed,
    Generate,
    Inspected,
    Loaded,
    LoadProgress,
    TokensCounted,
    Unloaded,
    Weighed,
)


class Phase(StrEnum):
    """What the engine is doing, as far as we were told."""

    LOADING = "loading"
    IDLE = "idle"
    READING = "reading the prompt"
    WRITING = "writing"
    BROKEN = "broken"
    """Loading failed, or the process died; the next message tries again."""


class Session:
    """Messages in, requests out; answers in, changes out."""

    def __init__(self, launch: Launch, engine: Engine, pacer: Pacer, store: Store | None = None) -> None:
        """Without a store, what is said ends with the program."""
        self.store = store or Store(Opened(open_memory()), None)
        self.talk = Talk(self.store.begin(launch.system))
        """What has been said."""
        self.pacer = pacer
        self.phase = Phase.LOADING
        self.info: PairInfo | None = None
        self.load_progress = LoadProgress("starting the engine", 0.0)
        self.waiting: deque[Exchange] = deque()
        """Messages not yet answered, oldest first."""
        self.current: Exchange | None = None
        """The exchange being answered."""
        self.last: Exchange | None = None
        """The exchange answered last."""
        self._recorder: Recorder | None = None
        self._slot = PairSlot(launch, engine)
        self._engine = engine
        self._ids = count(1)
        self._request_id = 0
        self._changes: list[Change] = []
        self.insights = Insights(engine.send, partial(next, self._ids))
        """What is asked about replies that are complete."""
        self.race: Race | None = None
        """The latest, under way or over."""

    @property
    def busy(self) -> bool:
        """Whether answers are expected or changes are still to be shown."""
        asks = self._racing or self.insights.busy or (self.phase is Phase.IDLE and self.insights.wishes)
        at_work = self.current is not None or asks
        return self.phase is Phase.LOADING or at_work or bool(self._changes)

    @property
    def launch(self) -> Launch:
        """The pair that is loaded, or that is being or could not be."""
        return self._slot.launch

    @property
    def coming(self) -> Launch | None:
        """The pair that is loaded once the reply under way is done."""
        return self._slot.next

    @property
    def former(self) -> Launch | None:
        """What was in use before a pair that cannot be loaded; None if nothing is wrong."""
        return self._slot.former if self.phase is Phase.BROKEN else None

    @property
    def why_no_speculation(self) -> str | None:
        """In a few words; None while speculation is on."""
        if self.launch.reply.spec == ():
            return "turned off with --spec off"
        if self.launch.reply.depth == 0:
            return "turned off with --depth 0"
        if self.launch.load.draft is None and self.launch.reply.spec is None:
            return "no draft model"
        return None

    def ask(self, prompt: str) -> Exchange:
        """Queue a message; it is sent as soon as the pair is loaded and the replies before it are done."""
        return self._queue(Exchange(prompt))

    @property
    def free(self) -> bool:
        """Whether no reply is being written or waited for, so that what was said can be changed."""
        return self.current is None and not self.waiting

    def recall(self, exchange: Exchange) -> None:
        """Before looking into a reply. As ``Talk.recall``."""
        self.talk.recall(exchange, self.launch, self.info)

    def again(self, exchange: Exchange) -> Exchange:
        """Have a question answered anew; the replies there are stay as other versions. As ``Talk.again``."""
        return self._queue(self.talk.again(exchange))

    def resend(self, exchange: Exchange, text: str) -> Exchange:
        """Ask in other words; the first ones stay as another version. As ``Talk.resend``."""
        return self._queue(self.talk.resend(exchange, text))

    def carry_on(self, exchange: Exchange) -> Exchange:
        """Go on with a reply where its text ends. As ``Talk.carry_on``."""
        return self._queue(self.talk.carry_on(exchange))

    def switch(self, launch: Launch) -> None:
        """Go on with another pair, as soon as the reply under way is done; messages that wait are for that one."""
        self._slot.next = None if launch == self.launch and self.phase is not Phase.BROKEN else launch
        self._change_pair()

    def adopt(self, launch: Launch) -> None:
        """Reply from the next message on as ``launch`` says; what is loaded stays."""
        if launch.system != self.launch.system:
            self.talk.stored.set_system(launch.system)
        self._slot.launch = replace(launch, load=self.launch.load)

    def count_tokens(self, text: str) -> bool:
        """Have the engine count a text, unless it has something else to do; ``Counted`` is the answer."""
        if self.phase is not Phase.IDLE:
            return False
        self._engine.send(CountTokens(text))
        return True

    def withdraw(self) -> Exchange | None:
        """Take back the message that was sent last, if it still waits."""
        return self.waiting.pop() if self.waiting and self.waiting[-1].question is None else None

    def stop(self) -> list[Exchange]:
        """End the reply under way, its text stays; gives back the messages that waited behind it."""
        withdrawn = list(self.waiting)
        self.waiting.clear()
        if self.current is not None:
            self._engine.send(Cancel())
            if self.pacer.limited or self.pacer.waiting:
                self._cut_short(self.current)
        return withdrawn

    def begin_anew(self) -> list[Exchange]:
        """Leave the conversation for a new one; the pair stays loaded. Gives back the messages that waited."""
        return self.turn_to(self.store.begin(self.launch.system))

    def turn_to(self, conversation: StoredConversation) -> list[Exchange]:
        """Leave the conversation for another; a reply under way ends. Gives back the messages that waited."""
        withdrawn = self.stop()
        if self.current is not None:
            self._cut_short(self.current)
        self._changes.clear()
        self.last = None
        self.insights.forget()
        if conversation is not self.talk.stored:
            self.talk = Talk(conversation)
        return withdrawn

    def receive(self, answer: Answer) -> None:
        """Take in what the engine said."""
        match answer:
            case LoadProgress():
                self.load_progress = answer
                if self.current is None:
                    self.phase = Phase.LOADING
            case TokensCounted(token_n):
                self._changes.append(Counted(token_n))
            case Unloaded():
                self._slot.answered(ready=False)
            case Loaded(info) if self._slot.answered(ready=True):
                self.info = info
                self.insights.pair = self.launch.load
                self._changes.append(PairReady(info))
                if self.current is None:
                    self.phase = Phase.IDLE
                    self._send_next()
            case Emitted(request_id, event):
                self._heard(request_id, event)
            case Inspected() | Weighed() | Dropped() | Failed():
                self._learn(answer)

    def advance(self) -> list[Change]:
        """Feed what is due into the reply, and hand out everything that changed since the last call."""
        self._feed(self.pacer.due())
        if self._recorder is not None:
            self._recorder.tick()
        if self.phase is Phase.IDLE and self.current is None and not self._racing:
            self.insights.ask()
        changes, self._changes = self._changes, []
        return changes

    def begin_race(self, prompt: tuple[Message, ...] | str, options: ReplyOptions, seed: int) -> Race:
        """Have a message answered twice, outside the conversation; the engine has to be idle."""
        self.insights.withdraw()
        self.race = Race(self._engine.send, partial(next, self._ids), prompt, options, seed)
        self.race.start()
        return self.race

    @property
    def _racing(self) -> bool:
        return self.race is not None and self.race.running is not None

    def _heard(self, request_id: int, event: Event) -> None:
        """An event of the reply under way, or of a race."""
        if self.current is not None and request_id == self._request_id:
            self.pacer.push(event)
        elif self.race is not None:
            self.race.receive(request_id, event)

    def _learn(self, answer: Looked) -> None:
        subject = self.insights.receive(answer)
        if isinstance(subject, Exchange):
            self._changes.append(Learned(subject))
        if isinstance(answer, Failed):
            racing = self.race is not None and self.race.fail(answer.request_id, f"{answer.message} {answer.hint}")
            self._fail(answer, aside=racing or subject is not None)

    def _feed(self, events: list[Event]) -> None:
        """Give events to the current reply; what they wrote becomes one change."""
        rounds: list[Round] = []
        for event in events:
            if isinstance(event, Round):
                rounds.append(event)
            elif rounds and isinstance(event, Finished):
                self._wrote(rounds, ())
                rounds = []
            self._take(event)
        if rounds:
            self._wrote(rounds, rounds[-1].rejected)

    def _wrote(self, rounds: list[Round], rejected: tuple[Proposal, ...]) -> None:
        if self.current is not None:
            self._changes.append(Wrote(self.current, tuple(rounds), rejected))

    def _take(self, event: Event) -> None:
        """One event of the current reply."""
        if self.current is None:
            return
        self.current.receive(event)
        if self._recorder is not None:
            self._recorder.receive(event)
        match event:
            case Started() | PromptProgress():
                self.phase = Phase.READING
            case Round():
                self.phase = Phase.WRITING
            case Finished():
                self._end(Phase.IDLE)

    def _end(self, phase: Phase) -> None:
        """The current exchange is over."""
        assert self.current is not None
        self._changes.append(Ended(self.current))
        self.last, self.current, self._recorder = self.current, None, None
        self.phase = phase
        self.pacer.drop()
        self._change_pair()
        self._send_next()

    def _cut_short(self, exchange: Exchange) -> None:
        """End the reply where the reader saw it end, whatever the engine has made since."""
        reply = exchange.reply
        exchange.receive(Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings()))
        if self._recorder is not None:
            self._recorder.follow(reply)
        self._request_id = next(self._ids)
        self._end(Phase.IDLE)

    def _send_next(self) -> None:
        """Send the oldest message, if the engine is free for it."""
        if self.current is not None or not self.waiting or self.phase is not Phase.IDLE:
            return
        exchange = self.waiting.popleft()
        about = reply_about(self.launch, self.info)
        self._recorder = self.talk.begin(exchange, about)
        self._recorder.keeps_figures = self.launch.keeps_figures
        exchange.reply.tally.plain_per_second = about.plain_per_second
        self.current = exchange
        self.phase = Phase.READING
        self._request_id = next(self._ids)
        messages = tuple(self.talk.messages(exchange))
        exchange.asked = Generate(self._request_id, messages, self.launch.reply, exchange.text)
        if not exchange.continued:
            exchange.trace.begin(exchange.asked, self.launch.load)
        self.insights.withdraw()
        self._engine.send(exchange.asked)
        self._changes.append(Began(exchange))

    def _queue(self, exchange: Exchange) -> Exchange:
        self.waiting.append(exchange)
        if self.phase is Phase.BROKEN:
            self._retry()
        self._send_next()
        return exchange

    def _retry(self) -> None:
        """Load the pair again; answers to what went before no longer matter."""
        self.phase = Phase.LOADING
        self.load_progress = LoadProgress("starting the engine again", 0.0)
        self._slot.load()

    def _change_pair(self) -> None:
        """Load the pair that is to come, if there is one and no reply is being written."""
        if self._slot.next is None or self.current is not None:
            return
        self._slot.change(loading=self.phase is Phase.LOADING)
        self.pacer.tokens_per_second = self.launch.pace_tokens_per_second
        self.info = None
        self.phase = Phase.LOADING
        self.load_progress = LoadProgress("changing the pair", 0.0)

    def _fail(self, failure: Failed, *, aside: bool) -> None:
        error = error_from_code(failure.exit_code, failure.message, failure.hint)
        concerns_load = failure.request_id is None
        if concerns_load and not self._slot.answered(ready=False):
            return
        if self.current is not None and (failure.died or failure.request_id == self._request_id):
            self._break_off(error, died=failure.died)
        elif (concerns_load and (failure.died or self.phase is Phase.LOADING)) or (aside and failure.died):
            self._break(error)

    def _break_off(self, error: LocalSpecError, *, died: bool) -> None:
        """The current reply ends here; what the engine had said before counts."""
        exchange = self.current
        assert exchange is not None
        self._feed(self.pacer.take_all())
        if self.current is exchange:
            exchange.reply.fail(error)
            if self._recorder is not None:
                self._recorder.fail(error)
            self._end(Phase.BROKEN if died else Phase.IDLE)
        elif died and self.current is None:
            self._break(error)

    def _break(self, error: LocalSpecError) -> None:
        """There is no engine, or nothing loaded; the next message tries again."""
        self.phase = Phase.BROKEN
        self._changes.append(LoadFailed(error))
