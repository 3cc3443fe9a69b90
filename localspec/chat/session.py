"""One conversation with one engine: what was asked, what waits, what the engine is doing.

A plain object. Requests go out through ``Engine.send``; answers come in through ``receive``, and
``advance`` hands out what became of them as facts for whoever draws. Knows nothing of widgets or time
(the pacer has the clock).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from localspec.base.errors import LocalSpecError, error_from_code
from localspec.chat.active_reply import Underway, begin
from localspec.chat.changes import Began, Change, Counted, Ended, Learned, LoadFailed, PairReady
from localspec.chat.engine import Engine
from localspec.chat.engine_queries import Asides
from localspec.chat.pacing import Pacer
from localspec.chat.pair_slot import PairSlot
from localspec.chat.phase import Phase
from localspec.chat.race import Race
from localspec.chat.thread import Talk
from localspec.chat.token_queries import Insights, Looked
from localspec.chat.turn import Exchange
from localspec.engine.events import Event
from localspec.insight.observers import Everybody, Witness
from localspec.insight.trials.live import Trials
from localspec.runtime.launch import Launch
from localspec.runtime.load import PairInfo
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    CountTokens,
    Dropped,
    Emitted,
    Failed,
    Inspected,
    Loaded,
    LoadProgress,
    TokensCounted,
    Unloaded,
    Weighed,
)
from localspec.store import Store, StoredConversation
from localspec.store.opening import Opened, open_memory

__all__ = ["Phase", "Session"]


class Session:
    """Messages in, requests out; answers in, changes out."""

    def __init__(
        self,
        launch: Launch,
        engine: Engine,
        pacer: Pacer,
        store: Store | None = None,
        witness: Witness | None = None,
        trials: Trials | None = None,
    ) -> None:
        """Without a store, what is said ends with the program; ``witness`` follows every reply of the conversation."""
        self.store = store or Store(Opened(open_memory()), None)
        self.talk = Talk(self.store.begin(launch.system))
        """What has been said."""
        self.pacer = pacer
        self.waiting: deque[Exchange] = deque()
        """Messages not yet answered, oldest first."""
        self.last: Exchange | None = None
        """The exchange answered last."""
        self._underway: Underway | None = None
        self.trials = trials or Trials(self.store)
        """Which replies are made otherwise, to see whether that is better."""
        self.witness = Everybody((self.trials, *([witness] if witness is not None else [])))
        """Follows every reply of the conversation."""
        self._slot = PairSlot(launch, engine)
        self._engine = engine
        self._ids = count(1)
        self._changes: list[Change] = []
        self._asides = Asides(engine.send, partial(next, self._ids))

    @property
    def busy(self) -> bool:
        """Whether answers are expected or changes are still to be shown."""
        at_work = self.current is not None or self._asides.wanted(idle=self.phase is Phase.IDLE)
        return self.phase is Phase.LOADING or at_work or bool(self._changes)

    @property
    def insights(self) -> Insights:
        """What is asked about replies that are complete."""
        return self._asides.insights

    @property
    def race(self) -> Race | None:
        """The latest, under way or over."""
        return self._asides.race

    @property
    def phase(self) -> Phase:
        """What the engine is doing for the conversation."""
        return self._underway.phase if self._underway is not None else self._slot.phase

    @property
    def current(self) -> Exchange | None:
        """The exchange being answered."""
        return self._underway.exchange if self._underway is not None else None

    @property
    def info(self) -> PairInfo | None:
        """About the pair that is loaded."""
        return self._slot.info

    @property
    def load_progress(self) -> LoadProgress:
        return self._slot.progress

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
        return self._slot.former

    def ask(self, prompt: str) -> Exchange:
        """Queue a message; it is sent as soon as the pair is loaded and the replies before it are done."""
        return self.queue(Exchange(prompt))

    @property
    def free(self) -> bool:
        """Whether no reply is being written or waited for, so that what was said can be changed."""
        return self.current is None and not self.waiting

    def recall(self, exchange: Exchange) -> None:
        """Before looking into a reply. As ``Talk.recall``."""
        self.talk.recall(exchange, self.launch, self.info)

    def queue(self, exchange: Exchange) -> Exchange:
        """Have it answered, or gone on with, after those before it: as ``Talk`` made it, or a summary of old turns."""
        self.waiting.append(exchange)
        if self.phase is Phase.BROKEN:
            self._slot.retry()
        self._send_next()
        return exchange

    def switch(self, launch: Launch) -> None:
        """Go on with another pair, as soon as the reply under way is done; messages that wait are for that one."""
        if launch.system != (self.coming or self.launch).system:
            self.talk.stored.set_system(launch.system)
        self._slot.choose(launch)
        self._change_pair()

    def adopt(self, launch: Launch, *, keep_system: bool = False) -> None:
        """Reply from the next message on as ``launch`` says; what is loaded stays, and if wanted the system prompt."""
        if launch.system != self.launch.system and not keep_system:
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
        if self._underway is not None:
            self._engine.send(Cancel())
            if self.pacer.limited or self.pacer.waiting:
                self._cut_short(self._underway)
        return withdrawn

    def begin_anew(self) -> list[Exchange]:
        """Leave the conversation for a new one; the pair stays loaded. Gives back the messages that waited."""
        return self.turn_to(self.store.begin(self.launch.system))

    def turn_to(self, conversation: StoredConversation) -> list[Exchange]:
        """Leave the conversation for another; a reply under way ends. Gives back the messages that waited."""
        withdrawn = self.stop()
        if self._underway is not None:
            self._cut_short(self._underway)
        self._changes.clear()
        self.last = None
        self.insights.forget()
        if conversation is not self.talk.stored:
            self.talk = Talk(conversation)
        return withdrawn

    def receive(self, answer: Answer) -> None:
        """Take in what the engine said."""
        match answer:
            case LoadProgress() if self._underway is None:
                self._slot.hear(answer)
            case TokensCounted(token_n):
                self._changes.append(Counted(token_n))
            case Unloaded():
                self._slot.refused()
            case Loaded(info) if self._slot.loaded(info):
                self.insights.pair = self.launch.load
                self._changes.append(PairReady(info))
                self._send_next()
            case Emitted(request_id, event):
                self._heard(request_id, event)
            case Inspected() | Weighed() | Dropped() | Failed():
                self._learn(answer)

    def advance(self) -> list[Change]:
        """Feed what is due into the reply, and hand out everything that changed since the last call."""
        self._feed(self.pacer.due())
        if self._underway is not None:
            self._underway.tick()
        if self.phase is Phase.IDLE:
            self._asides.ask()
        changes, self._changes = self._changes, []
        return changes

    def begin_race(self, prompt: tuple[Message, ...] | str, options: ReplyOptions, seed: int) -> Race:
        """Have a message answered twice, outside the conversation; the engine has to be idle."""
        return self._asides.begin_race(prompt, options, seed)

    def _heard(self, request_id: int, event: Event) -> None:
        """An event of the reply under way, or of a race."""
        if self._underway is not None and request_id == self._underway.asked.request_id:
            self.pacer.push(event)
        else:
            self._asides.hear(request_id, event)

    def _learn(self, answer: Looked) -> None:
        subject = self._asides.learn(answer)
        if isinstance(subject, Exchange):
            self._changes.append(Learned(subject))
        if isinstance(answer, Failed):
            racing = self._asides.fail(answer)
            self._fail(answer, aside=racing or subject is not None)

    def _feed(self, events: Sequence[Event]) -> None:
        """Give events to the current reply."""
        underway = self._underway
        if underway is None:
            return
        self._changes += underway.feed(events)
        if underway.over:
            self._end(underway)

    def _end(self, underway: Underway) -> None:
        """The current exchange is over."""
        self._changes.append(Ended(underway.exchange))
        self._underway = None
        if underway.exchange.is_summary:
            self.talk.refresh()
        else:
            self.last = underway.exchange
        self.pacer.drop()
        self._change_pair()
        self._send_next()

    def _cut_short(self, underway: Underway) -> None:
        """What the engine has made beyond what the reader saw does not count."""
        underway.cut_short()
        self._end(underway)

    def _send_next(self) -> None:
        """Send the oldest message, if the engine is free for it."""
        if not self.waiting or self.phase is not Phase.IDLE:
            return
        tried = self.trials.to_load(self.launch, self.talk.stored.id, begins=not self.talk.begun)
        if tried.load != self.launch.load:
            self.switch(tried)
            return
        exchange = self.waiting.popleft()
        self._underway = begin(next(self._ids), exchange, self.talk, self.launch, self.info, self.trials, self.witness)
        self.insights.withdraw()
        self._engine.send(self._underway.asked)
        self._changes.append(Began(exchange))

    def _change_pair(self) -> None:
        """Load the pair that is to come, if there is one and no reply is being written."""
        if self._underway is None and self._slot.change():
            self.pacer.tokens_per_second = self.launch.pace_tokens_per_second

    def _fail(self, failure: Failed, *, aside: bool) -> None:
        error = error_from_code(failure.exit_code, failure.message, failure.hint)
        concerns_load = failure.request_id is None
        if concerns_load and not self._slot.refused():
            return
        underway = self._underway
        if underway is not None and (failure.died or failure.request_id == underway.asked.request_id):
            self._break_off(underway, error, died=failure.died)
        elif (concerns_load and (failure.died or self.phase is Phase.LOADING)) or (aside and failure.died):
            self._break(error)

    def _break_off(self, underway: Underway, error: LocalSpecError, *, died: bool) -> None:
        """The current reply ends here; what the engine had said before counts."""
        self._feed(self.pacer.take_all())
        if self._underway is underway:
            underway.fail(error)
            if died:
                self._slot.phase = Phase.BROKEN
            self._end(underway)
            if self.waiting and self.phase is Phase.BROKEN:
                self._slot.retry()  # a message that waits is the next one
        elif died and self._underway is None:
            self._break(error)

    def _break(self, error: LocalSpecError) -> None:
        """There is no engine, or nothing loaded; the next message tries again."""
        self._slot.phase = Phase.BROKEN
        incumbent = self.trials.instead_of(self.launch, error)
        if incumbent is not None:
            self.switch(incumbent)
            return
        self._changes.append(LoadFailed(error))
