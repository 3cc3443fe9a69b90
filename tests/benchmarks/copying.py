"""What the suffix drafter alone makes of copying and of editing a page that it has never seen.

    python -m tests.benchmarks.copying --target bench-target.gguf [--threads 2] [--repeats 3]

The toy that the bench pair is made of cannot copy foreign text, so the sampler dictates what is to be written: what a
model would write that copies without a mistake, or exchanges a name and adds a sentence. Every evaluation and every
round is real, and the drafter knows the page from the prompt alone; only the choice of words is taken from the target.
Plain decoding is dictated the same, in turns.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.config.table import AUTO_MAX_DEPTH
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Finished, Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.runtime.calibration import measure_costs, plain_round
from localspec.runtime.measuring_progress import MeasuringProgress

PAGE = """\
The old ferry at Marrow Point crosses the channel nine times a day. Greta Lindqvist has steered it since her \
uncle retired, and she knows every sandbank by the colour of the water above it. In March the herring come close \
to the shore, and boats from four villages lie across her way with their nets out. She rings the bell twice, \
waits, and goes round them. Tourists ask her why she does not simply shout. Greta Lindqvist says that a bell is \
heard by people, and a shout only by the wind.

Last winter the ice took the northern pier. The council met in the school, counted what was left in the harbour \
fund, and decided to build in stone. Greta Lindqvist carried the first blocks over on the ferry herself, forty \
at a time, so low that waves washed the wheelhouse steps. When the last block was set, the mason cut the year \
into it, and a bell."""
EDITED = PAGE.replace("Greta Lindqvist", "Mathilda Okafor").replace(
    "The council met", "Nobody had expected it. The council met"
)
TASKS = {
    "copying": ("Repeat this page word for word.", PAGE),
    "editing": ("Repeat this page, but call her Mathilda Okafor.", EDITED),
}
N_CTX = 1024


@dataclass(slots=True)
class Dictated:
    """Reads the target's scores as greedy decoding does, and says the next word of the page all the same."""

    words: Sequence[int]
    said_n: int = 0

    stateless = False

    def dist(self, row: Logits) -> Dist:
        assert row.argmax() >= 0
        return Dist.point(self.words[min(self.said_n, len(self.words) - 1)])

    def accept(self, token: int) -> None:
        self.said_n += 1

    def fork(self) -> Dictated:
        return Dictated(self.words, self.said_n)


def main() -> None:
    """Measure in turns and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    cancel = Cancellation()
    settings = LoadSettings(given.target, AUTO_MAX_DEPTH + 1, N_CTX, given.threads, flash_attn=False, large_pages=True)
    target = LlamaModel.open(settings, cancel)
    some = list(range(100, 164))
    alone = plain_round(target, some, cancel, MeasuringProgress())
    costs = measure_costs(target, {}, some, alone, AUTO_MAX_DEPTH + 1, MeasuringProgress())
    adaptive = AdaptiveDepth(costs, min(AUTO_MAX_DEPTH, costs.largest - 1))
    for task, (order, page) in TASKS.items():
        prompt, words = (target.vocab.tokenize(text, special=False) for text in (f"{order}\n\n{PAGE}\n\n", page))
        speeds: dict[str, list[float]] = {"plain": [], "suffix": []}
        for _ in range(given.repeats):
            speeds["plain"].append(_speed(target, [], FixedDepth(0), prompt, words))
            speeds["suffix"].append(_speed(target, [SuffixDrafter()], adaptive, prompt, words))
        plain, suffix = (statistics.median(found) for found in speeds.values())
        ratios = [s / p for p, s in zip(speeds["plain"], speeds["suffix"], strict=True)]
        print(f"{task} {len(words)} tokens: {suffix / plain:.2f} x plain ({min(ratios):.2f} to {max(ratios):.2f})")
    target.close()


def _speed(
    target: LlamaModel, drafters: list[Drafter], policy: DepthPolicy, prompt: list[int], words: list[int]
) -> float:
    """Tokens a second, the prompt read."""
    request = Request(prompt, Dictated(words), SeededRng(0), policy, max_tokens=len(words))
    said: list[int] = []
    for event in generate(target, drafters, request, Cancellation()):
        if isinstance(event, Round):
            said += [token.id for token in event.tokens]
        elif isinstance(event, Finished):
            assert len(said) == len(words)
            assert said == words
            assert event.timings.predicted_per_second
            return event.timings.predicted_per_second
    raise AssertionError("the reply has no end")


if __name__ == "__main__":
    main()
