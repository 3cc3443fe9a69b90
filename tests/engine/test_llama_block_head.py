"""DFlash and DSpark heads that llama.cpp evaluates: against a loop of our own, a fresh start, and plain replies."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.backends.llama import device_ranking
from localspec.engine.backends.llama.block_head import BLOCK_BATCH_TOKENS, LlamaBlockHead
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.block_head import Block, BlockHead, BlockModel
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.drafters.dflash import DFlashDrafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Round
from localspec.engine.head import HeadInputs
from localspec.engine.loop import Request, generate
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.settings import Sampling
from localspec.runtime.opened_models import open_head
from tests.builtin import ON_GPU, RANDOM_ROUNDING
from tests.tiny_heads import FAVOURED, MASK_TOKEN, TinyHead, favour_few, write_head
from tests.tiny_models import N_VOCAB, WIDTH, write_tiny

N_CTX = 256
NOISE = 0.01 * RANDOM_ROUNDING
"""How far scores may differ between batch shapes; those of these models spread over some fifteen."""

RANKED_N = 4
"""Tokens that a ranked place has here, of 100."""

KINDS = {
    "dflash": TinyHead("dflash", n_layers=2),
    "part": TinyHead("dflash", part=(3, *FAVOURED, 97), own_output=True),
    "dspark": TinyHead("dflash", markov_rank=8, confidence=True),
    "dspark with an anchor": TinyHead("dflash", markov_rank=8, sample_from_anchor=False),
    "multimodal positions": TinyHead("dflash", rope_sections=(16, 0, 0, 0)),
}


def settings_of(path: Path, head: TinyHead | None = None, *, ranked: bool = False) -> LoadSettings:
    # Fused attention and half precision round otherwise for one token than for many, which these models blow up.
    settings = LoadSettings(path, 17, N_CTX, 1, cache_type_k="f32", cache_type_v="f32", flash_attn=False)
    settings = replace(settings, ranked_on_device=ranked)
    if head is None:
        return settings
    dspark = head.markov_rank > 0
    return replace(settings, batch_tokens=BLOCK_BATCH_TOKENS, dspark=dspark, confidence=head.confidence)


@dataclass
class Pair:
    """A target, a head that is asked, and the files of both."""

    folder: Path
    kind: TinyHead
    cancel: Cancellation
    target: LlamaModel
    head: LlamaBlockHead
    inputs: HeadInputs[BlockHead]

    def fresh(self, text: Sequence[int], n: int) -> Block:
        """The block after ``text`` by a target and a head that have read nothing else."""
        with opened(self.folder, self.kind) as pair:
            pair.target.logits(text[:-1], 0)
            return copied(BlockModel(pair.inputs).block(text, n))

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.head.close()
        self.target.close()


def opened(folder: Path, kind: TinyHead, architecture: str = "llama", *, ranked: bool = False) -> Pair:
    target_path = folder / "target.gguf"
    if not target_path.exists():
        write_tiny(target_path, architecture, spoil=favour_few)
    path = folder / "head.gguf"
    if not path.exists():
        write_head(path, kind)
    cancel = Cancellation()
    target = LlamaModel.open(settings_of(target_path), cancel)
    head = LlamaBlockHead.load(settings_of(path, kind, ranked=ranked), target, cancel)
    return Pair(folder, kind, cancel, target, head, HeadInputs(head, target.keep_hidden(head.read_layers)))


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with opened(tmp_path, request.param) as pair:
        yield pair


def tokens(chance: random.Random, n: int) -> list[int]:
    return [chance.randrange(4, MASK_TOKEN) for _ in range(n)]


def copied(block: Block) -> Block:
    return Block(np.array(block.scores), None if block.confidence is None else block.confidence.copy())


def assert_close(block: Block, other: Block) -> None:
    finite = np.isfinite(other.scores)
    assert np.array_equal(np.isfinite(block.scores), finite)
    assert np.abs(block.scores[finite] - other.scores[finite]).max() < NOISE
    assert (block.confidence is None) == (other.confidence is None)
    if block.confidence is not None and other.confidence is not None:
        assert np.abs(block.confidence - other.confidence).max() < NOISE


class Loop:
    """DFlash in the plainest way: a few calls of llama.cpp for one text."""

    def __init__(self, target: LoadedModel, head: LoadedModel) -> None:
        self.c, self.functions = native().c, hidden_functions()
        self.target, self.head = target, head
        self.kept: list[object] = []

    def batch(self, at: int, ids: Sequence[int] | None, rows: np.ndarray[Any, Any] | None, scored: bool) -> Any:
        n = len(ids) if ids is not None else len(rows) if rows is not None else 0
        batch = self.c.llama_batch()
        batch.n_tokens = n
        if ids is not None:
            batch.token = (ctypes.c_int32 * n)(*ids)
        if rows is not None:
            rows = np.ascontiguousarray(rows, np.float32)
            batch.embd = rows.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        batch.pos = (ctypes.c_int32 * (4 * n))(*[*range(at, at + n)] * 3)  # rows may have four positions each
        batch.logits = (ctypes.c_int8 * n)(*[scored] * n)
        self.kept.append((batch, rows))
        return batch

    def block(self, text: Sequence[int], layers: Sequence[int], n: int) -> np.ndarray[Any, Any]:
        """The scores of the last token and ``n`` masks behind it."""
        for layer in layers:
            self.functions.set_layer(self.target.context, layer, True)
        read_n = len(text) - 1
        assert self.c.llama_decode(self.target.context, self.batch(0, text[:-1], None, scored=False)) == 0
        parts = [self.functions.get_layer(self.target.context, layer) for layer in layers]
        features = np.concatenate([np.ctypeslib.as_array(part, (read_n, WIDTH)) for part in parts], axis=1)
        self.c.llama_set_causal_attn(self.head.context, False)
        assert self.c.llama_decode(self.head.context, self.batch(0, None, features, scored=False)) == 0
        ids = [text[-1], *[MASK_TOKEN] * n]
        assert self.c.llama_decode(self.head.context, self.batch(read_n, ids, None, scored=True)) == 0
        scores = self.c.llama_get_logits_ith(self.head.context, 0)
        rows: np.ndarray[Any, Any] = np.ctypeslib.as_array(scores, (n + 1, N_VOCAB)).copy()
        return rows


@pytest.mark.parametrize("n", [1, 4, 7])
def test_a_block_is_what_a_loop_of_our_own_computes(pair: Pair, n: int) -> None:
    """From the same file: its layers in its order, at the target's positions, the right rows."""
    text = tokens(random.Random(1), 20)
    anchored = not pair.kind.markov_rank or pair.kind.sample_from_anchor is False
    target = load(native(), settings_of(pair.folder / "target.gguf"), Cancellation())
    head = load(native(), settings_of(pair.folder / "head.gguf", pair.kind), Cancellation(), target=target)
    expected = Loop(target, head).block(text, pair.kind.target_layers or (), n if anchored else n - 1)
    head.free()
    target.free()
    pair.target.logits(text[:-1], 0)
    assert_close(
        Block(copied(BlockModel(pair.inputs).block(text, n)).scores), Block(expected[1:] if anchored else expected)
    )


