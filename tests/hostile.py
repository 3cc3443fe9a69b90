"""A world full of text that would steer a terminal, and programs that show all of it on theirs.

    python -m tests.hostile commands|lines|screen

Every way by which text of strangers comes in has a mark of its own, with what is hostile right behind it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from huggingface_hub.utils import _detect_agent

from localspec.base.errors import ModelFileError
from localspec.base.paths import user_paths
from localspec.chat.compose.history import SENT_MESSAGES, PromptHistory
from localspec.chat.compose.message import WrittenMessage
from localspec.cli import main
from localspec.cli.services import Services
from localspec.doctor.evaluation import Evaluation
from localspec.doctor.native_probe import NativeReport, ProbedDevice
from localspec.engine.backends.llama.native import NativeLog
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Started
from localspec.engine.tally import Tally
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.template import ChatTemplate
from localspec.runtime.worker.messages import Answer, Emitted, Failed, Generate, Load, Loaded, Request
from localspec.store import Store
from tests.cli.support import FakePair, info_of
from tests.gguf_files import model, write
from tests.hub import HubServer
from tests.models.pairs.support import BIG, SMALL, hub_pair, in_hub, write_own
from tests.store.support import ABOUT, round_of

UNBRACKETED = "\x1bPx\x07bel\x90\x9bx\x08bs\x0bvt\x0cff\x7fdel\rcr\u202e\u2066\u200f\u061c\U000e0041"
"""Fits where brackets mean something."""
SIGNS = f"{UNBRACKETED}\x1b[31337m\x1b]52;c;AA\x07\x1b]0;x\x07\x9b31337m"
"""Control characters and sequences, and what turns or hides text; none of it is written by the app itself."""
ERROR_LEVEL = 4


def hostile(way: str) -> str:
    """Text of several lines."""
    return f"{way}{SIGNS}"


def hostile_line(way: str) -> str:
    """A name, which is to stay on one line."""
    return f"{way}{SIGNS}\nforged"


def escaped(text: str) -> str:
    """For a string in TOML or Jinja."""
    return "".join(sign if sign.isascii() and sign.isprintable() else f"\\U{ord(sign):08X}" for sign in text)


REPLY = f"""<think>{hostile("thought")}</think>
# {hostile("heading")}

{hostile("paragraph")}

- {hostile("item")}

| {hostile("head")} | b |
|---|---|
| {hostile("cell")} | b |

> {hostile("quote")} `{hostile("code")}` **{hostile("bold")}**

