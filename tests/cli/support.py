"""The command line run from a test: captured streams, an exit code, and a pair made of tables."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.cli import main
from localspec.cli.services import Services
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.events import Event
from localspec.engine.loop import Request, generate
from localspec.engine.sampling import Greedy
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from tests.fakes import PieceVocab, ScriptedDrafter, TableModel

if TYPE_CHECKING:  # not for every program that a test starts
    import pytest

    from localspec.doctor.native_probe import NativeReport

PIECES = (b"", b"one ", b"two ", "drei\u00df ".encode(), b"\xf0\x9f", b"\x90\xa2", b"\n", b"end.")
END = 0
FILES = ("--target", "big.gguf", "--draft", "small.gguf")
"""Options that name two files, which no test looks for."""
ENDLESS = ("--max-tokens", "100000", "--ctx", "200000")
"""Options for a reply that goes on until it is stopped."""
FAKE = """
from localspec.cli import main
from tests.cli.support import FakeWorld
main(services=FakeWorld().services())
"""
"""A program that is the command line over a fake world."""


@dataclass(slots=True)
class FakePair:
    """Replies with tables; remembers what it was asked."""

    info: PairInfo
    cancel: Cancellation
    error: LocalSpecError | None = None
    asked: list[tuple[Sequence[Message] | str, ReplyOptions]] = field(default_factory=list)
    closed: bool = False

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        self.asked.append((tuple(prompt) if not isinstance(prompt, str) else prompt, options))
        if self.error is not None:
            raise self.error
        vocab = PieceVocab(PIECES, frozenset({END}))
        said = prompt if isinstance(prompt, str) else "".join(message.content for message in prompt)
        request = Request(
            prompt=[1 + len(word) % (len(PIECES) - 1) for word in said.split()],
            sampler=Greedy(),
            rng=SeededRng(options.seed or 0),
            policy=FixedDepth(3),
            seed=options.seed or 0,
            max_tokens=options.max_tokens or 24,
            stop=options.stop,
            prompt_chunk=2,
            plain_per_second=1000.0,
        )
        target = TableModel(vocab, seed=52, n_ctx=self.info.n_ctx)
        drafter = ScriptedDrafter(lambda context: guesses(target, context), name="draft")
        yield from generate(target, [drafter] if drafter else [], request, self.cancel)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self, cancel: Cancellation | None = None) -> None:
        self.closed = True


def guesses(target: TableModel, context: Sequence[int]) -> list[int]:
    """What the target will say, but for every seventh token."""
    ahead = list(context)
    for _ in range(3):
        row = target.row(ahead)
        best = row.index(max(row))
        ahead.append(1 + best % (len(PIECES) - 1) if len(ahead) % 7 == 0 else best)
    return ahead[len(context) :]


def fake_probe() -> NativeReport:
    """A report on llama.cpp that nobody asked."""
    from localspec.doctor.native_probe import NativeReport

    return NativeReport(version="1.2.3", threads=1)


@dataclass(slots=True)
class FakeWorld:
    """Stands behind the command line; what happened can be looked at afterwards."""

    load_error: LocalSpecError | None = None
    reply_error: LocalSpecError | None = None
    terminal: bool = False
    loads: list[LoadOptions] = field(default_factory=list)
    pairs: list[FakePair] = field(default_factory=list)
    screens: list[ChatConfig] = field(default_factory=list)

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        self.loads.append(options)
        if progress is not None:
            progress("loading target", 0.5)
        if self.load_error is not None:
            raise self.load_error
        self.pairs.append(FakePair(info_of(options), cancel, self.reply_error))
        return self.pairs[-1]

    def services(self) -> Services:
        return Services(
            self.open_pair,
            self.screens.append,
            lambda: self.terminal,
            probe_native=fake_probe,
            measure_kernels=lambda threads: None,
        )


def info_of(options: LoadOptions) -> PairInfo:
    """What a fake pair says about itself."""
    return PairInfo(
        target=options.target,
        draft=options.draft,
        target_name="tables",
        draft_name="smaller tables" if options.draft else None,
        target_size_bytes=1000,
        draft_size_bytes=100 if options.draft else 0,
        n_vocab=len(PIECES),
        drafters=("draft",) if options.draft else (),
        n_ctx=options.n_ctx or 512,
        threads=options.threads or 1,
        device="CPU, 1 thread",
        plain_per_second=1000.0,
        load_s=0.0,
    )


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class _Stdin(io.TextIOWrapper):
    """Standard input without a descriptor, as if it were a file."""


def run_command(
    *arguments: str | Path,
    services: Services,
    stdin: bytes = b"",
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Done:
    """Run ``localspec ARGUMENTS`` in this process."""
    monkeypatch.setattr("sys.stdin", _Stdin(io.BytesIO(stdin), encoding="utf-8"))
    code = None
    try:
        main([str(argument) for argument in arguments], services=services)
    except SystemExit as exit_:
        code = exit_.code
    out, err = capsys.readouterr()
    assert isinstance(code, int)
    return Done(code, out, err)