def test_a_block_is_the_same_as_after_a_fresh_start(pair: Pair) -> None:
    """Through verifications that refuse some, edits, and long pieces: no row is stale, and none is missing."""
    assert_same_as_fresh(pair, 25)


def test_a_target_that_takes_back_a_state_leaves_no_stale_row_either(tmp_path: Path) -> None:
    """It reads some tokens again, whose rows are taken again."""
    kind = TinyHead("dflash", rope_sections=(16, 0, 0, 0))
    with opened(tmp_path, kind, "qwen35") as pair:
        assert pair.target.replay_n
        assert_same_as_fresh(pair, 15)


def assert_same_as_fresh(pair: Pair, rounds_n: int) -> None:
    chance, model = random.Random(2), BlockModel(pair.inputs)
    text = tokens(chance, 90)
    pair.target.logits(text[:-1], 0)
    for _ in range(rounds_n):
        n = chance.randint(1, pair.head.block_n)
        assert_close(copied(model.block(text, n)), pair.fresh(text, n))
        proposals = tokens(chance, chance.randint(0, 6))
        pair.target.logits(text + proposals, len(proposals) + 1)
        text += proposals[: chance.randint(0, len(proposals))] + tokens(chance, 1)
        if chance.random() < 0.3:
            text = text[: chance.randint(2, len(text))] + tokens(chance, chance.choice([0, 1, 80]))
            text = text[: N_CTX - 20]
            pair.target.logits(text[:-1], 0)


def test_rows_of_another_text_are_none_of_this_one(pair: Pair) -> None:
    """Without rows of the text the head has no ground for guesses, whatever the target has read last."""
    chance, model = random.Random(6), BlockModel(pair.inputs)
    text = tokens(chance, 30)
    pair.target.logits(text[:-1], 0)
    other = [*text[:10], (text[10] + 1) % N_VOCAB, *tokens(chance, 5)]
    assert (model.can_guess(text), model.can_guess(other)) == (True, False)
    assert pair.inputs.hidden.rows(other).end == 10


