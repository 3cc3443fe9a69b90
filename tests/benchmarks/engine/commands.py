"""What each command does, from its parsed options to its files and tables."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from localspec.engine.backends.llama.cores import physical_cores
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.settings import Sampling
from localspec.gguf import read_header
from localspec.gguf.draft_heads import DRAFT, drafter_kind, is_dspark
from localspec.runtime.messages import Message
from localspec.runtime.opened_models import open_models
from localspec.runtime.opening import calibration_file, check_headers, fit_costs
from localspec.runtime.options import LoadOptions
from localspec.runtime.placement import place_models
from localspec.runtime.prompting import Prompter
from tests.benchmarks.engine import counts, machine, memory, replayed, report, suite
from tests.benchmarks.engine.case import Case, Contestant, Pair, Ready, matches
from tests.benchmarks.engine.grid import Grid, Plan, Row, sampling_at
from tests.benchmarks.engine.own import PREFIX, Own, OwnEngine, default_own, parse_own
from tests.benchmarks.engine.prepare import Answer, prepared, vocabulary
from tests.benchmarks.engine.replay import MakePolicy
from tests.benchmarks.engine.server import (
    BY_HAND,
    SPEC_TYPES,
    ServerContestant,
    ServerPool,
    default_servers,
    parse_server,
)
from tests.benchmarks.engine.server import PREFIX as SERVER_PREFIX
from tests.benchmarks.engine.traces import Trace, record


def grid(options: argparse.Namespace) -> None:
    """Measure, write the result file and print its tables."""
    pair = _pair(options)
    names = _names(options.configs, pair.drafter)
    with ExitStack() as resources:
        engine = OwnEngine.open(pair, options.threads)
        resources.callback(engine.pair.close)
        pool = ServerPool(options.server, pair, options.resident)
        resources.callback(pool.close)
        prompts = _prompts(options, partial(_reply_text, engine))
        schema = options.json_schema.read_text(encoding="utf-8") if options.json_schema else None
        given = options.tokens, tuple(options.temperatures), options.repeats, options.seed, schema
        plan = Plan(*given, _seconds(options.minutes))
        head = _head(options, pair, names, engine)
        save = partial(_save, options.out, head)
        Grid([_contestant(name, engine, pool) for name in names], prompts, plan, save).measure()
    print(report.markdown(json.loads(options.out.read_text())))


def count(options: argparse.Namespace) -> None:
    """Print how many proposals stay in both engines, at one depth."""
    pair = _pair(options)
    kind = f"{pair.drafter}:{options.depth}"
    with ExitStack() as resources:
        engine = OwnEngine.open(pair, options.threads)
        resources.callback(engine.pair.close)
        pool = ServerPool(options.server, pair, 1)
        resources.callback(pool.close)
        vocab = resources.enter_context(vocabulary(pair.target))
        # Fused and unfused attention round differently, by more than the margin of many a guess.
        by_hand = "" if engine.pair.info.flash_attn else BY_HAND
        server = ServerContestant(pool, parse_server(f"{SERVER_PREFIX}{kind}{by_hand}"))
        comparison = counts.Comparison(parse_own(f"{PREFIX}{kind}", engine), server, vocab, options.tokens)
        found = list(comparison.of(_prompts(options, partial(_reply_text, engine))))
    print(counts.markdown(found))


def show(options: argparse.Namespace) -> None:
    """Print the tables of result files."""
    for path in options.results:
        print(report.markdown(json.loads(path.read_text())))


def remember(options: argparse.Namespace) -> None:
    """Print the memory of both engines."""
    found = memory.measure(_pair(options), options.server, options.own, options.against, options.threads)
    print(memory.markdown(found))


def traces(options: argparse.Namespace) -> None:
    """Record traces and prices into a file."""
    pair = _pair(options)
    load = LoadOptions(pair.target, pair.draft, n_ctx=pair.n_ctx, threads=options.threads)
    cancel = Cancellation()
    with ExitStack() as resources:
        headers = check_headers(load)
        placement = place_models(load, headers.target, headers.draft, headers.projector)
        kind = drafter_kind(headers.draft) if headers.draft else DRAFT
        opened = open_models(placement, kind, cancel, lambda *_: None, resources)
        drafters = opened.drafters(None)
        file = calibration_file(load, opened.target)
        costs, _ = fit_costs(load, opened.target, drafters.models, file, cancel, lambda *_: None)
        (drafter,) = drafters.chosen(tuple(drafters.models))
        found = []
        for prompt in _prompts(options, partial(_greedy_text, opened.target)):
            for temperature in options.temperatures:
                case = Case(prompt, sampling_at(temperature), options.seed, options.tokens)
                found.append(record(opened.target, drafter, case))
                print(f"{prompt.name} at {temperature:g}: {len(found[-1].text)} tokens", file=sys.stderr)
    content = {
        "target": pair.target.name,
        "draft": pair.draft.name if pair.draft else pair.drafter,
        "processor": machine.processor(),
        "prices": costs.to_dict(),
        "traces": [trace.to_dict() for trace in found],
    }
    options.out.write_text(json.dumps(content))


def replay(options: argparse.Namespace) -> None:
    """Print what policies come to on recorded traces."""
    content = json.loads(options.traces.read_text())
    priced = json.loads(options.prices.read_text())["prices"] if options.prices else content["prices"]
    own = {name.rpartition(":")[2]: _policy(name) for name in options.policy}
    found = [Trace.from_dict(trace) for trace in content["traces"]]
    costs = Costs.from_dict(priced)
    costs.pad()
    print(replayed.markdown(found, costs, own))


def _pair(options: argparse.Namespace) -> Pair:
    threads = options.threads or physical_cores()
    draft_threads = options.server_draft_threads or threads
    return Pair(options.target, options.draft, options.ctx, threads, draft_threads, _drafter(options))


def _drafter(options: argparse.Namespace) -> str:
    """The drafter that these files are for."""
    if options.draft is None:
        return "mtp"
    header = read_header(options.draft)
    return "dspark" if is_dspark(header) else drafter_kind(header)


def _names(patterns: Sequence[str], drafter: str) -> list[str]:
    """The usual configurations that match, and those named in full."""
    usual = [*default_own(drafter), *default_servers(drafter)]
    chosen = [name for name in usual if matches(name, patterns)]
    named = [full_name(name, drafter) for name in patterns if not set(name) & set("*?[")]
    return list(dict.fromkeys([*chosen, *named]))


def full_name(name: str, drafter: str) -> str:
    """server:3 is server:3:0."""
    if name.startswith(PREFIX):
        return name
    if name.startswith(SERVER_PREFIX):
        config = parse_server(name)
        if config.n_max is not None and config.spec != SPEC_TYPES[drafter]:
            raise SystemExit(
                f"{name}: these files are for the drafter {drafter}, as in server:{drafter}:{config.n_max}."
            )
        return config.name
    raise SystemExit(f"{name}: a configuration begins with {PREFIX} or {SERVER_PREFIX}")


def _contestant(name: str, engine: OwnEngine, pool: ServerPool) -> Contestant:
    return parse_own(name, engine) if name.startswith(PREFIX) else ServerContestant(pool, parse_server(name))


def _prompts(options: argparse.Namespace, answer: Answer) -> list[Ready]:
    chosen = [prompt for prompt in suite.PROMPTS if matches(prompt.name, options.prompts)]
    if not chosen:
        raise SystemExit(f"No prompt is called {', '.join(options.prompts)}.")
    return prepared(chosen, options.target, options.ctx, options.tokens, answer)


def _reply_text(engine: OwnEngine, messages: Sequence[Message]) -> str:
    """The target's own greedy reply."""
    options = Own(engine, (), None).reply_options(Sampling(temperature=0), 0, suite.EARLIER_TOKENS)
    return engine.text(messages, options)


