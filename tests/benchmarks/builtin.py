"""The built-in pair with guesses beside plain decoding, over ordinary prompts, at the pair's own sampling settings.

    python -m tests.benchmarks.builtin [--repeats 5] [--spec draft] [--threads 1] [--cpu-time] [--fresh]

One loaded pair, plain and ``auto`` in turns with the same seed; tokens a second as replies count them, medians over the
repetitions. With ``--fresh`` each reply with guesses is the first one after a first load: measured prices are kept from
no other day, and nothing is learned yet. With ``--cpu-time`` the engine measures the processor's time instead of the
clock's: with one thread that is about what a quiet machine takes, whatever else runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Finished
from localspec.engine.timings import Timings
from localspec.models.pairs import BUILTIN_ID, load_catalogue
from localspec.runtime.load import OpenPair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.sampling import build_sampling

PROMPTS = (
    "Tell me a story about a fox",
    "What is speculative decoding?",
    "How do I get a real pair?",
    "Write a Python function for the factorial.",
    "Count from 1 to 20.",
    "Why is it lossless?",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """Figures of a reply without guesses and of one with them."""

    plain: Timings
    guessing: Timings

    @property
    def ratio(self) -> float:
        return _per_second(self.guessing) / _per_second(self.plain)


def main() -> None:
    """Measure in turns and print a table."""
    given = _given()
    if given.cpu_time:
        time.perf_counter = time.process_time
    spec = tuple(given.spec.split(",")) if given.spec else None
    print("| prompt | tokens | plain tokens/s | with guesses | x plain | from | to | tokens a round | accepted |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with _no_calibration():
        turns = _fresh(given, spec) if given.fresh else _together(given, spec)
        medians = [_print_row(prompt, of_prompt) for prompt, of_prompt in turns]
    print(f"\nMedian of the prompts: {statistics.median(medians):.2f} x plain, the slowest {min(medians):.2f}.")


def _together(given: argparse.Namespace, spec: tuple[str, ...] | None) -> Iterator[tuple[str, Sequence[Turn]]]:
    """All prompts in turns by one loaded pair."""
    pair = _open(given.threads, spec)
    turns: dict[str, list[Turn]] = {prompt: [] for prompt in PROMPTS}
    for seed in range(given.repeats):
        for prompt in PROMPTS:
            turns[prompt].append(_turn(pair, prompt, seed, spec))
    pair.close()
    yield from turns.items()


def _fresh(given: argparse.Namespace, spec: tuple[str, ...] | None) -> Iterator[tuple[str, Sequence[Turn]]]:
    """Each prompt as the first one after a load of its own, with a machine that is not known yet."""
    for prompt in PROMPTS:
        turns = []
        for seed in range(given.repeats):
            with _no_calibration():
                pair = _open(given.threads, spec)
            turns.append(_turn(pair, prompt, seed, spec))
            pair.close()
        yield prompt, turns


def _turn(pair: OpenPair, prompt: str, seed: int, spec: tuple[str, ...] | None) -> Turn:
    """The reply with guesses first: nothing was read or learned before it."""
    guessing = _timings(pair, prompt, seed, spec)
    return Turn(_timings(pair, prompt, seed, ()), guessing)


def _timings(pair: OpenPair, prompt: str, seed: int, spec: tuple[str, ...] | None) -> Timings:
    sampling = build_sampling({}, load_catalogue().find(BUILTIN_ID).sampling)
    events = pair.reply([Message(Role.USER, prompt)], ReplyOptions(sampling, spec, seed=seed))
    return next(event.timings for event in events if isinstance(event, Finished))


def _open(threads: int | None, spec: tuple[str, ...] | None) -> OpenPair:
    files = load_catalogue().find(BUILTIN_ID).files(spec or ())
    return open_pair(LoadOptions(files.target, files.draft, threads=threads), Cancellation())


@contextmanager
def _no_calibration() -> Iterator[None]:
    """A folder of its own for measured prices, so that they are measured anew."""
    before = os.environ.get("LOCALSPEC_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCALSPEC_HOME"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["LOCALSPEC_HOME"]
            else:
                os.environ["LOCALSPEC_HOME"] = before


def _print_row(prompt: str, turns: Sequence[Turn]) -> float:
    """Print the figures of a prompt; returns the median ratio."""
    ratios = [turn.ratio for turn in turns]
    ratio = statistics.median(ratios)
    tokens = statistics.median(turn.guessing.predicted_n for turn in turns)
    plain, guessing = (
        statistics.median(map(_per_second, timings))
        for timings in ([turn.plain for turn in turns], [turn.guessing for turn in turns])
    )
    length = statistics.median(turn.guessing.mean_acceptance_length or 1.0 for turn in turns)
    accepted = statistics.median(turn.guessing.draft_acceptance_rate or 0.0 for turn in turns)
    spread = f"{ratio:.2f} | {min(ratios):.2f} | {max(ratios):.2f}"
    print(
        f"| {prompt} | {tokens:.0f} | {plain:.0f} | {guessing:.0f} | {spread} | {length:.2f} | {accepted:.0%} |",
        flush=True,
    )
    return ratio


def _per_second(timings: Timings) -> float:
    return timings.predicted_per_second or 0.0


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--spec", default="")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