@pytest.mark.parametrize("depth", [1, 3, 7])
def test_greedy_replies_are_those_without_it(pair: Pair, depth: int) -> None:
    """Alone and beside the suffix drafter, one conversation after another; some of its proposals are right."""
    chance = random.Random(3)
    alone, beside = DFlashDrafter(BlockModel(pair.inputs)), SuffixDrafter()
    accepted_n = proposed_n = 0
    for _ in range(12):
        prompt = tokens(chance, chance.randint(2, 40))
        expected, _ = reply(pair, [], prompt, depth)
        mixes: tuple[list[Drafter], ...] = ([alone], [beside, alone])
        for drafters in mixes:
            found, rounds = reply(pair, drafters, prompt, depth)
            assert found == expected
            accepted_n += sum(token.drafter == "dflash" for round_ in rounds for token in round_.tokens)
            proposed_n += sum(round_.depth for round_ in rounds)
    assert 0.02 * proposed_n < accepted_n < proposed_n


def reply(
    pair: Pair, drafters: Sequence[Drafter], prompt: list[int], depth: int, sampler: Sampler | None = None
) -> tuple[list[int], list[Round]]:
    request = Request(prompt, sampler or Greedy(), SeededRng(0), FixedDepth(depth), max_tokens=30)
    rounds = [event for event in generate(pair.target, drafters, request, pair.cancel) if isinstance(event, Round)]
    assert not any(round_.failures for round_ in rounds)
    return [token.id for round_ in rounds for token in round_.tokens], rounds


def test_the_first_layers_rows_are_the_tokens_embeddings(tmp_path: Path) -> None:
    """Side by side with the others', in the order of the head's file."""
    for layers, at in (((0, 2), 0), ((2, 0), WIDTH)):
        (tmp_path / "head.gguf").unlink(missing_ok=True)
        with opened(tmp_path, TinyHead("dflash", target_layers=layers)) as pair:
            text = tokens(random.Random(4), 10)
            pair.target.logits(text, 0)
            rows = pair.inputs.hidden.rows(text).rows
            assert np.shares_memory(rows, pair.inputs.hidden.rows(text).rows), "asking for rows copies none"
        embedding = embeddings(tmp_path / "target.gguf")
        assert np.allclose(rows[:, at : at + WIDTH], embedding[text], atol=1e-5)


def embeddings(path: Path) -> np.ndarray[Any, Any]:
    tensors = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
    return np.array(tensors["token_embd.weight"])


@pytest.mark.parametrize(
    ("kind", "block_n"),
    [
        (TinyHead("dflash"), 7),
        (TinyHead("dflash", block_size=None), 15),
        (TinyHead("dflash", block_size=500), 16),
        (TinyHead("dflash", block_size=4, markov_rank=4), 4),
        (TinyHead("dflash", block_size=4, markov_rank=4, sample_from_anchor=False), 3),
    ],
)
def test_a_block_has_as_many_places_as_were_trained(tmp_path: Path, kind: TinyHead, block_n: int) -> None:
    """At most as many as rounds have proposals."""
    with opened(tmp_path, kind) as pair:
        assert pair.head.block_n == block_n
        pair.target.logits([5, 6, 7], 0)
        assert len(BlockModel(pair.inputs).block([5, 6, 7, 8], block_n).scores) == block_n


def test_only_a_head_that_was_trained_for_it_tells_its_confidence(tmp_path: Path) -> None:
    for confidence in (False, True):
        (tmp_path / "head.gguf").unlink(missing_ok=True)
        with opened(tmp_path, TinyHead("dflash", markov_rank=4, confidence=confidence)) as pair:
            pair.target.logits([5, 6, 7], 0)
            block = BlockModel(pair.inputs).block([5, 6, 7, 8], 3)
            assert (block.confidence is not None) is confidence
            if block.confidence is not None:
                assert block.confidence.shape == (3,)
                assert ((block.confidence > 0) & (block.confidence < 1)).all()


def test_tokens_that_it_cannot_propose_have_no_chance(tmp_path: Path) -> None:
    part = (3, *FAVOURED, 97)
    with opened(tmp_path, TinyHead("dflash", part=part, own_output=True)) as pair:
        pair.target.logits([5, 6, 7], 0)
        scores = BlockModel(pair.inputs).block([5, 6, 7, 8], 2).scores
        assert [sorted(np.flatnonzero(np.isfinite(row))) for row in scores] == [sorted(part)] * 2


def test_after_a_cancelled_evaluation_it_goes_on_as_before(pair: Pair) -> None:
    text = tokens(random.Random(5), 100)
    model = BlockModel(pair.inputs)
    pair.target.logits(text[:-1], 0)
    pair.cancel.set()
    with pytest.raises(Cancelled):
        model.block(text, 2)
    pair.cancel.clear()
    assert_close(copied(model.block(text, 2)), pair.fresh(text, 2))