def _greedy_text(target: LlamaModel, messages: Sequence[Message]) -> str:
    """The same, without a session."""
    context = Prompter(target.vocab, target.n_ctx).chat(messages).tokens
    start = len(context)
    while len(context) - start < suite.EARLIER_TOKENS:
        token = int(target.logits(context, 1)[0].argmax())
        if target.vocab.is_end(token):
            break
        context.append(token)
    return b"".join(map(target.vocab.piece, context[start:])).decode("utf-8", errors="replace")


def _head(options: argparse.Namespace, pair: Pair, names: list[str], engine: OwnEngine) -> dict[str, Any]:
    """What the measurement was of."""
    version = subprocess.run([options.server, "--version"], capture_output=True, text=True, check=True)
    return {
        "target": pair.target.name,
        "draft": pair.draft.name if pair.draft else f"{pair.drafter} of its own",
        "processor": machine.processor(),
        "server": (version.stdout + version.stderr).strip().splitlines()[0],
        "threads": pair.threads,
        "draft_threads": pair.draft_threads,
        "n_ctx": pair.n_ctx,
        "max_tokens": options.tokens,
        "seed": options.seed,
        "plain_per_second": engine.pair.info.plain_per_second,
        "contestants": names,
    }


def _save(out: Path, head: dict[str, Any], rows: list[Row]) -> None:
    part = out.with_suffix(".part")
    part.write_text(json.dumps({**head, "rows": rows}))
    part.replace(out)


def _seconds(minutes: float | None) -> float | None:
    return None if minutes is None else minutes * 60


def _policy(name: str) -> MakePolicy:
    module, separator, factory = name.partition(":")
    if not separator:
        raise SystemExit(f"{name}: name a policy as module:factory.")
    make: MakePolicy = getattr(importlib.import_module(module), factory)
    return make
