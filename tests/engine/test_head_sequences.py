"""Sequences of a head in one llama.cpp context: none reads another's pairs, or another's rows of the target."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.engine.backends.llama.block_head import LlamaBlockHead
from localspec.engine.backends.llama.head import LlamaHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.sequences import LlamaSequences
from localspec.engine.batched_head import SequenceBlockHead, SequenceHead
from localspec.engine.batching import ContinuousBatch, TextQuestion
from localspec.engine.block_head import BlockModel
from localspec.engine.cancel import Cancellation
from localspec.engine.head import HeadInputs, HeadModel
from tests.builtin import ROUNDING
from tests.tiny_heads import TinyHead, write_head, write_mtp_target
from tests.tiny_models import write_tiny

SEQUENCES_N = 4
N_CTX = 256
NOISE = 0.05 * ROUNDING
"""How far scores may differ between batches of other shapes."""
KINDS = ("eagle3", "glm4moe", "dflash")
"""An EAGLE-3 head, an MTP layer, and a DFlash head."""

Scores = NDArray[np.float32]


class Both:
    """A target and its head: with several sequences, and again with one."""

    def __init__(self, kind: str, folder: Path) -> None:
        target, head = files(kind, folder)
        self.kind = kind
        one = LoadSettings(target, 17, n_ctx=N_CTX, threads=1, flash_attn=False, mtp=head == target)
        many = replace(one, n_ctx=N_CTX * SEQUENCES_N, sequences=SEQUENCES_N, max_outputs=64)
        cancel = Cancellation()
        self.pool = LlamaSequences.open(many, cancel, n_ctx=N_CTX)
        self.head = self._loaded(replace(many, path=head), self.pool)
        self.batch = ContinuousBatch([self.head, self.pool])
        self.models = [self._model(sequence) for sequence in range(SEQUENCES_N)]
        self.alone = LlamaModel.open(one, cancel)
        self.alone_head = self._loaded(replace(one, path=head), self.alone)
        self.inputs = HeadInputs(self.alone_head, self.alone.keep_hidden(self.alone_head.read_layers))

    def _loaded(self, settings: LoadSettings, target: LlamaModel | LlamaSequences) -> Any:
        if self.kind == "dflash":
            return LlamaBlockHead.load(settings, target, Cancellation())
        settings = replace(settings, max_outputs=8)
        return LlamaHead.load(settings, target, Cancellation(), encodes=self.kind == "eagle3")

    def _model(self, sequence: int) -> HeadModel | BlockModel:
        kind = SequenceBlockHead if self.kind == "dflash" else SequenceHead
        head = kind(self.batch, self.head, sequence, N_CTX)
        return self._over(HeadInputs(head, self.pool.keep_hidden(sequence, self.head.read_layers)))

    def _over(self, inputs: HeadInputs[Any]) -> HeadModel | BlockModel:
        if self.kind == "dflash":
            return BlockModel(inputs)
        return HeadModel(inputs, shift=1 if self.kind == "eagle3" else 0)

    def read(self, texts: dict[int, list[int]]) -> None:
        """Have the target evaluate the texts of these sequences together."""
        self.pool.answer([TextQuestion(sequence, text, 1) for sequence, text in texts.items()])

    def scores(self, contexts: dict[int, list[int]]) -> dict[int, Scores]:
        """The head's scores after the contexts of these sequences, which ask together."""
        found: dict[int, Scores] = {}

        def ask(sequence: int, context: list[int]) -> None:
            found[sequence] = self._scores(self.models[sequence], context)

        for asked in contexts.items():
            self.batch.begin(partial(ask, *asked), Cancellation())
        while self.batch.step():
            pass
        return found

    def alone_scores(self, text: Sequence[int], context: Sequence[int]) -> Scores:
        """Those of a head that has read all of the text from the beginning, and nothing else."""
        self.alone.hold_at_most(0)
        self.alone_head.forget()
        self.alone.logits(text, 1)
        return self._scores(self._over(self.inputs), context)

    def _scores(self, model: HeadModel | BlockModel, context: Sequence[int]) -> Scores:
        """After the context, or for the places after the text of a block head, whose guesses are of no use to it."""
        if isinstance(model, BlockModel):
            return finite(model.block(context, 3).scores)
        return finite(model.logits(context, 1)[0])

    def close(self) -> None:
        for each in (self.alone_head, self.alone, self.head, self.pool):
            each.close()


def files(kind: str, folder: Path) -> tuple[Path, Path]:
    if kind in ("eagle3", "dflash"):
        return write_tiny(folder / "target.gguf", "llama"), write_head(folder / "head.gguf", TinyHead(kind))
    return (write_mtp_target(folder / "target.gguf", kind),) * 2


def finite(scores: Any) -> Scores:
    """A copy with 0 for what cannot be proposed."""
    return np.where(np.isfinite(scores), scores, 0)


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    opened = Both(request.param, tmp_path_factory.mktemp("heads"))
    yield opened
    opened.close()


def drawn(chance: random.Random, n: int) -> list[int]:
    return [chance.randrange(3, 90) for _ in range(n)]


def test_each_sequence_has_the_scores_of_a_head_alone(both: Both) -> None:
    """Texts that grow, are cut and edited, of some sequences or of all, with guesses ahead of the target."""
    chance = random.Random(7)
    texts = {sequence: drawn(chance, 20) for sequence in range(SEQUENCES_N)}
    for _ in range(12):
        asking = sorted(chance.sample(range(SEQUENCES_N), chance.randint(1, SEQUENCES_N)))
        for sequence in asking:
            kept = texts[sequence][: chance.choice([200, 200, 15, 3])][-150:]
            texts[sequence] = [*kept, *drawn(chance, chance.choice([1, 2, 5, 40]))]
        both.read({sequence: texts[sequence] for sequence in asking})
        for ahead_n in range(1, 2 if both.kind == "dflash" else 3):
            contexts = {sequence: [*texts[sequence], *range(5, 5 + ahead_n)] for sequence in asking}
            for sequence, scores in both.scores(contexts).items():
                alone = both.alone_scores(texts[sequence], contexts[sequence])
                assert np.abs(scores - alone).max() < NOISE


def test_a_beginning_that_is_taken_over_comes_with_its_rows(both: Both) -> None:
    """And without those of the text that the sequence held before."""
    chance = random.Random(9)
    both.read({0: (text := drawn(chance, 60)), 1: drawn(chance, 80)})
    both.pool.borrow(1, [*text, 5])
    both.read({1: [*text, 5]})
    context = [*text, 5, 6]
    assert np.abs(both.scores({1: context})[1] - both.alone_scores([*text, 5], context)).max() < NOISE