def test_a_target_that_hands_over_no_rows_is_refused(tmp_path: Path) -> None:
    """Before llama.cpp would end the process."""
    head = write_head(tmp_path / "head.gguf", TinyHead("dflash"))
    target = LlamaModel.open(settings_of(write_tiny(tmp_path / "gemma3.gguf", "gemma3")), Cancellation())

    cancel = Cancellation()
    with ExitStack() as resources:
        resources.callback(target.close)
        with pytest.raises(DrafterUnavailableError, match="gemma3"):
            open_head(
                "dflash", settings_of(head, TinyHead("dflash")), target, target.keep_hidden, cancel, None, resources
            )


@pytest.fixture(params=["dflash", "part"])
def both(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Pair, Pair]]:
    """A pair whose head ranks, and one whose head does not."""
    monkeypatch.setattr(device_ranking, "KEPT_N", RANKED_N)
    kind = KINDS[request.param]
    with opened(tmp_path, kind, ranked=True) as ranks, opened(tmp_path, kind) as whole:
        yield ranks, whole


def test_a_head_that_ranks_hands_over_the_best_of_all_scores(both: tuple[Pair, Pair]) -> None:
    """For blocks of every size behind texts that change; all scores may be asked for in between."""
    chance, (ranks, whole) = random.Random(7), both
    model, plain = BlockModel(ranks.inputs), BlockModel(whole.inputs)
    for number in range(30):
        text, n = tokens(chance, chance.randint(2, 60)), chance.randint(1, ranks.head.block_n)
        for pair in both:
            pair.target.logits(text[:-1], 0)
        expected = copied(plain.block(text, n))
        if number % 3 == 0:
            assert_close(copied(model.block(text, n)), expected)
        likeliest = model.block(text, n, ranked=True).likeliest
        assert likeliest is not None
        assert len(likeliest) == n
        for few, row in zip(likeliest, expected.scores, strict=True):
            assert len(few.ids) == min(RANKED_N, np.isfinite(row).sum())
            assert (np.diff(few.ids) > 0).all()
            assert np.abs(few.scores - row[few.ids]).max() < NOISE
            assert np.delete(row, few.ids).max() <= few.scores.min() + NOISE


def test_replies_with_ranked_blocks_are_those_with_whole_ones(both: tuple[Pair, Pair]) -> None:
    """Greedily, proposal by proposal; a sampler held to a grammar needs all scores."""
    chance, vocab, accepted_n = random.Random(8), both[0].target.vocab, 0
    drafters = [DFlashDrafter(BlockModel(pair.inputs)) for pair in both]
    for number in range(16):
        prompt = tokens(chance, chance.randint(2, 40))
        sampling = Sampling(temperature=0.0, grammar="root ::= [a-p]+" if number % 3 == 2 else None)
        (found, rounds), (expected, others) = (
            reply(pair, [drafter], prompt, 5, make_sampler(sampling, vocab.n_vocab, vocab, prompt))
            for pair, drafter in zip(both, drafters, strict=True)
        )
        assert ON_GPU or found == expected  # greedy replies of random weights hang on rounding
        assert ON_GPU or [round_.rejected for round_ in rounds] == [round_.rejected for round_ in others]
        accepted_n += sum(token.drafter == "dflash" for round_ in rounds for token in round_.tokens)
    assert accepted_n > 16


def test_a_device_that_cannot_rank_blocks_is_asked_once(
    both: tuple[Pair, Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And gives all scores then and from now on."""
    asked = []

    def none_kept(context: object, place: int) -> int:
        asked.append(place)
        return 0

    monkeypatch.setattr(native().c, "llama_get_sampled_candidates_count_ith", none_kept)
    chance, (ranks, whole) = random.Random(9), both
    model, plain = BlockModel(ranks.inputs), BlockModel(whole.inputs)
    for _ in range(3):
        text = tokens(chance, 20)
        for pair in both:
            pair.target.logits(text[:-1], 0)
        assert_close(copied(model.block(text, 4, ranked=True)), copied(plain.block(text, 4)))
        assert model.likeliest(text) is None
    assert len(asked) == 1


def test_a_chain_over_a_blocks_scores_has_all_of_them(tmp_path: Path) -> None:
    """DSpark's Markov head computes them from each other."""
    with opened(tmp_path, KINDS["dspark"], ranked=True) as pair:
        pair.target.logits([5, 6, 7], 0)
        model = BlockModel(pair.inputs)
        assert model.likeliest([5, 6, 7, 8]) is None
        assert model.block([5, 6, 7, 8], 3, ranked=True).likeliest is None
