"""``localspec`` and ``localspec chat``: the chat screen, or the line mode where there is no terminal."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import UsageError
from localspec.base.visible import visible_line
from localspec.cli.options import Decorated, MarksChoice, command_line_settings, print_problems, reply_options
from localspec.cli.report import closing_observers, print_news, remark
from localspec.cli.sections import SectionedCommand
from localspec.cli.services import Services

if TYPE_CHECKING:
    from localspec.chat.marks import Marks
    from localspec.line.output import LineOutput
    from localspec.line.progress import ProgressSentences
    from localspec.line.state import State
    from localspec.runtime.chat_config import ChatConfig
    from localspec.store import Store, StoredConversation

_STRIDES = ("word", "line")
_LAST_JUDGED_S = 1.0
"""The longest wait at the end for the drift watch of the last reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """The options of the line mode, and the conversation to open."""

    marks: Marks | None
    unit: str | None
    as_json: bool
    continue_last: bool
    conversation: str | None

    def check(self, *, screen: bool) -> None:
        """Raise UsageError for options that have no effect or contradict each other."""
        given = [name for name, value in (("--marks", self.marks), ("--stream", self.unit)) if value]
        if screen and given:
            raise UsageError(f"{given[0]} is for the chat in plain text.", "Add --plain.")
        if self.as_json and given:
            raise UsageError(f"--json and {given[0]} contradict each other.", "The events have every token.")
        if self.continue_last and self.conversation is not None:
            raise UsageError("--continue and --conversation name two conversations.", "Leave one of them out.")


def chat_options(command: Decorated) -> Decorated:
    """Add the options of a chat: those of replies, and those of the line mode."""
    for option in (
        click.option("--conversation", metavar="ID", help="Go on with this conversation of `localspec history`."),
        click.option("--continue", "continue_last", is_flag=True, help="Go on with the last conversation."),
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            help="Chat line by line, and answer each with events as NDJSON, as `localspec run --json` does.",
        ),
        click.option(
            "--stream",
            "unit",
            type=click.Choice(_STRIDES),
            help="In plain text, write replies by whole words or by whole lines (default: word).",
        ),
        click.option("--marks", type=MarksChoice(), default="auto", help=MarksChoice.HELP_IN_PLAIN),
        click.option("--plain", is_flag=True, help="Chat line by line in plain text, also on a terminal."),
    ):
        command = option(command)
    return reply_options(command)


@click.command(cls=SectionedCommand, short_help="Open the chat; the same as no command.")
@chat_options
@click.pass_obj
def chat(services: Services, /, **given: Any) -> None:
    """Open the chat.

    Without a terminal, or with --plain, every line of the input is a message of one conversation and is answered
    in plain text; /help lists the commands. Replies go to standard output, everything else to standard error. The
    conversation is stored, as on the screen.

    Unless the input is a terminal, the first error ends the chat with its exit code; a line that is no command, though
    it begins like one, is only reported. With --json errors are records, a message is a line or an object
    {"text": "..."}, and the chat goes on. If the conversation could not be stored, the chat goes on as well, and ends
    with exit code 11.
    """
    open_chat(services, **given)


def open_chat(
    services: Services,
    *,
    plain: bool,
    marks: Marks | None,
    unit: str | None,
    as_json: bool,
    continue_last: bool,
    conversation: str | None,
    **given: Any,
) -> None:
    """Open the chat screen, or the line mode."""
    from localspec.config import read_config

    screen = services.has_terminal() and not plain and not as_json
    options = LineOptions(
        marks=marks, unit=unit, as_json=as_json, continue_last=continue_last, conversation=conversation
    )
    options.check(screen=screen)
    settings = command_line_settings()
    chat_config = settings.resolve(read_config())
    if screen:
        services.open_screen(replace(chat_config, conversation=_stored(options)))
    else:
        print_problems(settings)
        if not plain and not as_json:
            print(_why_plain(), file=sys.stderr)
        _answer_lines(services, chat_config, options)


