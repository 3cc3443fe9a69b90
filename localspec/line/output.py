"""The output of the line mode: text for people, or records for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from localspec.base.errors import LocalSpecError
from localspec.base.terminal_stream import escape_for, is_utf8
from localspec.base.visible import capitalised, visible, visible_line
from localspec.chat.marks import Marks, marked
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tools.said import SaidTokens
from localspec.chat.tools.wording import call_record, called, result_record, resulted
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Round, Started, Token
from localspec.engine.wire import event_to_dict
from localspec.line.progress import ProgressSentences
from localspec.line.streaming import StreamUnit, UnitBuffer
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.figures import failure_note, no_room_for, sentence
from localspec.runtime.messages import Reply
from localspec.runtime.pair_info import PairInfo

LEGENDS: Mapping[Marks, str] = {
    Marks.ASCII: "Marks: [guessed by the draft and kept], {corrected by the target}, <one more from the target>; "
    "what nobody guessed at has none.",
    Marks.ANSI: "Marks: what the draft guessed and the target kept is underlined, a correction is bold, one more "
    "from the target is both; what nobody guessed at is plain.",
    Marks.NEVER: "Tokens are not marked.",
}
_ENDINGS = {
    FinishReason.CANCELLED: "Stopped; /continue goes on.",
    FinishReason.LENGTH: "Ended at max tokens or the end of the context; /continue goes on.",
}


class LineOutput(Protocol):
    """Writes replies, answers of commands, and errors."""

    marks: Marks
    lasting: bool
    """True if the chat goes on after an error that nobody at a keyboard has seen."""

    def remark(self, text: str) -> None:
        """Tell a person something unasked."""
        ...

    def say(self, text: str, **data: Any) -> None:
        """Answer a command; ``data`` is the answer for programs."""
        ...

    def report(self, error: LocalSpecError) -> None:
        """Report an error."""
        ...

    def begin(self, chat_config: ChatConfig, info: PairInfo, ids: Mapping[str, str]) -> None:
        """A reply begins; ``ids`` name the conversation and its messages."""
        ...

    def show(self, event: Event) -> None:
        """Write an event, at once."""
        ...

    def end(self, reply: Reply, notes: str) -> None:
        """The reply is over, or has broken off; ``notes`` is text to add after the figures."""
        ...

    def call(self, call: ActiveCall) -> None:
        """A call is to be made, or to be asked about."""
        ...

    def result(self, call: ActiveCall) -> None:
        """A call has its result."""
        ...


class TextLineOutput:
    """Replies on standard output, the rest on standard error."""

    lasting = False

    def __init__(self, marks: Marks, unit: StreamUnit, progress: ProgressSentences, *, colour: bool) -> None:
        self.marks = marks
        self._buffer = UnitBuffer(unit)
        self._progress = progress
        self._colour = colour
        self._escape = escape_for(sys.stdout)
        self._last = "\n"
        self._said = SaidTokens()

    def remark(self, text: str) -> None:
        self._write_aside(text)

    def say(self, text: str, **data: Any) -> None:
        self._write_aside(text)

    def report(self, error: LocalSpecError) -> None:
        self._write_aside(visible_line(str(error)))

    def begin(self, chat_config: ChatConfig, info: PairInfo, ids: Mapping[str, str]) -> None:
        self._progress.begin()
        self._last = "\n"
        self._said = SaidTokens()

    def show(self, event: Event) -> None:
        match event:
            case Started() if left_out := no_room_for(event):
                self._write_aside(f"{capitalised(left_out)}.")
            case PromptProgress():
                self._progress.show(_reading(event), event.done_n / max(1, event.total_n))
            case Round() | Finished():
                self._write_tokens(self._said.take(event))

    def end(self, reply: Reply, notes: str) -> None:
        self._write_tokens(self._said.rest())
        self._write(self._buffer.rest() + ("" if self._last == "\n" else "\n"))
        if reply.finished is not None:
            ending = _ENDINGS.get(reply.finished, "")
            failed = failure_note(reply.rounds[-1]) if reply.rounds else ""
            failed = f"{capitalised(failed)}." if failed else ""
            self._write_aside(" ".join(filter(None, (ending, failed, sentence(reply.timings), notes))))

    def call(self, call: ActiveCall) -> None:
        self._write_aside(called(call))

    def result(self, call: ActiveCall) -> None:
        self._write_aside(resulted(call))

    def _write_tokens(self, tokens: Sequence[Token]) -> None:
        self._last = "".join(token.text for token in tokens)[-1:] or self._last
        self._write(self._buffer.push(marked(tokens, self.marks, colour=self._colour, escape=self._escape)))

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()

    def _write_aside(self, text: str) -> None:
        print(self._fitted(text), file=sys.stderr, flush=True)

    def _fitted(self, text: str) -> str:
        """A text wrapped to the width of a terminal on standard error; otherwise as it is."""
        if not sys.stderr.isatty():
            return text
        columns = shutil.get_terminal_size().columns
        fill = partial(textwrap.fill, width=max(20, columns - 1), break_long_words=False, break_on_hyphens=False)
        return "\n".join(fill(line) if len(line) >= columns else line for line in visible(text).split("\n"))


class JsonOutput:
    """Writes one object a line: ``start``, ``round``..., ``done``. ``context`` goes into ``start``."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = context
        self._ascii = not is_utf8(sys.stdout)

    def show(self, event: Event) -> None:
        if isinstance(event, PromptProgress):
            return
        record = event_to_dict(event)
        if record["event"] == "start":
            record |= self._context
        self._write(record)

    def call(self, call: ActiveCall) -> None:
        """Write a ``tool_call`` record."""
        self._write(call_record(call))

    def result(self, call: ActiveCall) -> None:
        """Write a ``tool_result`` record."""
        self._write(result_record(call))

    def _write(self, record: Mapping[str, Any]) -> None:
        print(json.dumps(record, ensure_ascii=self._ascii), flush=True)


class JsonLineOutput(JsonOutput):
    """One object a line on standard output; each message is answered up to a ``done``, ``note`` or ``error``."""

    lasting = True
    marks = Marks.NEVER

    def __init__(
        self, describe: Callable[[ChatConfig, PairInfo], Mapping[str, Any]], progress: ProgressSentences
    ) -> None:
        """``describe`` makes what goes into the first record of a reply, beside the ids."""
        super().__init__({})
        self._describe = describe
        self._progress = progress

    def remark(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def say(self, text: str, **data: Any) -> None:
        self._write({"event": "note", "text": text, **data})

    def report(self, error: LocalSpecError) -> None:
        self._write(
            {"event": "error", "message": error.message, "hint": error.hint, "exit_code": error.exit_code},
        )

    def begin(self, chat_config: ChatConfig, info: PairInfo, ids: Mapping[str, str]) -> None:
        self._progress.begin()
        self._context = {**ids, **self._describe(chat_config, info)}

    def show(self, event: Event) -> None:
        if isinstance(event, PromptProgress):
            self._progress.show(_reading(event), event.done_n / max(1, event.total_n))
        super().show(event)

    def end(self, reply: Reply, notes: str) -> None:
        pass


def _reading(progress: PromptProgress) -> str:
    return "encoding an image" if progress.image else f"reading {progress.total_n:,} tokens"
