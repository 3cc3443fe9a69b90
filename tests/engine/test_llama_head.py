"""Heads that llama.cpp evaluates: however many pairs are read at once, the answer is that to the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from localspec.engine.backends.llama.head import ENCODED_N, LlamaHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation
from localspec.engine.head import HeadInputs, HeadStep
from tests.tiny_heads import TinyHead, write_head, write_mtp_target
from tests.tiny_models import write_tiny

TEXT = [3 + (7 * n) % 90 for n in range(60)]
N_CTX = 128


def settings_of(path: Path, outputs_n: int = 1, *, mtp: bool = False) -> LoadSettings:
    return LoadSettings(path, outputs_n, n_ctx=N_CTX, threads=1, mtp=mtp)


def open_eagle3(folder: Path) -> tuple[LlamaModel, LlamaHead, HeadInputs]:
    target = LlamaModel.open(settings_of(write_tiny(folder / "target.gguf", "llama")), Cancellation())
    head = write_head(folder / "head.gguf", TinyHead())
    return target, *LlamaHead.open_eagle3(settings_of(head, ENCODED_N), target, Cancellation(), None)


def open_mtp(folder: Path) -> tuple[LlamaModel, LlamaHead, HeadInputs]:
    settings = settings_of(write_mtp_target(folder / "target.gguf"), mtp=True)
    target = LlamaModel.open(settings, Cancellation())
    return target, *LlamaHead.open_mtp(settings, target, Cancellation())


@pytest.fixture(params=[open_eagle3, open_mtp], ids=["eagle3", "mtp"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[LlamaModel, LlamaHead, HeadInputs]]:
    opener: Callable[[Path], tuple[LlamaModel, LlamaHead, HeadInputs]] = request.param
    target, head, inputs = opener(tmp_path)
    yield target, head, inputs
    head.close()
    target.close()


def read_in(head: LlamaHead, rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]], sizes: Sequence[int]) -> HeadStep:
    """The answer after reading pairs in groups of these sizes, each with an answer."""
    head.forget()
    at, step = 0, None
    for size in sizes:
        step = head.read(TEXT[at + 1 : at + size + 1], rows[at : at + size], at, scored=True)
        at += size
    assert step is not None
    return HeadStep(step.scores.copy(), step.hidden)


@pytest.mark.parametrize("sizes", [[1] * 39 + [2], [30, 8, 3], [41]])
def test_pairs_read_at_once_are_answered_as_one_by_one(
    opened: tuple[LlamaModel, LlamaHead, HeadInputs], sizes: list[int]
) -> None:
    """As after a draft of which all was accepted, when several pairs are read before the next proposal."""
    target, head, inputs = opened
    target.logits(TEXT[:41], 0)
    rows = head.encode(inputs.hidden.rows(TEXT[:41]).rows)
    alone, together = read_in(head, rows, [1] * 41), read_in(head, rows, sizes)
    assert np.allclose(alone.scores, together.scores, atol=1e-3)
    assert np.allclose(alone.hidden, together.hidden, atol=1e-3)
