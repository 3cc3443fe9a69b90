"""A conversation with the engine process, for a front end that draws: nothing here waits for the engine.

Requests go out through ``EngineHandle.send``, answers come in through ``receive``, and ``advance`` gives the changes
since the last frame. Time is the pacer's alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import count

from localspec.base.errors import LocalSpecError, ReplyStoppedError, UsageError, error_from_code
from localspec.chat.active_reply import ActiveReply
from localspec.chat.changes import (
    Began,
    Called,
    Change,
    Ended,
    GoesOn,
    LoadFailed,
    PairReady,
    TokenCountAnswered,
    TokensLearned,
    written,
)
from localspec.chat.core import ChatCore
from localspec.chat.engine_queries import EngineQueries
from localspec.chat.history import History
from localspec.chat.pacing import Pacer
from localspec.chat.pair_comparisons import PairComparisons
from localspec.chat.pair_slot import EngineHandle, EnginePairSlot, Phase
from localspec.chat.race import Race
from localspec.chat.token_queries import QueryAnswer, TokenQueries
from localspec.chat.tools.approvals import Approval
from localspec.chat.turn import Turn
from localspec.engine.events import Event
from localspec.insight.observers import Observer
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    CountTokens,
    Dropped,
    Emitted,
    Failed,
    HasRead,
    Inspected,
    Loaded,
    LoadProgress,
    Silence,
    TokensCounted,
    Unloaded,
    Weighed,
)
from localspec.store import Store, StoredConversation


class ChatSession(ChatCore):
    """Queues messages, sends one request at a time, and turns the answers into changes."""

    def __init__(
        self,
        chat_config: ChatConfig,
        engine: EngineHandle,
        pacer: Pacer,
        store: Store | None = None,
        observer: Observer | None = None,
    ) -> None:
        """As ``ChatCore``. The engine is loading the pair already."""
        self._slot: EnginePairSlot = EnginePairSlot(chat_config, engine)
        super().__init__(self._slot, store, observer=observer)
        self.pacer = pacer
        self.waiting: deque[Turn] = deque()
        """Turns to be answered, oldest first."""
        self.writes_titles = False
        """True if the model writes titles for conversations without one."""
        self.silence = ""
        """The server that the engine waits for in vain; empty while it does not."""
        self._active_reply: ActiveReply | None = None
        self._unfolded: set[str] = set()
        self._engine = engine
        self._changes: list[Change] = []
        self._new_id = partial(next, count(1))
        self._engine_queries = EngineQueries(engine.send, self._new_id)
        self.comparisons = PairComparisons(
            self, self._slot, self._engine_queries, engine.send, self._new_id, self._change_pair
        )
        """Comparisons of pairs, outside the conversation."""

    @property
    def busy(self) -> bool:
        """True while answers are due or changes are not yet handed out."""
        at_work = self.current is not None or self._engine_queries.pending(idle=self.phase is Phase.IDLE)
        with_tools = self.calling or not self.tool_use.toolbox.ready
        return self.phase is Phase.LOADING or at_work or bool(self._changes) or with_tools

    @property
    def calling(self) -> bool:
        """True while calls of tools are made; False while the user is asked about one."""
        chain = self.tool_use.chain
        return chain is not None and chain.asking is None

    def history(self) -> History:
        """The list of conversations as stored now, with the folders unfolded that were."""
        return History(self.store, self.deleted, self._unfolded)

    @property
    def token_queries(self) -> TokenQueries:
        """Queries about replies that are complete."""
        return self._engine_queries.token_queries

    @property
    def writing_title(self) -> bool:
        return self._engine_queries.titles.busy

    @property
    def phase(self) -> Phase:
        """The work of the engine for the conversation."""
        return self._active_reply.phase if self._active_reply is not None else self._slot.phase

    @property
    def current(self) -> Turn | None:
        return self._active_reply.turn if self._active_reply is not None else None

    @property
    def info(self) -> PairInfo | None:
        """The loaded pair; None while there is none."""
        return self._slot.info

    @property
    def load_progress(self) -> LoadProgress:
        return self._slot.progress

    @property
    def coming(self) -> ChatConfig | None:
        """The configuration of the pair to load once the reply under way is over; None if it stays."""
        return self._slot.next

    @property
    def former(self) -> ChatConfig | None:
        """The configuration in use before a pair that could not be loaded; None if all is well."""
        return self._slot.former

    def ask(self, prompt: str) -> Turn:
        """Queue a message. It is sent when the pair is loaded and the replies before it are over."""
        return self.queue(Turn(prompt))

    @property
    def free(self) -> bool:
        """True if no reply is under way or waited for, so that the conversation can be changed."""
        return self.current is None and not self.waiting and self.tool_use.chain is None

    def recall(self, turn: Turn) -> None:
        """Prepare queries about a restored reply; see ``Thread.recall``."""
        self.thread.recall(turn, self.chat_config, self.info)

    def queue(self, turn: Turn) -> Turn:
        """Queue a turn made by ``Thread`` or by ``summary``, to be answered or continued."""
        self.waiting.append(turn)
        if self.phase is Phase.BROKEN:
            self._slot.retry()
        self._send_next()
        return turn

    def switch(self, chat_config: ChatConfig) -> None:
        """Go on with another pair once the reply under way is over. Messages that wait are answered by that pair."""
        if chat_config.system != (self.coming or self.chat_config).system:
            self.stored.set_system(chat_config.system)
        self._slot.choose(chat_config)
        self._change_pair()

    def count_tokens(self, text: str) -> bool:
        """Ask for the number of tokens of a text, answered by ``TokenCountAnswered``; False if the engine is busy."""
        if self.phase is not Phase.IDLE:
            return False
        self._engine.send(CountTokens(text))
        return True

    def read_ahead(self, beginning: str) -> None:
        """Have the engine read, while it is idle, the conversation and the ``beginning`` of its next message."""
        wanted = self.free and self.phase is Phase.IDLE
        messages = (*self.stored.messages(), Message(Role.USER, beginning)) if wanted else ()
        reasoning = self.chat_config.reply.reasoning
        self._engine_queries.reading_ahead.want(messages, self.tool_use.toolbox.tools, reasoning)
        if wanted:
            self._engine_queries.ask()

    def rest(self) -> None:
        """Have the engine read nothing ahead until ``go_on``: the person does something that needs the screen."""
        self._engine_queries.reading_ahead.rest()

    def go_on(self) -> None:
        """Have the engine read ahead again."""
        self._engine_queries.reading_ahead.go_on()
        if self.free and self.phase is Phase.IDLE:
            self._engine_queries.ask()

    def withdraw(self) -> Turn | None:
        """Take back the latest message, if it still waits."""
        return self.waiting.pop() if self.waiting and self.waiting[-1].question is None else None

    def stop(self) -> list[Turn]:
        """End the reply under way, its calls or a title; the text stays. Returns the turns that waited behind it."""
        self._engine_queries.titles.withdraw()
        withdrawn = list(self.waiting)
        self.waiting.clear()
        if self.tool_use.chain is not None:
            self.tool_use.chain.stop()
            self._go_on()
        if self._active_reply is not None:
            self._engine.send(Cancel())
            if self.pacer.limited or self.pacer.waiting or self._active_reply.held_back:
                self._cut_short(self._active_reply)
        return withdrawn

    def turn_to(self, conversation: StoredConversation) -> list[Turn]:
        """Leave the conversation for another, ending a reply under way. Returns the turns that waited."""
        withdrawn = self.stop()
        if self._active_reply is not None:
            self._cut_short(self._active_reply)
        if self.tool_use.chain is not None:  # of a reply that has just ended
            self.tool_use.chain.stop()
            self.after_calls()
        self._changes.clear()
        self.token_queries.forget()
        self._enter(conversation)
        return withdrawn

    def receive(self, answer: Answer) -> None:
        self.silence = answer.what if isinstance(answer, Silence) else ""
        match answer:
            case LoadProgress() if self._active_reply is None:
                self._slot.hear(answer)
            case HasRead():
                self._engine_queries.reading_ahead.receive(answer)
            case TokensCounted(token_n):
                self._changes.append(TokenCountAnswered(token_n))
            case Unloaded():
                self._slot.answered()
            case Loaded(info) if self._slot.loaded(info):
                self.token_queries.pair = self.chat_config.load
                self._changes.append(PairReady(info))
                self._engine_queries.loaded(info)
                self._send_next()
            case Emitted(request_id, event):
                self._heard(request_id, event)
            case Inspected() | Weighed() | Dropped() | Failed():
                self._learn(answer)

    def advance(self) -> list[Change]:
        """Give the reply the events that are due, and return all changes since the last call."""
        self._pass_on(None)
        self._feed(self.pacer.due())
        if self._active_reply is not None:
            self._active_reply.tick()
        self._make_calls()
        if self.phase is Phase.IDLE:
            self._send_next()
            self._engine_queries.ask()
        changes, self._changes = self._changes, []
        return changes

    def decide(self, approval: Approval) -> None:
        """Answer the question about the call that waits for it."""
        if self.tool_use.chain is not None:
            self.tool_use.chain.decide(approval)
            self._changes.append(Called(self.tool_use.chain.turn))

    def check_runs(self, what: str) -> None:
        """Raise UsageError if a race or a comparison, called ``what``, cannot be run now.

        A check of replies would not see what it writes.
        """
        if self.phase is not Phase.IDLE or not self.free:
            raise UsageError("The engine is busy.", f"Begin the {what} when it is done.")
        if self.chat_config.outlets.reply_check is not None:
            raise UsageError(f"A {what} would show text that reply_check has not seen.", "Turn reply_check off first.")

    def begin_race(self, prompt: tuple[Message, ...] | str, options: ReplyOptions, seed: int) -> Race:
        """Have a message answered twice, outside the conversation. The engine must be idle."""
        race = Race(self._engine.send, self._new_id, prompt, options, seed)
        self._engine_queries.begin(race)
        return race

    def _heard(self, request_id: int, event: Event) -> None:
        """Pass an event on to the reply under way, or to a race."""
        if self._active_reply is not None and request_id == self._active_reply.asked.request_id:
            self._pass_on(event)
        else:
            self._engine_queries.hear(request_id, event)

    def _pass_on(self, event: Event | None) -> None:
        """Have the pacer give the reply under way what may be received; a check may end it instead."""
        active_reply = self._active_reply
        if active_reply is None:
            return
        try:
            for each in active_reply.passed(event):
                self.pacer.push(each)
        except ReplyStoppedError as error:
            self._engine.send(Cancel())
            self._break_off(active_reply, error, died=False)

    def _learn(self, answer: QueryAnswer) -> None:
        subject = self.token_queries.receive(answer)
        if subject is not None:
            self._changes.append(TokensLearned(subject))
        if isinstance(answer, Failed):
            self._engine_queries.reading_ahead.receive(HasRead(0))
            ours = self._engine_queries.fail(answer)
            self._fail(answer, aside=ours or subject is not None)

    def _feed(self, events: Sequence[Event]) -> None:
        """Give events to the reply under way, if there is one."""
        active_reply = self._active_reply
        if active_reply is None:
            return
        for event in events:
            active_reply.receive(event)
        self._changes += written(active_reply.turn, events)
        if active_reply.over:
            self._end(active_reply)

    def _end(self, active_reply: ActiveReply) -> None:
        """The reply is over: change the pair if that waits, then send the next message."""
        self._changes.append(Ended(active_reply.turn))
        self._active_reply = None
        self._ended(active_reply.turn)
        self._want_title(active_reply.turn)
        self.pacer.drop()
        self._change_pair()
        self._send_next()

    def _want_title(self, turn: Turn) -> None:
        """Have the model write a title after a whole reply; the built-in pair knows too little to find one."""
        checked = self.chat_config.outlets.reply_check is not None  # and a title would not be
        if self.writes_titles and turn.complete and not (turn.is_summary or self.chat_config.tour or checked):
            self._engine_queries.titles.want(self.stored)

    def _make_calls(self) -> None:
        """Take the next steps of the calls, as far as they can be taken now."""
        chain = self.tool_use.chain
        if chain is None:
            return
        while chain.tick():
            self._changes.append(Called(chain.turn))
        if chain.over:
            self._go_on()

    def _go_on(self) -> None:
        """The calls are over: have their results replied to, before any message that waits."""
        turn = self.tool_use.chain.turn if self.tool_use.chain is not None else None
        after = self.after_calls()
        if turn is not None:
            self._changes.append(Called(turn))
        if after is not None:
            self.waiting.appendleft(after)
            self._changes.append(GoesOn(after))

    def _cut_short(self, active_reply: ActiveReply) -> None:
        """End a reply at the last event that was shown."""
        active_reply.cut_short()
        self._end(active_reply)

    def _send_next(self) -> None:
        """Send the oldest message that waits, if the engine is idle."""
        if not self.waiting or self.phase is not Phase.IDLE or self.tool_use.chain is not None:
            return
        if not self.tool_use.ready_for(self.waiting[0], self.chat_config):
            return
        tried = self._tried()
        if tried is not None:
            self.switch(tried)
            return
        turn = self.waiting.popleft()
        self._active_reply = self.begin_reply(self._new_id(), turn, self.info)
        self._engine_queries.withdraw()
        self._engine.send(self._active_reply.asked)
        self._changes.append(Began(turn))

    def _change_pair(self) -> None:
        """Load the next pair, if there is one and no reply is under way."""
        if self._active_reply is not None:
            return
        if self.coming is not None:
            self._engine_queries.titles.withdraw()
        if self._slot.change():
            self.pacer.tokens_per_second = self.chat_config.pace_tokens_per_second

    def _fail(self, failure: Failed, *, aside: bool) -> None:
        error = error_from_code(failure.exit_code, failure.message, failure.hint)
        concerns_load = failure.request_id is None
        if concerns_load and not self._slot.answered():
            return
        if concerns_load and self.comparisons.load_failed(failure):
            return
        active_reply = self._active_reply
        if concerns_load and active_reply is not None:
            self._slot.break_down()  # the engine was started again for it, and could not load the pair
        if active_reply is not None and (failure.died or failure.request_id == active_reply.asked.request_id):
            self._break_off(active_reply, error, died=failure.died)
        elif (concerns_load and (failure.died or self.phase is Phase.LOADING)) or (aside and failure.died):
            self._break(error)

    def _break_off(self, active_reply: ActiveReply, error: LocalSpecError, *, died: bool) -> None:
        """Fail the reply under way, after the events that the pacer still holds."""
        self._feed(self.pacer.take_all())
        if self._active_reply is active_reply:
            active_reply.fail(error)
            if died:
                self._slot.break_down()
            self._end(active_reply)
            if self.waiting and self.phase is Phase.BROKEN:
                self._slot.retry()  # a message that waits is the next one
        elif died and self._active_reply is None:
            self._break(error)

    def _break(self, error: LocalSpecError) -> None:
        """Nothing is loaded: go back to the incumbent of a trial, or report the failure."""
        self._slot.break_down()
        incumbent = self.trials.instead_of(self.chat_config, error)
        if incumbent is not None:
            self.switch(incumbent)
            return
        self._changes.append(LoadFailed(error))
