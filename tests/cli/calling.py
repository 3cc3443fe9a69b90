"""A pair that calls tools, behind the command line; for programs that a test starts, without what only tests import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Origin, Round, Token
from localspec.engine.tally import Tally
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, ToolCall
from localspec.runtime.options import LoadOptions, Progress
from tests.cli.support import FakePair, FakeWorld, info_of

CALL = "<tool_call>"


class CallingPair(FakePair):
    """Says something and calls tools, and then says something else."""

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        assert not isinstance(prompt, str)
        told = [message.content for message in prompt if message.call_id is not None]
        calls = () if told else (ToolCall("c1", "get_time", "{}"), ToolCall("c2", "list_files", '{"folder": "."}'))
        parts = ("Well", " then.") if told else ("I look", f". {CALL}", "{}")
        tokens = tuple(Token(i, part, Origin.PLAIN) for i, part in enumerate(parts))
        held_n = 0 if told else len(CALL) + 3
        yield Round(0, None, 0, tokens, (), (), 0.0, 0.0, 0.0, held_n=held_n)
        said_n = None if told else len("I look.")
        yield Finished(FinishReason.STOP, "".join(parts), Tally().timings(), calls, said_n=said_n)


class CallingWorld(FakeWorld):
    """A command line over such a pair."""

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        return CallingPair(info_of(options), cancel)
