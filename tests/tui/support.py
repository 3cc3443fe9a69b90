"""An engine that says only what a test makes it say, and a clock that stands still."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.pair_slot import Phase
from localspec.chat.pairs.library import PairLibrary
from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
)
from localspec.engine.tally import Tally
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import ToolCall
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import (
    Emitted,
    Failed,
    Generate,
    Loaded,
    LoadProgress,
    ReadAhead,
    Request,
)
from localspec.store import Store
from localspec.tui.app import ChatApp
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.widgets.hints import Hints
from localspec.tui.widgets.live_line import LiveLine
from localspec.tui.widgets.notice import Notice
from tests.tui.fakes import NoPairs, with_settings

PLAIN_PER_SECOND = 35.2
LAUNCH = ChatConfig(
    LoadOptions(Path("target.gguf"), Path("draft.gguf")), pair_id="built-in", title="Built-in tour pair", tour=True
)
INFO = PairInfo(
    target=Path("target.gguf"),
    draft=Path("draft.gguf"),
    target_name="tour",
    draft_name="tour draft",
    target_size_bytes=24_000_000,
    draft_size_bytes=2_500_000,
    n_vocab=2048,
    n_ctx=2048,
    threads=2,
    device="CPU, 2 threads",
    plain_per_second=PLAIN_PER_SECOND,
    load_s=0.5,
    drafters=("draft",),
)


@dataclass
class Clock:
    """Time that passes only when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeEngine:
    """Takes requests down, and lets a test answer them."""

    inbox: AnswerQueue = field(default_factory=AnswerQueue)
    sent: list[Request] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    text: str = ""

    ahead: list[ReadAhead] = field(default_factory=list)
    """Beside what is sent for a reader: how often it is asked for depends on the pauses of a test."""

    def send(self, request: Request) -> None:
        if isinstance(request, ReadAhead):
            self.ahead.append(request)
        else:
            self.sent.append(request)

    @property
    def prompts(self) -> list[Generate]:
        return [request for request in self.sent if isinstance(request, Generate)]

    def load(self) -> None:
        self.inbox.put(Loaded(INFO))

    def loading(self, what: str, fraction: float) -> None:
        self.inbox.put(LoadProgress(what, fraction))

    def emit(self, event: Event) -> None:
        """Answer the newest request."""
        self.inbox.put(Emitted(self.prompts[-1].request_id, event))

    def start(self, prompt_n: int = 12) -> None:
        self.tally, self.text = Tally(plain_per_second=PLAIN_PER_SECOND), ""
        self.emit(Started(prompt_n, 0, 1))

    def read(self, done_n: int, total_n: int) -> None:
        self.emit(PromptProgress(done_n, total_n))

    def write(self, rounds: Iterable[Round]) -> None:
        for round_ in rounds:
            self.tally.add(round_)
            self.text += "".join(token.text for token in round_.tokens)
            self.emit(round_)

    def finish(self, reason: FinishReason = FinishReason.STOP) -> None:
        self.emit(Finished(reason, self.text, self.tally.timings()))

    def reply(self, text: str) -> None:
        """A whole reply at once."""
        self.start()
        self.write(rounds_of(text))
        self.finish()

    def call(self, *calls: ToolCall, said: str = "") -> None:
        """Write a text and the markup of calls, of which each round says how much it may be, and end the reply."""
        markup = "".join(f"\n<tool_call>{call.name} {call.arguments}</tool_call>" for call in calls)
        said_n = len(self.text) + len(said)
        for round_ in rounds_of(said + markup):
            written_n = len(self.text) + sum(len(token.text) for token in round_.tokens)
            self.write([replace(round_, held_n=max(0, written_n - said_n))])
        self.emit(Finished(FinishReason.STOP, self.text, self.tally.timings(), calls, said_n=said_n))

    def die(self) -> None:
        request_id = self.prompts[-1].request_id if self.prompts else None
        self.inbox.put(
            Failed(
                request_id,
                8,
                "The engine process stopped unexpectedly.",
                "Send your message again to start it anew.",
                died=True,
            )
        )

    def refuse_load(self) -> None:
        self.inbox.put(Failed(None, 4, "There is no file target.gguf.", "Check the path given with --target."))


def token(text: str, origin: Origin = Origin.PLAIN) -> Token:
    return Token(1, text, origin)


def make_round(
    texts: Sequence[str], origin: Origin | None = None, *, index: int = 0, rejected: Sequence[str] = ()
) -> Round:
    """A round whose proposals were ``texts`` but the last, which is the target's own."""
    own = origin or (Origin.CORRECTED if rejected else Origin.BONUS)
    tokens = [token(text, Origin.ACCEPTED) for text in texts[:-1]] + [token(texts[-1], own)]
    proposals = tuple(Proposal(2, text) for text in rejected)
    drafter = None if own is Origin.PLAIN else "draft"
    return Round(index, drafter, len(texts) - 1 + len(rejected), tuple(tokens), proposals, (), 0.004, 0.040, 0.048)


