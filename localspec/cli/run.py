"""``localspec run``: one reply, in this process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import INTERRUPTED_EXIT_CODE, UsageError
from localspec.base.visible import visible_line
from localspec.cli.options import MarksChoice, command_line_settings, print_problems, reply_options
from localspec.cli.prompt import own_prompt, read_prompt
from localspec.cli.report import closing_observers, print_news, remark
from localspec.cli.sections import SectionedCommand
from localspec.cli.services import Services
from localspec.cli.values import PathParam

if TYPE_CHECKING:
    from localspec.chat.compose.attachment import Attachment
    from localspec.chat.marks import Marks
    from localspec.chat.pair_slot import InProcessPair
    from localspec.cli.output import TextOutput
    from localspec.cli.streams import Status
    from localspec.insight.observers.observers import Observers
    from localspec.line.output import JsonOutput
    from localspec.runtime.chat_config import ChatConfig
    from localspec.runtime.messages import Message, Reply

_NOT_RAW = {
    "system": "Without a template there is no place for it.",
    "persona": "Without a template there is no place for it.",
    "tool": "The chat template says how the model calls tools.",
    "mcp": "The chat template says how the model calls tools.",
    "image": "The chat template says where an image goes.",
    "attach": "In a raw prompt a file could write control tokens.",
}
"""The options that contradict --raw, each with the reason."""


@click.command(cls=SectionedCommand, short_help="Give one reply on standard output.")
@click.argument("words", nargs=-1, metavar="[PROMPT | -]")
@reply_options
@click.option(
    "--raw",
    is_flag=True,
    help="Continue the prompt as it stands, without the model's chat template; control tokens written in it count, as "
    "they do nowhere else, so leave text of others out of it.",
)
@click.option(
    "--prompt",
    "own",
    metavar="NAME",
    help="Begin with this prompt of your own, a text in the prompts folder of the configuration; /prompt edit NAME "
    "writes it in the chat.",
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=VALUE",
    help="Put this value into a field of --prompt; may be given several times.",
)
@click.option(
    "--image",
    "images",
    type=PathParam(),
    multiple=True,
    metavar="FILE",
    help="Show the model this image (PNG, JPEG, WebP, GIF, BMP); needs a projector, may be given several times.",
)
@click.option(
    "--attach",
    "attached",
    type=PathParam(),
    multiple=True,
    metavar="FILE",
    help="Let the model read this file or folder (text, PDF, Word, Excel, notebooks, images), or what fits the prompt "
    "of one that is too large; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Write events as NDJSON, one object a line, instead of text.")
@click.option(
    "--explain", is_flag=True, help="After the reply, say for every round why that many tokens were proposed."
)
@click.option("--marks", type=MarksChoice(), default="auto", help=MarksChoice.HELP)
@click.pass_obj
def run(
    services: Services,
    /,
    words: tuple[str, ...],
    raw: bool,
    own: str | None,
    fields: tuple[str, ...],
    images: tuple[Path, ...],
    attached: tuple[Path, ...],
    as_json: bool,
    explain: bool,
    marks: Marks | None,
    **given: Any,
) -> None:
    """Give one reply to PROMPT: text on standard output, one line of figures on standard error.

    A - reads the prompt from standard input, and so does leaving it out when something is piped in. With both,
    the prompt comes first, then an empty line, then what was piped in.
    """
    if raw:
        beside = {**given, "image": images or None, "attach": attached or None}
        for name, hint in _NOT_RAW.items():
            if beside[name] is not None:
                raise UsageError(f"--raw and --{name} contradict each other.", hint)
    if as_json and marks is not None:
        raise UsageError("--json and --marks contradict each other.", "The events name the origin of every token.")
    if fields and own is None:
        raise UsageError("--field fills in a prompt of your own.", "Name that with --prompt.")
    from localspec.chat.compose.file_reading import read_attachment, read_picture
    from localspec.config import read_config

    config = read_config()
    prompt = read_prompt(words, own_prompt(own, fields) if own is not None else "")
    pictures = (read_picture(image, visible_line(image.name)) for image in images)
    attachments = (*pictures, *(read_attachment(path, visible_line(str(path))) for path in attached))
    settings = command_line_settings(without=frozenset(("system", "persona") if raw else ()))
    chat_config = settings.resolve(config)
    print_problems(settings)
    if _reply(services, chat_config, prompt, attachments, raw=raw, as_json=as_json, explain=explain, marks=marks):
        raise click.exceptions.Exit(INTERRUPTED_EXIT_CODE)


def _reply(
    services: Services,
    chat_config: ChatConfig,
    prompt: str,
    attachments: Sequence[Attachment],
    *,
    raw: bool,
    as_json: bool,
    explain: bool,
    marks: Marks | None,
) -> bool:
    """Load, reply and print. Returns True if Ctrl-C ended it."""
    from localspec.chat.active_reply import reply_once
    from localspec.chat.pair_slot import InProcessPair
    from localspec.cli.output import (
        TextOutput,
        describe,
        describe_files,
        fitting_marks,
        print_explanation,
        print_summary,
    )
    from localspec.cli.streams import Status
    from localspec.insight.observers.observers import Observers
    from localspec.line.output import JsonOutput
    from localspec.runtime.remote.limits import remote_notes

    with closing_observers(Observers()) as observers, closing(Status()) as status:
        observers.use(chat_config)
        print_news(observers)
        with InProcessPair(services.open_pair, chat_config, lambda: status.show) as pair:
            status.clear()
            for note in remote_notes(chat_config, pair.info, once=True):
                remark(note)
            context = describe(chat_config, pair.info, raw=raw)
            if attachments:
                prompt, read = _with_files(attachments, prompt, pair.info.n_ctx, status)
                context |= describe_files(read)
            output = JsonOutput(context) if as_json else TextOutput(fitting_marks(marks), status)
            if not raw and (chat_config.tools.tool or chat_config.tools.mcp):
                reply = _reply_with_tools(pair, prompt, observers, output, for_people=not as_json)
            else:
                reply = reply_once(pair, prompt if raw else _messages(chat_config, prompt), observers, output.show)
            interrupted = pair.interrupted
            if explain:
                print_explanation(reply.rounds)
            print_summary(reply, chat_config)
        interrupted = interrupted or pair.interrupted  # while a cache was kept
        print_news(observers)
    return interrupted


def _with_files(
    attachments: Sequence[Attachment], prompt: str, n_ctx: int, status: Status
) -> tuple[str, tuple[Attachment, ...]]:
    """The prompt with the files as the model reads them, and those; what it does not read is said."""
    from localspec.chat.compose.attachment import as_read, fitted, notices, search_of, with_files
    from localspec.chat.papers.meaning import Meaning

    files = fitted(attachments, n_ctx)
    with closing(Meaning()) as meaning:
        meaning.learn(*search_of(files, prompt), lambda share: status.show("reading passages", share))
        status.clear()
        if meaning.trouble:
            remark(str(meaning.trouble))
        for notice in notices(files, prompt, meaning):
            remark(notice)
        return with_files(files, prompt, meaning), as_read(files, prompt, meaning)


def _reply_with_tools(
    pair: InProcessPair, prompt: str, observers: Observers, output: JsonOutput | TextOutput, *, for_people: bool
) -> Reply:
    """Reply, make the calls of the reply, and reply to their results, until a reply makes none.

    A person at a terminal is asked about calls of tools that the command line does not name.
    """
    from localspec.chat.in_process import InProcessChat
    from localspec.chat.tools.use import rule_of
    from localspec.chat.turn import Turn
    from localspec.line.reading import PipedLines
    from localspec.line.tools import asked_about

    chat = InProcessChat(pair, observer=observers)
    settings, lines = chat.chat_config.settings, PipedLines(invited=True)
    asks = for_people and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    chat.tool_use.rule = rule_of(settings.overrides if settings is not None else {}, asks=asks)
    chat.tool_use.toolbox.late = remark
    with closing(chat.store), closing(chat.tool_use):
        turn: Turn | None = chat.ask(prompt)
        while turn is not None:
            active = chat.begin(turn)
            for trouble in chat.tool_use.toolbox.troubles if turn.prompt else ():
                remark(trouble)
            reply = chat.follow(active, output.show)
            turn = None
            if (chain := chat.tool_use.chain) is not None and not pair.interrupted:
                chain.follow(output.call, output.result, lambda call: asked_about(call, lines.next, remark))
                turn = chat.after_calls()
    return reply


def _messages(chat_config: ChatConfig, prompt: str) -> tuple[Message, ...]:
    from localspec.runtime.messages import Message, Role

    system = (Message(Role.SYSTEM, chat_config.system),) if chat_config.system else ()
    return (*system, Message(Role.USER, prompt))
