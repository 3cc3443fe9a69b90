"""llama.cpp's own server as a contestant: one process for each configuration, since none can be changed by request."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from tests.benchmarks.engine import machine
from tests.benchmarks.engine.case import Case, Pair, Run

PREFIX = "server:"
BY_HAND = "+by-hand"
SPEC_TYPES = {
    "draft": "draft-simple",
    "eagle3": "draft-eagle3",
    "mtp": "draft-mtp",
    "dflash": "draft-dflash",
    "dspark": "draft-dspark",
}
"""The server's ``--spec-type`` by our drafter. All of them take a depth and a threshold."""
START_S = 120.0
REPLY_S = 600.0
MOST_READ_AGAIN_N = 1
"""Tokens of a cached prompt that the server evaluates again, to have scores to go on from."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The options that differ between servers."""

    spec: str | None = None
    """As ``--spec-type`` takes it; None for no speculation."""
    n_max: int | None = None
    p_min: float = 0.0
    by_hand: bool = False
    """Whether what ours does by itself is set by hand.

    For one reply at once unfused attention, for several values in bf16; large pages by way of the C library.
    """

    @property
    def name(self) -> str:
        return self._spec_name + (BY_HAND if self.by_hand else "")

    @property
    def _spec_name(self) -> str:
        if self.spec is None:
            return PREFIX + "plain"
        if self.n_max is None:
            return PREFIX + self.spec
        kind = "" if self.spec == "draft-simple" else self.spec.removeprefix("draft-") + ":"
        return f"{PREFIX}{kind}{self.n_max}:{self.p_min:g}"

    @property
    def environment(self) -> dict[str, str]:
        """For the process."""
        return {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if self.by_hand else dict(os.environ)

    def options(self, pair: Pair, parallel: int = 1) -> list[str]:
        """The command line, program and address apart, for so many replies at once."""
        words: dict[str, object] = {
            "-m": pair.target,
            "-c": pair.n_ctx * parallel,
            "-t": pair.threads,
            "-tb": pair.threads,
            "-np": parallel,
            "--cache-ram": 0,
            "--spec-type": self.spec or "none",
        }
        if self.n_max is not None:
            words |= {
                "-td": pair.draft_threads,
                "-tbd": pair.draft_threads,
                "--spec-draft-n-max": self.n_max,
                "--spec-draft-n-min": 0,
                "--spec-draft-p-min": self.p_min,
            }
            if pair.draft:
                words["-md"] = pair.draft
        if self.by_hand:
            words |= {"-fa": "off"} if parallel == 1 else {"-ctv": "bf16", "-ctvd": "bf16"}
        return [str(word) for option in words.items() for word in option] + ["--no-ui"]


def parse_server(name: str) -> ServerConfig:
    """A configuration by its name.

    That is plain, DEPTH, DEPTH:P_MIN, KIND:DEPTH, KIND:DEPTH:P_MIN or another --spec-type; then perhaps "+by-hand".
    """
    by_hand = name.endswith(BY_HAND)
    words = name.removeprefix(PREFIX).removesuffix(BY_HAND).split(":")
    if words == ["plain"]:
        return ServerConfig(by_hand=by_hand)
    kind = "draft" if words[0].isdigit() else words.pop(0)
    if not words:
        return ServerConfig(kind, by_hand=by_hand)
    if kind not in SPEC_TYPES:
        raise SystemExit(f"{name}: the kinds with a depth are {', '.join(SPEC_TYPES)}.")
    return ServerConfig(SPEC_TYPES[kind], int(words[0]), float(words[1]) if words[1:] else 0.0, by_hand)


def default_servers(drafter: str) -> list[str]:
    """No speculation, every depth with every threshold, and the drafter that looks up the context.

    ngram-mod is left out: it keeps what earlier requests said, and the repetitions here are the same requests.
    """
    spec = SPEC_TYPES[drafter]
    grid = [ServerConfig(spec, n_max, p_min) for n_max in (1, 2, 3, 4, 7, 15) for p_min in (0.0, 0.5, 0.75)]
    return [config.name for config in (ServerConfig(), *grid, ServerConfig("ngram-simple"))]


class Server:
    """A running server."""

    def __init__(self, program: Path, pair: Pair, config: ServerConfig, folder: Path, parallel: int = 1) -> None:
        self._port = _free_port()
        self._log = folder / f"{config.name.replace(':', '-')}-{self._port}.log"
        command = [str(program), *config.options(pair, parallel), "--host", "127.0.0.1", "--port", str(self._port)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=config.environment
            )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def complete(self, tokens: tuple[int, ...], options: dict[str, Any]) -> dict[str, Any]:
        """The answer to a ``/completion`` request, with all of the prompt but its last token in the cache already."""
        with self._post(tokens, {**options, "n_predict": 0}) as answer:
            answer.read()
        with self._post(tokens, options) as answer:
            result: dict[str, Any] = json.load(answer)
        return result

    def stream(self, tokens: tuple[int, ...], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The answers to a ``/completion`` request as they come, with the timings up to each."""
        with self._post(tokens, {**options, "stream": True, "timings_per_token": True}) as answers:
            for line in answers:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    def _post(self, tokens: tuple[int, ...], options: dict[str, Any]) -> HTTPResponse:
        body = json.dumps({"prompt": list(tokens), "cache_prompt": True, "return_tokens": True, **options}).encode()
        request = urllib.request.Request(f"{self.address}/completion", body, {"Content-Type": "application/json"})
        response: HTTPResponse = urllib.request.urlopen(request, timeout=REPLY_S)
        return response

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _wait(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise SystemExit(f"llama-server did not start:\n{self._log.read_text(errors='replace')[-2000:]}")


class ServerPool:
    """Servers that stay loaded, as many as memory holds; the one unused longest goes first. Idle ones only wait."""

    def __init__(self, program: Path, pair: Pair, most: int | None) -> None:
        self._program = program
        self._pair = pair
        self._folder = tempfile.TemporaryDirectory(prefix="localspec-bench-")
        self._servers: OrderedDict[ServerConfig, Server] = OrderedDict()
        self._most = most or fitting_servers(pair)

    def get(self, config: ServerConfig) -> Server:
        """A running server, started if need be."""
        if config not in self._servers:
            while len(self._servers) >= self._most:
                self._servers.popitem(last=False)[1].close()
            self._servers[config] = Server(self._program, self._pair, config, Path(self._folder.name))
        self._servers.move_to_end(config)
        return self._servers[config]

    def stop(self, config: ServerConfig) -> None:
        """End the server of this configuration, if it runs."""
        if config in self._servers:
            self._servers.pop(config).close()

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
        self._folder.cleanup()


def fitting_servers(pair: Pair) -> int:
    """How many servers memory holds: each has repacked weights, caches and buffers of its own; the files are shared."""
    size = pair.size_bytes
    room = machine.available_bytes() - size - 2e9
    return max(1, int(room // (size + 0.27e9)))


@dataclass(frozen=True, slots=True)
class ServerContestant:
    """A server in one configuration, running or not."""

    pool: ServerPool
    config: ServerConfig

    @property
    def name(self) -> str:
        return self.config.name

    def ready(self) -> int:
        return self.pool.get(self.config).process.pid

    def run(self, case: Case) -> Run:
        answer = self.pool.get(self.config).complete(case.prompt.tokens, _request(case))
        timings = answer["timings"]
        if answer["tokens_evaluated"] != len(case.prompt.tokens):
            raise SystemExit(f"{case.prompt.name}: the server read {answer['tokens_evaluated']} tokens.")
        if timings["prompt_n"] > MOST_READ_AGAIN_N:
            raise SystemExit(f"{case.prompt.name}: the server read {timings['prompt_n']} tokens of its prompt again.")
        # Its own rate leaves out the first token, which comes from the pass over the last token of the prompt.
        spent_ms = timings["prompt_ms"] + timings["predicted_ms"]
        return Run(
            tokens=answer["tokens"],
            predicted_n=timings["predicted_n"],
            predicted_ms=spent_ms,
            predicted_per_second=timings["predicted_n"] / spent_ms * 1e3,
            told_per_second=timings["predicted_per_second"],
            prompt_ms=timings["prompt_ms"],
            draft_n=timings.get("draft_n", 0),
            draft_n_accepted=timings.get("draft_n_accepted", 0),
        )

    def tokens(self, case: Case) -> list[int]:
        """The reply, unmeasured."""
        tokens: list[int] = self.pool.get(self.config).complete(case.prompt.tokens, _request(case))["tokens"]
        return tokens

    def stream(self, case: Case) -> Iterator[dict[str, Any]]:
        """The answers as they come, unmeasured, of a server without earlier requests.

        MTP layers keep the last hidden row of the request before, and read it beside the next one's first token.
        """
        self.pool.stop(self.config)
        return self.pool.get(self.config).stream(case.prompt.tokens, _request(case))


def _request(case: Case) -> dict[str, Any]:
    """Our four samplers and no others: its default chain has more, which would only cost it time."""
    sampling = case.sampling
    common: dict[str, Any] = {"n_predict": case.max_tokens, "seed": case.seed}
    if case.schema is not None:
        common["json_schema"] = json.loads(case.schema)
    if sampling.greedy:
        return {**common, "samplers": ["top_k", "temperature"], "top_k": 1, "temperature": 0.0}
    return {
        **common,
        "samplers": ["top_k", "top_p", "min_p", "temperature"],
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "temperature": sampling.temperature,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
