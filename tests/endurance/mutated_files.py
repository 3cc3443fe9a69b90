"""Gives LocalSpec damaged model files, one after another, and looks how it takes them.

    python -m tests.endurance.mutated_files [--files 2000] [--seed 0] [--at-once 2] [--keep FOLDER]

Every file is one of the built-in models with a few things changed: values, types and lengths in its header, shapes,
types and places of tensors, bits of the data, or its end. Three of four have a header that LocalSpec believes, so that
llama.cpp sees them. ``localspec run`` loads it and says a few tokens; some go through ``bench``, ``verify`` and the
engine of the app. A file that is refused is as good as one that works: what counts is that every command ends in time,
with a documented exit code and, but for success, a sentence. It prints how often each code came and everything else;
the exit code is 0 if there was nothing else. ``--keep`` keeps such files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from queue import Empty, SimpleQueue
from struct import pack_into, unpack_from

from localspec.base.errors import ModelFileError
from localspec.cli.commands import exit_codes
from localspec.engine.events import Finished
from localspec.engine.settings import Sampling
from localspec.gguf import parse_header
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer, Emitted, Failed, Generate, Load
from tests.builtin import DRAFT, TARGET

PATIENCE_S = 120.0
LONGEST_ERROR = 2000
STRING, ARRAY = 8, 9
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of GGUF's numbers, by type."""
NUMBERS = (0, 1, 2, 3, 7, 8, 16, 31, 32, 63, 64, 100, 255, 256, 1000, 2**15, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 1)
WORDS = (b"llama", b"gpt2", b"bert", b"t5", b"rwkv", b"qwen2", b"mamba", b"gemma", b"phi3", b"default", b"none")
KEYS = (
    *("general.alignment", "split.count", "tokenizer.ggml.scores", "tokenizer.ggml.eot_token_id"),
    *("llama.attention.head_count_kv", "llama.attention.key_length", "llama.attention.value_length"),
    *("llama.attention.causal", "llama.attention.clamp_kqv", "llama.attention.sliding_window"),
    *("llama.expert_count", "llama.expert_used_count", "llama.vocab_size", "llama.pooling_type"),
    *("llama.rope.scaling.type", "llama.rope.dimension_count"),
)
"""Of entries that are added."""
WAYS = {"run": 16, "draft": 4, "bench": 1, "verify": 1, "app": 2}
"""What a file is given to, and how often; ``draft`` is ``run`` with it as the draft."""
KINDS = {"value": 9, "field": 5, "bit": 2, "entry": 2, "end": 1, "data": 1}
"""What is changed, and how often."""
_OF_FORM = ("length of", "type of", "a key")
_ENDED = re.compile(r"\b(it (crashed|gave up|divided)|the system killed it).*")
_SENTENCE = re.compile(r"^(localspec: )?\S.*[.?]\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Field:
    """A part of the header: what it is, where it lies, and how it is written."""

    name: str
    at: int
    size: int
    text: bool = False


class Layout:
    """Where everything lies in a model file."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 8
        self.fields: list[Field] = []
        n_tensors, n_entries = self._number("tensors", 8), self._number("entries", 8)
        for _ in range(n_entries):
            self._entry()
        for _ in range(n_tensors):
            self._tensor()
        self.data_at = -(-self._at // 32) * 32
        self.values = [field for field in self.fields if not field.name.startswith(_OF_FORM)]
        """Those that llama.cpp is more likely to believe."""

    def _number(self, name: str, size: int) -> int:
        self.fields.append(Field(name, self._at, size))
        self._at += size
        return int.from_bytes(self._data[self._at - size : self._at], "little")

    def _text(self, name: str) -> str:
        length = self._number(f"length of {name}", 8)
        self.fields.append(Field(name, self._at, length, text=True))
        self._at += length
        return self._data[self._at - length : self._at].decode(errors="replace")

    def _entry(self) -> None:
        key = self._text("a key")
        kind = self._number(f"type of {key}", 4)
        if kind != ARRAY:
            self._value(key, kind)
            return
        kind, count = self._number(f"type of elements of {key}", 4), self._number(f"count of {key}", 8)
        first_n = len(self.fields) + 40
        for _ in range(count):
            self._value(key, kind)
        # A vocabulary must not outweigh everything else.
        del self.fields[first_n:]

    def _value(self, key: str, kind: int) -> None:
        if kind == STRING:
            self._text(key)
        else:
            self._number(key, WIDTHS[kind])

    def _tensor(self) -> None:
        name = self._text("a tensor's name")
        for i in range(self._number(f"dimensions of {name}", 4)):
            self._number(f"length {i} of {name}", 8)
        self._number(f"format of {name}", 4)
        self._number(f"offset of {name}", 8)


def mutated(data: bytes, layout: Layout, rng: random.Random) -> tuple[bytes, str]:
    """A damaged copy, and what was done to it."""
    out = bytearray(data)
    done = [_mutate(out, layout, rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return bytes(out), "; ".join(done)


def believed(data: bytes) -> bool:
    """Whether the header is read without an error, so that llama.cpp sees the file."""
    try:
        parse_header(BytesIO(data), source="", size_bytes=len(data))
    except ModelFileError:
        return False
    return True


def _mutate(out: bytearray, layout: Layout, rng: random.Random) -> str:
    match rng.choices(list(KINDS), list(KINDS.values()))[0]:
        case "value":
            return _change(out, rng.choice(layout.values), rng)
        case "field":
            return _change(out, rng.choice(layout.fields), rng)
        case "bit":
            at = rng.randrange(min(layout.data_at, len(out)))
            out[at] ^= 1 << rng.randrange(8)
            return f"bit at {at}"
        case "entry":
            return _insert(out, layout.data_at, rng)
        case "end":
            length = rng.randrange(64, len(out))
            del out[length:]
            return f"cut to {length}"
        case _:
            for _ in range(rng.choice((1, 100, 10_000))):
                out[rng.randrange(min(layout.data_at, len(out) - 1), len(out))] = rng.choice((0, 0x7F, 0xFF))
            return "noise in the data"


def _change(out: bytearray, field: Field, rng: random.Random) -> str:
    end = field.at + field.size
    if end > len(out) or field.size == 0:
        return "nothing"
    if field.text:
        word = rng.choice(WORDS).ljust(field.size, b"\0")[: field.size]
        if rng.random() < 0.5:
            word = rng.randbytes(min(field.size, 8)) + bytes(out[field.at + 8 : end])
        out[field.at : end] = word
        return f"{field.name} = {word[:20]!r}"
    old = int.from_bytes(out[field.at : end], "little")
    near = (old + 1, old - 1, old * 2, old // 2, old ^ (1 << rng.randrange(8 * field.size)), -old)
    value = rng.choice((rng.choice(near), rng.choice(NUMBERS), rng.getrandbits(8 * field.size)))
    value %= 1 << (8 * field.size)
    out[field.at : end] = value.to_bytes(field.size, "little")
    return f"{field.name}: {old} -> {value}"


def _insert(out: bytearray, data_at: int, rng: random.Random) -> str:
    """Another entry in front of the others; the data stay aligned."""
    if len(out) < data_at:
        return "nothing"
    key, value = rng.choice(KEYS), rng.choice(NUMBERS)
    entry = len(key).to_bytes(8, "little") + key.encode() + (4).to_bytes(4, "little") + value.to_bytes(4, "little")
    (count,) = unpack_from("<Q", out, 16)
    pack_into("<Q", out, 16, (count + 1) % 2**64)
    out[data_at:data_at] = bytes(-len(entry) % 32)
    out[24:24] = entry
    return f"{key} = {value}"


@dataclass(frozen=True)
class Result:
    """How one file was taken."""

    way: str
    done: str
    code: int | None
    said: str

    @property
    def fault(self) -> str | None:
        """What should not be; None if all is well."""
        if self.code is None:
            return "no end"
        if self.code not in {code for code, _ in exit_codes()}:
            return f"exit code {self.code}"
        if self.code == 1 or "Traceback" in self.said or "unexpected" in self.said:
            return "an unexpected error"
        if self.code and not _SENTENCE.search(self.said):
            return "no sentence"
        return None

    @property
    def ended(self) -> str | None:
        """How llama.cpp ended the process, if it did."""
        found = _ENDED.search(self.said)
        return found[0] if found else None


SERVER = """
import json, os, sys, time
from localspec.cli import main
import llama_cpp, localspec.insight.bench.run, localspec.insight.losslessness.examination, localspec.cli.verify
import localspec.insight.observers.observers, localspec.runtime.loaded_pair

def command(arguments, errors):
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard, descriptor in ((0, nothing), (1, nothing), (2, os.open(errors, os.O_WRONLY | os.O_CREAT))):
        os.dup2(descriptor, standard)
    sys.stdin, sys.argv = open(0), ["localspec", *arguments]
    try:
        main()
    except SystemExit as done:
        sys.stdout.flush()
        return done.code
    return 1

for line in sys.stdin:
    order = json.loads(line)
    if not (child := os.fork()):
        os._exit(command(order["arguments"], order["errors"]) or 0)
    until = time.monotonic() + order["patience_s"]
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.005)
    if not ended[0]:
        os.kill(child, 9)
        os.waitpid(child, 0)
    print(json.dumps(os.waitstatus_to_exitcode(ended[1]) if ended[0] else None), flush=True)
