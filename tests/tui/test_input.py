"""What becomes on the chat screen of what is written in the prompt."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from localspec.chat.pair_slot import Phase
from localspec.engine.events import FinishReason
from localspec.runtime.worker.messages import CountTokens, Generate, TokensCounted
from localspec.tui.prompt.prompt import Prompt
from tests.tui.support import (
    FakeEngine,
    chat,
    make_app,
    notice_text,
    prompt_of,
    rounds_of,
    send,
    session,
    shown,
    views,
    wait_until,
)


async def loaded(pilot: Pilot[Any], engine: FakeEngine) -> Prompt:
    engine.load()
    await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
    return chat(pilot).query_one(Prompt)


def counts(engine: FakeEngine) -> list[str]:
    return [request.text for request in engine.sent if isinstance(request, CountTokens)]


def asked(engine: FakeEngine) -> list[str]:
    """What the model was asked last, message by message."""
    (*_, last) = (request for request in engine.sent if isinstance(request, Generate))
    return [message.content for message in last.prompt if not isinstance(message, str)]


async def test_the_model_reads_what_the_transcript_shows_as_a_chip(tmp_path: Path) -> None:
    """Files and long pastes are whole in the message, and a few words on screen."""
    (tmp_path / "notes.txt").write_text("Remember the milk.")
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        prompt = await loaded(pilot, engine)
        prompt.set_text(f"Compare @{tmp_path}/notes.txt with ")
        pilot.app.post_message(Paste("line\n" * 5000))
        await wait_until(pilot, lambda: "[pasted text" in prompt.text)
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.prompts)
        (content,) = asked(engine)
        assert content.startswith(f"File: {tmp_path}/notes.txt\n```txt\nRemember the milk.\n```\n\nCompare @")
        assert content.endswith("line\nline")
        question = str(views(pilot)[0].query(".prompt").first().render())
        assert f"[{tmp_path}/notes.txt  0.1 kB]" in question
        assert "[pasted text: 25 kB, 5,000 lines]" in question
        assert "milk" not in question


async def test_a_command_takes_a_long_paste_whole() -> None:
    """Its mark is for the screen."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        prompt = await loaded(pilot, engine)
        prompt.set_text("/set system ")
        pilot.app.post_message(Paste("Be brief. " * 400))
        await wait_until(pilot, lambda: "[pasted text" in prompt.text)
        await pilot.press("enter")
        await wait_until(pilot, lambda: not prompt.text)
        assert session(pilot).thread.stored.heading.settings == {"reply.system": ("Be brief. " * 400).strip()}


async def test_up_takes_back_a_message_that_waits(tmp_path: Path) -> None:
    """It leaves the screen and the queue, and can be sent again otherwise; the reply goes on."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        prompt = await loaded(pilot, engine)
        await send(pilot, "First")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.write(rounds_of("Some words.")[:1])
        await send(pilot, "Second")
        assert "Up takes it back" in notice_text(pilot)
        await pilot.press("up")
        await wait_until(pilot, lambda: len(views(pilot)) == 1)
        assert prompt.text == "Second"
        await pilot.press("!", "enter")
        await wait_until(pilot, lambda: len(views(pilot)) == 2)
        engine.finish(FinishReason.STOP)
        await wait_until(pilot, lambda: len(engine.prompts) == 2)
        assert asked(engine)[-1] == "Second!"


async def test_messages_that_wait_are_in_the_prompt_after_a_restart() -> None:
    """Those that were never asked, in front of what was being written."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await loaded(pilot, engine)
        await send(pilot, "First")
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        engine.write(rounds_of("Some words.")[:1])
        conversation = session(pilot).stored.id
        await send(pilot, "Second")
        await send(pilot, "Third")
        await pilot.press(*"unsent")
    async with make_app(FakeEngine()).run_test(size=(100, 30)) as pilot:
        assert prompt_of(pilot).text == ""
        prompt_of(pilot).open(conversation)
        assert prompt_of(pilot).text == "Second\nThird\nunsent"


async def test_tokens_are_counted_between_replies_only() -> None:
    """The engine is asked while it is idle, its answer stands in the row of hints; during a reply an estimate does."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        await loaded(pilot, engine)
        await pilot.press(*"How are you")
        await wait_until(pilot, lambda: counts(engine) == ["How are you"])
        assert "~3 tokens" in shown(pilot, "Hints")
        engine.inbox.put(TokensCounted(4))
        await wait_until(pilot, lambda: " 4 tokens" in shown(pilot, "Hints"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.prompts and "tokens" not in shown(pilot, "Hints")[-14:])
        await pilot.press(*"And now")
        await wait_until(pilot, lambda: "~2 tokens" in shown(pilot, "Hints"))
        assert len(counts(engine)) == 1
        engine.reply("Well.")
        await wait_until(pilot, lambda: counts(engine)[1:] == ["And now"])


async def test_the_key_that_stops_is_shown_while_there_is_something_to_stop() -> None:
    """From the question, which may wait for the pair, to the end of the reply."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        assert "stop" not in shown(pilot, "Hints")
        await send(pilot, "First")
        await wait_until(pilot, lambda: "Esc stop" in shown(pilot, "Hints"))
        engine.load()
        await wait_until(pilot, lambda: engine.prompts)
        engine.start()
        await pilot.pause()
        assert "Esc stop" in shown(pilot, "Hints")
        engine.finish(FinishReason.STOP)
        await wait_until(pilot, lambda: "stop" not in shown(pilot, "Hints"))


async def test_an_engine_that_dies_over_a_count_is_only_reported() -> None:
    """The text stays, the estimate stands, and the next pair is asked again."""
    engine = FakeEngine()
    async with make_app(engine).run_test(size=(100, 30)) as pilot:
        prompt = await loaded(pilot, engine)
        await pilot.press(*"How")
        await wait_until(pilot, lambda: counts(engine))
        engine.die()
        await wait_until(pilot, lambda: session(pilot).phase is Phase.BROKEN)
        assert prompt.text == "How"
        assert "~1 token" in shown(pilot, "Hints")


async def test_the_keys_of_the_prompt_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search and editor, from the prompt and by their commands; a typo is told the nearest command."""
    engine = FakeEngine()
    app = make_app(engine)
    monkeypatch.setenv("VISUAL", "false")
    monkeypatch.setattr(app, "suspend", nullcontext)
    async with app.run_test(size=(100, 30)) as pilot:
        prompt = await loaded(pilot, engine)
        await send(pilot, "Tell me a story")
        await pilot.press("ctrl+r", *"tell", "enter")
        assert prompt.text == "Tell me a story"
        await pilot.press("ctrl+o")
        assert "ended with exit code 1" in shown(pilot, "#trouble")
        await send(pilot, "/recall")
        await pilot.press("escape")
        await send(pilot, "/attach nowhere.txt")
        await wait_until(pilot, lambda: "There is no file nowhere.txt" in shown(pilot, "#trouble"))
        await send(pilot, "/edtior")
        assert "Did you mean /editor?" in notice_text(pilot)
        assert len(engine.prompts) == 1
