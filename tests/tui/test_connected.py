"""The chat on a server that sends text only: what is missing is said in sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from localspec.chat.pair_slot import Phase
from localspec.chat.tokens.marking import MarkMode
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Inspect, Loaded, Weigh
from tests.tui.support import INFO, FakeEngine, make_app, notice_text, send, session, wait_until
from tests.tui.test_chat import answered
from tests.tui.test_token_marks import mark

CONNECTED = ChatConfig(LoadOptions(Path("gpu"), server="http://gpu:80"), pair_id="gpu:80", title="gpu:80")
TEXT_ALONE = replace(INFO, server="vLLM at gpu:80", tells_tokens=False, passes_on=("temperature",))


async def test_what_the_server_does_not_tell_is_said_and_not_shown_broken() -> None:
    """When it is connected, and again where somebody asks for it; the reply is shown as any."""
    engine = FakeEngine()
    async with make_app(engine, CONNECTED).run_test(size=(100, 30)) as pilot:
        engine.inbox.put(Loaded(TEXT_ALONE))
        await wait_until(pilot, lambda: session(pilot).phase is Phase.IDLE)
        await wait_until(pilot, lambda: "vLLM at gpu:80 sends text only" in notice_text(pilot))
        assert "Nothing that goes to gpu:80 is encrypted" in notice_text(pilot)
        await send(pilot, "Hello")
        await wait_until(pilot, lambda: engine.prompts)
        engine.reply("Hi")
        await answered(pilot)
        for command, sentence in (("/race", "so there is no race"), ("/inspect", "nothing to look into")):
            await send(pilot, command)
            assert sentence in notice_text(pilot)
        await mark(pilot, MarkMode.HEAT)
        assert not any(isinstance(request, Weigh | Inspect) for request in engine.sent)
        assert len(pilot.app.screen_stack) == 1
