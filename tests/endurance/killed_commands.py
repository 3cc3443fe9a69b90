"""Commands that write files are killed at random moments: an import, an export, a download.

After each kill nothing is half there: of an import all conversations or none, of an export the whole file or none,
under the names of models nothing but the right bytes; and what a download had is still there for the next.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from localspec.store import ConversationDocument, Store
from localspec.store.files import to_json
from tests.endurance.kills import PATIENCE_S, check_file, copied
from tests.gguf_files import Tensor, model
from tests.hub import HubServer
from tests.models.download.support import BIG, SMALL
from tests.store.support import converse

LOCALSPEC = [sys.executable, "-m", "localspec"]
TURNS_N = 4
TARGET = model(tensors=[Tensor("token_embd.weight", (64, 160_000))])
DRAFT = model(tensors=[Tensor("token_embd.weight", (64, 24_000))])
MODELS = {BIG: ("big-Q4_K_M.gguf", TARGET), SMALL: ("small-Q8_0.gguf", DRAFT)}
PAIR = "\n".join(
    ['[[pairs]]\nid = "mine"\ntitle = "Mine"']
    + [
        f'[pairs.{part}]\nrepo = "{repo}"\nfile = "{MODELS[repo][0]}"'
        for part, repo in (("target", BIG), ("draft", SMALL))
    ]
)


@dataclass
class Timed:
    """Starts a command and kills it at a random moment; about how long the command takes is learned."""

    home: Path
    rng: random.Random
    takes_s: float = 0.0

    def run(self, *arguments: str | Path) -> None:
        """To its end."""
        begun = time.perf_counter()
        with self.begin(*arguments) as process:
            assert process.wait(PATIENCE_S) == 0
        self.takes_s = time.perf_counter() - begun

    def kill(self, *arguments: str | Path) -> bool:
        """Whether it was killed before it had ended."""
        with self.begin(*arguments) as process:
            try:
                process.wait(self.rng.uniform(0, self.takes_s))
            except subprocess.TimeoutExpired:
                process.kill()
            return process.wait(PATIENCE_S) == -signal.SIGKILL

    def begin(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*LOCALSPEC, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LOCALSPEC_HOME": str(self.home), **environment},
        )


@dataclass
class ImportKills:
    """Each import brings the same conversations once more, so that how many there are tells what came of it."""

    home: Path
    rng: random.Random
    conversations_n: int = 300
    whole_n: int = 0
    """How often all was there although it was killed."""

    @cached_property
    def timed(self) -> Timed:
        self.file.write_text(to_json(documents(self.conversations_n)), encoding="utf-8")
        timed = Timed(self.home, self.rng)
        timed.run(*self.command)
        return timed

    @property
    def file(self) -> Path:
        return self.home.with_suffix(".json")

    @property
    def command(self) -> tuple[str | Path, ...]:
        return ("history", "import", "--copy", self.file)

    @property
    def database(self) -> Path:
        return self.home / "data" / "history.db"

    def kill(self) -> bool:
        timed, before = self.timed, self._there()
        killed = timed.kill(*self.command)
        check_file(self.database)
        there = self._there()
        assert there in (before, before + self.conversations_n), f"{there - before} conversations were imported"
        assert killed or there > before
        self.whole_n += killed and there > before
        return killed

    def _there(self) -> int:
        with copied(self.database) as connection:
            ((conversations_n,),) = connection.execute("SELECT count(*) FROM conversation").fetchall()
            ((messages_n,),) = connection.execute("SELECT count(*) FROM message").fetchall()
        assert messages_n == 2 * TURNS_N * conversations_n
        return int(conversations_n)


@dataclass
class ExportKills:
    """Exports of the same conversations, each to be what the first one was."""

    home: Path
    rng: random.Random
    conversations_n: int = 1500
    whole_n: int = 0
    left_n: int = 0
    """How often a file by another name was left behind."""

    @cached_property
    def timed(self) -> Timed:
        store = Store.open(self.home / "data" / "history.db")
        store.add(documents(self.conversations_n))
        store.close()
        self.folder.mkdir()
        timed = Timed(self.home, self.rng)
        timed.run(*self.command)
        return timed

    @cached_property
    def expected(self) -> bytes:
        self.timed  # noqa: B018 -- writes it
        data = self.file.read_bytes()
        self.file.unlink()
        return data

    @property
    def folder(self) -> Path:
        return self.home.with_suffix(".exports")

    @property
    def file(self) -> Path:
        return self.folder / "all.json"

    @property
    def command(self) -> tuple[str | Path, ...]:
        return ("history", "export", "--all", "--output", self.file)

    def kill(self) -> bool:
        expected = self.expected
        killed = self.timed.kill(*self.command)
        assert not self.file.exists() or self.file.read_bytes() == expected
        assert killed or self.file.exists()
        self.whole_n += killed and self.file.exists()
        for file in self.folder.iterdir():
            self.left_n += file != self.file
            assert file.stat().st_mode & 0o777 == 0o600
            file.unlink()
        return killed


@dataclass
class PullKills:
    """Downloads of a pair, each killed when the server has sent so much, and gone on with until all is there."""

    home: Path
    rng: random.Random
    server: HubServer
    finished_n: int = 0
    lost_bytes: list[int] = field(default_factory=list)
    """For each kill: what had been sent and is not on the disk."""

    def kill(self) -> bool:
        timed = Timed(self.home, self.rng)
        config = self.home / "config" / "pairs.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(PAIR, encoding="utf-8")
        left = sum(len(data) - held(self.hub, repo, data) for repo, (_, data) in MODELS.items())
        before, sent = self._held(), self.server.sent_bytes
        process = timed.begin("pairs", "pull", "mine", HF_ENDPOINT=self.server.endpoint, HF_HOME=self.hub)
        killed = self._wait(process, sent + self.rng.randint(0, left * 3 // 2 + 1))
        for repo, (name, data) in MODELS.items():
            for path in (repo_folder(self.hub, repo) / "snapshots").glob(f"*/{name}"):
                assert path.read_bytes() == data, f"{path} is wrong"
        after = self._held()
        assert all(now >= then for now, then in zip(after, before, strict=True)), "what had arrived is gone"
        if killed:
            self.lost_bytes.append(max(0, self.server.sent_bytes - sent - (sum(after) - sum(before))))
        else:
            assert after == [len(data) for _, data in MODELS.values()]
            self.finished_n += 1
            self.home = self.home.with_name(f"{self.home.name}+")
        return killed

    @property
    def hub(self) -> str:
        return str(self.home / "hub")

    def _held(self) -> list[int]:
        return [held(self.hub, repo, data) for repo, (_, data) in MODELS.items()]

    def _wait(self, process: subprocess.Popen[bytes], kill_at: int) -> bool:
        """Whether it was killed, when the server has sent so much, before it had ended."""
        due = threading.Event()
        self.server.on_bytes = lambda sent: due.set() if sent >= kill_at else None
        while process.poll() is None:
            if due.wait(0.02):
                process.kill()
                break
        self.server.on_bytes = None
        code = process.wait(PATIENCE_S)
        assert code in (0, -signal.SIGKILL)
        return code != 0


def held(hub: str, repo: str, data: bytes) -> int:
    """Bytes of a file on the disk, proved or not."""
    blobs = repo_folder(hub, repo) / "blobs"
    return max(
        (file.stat().st_size for file in blobs.glob(f"{sha256(data).hexdigest()}*") if is_bytes(file)), default=0
    )


def is_bytes(file: Path) -> bool:
    return file.suffix in ("", ".part")


def repo_folder(hub: str, repo: str) -> Path:
    return Path(hub, "hub", f"models--{repo.replace('/', '--')}")


def documents(n: int) -> list[ConversationDocument]:
    """Conversations of some turns."""
    store = Store.in_memory()
    for number in range(n):
        converse(
            store, *((f"What of {number}, part {turn}?", "All of it, as it was. " * 20) for turn in range(TURNS_N))
        )
    found = [store.document(each.heading.id) for each in store.conversations()]
    store.close()
    return found


def serve(server: HubServer) -> None:
    """Have the models of the pair there."""
    for repo, (name, data) in MODELS.items():
        server.add(repo, name, data)