"""
"""Runs commands in children of a process that has imported everything, which saves most of their time."""


class Tester:
    """Runs the commands, with a home of their own; for one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        environment = {**os.environ, "LOCALSPEC_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def take(self, number: int, data: bytes, done: str, rng: random.Random) -> Result:
        """Give it to one of the commands."""
        path = self._folder / f"{number}.gguf"
        path.write_bytes(data)
        way = rng.choices(list(WAYS), list(WAYS.values()))[0]
        try:
            code, said = self._in_app(path) if way == "app" else self._command(way, path)
        finally:
            path.unlink()
        return Result(way, done, code, said)

    def _command(self, way: str, path: Path) -> tuple[int | None, str]:
        """The exit code and what standard error has; None for a command that does not end."""
        arguments = {
            "run": ("run", "--target", str(path), "--max-tokens", "4", "hello"),
            "draft": ("run", "--target", str(TARGET), "--draft", str(path), "--max-tokens", "8", "hello"),
            "bench": ("bench", "--target", str(path), "--tokens", "8", "--minutes", "0.05"),
            "verify": ("verify", "--target", str(path), "--tokens", "8", "--samples", "20", "--depth", "2"),
        }[way]
        errors = path.with_suffix(".errors")
        order = {
            "arguments": [*arguments, "--ctx", "256", "--threads", "1"],
            "errors": str(errors),
            "patience_s": PATIENCE_S,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        code: int | None = json.loads(self._server.stdout.readline())
        said = errors.read_text(encoding="utf-8", errors="replace")[-LONGEST_ERROR:]
        errors.unlink()
        return code, said

    def _in_app(self, path: Path) -> tuple[int | None, str]:
        """As the app does, with an engine process of its own; the code that the error would exit with."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        brief = ReplyOptions(sampling=Sampling(temperature=0), max_tokens=4)
        with EngineClient(answers.put, self._folder / f"{path.stem}.log") as client:
            client.send(Load(LoadOptions(path, n_ctx=256, threads=1)))
            client.send(Generate(1, "hello", brief))
            while True:
                try:
                    answer = answers.get(timeout=PATIENCE_S)
                except Empty:
                    return None, ""
                match answer:
                    case Failed(exit_code=code, message=message, hint=hint):
                        return code, f"{message} {hint}"
                    case Emitted(event=Finished()):
                        return 0, ""
                    case _:
                        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    models = [(path.read_bytes(), Layout(path.read_bytes())) for path in (DRAFT, TARGET)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.at_once) as pool:
        testers: SimpleQueue[Tester] = SimpleQueue()
        for number in range(asked.at_once):
            (Path(folder) / str(number)).mkdir()
            testers.put(Tester(Path(folder) / str(number)))

        def one(number: int) -> tuple[int, bytes, Result]:
            rng = random.Random(f"{asked.seed} {number}")
            data, layout = models[rng.randrange(4) == 0]
            changed, done = mutated(data, layout, rng)
            if number % 4:
                while not believed(changed):
                    changed, done = mutated(data, layout, rng)
            tester = testers.get()
            try:
                return number, changed if asked.keep else b"", tester.take(number, changed, done, rng)
            finally:
                testers.put(tester)

        return report(pool.map(one, range(asked.files)), asked.keep)


def report(results: Iterable[tuple[int, bytes, Result]], keep: Path | None) -> int:
    """Print what is wrong as it comes, and at last the counts; the exit code."""
    counts: Counter[tuple[str, int | None]] = Counter()
    native_n, faults_n = 0, 0
    for number, data, result in results:
        counts[result.way, result.code] += 1
        if result.ended or result.code == 8:
            native_n += result.ended is not None
            print(
                f"{number} {result.way} {result.code} [{result.done}] {(result.ended or result.said)[:200]}", flush=True
            )
        if fault := result.fault:
            faults_n += 1
            print(f"FAULT {number} {result.way}: {fault} [{result.done}] {result.said[-300:]!r}", flush=True)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{number}.gguf").write_bytes(data)
    for (way, code), n in sorted(counts.items(), key=str):
        print(f"{way:7} {code!s:>4} {n:5}")
    print(f"{sum(counts.values())} files, {native_n} native ends, {faults_n} faults")
    return 1 if faults_n else 0


if __name__ == "__main__":
    sys.exit(main())