def _why_plain() -> str:
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return "This terminal, or standard error, cannot be drawn on: every line is answered in plain text."
    return "No terminal: every line of the input is answered in plain text."


def _answer_lines(services: Services, chat_config: ChatConfig, options: LineOptions) -> None:
    """Chat in lines: find the conversation first, then load the pair."""
    from localspec.chat.in_process import InProcessChat
    from localspec.chat.pair_slot import InProcessPair
    from localspec.insight.observers.observers import Observers
    from localspec.line.chat import LineChat
    from localspec.line.progress import ProgressSentences
    from localspec.line.state import State
    from localspec.runtime.remote.limits import remote_notes
    from localspec.store import Store

    with closing(Store.open_or_memory()) as store, closing_observers(Observers()) as observers:
        if store.notice:
            remark(store.notice)
        observers.watch(store)
        observers.use(chat_config)
        print_news(observers)
        thread = _conversation(store, chat_config, options)
        if thread.settings and chat_config.settings is not None:
            chat_config = chat_config.settings.resolve(chat_config.settings.config, thread.settings)
        progress = ProgressSentences(lambda text: print(text, file=sys.stderr, flush=True))
        with InProcessPair(services.open_pair, chat_config, progress.begin) as pair:
            state = State(InProcessChat(pair, store, thread, observers), _output(options, progress))
            for note in remote_notes(pair.chat_config, pair.info):
                remark(note)
            with closing(state.chat.tool_use):
                _greet(state, options)
                LineChat(state).run()
        print_news(observers, _LAST_JUDGED_S)


def _stored(options: LineOptions) -> str | None:
    """The id of the conversation named by the options, if any. Raises NotFoundError, UsageError."""
    from localspec.store import Store

    if not options.continue_last and options.conversation is None:
        return None
    with closing(Store.open_or_memory()) as store:
        return _asked_for(store, options)


def _asked_for(store: Store, options: LineOptions) -> str | None:
    if options.continue_last:
        latest = max(store.conversations(), key=lambda each: each.heading.updated, default=None)
        return latest.heading.id if latest else None
    return store.find(options.conversation) if options.conversation is not None else None


def _conversation(store: Store, chat_config: ChatConfig, options: LineOptions) -> StoredConversation:
    """The conversation named by the options, or a new one. Raises NotFoundError, UsageError."""
    found = _asked_for(store, options)
    if found is None:
        return store.begin(chat_config.system)
    thread = store.open_conversation(found)
    overrides = chat_config.settings.overrides if chat_config.settings else {}
    if "system" in overrides or "persona" in overrides:
        thread.set_system(chat_config.system)
    return thread


def _output(options: LineOptions, progress: ProgressSentences) -> LineOutput:
    from localspec.chat.marks import Marks
    from localspec.cli.streams import wants_colour
    from localspec.line.output import JsonLineOutput, TextLineOutput
    from localspec.line.streaming import StreamUnit

    if options.as_json:
        from localspec.cli.output import describe

        return JsonLineOutput(partial(describe, raw=False), progress)
    unit = StreamUnit(options.unit or "word")
    return TextLineOutput(options.marks or Marks.NEVER, unit, progress, colour=wants_colour())


def _greet(state: State, options: LineOptions) -> None:
    """Greet a person at a terminal; without one, only show the end of a conversation that is continued."""
    from localspec.line.conversations import opened, other_pair_note
    from localspec.line.output import LEGENDS

    typed = sys.stdin is not None and sys.stdin.isatty()
    if state.chat.stored.path:
        state.output.remark(opened(state.chat.stored))
        if spoken := other_pair_note(state):
            state.output.remark(spoken)
    elif options.continue_last and not len(state.chat.stored.tree):
        state.output.remark("There is no conversation yet; this is a new one.")
    if typed:
        title, device = state.chat.chat_config.title, state.chat.pair.info.device
        speaker = visible_line(f"{title}, on {device}")
        state.output.remark(f"{speaker}. Type a message and press Enter; /help lists the commands.")
        if options.marks is not None:
            state.output.remark(LEGENDS[options.marks])
