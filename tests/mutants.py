"""Errors planted in the modules that the promises depend on, one at a time: do the tests notice?

    make mutants                                             a sample of each module
    python -m tests.mutants verify dist --sample 1000        all of some

Each mutant is a small change of one expression or statement. The tests of its module run in a copy of the checkout
until the first fails. A mutant that no test fails on has survived: a test is missing, or the change makes no
difference.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS: dict[str, tuple[str, ...]] = {
    # Lossless.
    "engine/verify": ("engine/test_verify.py", "engine/test_drafting.py"),
    "engine/dist": ("engine/test_dist.py", "engine/test_verify.py", "engine/test_sampling.py"),
    "engine/drafting": ("engine/test_drafting.py", "engine/test_drafters.py", "engine/test_loop.py"),
    "engine/loop": ("engine/test_loop.py", "engine/test_failures.py", "engine/test_drafting.py"),
    "engine/batching": ("engine/test_batching.py",),
    "engine/batched_head": ("engine/test_batched_head.py",),
    "engine/suffix_automaton": ("engine/test_suffix.py", "engine/test_suffix_drafter.py"),
    "engine/text": ("engine/test_text.py", "engine/test_loop.py"),
    # Never slower.
    "engine/costs": ("engine/test_costs.py", "engine/test_adaptive.py", "runtime/calibration/test_later_loads.py"),
    "engine/adaptive": ("engine/test_adaptive.py",),
    "engine/reading": ("engine/test_reading.py",),
    "engine/text_window": ("engine/test_reading.py",),
    # Honest.
    "engine/tally": ("engine/test_tally.py", "engine/test_loop.py", "engine/test_wire.py", "engine/test_divergence.py"),
    "engine/wire": ("engine/test_wire.py", "runtime/worker/test_codec.py"),
    "base/significance": ("base/test_significance.py", "insight/trials"),
    # Nothing is lost, and nothing is let in.
    "store/provenance": ("store/test_provenance.py",),
    "store/recorder": ("store/test_recorder.py", "store/test_recovery.py"),
    "models/download/transfer": (
        "models/download/test_transfer.py",
        "models/download/test_download.py",
        "models/download/test_part_fuzz.py",
        "models/download/test_way.py",
    ),
    "models/download/partial_file": ("models/download/test_download.py", "models/download/test_part_fuzz.py"),
    "base/visible": ("base/test_visible.py", "base/test_terminal_stream.py"),
}
ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "recipe", "__snapshots__")
TIMEOUT_S = 300.0

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One planted error."""

    module: str
    line: int
    before: str
    after: str
    source: str
    """The whole module with the error in it."""

    def __str__(self) -> str:
        return f"localspec/{self.module}.py:{self.line}: {self.before}  ->  {self.after}"


def mutants_of(module: str) -> list[Mutant]:
    """All of a module."""
    text = (ROOT / "localspec" / f"{module}.py").read_text(encoding="utf-8")
    found = []
    for n in range(len(list(_sites(ast.parse(text))))):
        tree = ast.parse(text)
        node = list(_sites(tree))[n]
        before = ast.unparse(node)
        _plant(node)
        found.append(Mutant(module, getattr(node, "lineno", 0), before, ast.unparse(node), ast.unparse(tree)))
    return found


def _sites(tree: ast.AST) -> Iterator[ast.AST]:
    """The places where an error can be planted, those in types left out."""
    for field, child in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for node in child if isinstance(child, list) else [child]:
            if isinstance(node, ast.AST):
                if _is_site(node):
                    yield node
                yield from _sites(node)


def _is_site(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op, *_]) | ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
            return type(op) in _OPERATORS
        case ast.Name(id=name):
            return name in _NAMES
        case ast.UnaryOp(op=ast.Not() | ast.USub()) | ast.Constant(value=bool() | int() | float()):
            return True
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute()]):
            return True
    return False


def _plant(node: ast.AST) -> None:
    match node:
        case ast.Compare(ops=[op, *rest]):
            node.ops = [_other(op), *rest]
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            node.op = _other(node.op)
        case ast.UnaryOp(op=ast.Not()):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.UnaryOp():
            node.op = ast.UAdd()
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value) | float(value)):
            node.value = value + 1
        case ast.Name(id=name):
            node.id = _NAMES[name]
        case ast.Expr():
            node.value = ast.Constant(None)
        case ast.Assign(targets=[ast.Attribute()]):
            node.targets = [ast.Name("_", ast.Store())]


def _other(operator: ast.AST) -> Any:
    return _OPERATORS[type(operator)]()


@dataclass(slots=True)
class Workshop:
    """A copy of the checkout in which mutants are tried."""

    folder: Path

    @staticmethod
    def open(folder: Path) -> Workshop:
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        return Workshop(folder)

    def survives(self, mutant: Mutant) -> bool:
        """Whether no test of its module fails."""
        file = self.folder / "localspec" / f"{mutant.module}.py"
        whole = file.read_text(encoding="utf-8")
        file.write_text(mutant.source, encoding="utf-8")
        try:
            return self.passes(mutant.module)
        finally:
            file.write_text(whole, encoding="utf-8")

    def passes(self, module: str) -> bool:
        """Whether the tests of a module pass; those that never end do not."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        tests = [f"tests/{path}" for path in TESTS[module]]
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [*command, *tests],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def tried(mutants: Sequence[Mutant], jobs: int) -> list[Mutant]:
    """Try them all, and return those that survived."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        waiting.put(mutant)
    survivors: list[Mutant] = []

    def work(workshop: Workshop) -> None:
        while not waiting.empty():
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            if workshop.survives(mutant):
                survivors.append(mutant)
                print(mutant, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        workshops = [Workshop.open(Path(folder) / str(n)) for n in range(jobs)]
        for module in {mutant.module for mutant in mutants}:
            if not workshops[0].passes(module):
                raise SystemExit(f"The tests of {module} fail without any error planted.")
        threads = [threading.Thread(target=work, args=(workshop,)) for workshop in workshops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return survivors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="parts of module names (default: all)")
    parser.add_argument("--sample", type=int, default=25, help="mutants of each module at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    chosen = [m for m in TESTS if not given.modules or any(part in m for part in given.modules)]
    rng = random.Random(given.seed)
    mutants: list[Mutant] = []
    for module in chosen:
        found = mutants_of(module)
        mutants += rng.sample(found, min(given.sample, len(found)))
    survivors = tried(mutants, given.jobs)
    for module in chosen:
        all_n = sum(mutant.module == module for mutant in mutants)
        left_n = sum(mutant.module == module for mutant in survivors)
        print(f"{module:<20} {all_n - left_n:>4} of {all_n:>4} noticed")
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} noticed")


if __name__ == "__main__":
    main()
