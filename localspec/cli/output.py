"""The output of ``localspec run``: a reply on standard output, as text or NDJSON, its figures on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from localspec.base.terminal_stream import escape_for
from localspec.base.visible import capitalised, visible_line
from localspec.chat.compose.attachment import Attachment
from localspec.chat.marks import Marks, marked
from localspec.chat.papers.passages import FOUND
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tools.said import SaidTokens
from localspec.chat.tools.wording import called, resulted
from localspec.cli.report import remark
from localspec.cli.streams import Status, wants_ansi, wants_colour
from localspec.engine.events import Event, Finished, PromptProgress, Round, Token
from localspec.engine.settings import BANNED
from localspec.engine.wire import why_text
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.figures import ENDED_EARLY, failure_note, no_room_for, summary_line
from localspec.runtime.messages import Reply
from localspec.runtime.pair_info import PairInfo
from localspec.store.file_blocks import TextFile


class TextOutput:
    """Writes the text as rounds arrive, without calls of tools, marked by origin if wanted."""

    def __init__(self, marks: Marks, status: Status) -> None:
        self._marks = marks
        self._status = status
        self._last = "\n"
        self._said = SaidTokens()

    def show(self, event: Event) -> None:
        match event:
            case PromptProgress():
                self._status.show(
                    "encoding an image" if event.image else "reading the prompt", event.done_n / max(event.total_n, 1)
                )
            case Round():
                self._write(self._said.take(event))
            case Finished():
                self._write(self._said.take(event))
                print(end="" if self._last == "\n" else "\n", flush=True)
                self._last, self._said = "\n", SaidTokens()

    def call(self, call: ActiveCall) -> None:
        """Say that a tool is called."""
        self._status.clear()
        remark(called(call))

    def result(self, call: ActiveCall) -> None:
        """Say what a call returned."""
        remark(resulted(call))

    def _write(self, tokens: Sequence[Token]) -> None:
        self._status.clear()
        self._last = "".join(token.text for token in tokens)[-1:] or self._last
        text = marked(tokens, self._marks, colour=wants_colour(), escape=escape_for(sys.stdout))
        print(text, end="", flush=True)


def describe(chat_config: ChatConfig, info: PairInfo, *, raw: bool) -> dict[str, Any]:
    """The pair and the options for the ``start`` record; ``spec`` and ``depth`` are null for auto."""
    reply, sampling = chat_config.reply, chat_config.reply.sampling
    return {
        "pair": chat_config.pair_id,
        "target": str(info.target),
        "draft": str(info.draft) if info.draft else None,
        "projector": str(info.projector) if info.projector else None,
        "n_ctx": info.n_ctx,
        "device": info.device,
        "options": {
            **asdict(sampling),
            # JSON has no infinity.
            "logit_bias": {str(token): "ban" if bias == BANNED else bias for token, bias in sampling.logit_bias},
            "spec": list(reply.spec) if reply.spec is not None else None,
            "depth": reply.depth,
            "max_tokens": reply.max_tokens,
            "stop": list(reply.stop),
            "reasoning": reply.reasoning,
            "system": chat_config.system,
            "raw": raw,
        },
    }


def describe_files(attachments: Sequence[Attachment]) -> dict[str, Any]:
    """The files as the model reads them, for the ``start`` record; the text is there if it is a passage."""
    files = [file for attachment in attachments for file in attachment.files]
    return {"files": [{"name": file.name, "note": file.note, "text": _passage(file)} for file in files]}


def _passage(file: TextFile) -> str | None:
    return file.text if file.note.endswith(FOUND) else None


def print_summary(reply: Reply, chat_config: ChatConfig) -> None:
    """Write the last line of ``localspec run``: figures, with the reason in front if the reply ended early.

    Lines about what the context had no room for, and about drafters that failed, come before it.
    """
    if reply.prompt and (left_out := no_room_for(reply.prompt)):
        remark(f"{capitalised(left_out)}.")
    if reply.rounds and (failed := failure_note(reply.rounds[-1])):
        remark(f"{failed}.")
    line = summary_line(reply.timings, reply.rounds, chat_config.pair_id or chat_config.title)
    ended = ENDED_EARLY.get(reply.finished) if reply.finished else None
    print(visible_line(f"{ended}, {line}" if ended else line), file=sys.stderr)


def fitting_marks(marks: Marks | None) -> Marks:
    """The marks asked for; for auto (None) colours on a terminal, and none elsewhere."""
    if marks is not None:
        return marks
    return Marks.ANSI if wants_ansi(sys.stdout) else Marks.NEVER


def print_explanation(rounds: Iterable[Round]) -> None:
    """Write one line a round to standard error."""
    for round_ in rounds:
        print(explained(round_), file=sys.stderr)


def explained(round_: Round) -> str:
    """A round as a line: its proposals, their acceptance, times, and the reason for its depth."""
    what = f"{round_.accepted_n}/{round_.proposed_n} of {round_.drafter}" if round_.drafter else "plain"
    spent = f"{round_.total_s * 1e3:.1f} ms, {round_.draft_s * 1e3:.1f} of it drafting"
    why = f": {why}" if (why := why_text(round_)) else ""
    return f"round {round_.index}: {what}, {len(round_.tokens)} committed in {spent}{why}"