def rounds_of(text: str) -> list[Round]:
    """``text`` in rounds of depth 3 with a fixed pattern of acceptance, an end-of-turn token last."""
    pieces = re.findall(r"\s?[^\W_]+|[\W_]", text)
    rounds: list[Round] = []
    at = 0
    for accepted_n in _pattern():
        if at >= len(pieces):
            break
        texts = pieces[at : at + accepted_n + 1]
        rejected = [" maybe", " so", "!"][: 3 - accepted_n]
        rounds.append(make_round(texts, index=len(rounds), rejected=rejected))
        at += len(texts)
    rounds.append(make_round([""], index=len(rounds), rejected=[" and", " then", " more"]))
    return rounds


def _pattern() -> Iterable[int]:
    while True:
        yield from (3, 3, 1, 3, 2, 0, 3, 3, 2, 3)


def make_app(
    engine: FakeEngine,
    chat_config: ChatConfig = LAUNCH,
    clock: Callable[[], float] | None = None,
    store: Store | None = None,
) -> ChatApp:
    app = ChatApp(with_settings(chat_config), engine, engine.inbox, PairLibrary(NoPairs()), clock or Clock(), store)
    app.animation_level = "full"
    return app


async def wait_until(pilot: Pilot[Any], predicate: Callable[[], object], limit_s: float = 120.0) -> None:
    """Let the app work until ``predicate`` holds; fails if it never does."""
    deadline = time.monotonic() + limit_s
    while not predicate():
        assert time.monotonic() < deadline, "the app never got there"
        await asyncio.sleep(0.005)
    await pilot.pause()


async def send(pilot: Pilot[Any], text: str) -> None:
    """Write a message and press Enter."""
    chat(pilot).query_one(Prompt).set_text(text)
    await pilot.press("enter")
    await pilot.pause()


def chat(pilot: Pilot[Any]) -> ChatScreen:
    screen = pilot.app.screen_stack[0]
    assert isinstance(screen, ChatScreen)
    return screen


def session(pilot: Pilot[Any]) -> Any:
    app = pilot.app
    assert isinstance(app, ChatApp)
    return app.session


def views(pilot: Pilot[Any]) -> list[TurnView]:
    return chat(pilot).query_one(Transcript).pages.views


def drawn_n(pilot: Pilot[Any]) -> int:
    """The number of tokens that the first reply on screen has laid out, once it is to be shown as tokens."""
    reply = views(pilot)[0].reply
    reply._draw()
    return reply.tokens._layout.tokens_n


def shown(pilot: Pilot[Any], selector: str) -> str:
    """The text of a widget that is drawn as one piece."""
    return str(chat(pilot).query_one(selector).render())


def live_text(pilot: Pilot[Any]) -> str:
    return "\n".join(str(child.render()) for line in chat(pilot).query(LiveLine) for child in line.children)


def notice_text(pilot: Pilot[Any]) -> str:
    return " ".join(str(child.render()) for child in chat(pilot).query_one(Notice).children)


async def ready(pilot: Pilot[Any], engine: FakeEngine) -> None:
    engine.load()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)


async def say(pilot: Pilot[Any], engine: FakeEngine, prompt: str, reply: str) -> None:
    """A whole turn."""
    asked_n = len(engine.prompts)
    await send(pilot, prompt)
    await answer(pilot, engine, asked_n, reply)


async def answer(pilot: Pilot[Any], engine: FakeEngine, asked_n: int, reply: str) -> None:
    await wait_until(pilot, lambda: len(engine.prompts) > asked_n)
    engine.reply(reply)
    await wait_until(pilot, lambda: session(pilot).current is None and session(pilot).last is not None)


def turns_shown(pilot: Pilot[Any]) -> list[tuple[str, str]]:
    """What stands on the screen: each message and its reply."""
    return [(view.turn.prompt, view.turn.text) for view in views(pilot)]


def asked(engine: FakeEngine) -> list[str]:
    """What the engine was asked last."""
    prompt = engine.prompts[-1].prompt
    assert not isinstance(prompt, str)
    return [message.content for message in prompt]


def prompt_of(pilot: Pilot[Any]) -> Prompt:
    return chat(pilot).query_one(Prompt)


def hints(pilot: Pilot[Any]) -> str:
    return str(chat(pilot).query_one(Hints).render())


def transcript_of(pilot: Pilot[Any]) -> Transcript:
    return chat(pilot).query_one(Transcript)
