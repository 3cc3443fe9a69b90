"""``localspec run``: one reply, in this process."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localspec.base.errors import INTERRUPTED_EXIT_CODE, UsageError
from localspec.cli.options import MarksChoice, command_line_settings, print_problems, reply_options
from localspec.cli.prompt import read_prompt
from localspec.cli.report import print_news
from localspec.cli.sections import SectionedCommand
from localspec.cli.services import Services

if TYPE_CHECKING:
    from localspec.chat.marks import Marks
    from localspec.runtime.chat_config import ChatConfig
    from localspec.runtime.messages import Message


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
    "--image",
    "images",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Show the model this image (PNG, JPEG, WebP, GIF, BMP); needs a projector, may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Write events as NDJSON, one object a line, instead of text.")
@click.option(
    "--explain", is_flag=True, help="After the reply, say of every round why as many tokens were proposed as were."
)
@click.option("--marks", type=MarksChoice(), default="auto", help=MarksChoice.HELP)
@click.pass_obj
def run(
    services: Services,
    /,
    words: tuple[str, ...],
    raw: bool,
    images: tuple[Path, ...],
    as_json: bool,
    explain: bool,
    marks: Marks | None,
    **given: Any,
) -> None:
    """Give one reply to PROMPT: text on standard output, one line of figures on standard error.

    A - reads the prompt from standard input, and so does leaving it out when something is piped in. With both,
    the prompt comes first, then an empty line, then what was piped in.
    """
    for name in ("system", "persona"):
        if raw and given[name] is not None:
            hint = "Without a template there is no place for it."
            raise UsageError(f"--raw and --{name} contradict each other.", hint)
    if as_json and marks is not None:
        raise UsageError("--json and --marks contradict each other.", "The events name the origin of every token.")
    if raw and images:
        raise UsageError("--raw and --image contradict each other.", "The chat template says where an image goes.")
    from localspec.chat.images.reading import read_image
    from localspec.config import read_config
    from localspec.runtime.images import image_block

    prompt = read_prompt(words)
    prompt = "".join(image_block(image.name, read_image(image, image.name)) for image in images) + prompt
    settings = command_line_settings(without=frozenset(("system", "persona") if raw else ()))
    chat_config = settings.resolve(read_config())
    print_problems(settings)
    if _reply(services, chat_config, prompt, raw=raw, as_json=as_json, explain=explain, marks=marks):
        raise click.exceptions.Exit(INTERRUPTED_EXIT_CODE)


def _reply(
    services: Services,
    chat_config: ChatConfig,
    prompt: str,
    *,
    raw: bool,
    as_json: bool,
    explain: bool,
    marks: Marks | None,
) -> bool:
    """Load, reply and print. Returns True if Ctrl-C ended it."""
    from localspec.chat.active_reply import reply_once
    from localspec.chat.pair_slot import InProcessPair
    from localspec.cli.explain import print_explanation
    from localspec.cli.output import JsonOutput, TextOutput, describe, fitting_marks, print_summary
    from localspec.cli.streams import Status
    from localspec.insight.observers.observers import Observers

    with closing(Observers()) as observers, closing(Status()) as status:
        observers.use(chat_config)
        print_news(observers)
        with InProcessPair(services.open_pair, chat_config, lambda: status.show) as pair:
            status.clear()
            context = describe(chat_config, pair.info, raw=raw)
            output = JsonOutput(context) if as_json else TextOutput(fitting_marks(marks), status)
            reply = reply_once(pair, prompt if raw else _messages(chat_config, prompt), observers, output.show)
            interrupted = pair.interrupted
            if explain:
                print_explanation(reply.rounds)
            print_summary(reply, chat_config)
        interrupted = interrupted or pair.interrupted  # while a cache was kept
        print_news(observers)
    return interrupted


def _messages(chat_config: ChatConfig, prompt: str) -> tuple[Message, ...]:
    from localspec.runtime.messages import Message, Role

    system = (Message(Role.SYSTEM, chat_config.system),) if chat_config.system else ()
    return (*system, Message(Role.USER, prompt))