[link{UNBRACKETED}](https://a.org/x "{hostile("tip")}") <https://b.org/{UNBRACKETED}>

```py
{hostile("fence")} = 1
```
"""


LONG = hostile("long") + "word\n" * 9_000
"""Too long to be shown as Markdown."""


class HostilePair(FakePair):
    """Says what it is asked to."""

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        asked = prompt if isinstance(prompt, str) else prompt[-1].content
        if asked == "refuse":
            ChatTemplate(f'{{{{ raise_exception("{escaped(hostile_line("template"))}") }}}}', bos="", eos="").render(
                [Message(Role.USER, asked)]
            )
        if asked == "fail":
            raise ModelFileError("llama.cpp refuses this file.", NATIVE.last_error())
        yield from said(hostile("reply"))


def said(text: str) -> list[Event]:
    """A reply of two rounds, a token a word."""
    words = re.findall(r"[^ ]* ?", text)[:-1]
    rounds = [round_of(0, words[: len(words) // 2] or [""]), round_of(1, words[len(words) // 2 :])]
    tally = Tally(plain_per_second=100.0)
    for round_ in rounds:
        tally.add(round_)
    return [Started(12, 4, 7), *rounds, Finished(FinishReason.STOP, text, tally.timings())]


NATIVE = NativeLog()
NATIVE.write(ERROR_LEVEL, f"load: {hostile('native')}\n".encode())


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
    """One that speaks."""
    if progress is not None:
        progress(hostile("progress"), 0.5)
    return HostilePair(info_of(options), cancel)


def make_world(folder: Path) -> None:
    """Files, pairs and conversations with such names and texts."""
    write(folder / f"{hostile_line('scanned')}.gguf", model(metadata={"general.name": hostile("gguf")}))
    write(folder / f"{hostile_line('other')}.gguf", BIG)
    write(folder / "broken\x1b[31337m\nforged.gguf", b"GGUF")
    in_hub("Owner/Name", "big.gguf", BIG)
    in_hub("Owner/Name", f"cached{SIGNS}.gguf", SMALL)
    table = hub_pair("evil", "big.gguf", escaped(f"cached{SIGNS}.gguf"))
    write_own(table.replace('title = "evil"', f'title = "{escaped(hostile_line("pair"))}"'))
    PromptHistory(user_paths().data / SENT_MESSAGES).add(WrittenMessage(hostile("sent")))
    with_title(converse_in(Store.open()))


def converse_in(store: Store) -> Store:
    """With a conversation of every hostile text."""
    thread = store.begin(hostile("system"))
    thread.ask(hostile("question"))
    recorder = thread.begin_reply(ABOUT)
    for event in said(REPLY):
        recorder.receive(event)
    return store


def with_title(store: Store) -> None:
    """As an import brings it: nobody has looked at it."""
    document = store.document(store.conversations()[0].heading.id)
    heading = replace(document.heading, id="ab" * 8, title=hostile_line("title"))
    ids = {message.node.id: f"{2**64 - 1 - int(message.node.id, 16):016x}" for message in document.messages}
    nodes = [
        replace(message, node=replace(message.node, id=ids[message.node.id], parent=ids.get(message.node.parent or "")))
        for message in document.messages
    ]
    store.add([replace(document, heading=replace(heading, leaf=ids.get(heading.leaf or "")), messages=tuple(nodes))])
    store.close()


def commands(folder: Path) -> None:
    """Everything that prints, one after the other."""
    files = [str(path) for path in sorted(folder.glob("*.gguf"))]
    pair = ("--target", "big.gguf", "--draft", "small.gguf")
    for arguments in (
        ("run", *pair, "hello"),
        ("run", *pair, "--json", "hello"),
        ("run", *pair, "refuse"),
        ("run", *pair, "fail"),
        ("run", "--target", f"/nope/{hostile_line('path')}.gguf", "hello"),
        ("run", "--pair", hostile_line("id"), "hello"),
        ("run", *pair, "--persona", hostile_line("persona"), "hello"),
        ("run", f"--{hostile_line('option')}", "hello"),
        ("run", *pair, "--spec", hostile_line("choice"), "hello"),
        (hostile_line("command"),),
        ("history", "list"),
        ("history", "list", "--json"),
        ("history", "list", "--filter", hostile_line("filter")),
        ("history", "show", "abab"),
        ("history", "search", "question"),
        ("history", "search", "nothing"),
        ("history", "export", "abab"),
        ("history", "export", "abab", "--format", "ndjson"),
        ("history", "pin", "abab"),
        ("history", "rm", "--yes", "abab"),
        ("history", "restore", "abab"),
        ("history", "import", f"/nope/{hostile_line('import')}"),
        ("pairs", "list"),
        ("pairs", "info", "evil"),
        ("pairs", "check", *files[-2:]),
        ("pairs", "check", files[0], files[0]),
        ("pairs", "scan", str(folder)),
        ("pairs", "add", "--target", files[-1]),
        ("pairs", "rm", "--yes", "evil"),
        ("config", "set", hostile_line("setting"), "1"),
        ("config", "check"),
        ("doctor",),
    ):
        run(*arguments)
    fail_unexpectedly()
    ask_the_hub()


def probe() -> NativeReport:
    """What llama.cpp would say of itself."""
    device = ProbedDevice(hostile_line("device"), hostile_line("described"), 0, shares_ram=False, used=True)
    return NativeReport(version="1", library="/lib.so", system_info=hostile_line("build"), threads=2, devices=(device,))


def run(*arguments: str) -> None:
    """A command, as if it were a program of its own."""
    services = Services(open_pair, has_terminal=lambda: True, probe_native=probe, try_evaluating=Evaluation)
    with suppress(SystemExit):
        main(list(arguments), services=services)


def fail_unexpectedly() -> None:
    """With the traceback of a mistake of ours."""

    def fail() -> bool:
        raise ZeroDivisionError(hostile("traceback"))

    with suppress(SystemExit):
        main(["chat"], services=Services(open_pair, has_terminal=fail))


SAID, MEANT = (f'repo = "{repo}"\nfile = "small.gguf"' for repo in ("Owner/Evil", "Owner/Old"))
"""Where the draft is said to be, and where it is."""


def ask_the_hub() -> None:
    """Whose repositories and files have such names."""
    moved = "Owner/moved" + quote(SIGNS)
    with HubServer() as server:
        os.environ["HF_ENDPOINT"] = server.endpoint
        _detect_agent._fetch_registry = lambda: None  # the client would ask the real Hub for programs to name
        server.add("Owner/Evil", f"{hostile_line('remote')}.gguf", BIG)
        server.add("Owner/Evil", "nearly\x1b[31337m.gguf", SMALL)
        server.add("Owner/Evil", f"pulled{SIGNS}.gguf", SMALL)
        server.add(unquote(moved), "small.gguf", SMALL)
        server.add("Owner/Old", "small.gguf", SMALL, moved_to=moved)
        run("pairs", "check", "Owner/Evil:nearly.gguf", "Owner/Old:small.gguf")
        run("pairs", "check", f"Owner/Evil:pulled{SIGNS}.gguf", "Owner/Old:small.gguf")
        run("pairs", "add", "--target", "Owner/Evil", "--id", "fresh")
        for name in (f"pulled{SIGNS}.gguf", f"{hostile_line('remote')}.gguf"):
            write_own(hub_pair("moving", escaped(name), "small.gguf", "Owner/Evil").replace(SAID, MEANT))
            run("pairs", "pull", "moving")
            run("pairs", "info", "moving")
            run("pairs", "rm", "--yes", "moving")


def lines(folder: Path) -> None:
    """The chat line by line."""
    run("chat", "--plain", "--target", f"/nope/{hostile_line('path')}.gguf", "--conversation", "abab")


class HostileEngine:
    """Replies as the pair does, and fails when it is asked to."""

    def __init__(self, deliver: Callable[[Answer], None]) -> None:
        self._deliver = deliver

    def start(self) -> None:
        pass

    def send(self, request: Request) -> None:
        match request:
            case Load(options):
                self._deliver(Loaded(replace(info_of(options), target_name=hostile_line("model"))))
            case Generate(number, prompt):
                self._reply(number, prompt if isinstance(prompt, str) else prompt[-1].content)

    def _reply(self, number: int, asked: str) -> None:
        if asked == "fail":
            self._deliver(Failed(number, 8, hostile_line("failure"), hostile_line("hint")))
            return
        for event in said(LONG if asked == "long" else REPLY):
            self._deliver(Emitted(number, event))

    def close(self) -> None:
        pass


def screen(folder: Path) -> None:
    """The chat screen."""
    from localspec.tui.app import run_app

    services = Services(open_pair, lambda chat_config: run_app(chat_config, HostileEngine), lambda: True)
    with suppress(SystemExit):
        main(["chat", "--pair", "evil", "--conversation", "abab"], services=services)


PROGRAMS: dict[str, Callable[[Path], None]] = {"commands": commands, "lines": lines, "screen": screen}

if __name__ == "__main__":
    place = Path(sys.argv[2])
    make_world(place)
    PROGRAMS[sys.argv[1]](place)
