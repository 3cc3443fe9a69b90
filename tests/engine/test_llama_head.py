"""Heads that llama.cpp evaluates, on tiny files with random weights: hidden rows, drafts, and texts."""

from __future__ import annotations

import ctypes
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.backends.llama import device_ranking, draft_vocabulary, hidden
from localspec.engine.backends.llama import head as head_module
from localspec.engine.backends.llama.head import OUTPUTS_N, LlamaHead
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import DrafterInputs
from localspec.engine.drafters import make_drafter
from localspec.engine.drafting import draft_round
from localspec.engine.events import Origin, Round
from localspec.engine.head import HeadInputs, HeadModel, HeadStep
from localspec.engine.hidden import FINAL, KEPT_N
from localspec.engine.loop import Request, generate
from localspec.engine.model import Ranking, common_prefix
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.settings import Sampling
from tests.builtin import ON_GPU
from tests.engine.reference import briefly
from tests.tiny_heads import (
    FAVOURED,
    TARGET_LAYERS,
    TinyHead,
    favour_few,
    write_assistant,
    write_gemma4_target,
    write_head,
    write_mtp_target,
    write_step35_target,
)
from tests.tiny_models import N_VOCAB, WIDTH, write_tiny

NOISE = 0.3
"""How far scores may differ between a wide batch and a narrow one."""
KINDS = ("eagle3", "part", "glm4moe", "few", "qwen35", "few35", "step35", "gemma4")
"""An EAGLE-3 head, one with a part of the vocabulary, an MTP layer, that of a hybrid, two of them, an assistant.

"few" and "few35" are the first two MTP layers with a draft vocabulary.
"""
WHOLE_KINDS = tuple(kind for kind in KINDS if not kind.startswith("few"))
FEW_N = 45
FEW = {"draft_vocabulary": True, "draft_tokens": FEW_N}
PART = (*range(0, 40, 3), *FAVOURED[:3])
RANKED_N = 12
"""Tokens that a ranked answer has here, of 100."""


@dataclass(frozen=True)
class Files:
    """A target, and a head in a file of its own or in the target's."""

    target: Path
    head: Path
    name: str = "eagle3"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings to load the head with."""

    @property
    def within(self) -> bool:
        """True if the head is in the target's file."""
        return self.head == self.target


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    folder = tmp_path_factory.mktemp("heads")
    target = write_tiny(folder / "target.gguf", "llama", spoil=favour_few)
    part = TinyHead(part=PART, own_output=True)
    mtp = {kind: write_mtp_target(folder / f"{kind}.gguf", kind) for kind in ("glm4moe", "qwen35")}
    mtp["step35"] = write_step35_target(folder / "step35.gguf")
    gemma4 = write_gemma4_target(folder / "gemma4.gguf")
    return {
        "eagle3": Files(target, write_head(folder / "eagle3.gguf", TinyHead())),
        "part": Files(target, write_head(folder / "part.gguf", part)),
        **{kind: Files(path, path, "mtp") for kind, path in mtp.items()},
        **{few: Files(mtp[kind], mtp[kind], "mtp", FEW) for few, kind in (("few", "glm4moe"), ("few35", "qwen35"))},
        "gemma4": Files(gemma4, write_assistant(folder / "assistant.gguf"), "mtp"),
    }


class Opened:
    """A target with its head."""

    def __init__(self, files: Files, **options: Any) -> None:
        cancel = Cancellation()

        def settings(path: Path, max_outputs: int) -> LoadSettings:
            chosen = {**files.options, **options}
            return LoadSettings(path, max_outputs, n_ctx=1024, threads=1, mtp=files.within, **chosen)

        name = files.name
        self.target = LlamaModel.open(settings(files.target, 17), cancel)
        encodes = name == "eagle3"
        self.head = LlamaHead.load(settings(files.head, OUTPUTS_N[name]), self.target, cancel, encodes=encodes)
        self.inputs = HeadInputs(self.head, self.target.keep_hidden(self.head.read_layers))
        self.name = name
        self.begin_anew()

    def begin_anew(self) -> None:
        """Know nothing of what was read before."""
        self.target.hold_at_most(0)
        self.head.forget()
        self.drafter = make_drafter(self.name, DrafterInputs(self.target.vocab, None, heads={self.name: self.inputs}))
        assert isinstance(self.drafter.model, HeadModel)
        self.model = self.drafter.model

    def scores(self, context: Sequence[int]) -> NDArray[np.float32]:
        """The head's, after the target has read what it has read when a round begins."""
        self.target.logits(context[:-1], 1)
        scores: NDArray[np.float32] = self.model.logits(context, 1)[0].copy()
        return scores

    @property
    def begins_at(self) -> int:
        """The first pair that the head holds: later ones than the first where rows were gone."""
        return self.model._first

    def reply(
        self, prompt: Sequence[int], depth: int, max_tokens: int = 12, sampler: Sampler | None = None
    ) -> list[Round]:
        request = Request(prompt, sampler or Greedy(), SeededRng(0), FixedDepth(depth), max_tokens=max_tokens)
        events = generate(self.target, [self.drafter] if depth else [], request, Cancellation())
        return [event for event in events if isinstance(event, Round)]

    def margin(self, context: Sequence[int], token: int, other: int) -> float:
        """The difference of two tokens' scores by the head: next to nothing for a tie as near as batches differ."""
        row = self.model.logits(context, 1)[0]
        return abs(float(row[token] - row[other]))

    def assert_says(self, prompt: Sequence[int], said: Sequence[int]) -> None:
        """The target alone says the same, begun anew, but for what is a tie as near as batches differ."""
        alone = tokens_of(self.reply(prompt, 0, max_tokens=len(said)))
        same_n = common_prefix(alone, list(said))
        if same_n < len(alone):
            row = self.target.logits([*prompt, *alone[:same_n]], 1)[0]
            assert row[alone[same_n]] - row[said[same_n]] < 0.05

    def close(self) -> None:
        self.head.close()
        self.target.close()


@pytest.fixture(params=[False, True], ids=["whole", "ranked"])
def ranked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """True for heads that hand over the likeliest tokens alone."""
    monkeypatch.setattr(device_ranking, "KEPT_N", RANKED_N)
    return bool(request.param)


@pytest.fixture(autouse=True)
def as_real_heads_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide, with draft vocabularies that never hold all tokens, and serve nevertheless."""
    monkeypatch.setattr(head_module, "WIDE", 0)
    monkeypatch.setattr(draft_vocabulary, "_ADDED_N", 16)
    monkeypatch.setattr(draft_vocabulary, "_MOST_MISSING", 2.0)


@pytest.fixture(params=KINDS)
def opened(files: dict[str, Files], request: pytest.FixtureRequest) -> Iterator[Opened]:
    opened = Opened(files[request.param])
    yield opened
    opened.close()


def test_a_hybrid_that_keeps_snapshots_takes_refused_proposals_back(files: dict[str, Files]) -> None:
    """Without reading them again, and so do the rows of its hidden states."""
    opened = Opened(files["qwen35"], snapshots=8)
    assert not opened.target.replay_n
    for depth, prompt in enumerate(prompts(20, seed=6)):
        rounds = opened.reply(prompt, 1 + depth % 6)
        opened.assert_says(prompt, tokens_of(rounds))
    opened.close()


def tokens_of(rounds: Sequence[Round]) -> list[int]:
    assert not any(round_.failures for round_ in rounds)
    return [token.id for round_ in rounds for token in round_.tokens]


def prompts(n: int, seed: int = 0) -> list[list[int]]:
    source = random.Random(seed)
    return [tokens(source, source.randint(1, 60)) for _ in range(n)]


def tokens(source: random.Random, n: int) -> list[int]:
    return [source.randrange(3, 90) for _ in range(n)]


def test_replies_are_what_the_target_says_alone(opened: Opened) -> None:
    """Greedily, over 100 prompts, with proposals that are accepted and others that are not."""
    origins: set[Origin] = set()
    for depth, prompt in enumerate(prompts(100)):
        rounds = opened.reply(prompt, 1 + depth % 6)
        opened.assert_says(prompt, tokens_of(rounds))
        origins |= {token.origin for round_ in rounds for token in round_.tokens}
    assert origins >= {Origin.ACCEPTED, Origin.CORRECTED}


@pytest.mark.parametrize("kind", KINDS)
def test_edits_stops_and_follow_ups_leave_nothing_stale(files: dict[str, Files], kind: str, ranked: bool) -> None:
    """75 replies of a conversation that is cut, edited, asked again and gone on with: each as if begun anew."""
    source, text = random.Random(1), [5, 17, 33]
    opened, fresh = Opened(files[kind], ranked_on_device=ranked), Opened(files[kind])
    for turn in range(75):
        if turn % 4:
            text = text[: source.randint(1, len(text))] if turn % 3 else text
            text = [*text, *(source.randrange(3, 90) for _ in range(source.choice([1, 5, 30, 300])))]
        text = text[-700:]
        max_tokens = source.randint(1, 12)
        said = tokens_of(opened.reply(text, source.choice([0, 1, 3, 5]), max_tokens=max_tokens))
        fresh.begin_anew()
        fresh.assert_says(text, said)
        if turn % 5 == 0:
            ahead = [*text, *said]
            fresh.begin_anew()
            opened_scores, fresh_scores = opened.scores(ahead), fresh.scores(ahead)
            if opened.begins_at == fresh.begins_at:
                both = np.isfinite(opened_scores) & np.isfinite(fresh_scores)  # a draft vocabulary knows what it read
                assert sum(both) >= len(PART)
                assert np.allclose(opened_scores[both], fresh_scores[both], atol=NOISE)
        text = [*text, *said] if turn % 7 else text
    fresh.close()
    opened.close()


def finite(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """With 0 for what cannot be proposed."""
    return np.where(np.isfinite(scores), scores, 0)


@pytest.mark.parametrize("opened", [kind for kind in KINDS if not (ON_GPU and kind == "gemma4")], indirect=True)
@pytest.mark.parametrize("sizes", [[1] * 39 + [2], [30, 8, 3], [41]])
def test_pairs_read_at_once_are_answered_as_one_by_one(opened: Opened, sizes: list[int]) -> None:
    """As after a draft of which all was accepted, when several pairs are read before the next proposal.

    An assistant looks into the target's cache, which is empty here: on a GPU its scores are not numbers then.
    """
    text = prompts(1, seed=3)[0][:1] * 2 + [3 + (7 * n) % 87 for n in range(40)]
    opened.target.logits(text, 0)
    rows = opened.head.encode(opened.inputs.hidden.rows(text).rows)
    alone, together = read_in(opened.head, text, rows, [1] * 41), read_in(opened.head, text, rows, sizes)
    assert np.allclose(finite(alone.scores), finite(together.scores), atol=NOISE)
    assert np.allclose(alone.hidden, together.hidden, atol=NOISE)


def read_in(head: LlamaHead, text: Sequence[int], rows: NDArray[np.float32], sizes: Sequence[int]) -> HeadStep:
    """The answer after reading pairs in groups of these sizes, each with an answer."""
    head.forget()
    at, step = 0, None
    for size in sizes:
        step = head.read(text[at + 1 : at + size + 1], rows[at : at + size], at, scored=True)
        at += size
    assert step is not None
    return HeadStep(step.scores.copy(), step.hidden)


class Plainly:
    """The control flow of llama.cpp's own drafting, on contexts of its own, call by call."""

    def __init__(self, files: Files) -> None:
        self.c, self.functions = native().c, hidden_functions()
        self.mtp, self.within = files.name == "mtp", files.within
        self.models = [self._model(path) for path in dict.fromkeys((files.target, files.head))]
        self.layers_n = self.c.llama_model_n_layer_nextn(self.models[0]) if files.within else 1
        self.target = self._context(self.models[0], None)
        self.head = self._context(self.models[-1], self.target)
        self.functions.set_final(self.head, True, True)
        for layer in () if self.mtp else TARGET_LAYERS:
            self.functions.set_layer(self.target, layer, True)
        if self.mtp:
            self.functions.set_final(self.target, True, False)

    def drafts(self, tokens: Sequence[int], n: int) -> list[int]:
        """The likeliest proposals after ``tokens``, of which the target reads all but the last."""
        *text, token = tokens
        rows, pairs_at = self._rows(text), len(text) - (not self.mtp)
        hidden, found = rows[-1:], []
        if self.within:
            for layer in range(self.layers_n):
                self._begin(layer, 0)
                self._decode(self.head, text, np.vstack([np.zeros_like(rows[:1]), rows[:-1]]), 0, last=False)
        if self.layers_n > 1:
            return self._chained(token, hidden, pairs_at)
        if not self.mtp and len(text) > 1:
            self._decode(self.head, text[1:], rows[:-1], 0, last=False)
        for step in range(n):
            # An assistant looks into the target's cache, and stays where that ends.
            position = pairs_at if self.mtp and not self.within else pairs_at + step
            self._decode(self.head, [token], hidden, position)
            scores = np.ctypeslib.as_array(self.c.llama_get_logits_ith(self.head, 0), (N_VOCAB,))
            token, hidden = int(scores.argmax()), self._floats(self.functions.get_final(self.head), 1)
            found.append(token)
        self._clear()
        return found

    def _chained(self, token: int, hidden: NDArray[np.float32], position: int) -> list[int]:
        """A draft for which each layer reads all pairs from the last true one on, and guesses one token."""
        pairs, rows = [token], hidden
        for layer in range(self.layers_n):
            self._begin(layer, position)
            self._decode(self.head, pairs, rows, position)
            scores = np.ctypeslib.as_array(self.c.llama_get_logits_ith(self.head, layer), (N_VOCAB,))
            pairs.append(int(scores.argmax()))
            rows = np.vstack([rows, self._floats(self.functions.get_final(self.head), 1)])
        self._clear()
        return pairs[1:]

    def _begin(self, layer: int, position: int) -> None:
        if self.layers_n > 1:
            self.c.llama_memory_seq_rm(self.c.llama_get_memory(self.head), 0, position, -1)
            self.functions.set_mtp_layer(self.head, layer)

    def _clear(self) -> None:
        for context in (self.target, self.head):
            self.c.llama_memory_clear(self.c.llama_get_memory(context), True)

    def close(self) -> None:
        for context in (self.head, self.target):
            self.c.llama_free(context)
        for model in self.models:
            self.c.llama_model_free(model)

    def _model(self, path: Path) -> Any:
        params = self.c.llama_model_default_params()
        params.load_mtp = self.within
        return self.c.llama_model_load_from_file(str(path).encode(), params)

    def _context(self, model: Any, other: Any) -> Any:
        params = self.c.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 128
        params.n_outputs_max, params.n_threads, params.n_threads_batch = 128, 1, 1
        if other is not None:
            params.ctx_other = other
            params.ctx_type = self.c.LLAMA_CONTEXT_TYPE_MTP if self.within else 0
        return self.c.llama_init_from_model(model, params)

    def _rows(self, text: Sequence[int]) -> NDArray[np.float32]:
        """What the head pairs with tokens, of the target's states."""
        self._decode(self.target, text, None, 0)
        if self.mtp:
            return self._floats(self.functions.get_final(self.target), len(text))
        parts = [self._floats(self.functions.get_layer(self.target, layer), len(text)) for layer in TARGET_LAYERS]
        self._decode(self.head, None, np.concatenate(parts, axis=1), 0, evaluate=self.c.llama_encode)
        return self._floats(self.functions.get_final(self.head), len(text))

    def _floats(self, first: Any, n: int) -> NDArray[np.float32]:
        return np.ctypeslib.as_array(first, (n, WIDTH)).copy()

    def _decode(
        self,
        context: Any,
        tokens: Sequence[int] | None,
        rows: NDArray[np.float32] | None,
        position: int,
        *,
        last: bool = True,
        evaluate: Any = None,
    ) -> None:
        n = len(rows if tokens is None else tokens)  # type: ignore[arg-type]
        batch = self.c.llama_batch()
        batch.n_tokens = n
        ints = ctypes.c_int32 * n
        if tokens is not None:
            batch.token = ints(*tokens)
        if rows is not None:
            floats = np.ascontiguousarray(rows, np.float32)
            batch.embd = floats.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        positions = ints(*range(position, position + n))
        wanted = (ctypes.c_int8 * n)(*[0] * (n - 1), int(last)) if evaluate is None else (ctypes.c_int8 * n)(*[1] * n)
        batch.pos, batch.logits = positions, wanted
        assert (evaluate or self.c.llama_decode)(context, batch) == 0


@pytest.mark.parametrize("kind", WHOLE_KINDS)
def test_drafts_are_those_of_llama_cpps_own_control_flow(files: dict[str, Files], kind: str, ranked: bool) -> None:
    """At a fixed depth, greedily: the same proposals, also after a round whose proposals were taken in part."""
    opened, plainly = Opened(files[kind], ranked_on_device=ranked), Plainly(files[kind])
    for prompt in prompts(25, seed=2):
        text = [*prompt, 7]
        for _ in range(3):
            opened.target.logits(text[:-1], 1)
            plan = FixedDepth(4).plan(4)
            draft = draft_round([opened.drafter], text, plan, Greedy(), SeededRng(0), lambda token: False)
            theirs = plainly.drafts(text, 4)
            same_n = common_prefix(draft.tokens, theirs)
            assert len(draft) == len(theirs)
            if same_n < len(draft):
                assert opened.margin([*text, *theirs[:same_n]], theirs[same_n], draft.tokens[same_n]) < 0.05
            opened.target.logits([*text, *draft.tokens], 5)
            text = [*text, *draft.tokens[:2], 9]
    plainly.close()
    opened.close()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.8),
        Sampling(temperature=0.8, top_k=0, top_p=0.5),
        Sampling(temperature=0.8, top_k=0, min_p=0.2),
        Sampling(temperature=0.8, typical_p=0.5),
        Sampling(temperature=0.8, top_n_sigma=1.0),
        Sampling(temperature=0.8, xtc_probability=0.5, xtc_threshold=0.05),
        Sampling(temperature=0.8, repeat_penalty=1.3, dry_multiplier=0.8),
        Sampling(temperature=0.8, mirostat=2),
        Sampling(temperature=0.8, grammar='root ::= "p"+'),
        Sampling(temperature=0.0, logit_bias=((40, float("-inf")),)),
    ],
    ids=briefly,
)
def test_a_part_of_the_vocabulary_suffices_for_every_sampler(
    files: dict[str, Files], sampling: Sampling, ranked: bool
) -> None:
    """What the head cannot propose has a score of minus infinity; no proposal comes from outside, and none fails."""
    opened = Opened(files["part"], ranked_on_device=ranked)
    vocab, proposed = opened.target.vocab, set[int]()
    for seed, prompt in enumerate(prompts(4, seed=4)):
        sampler = make_sampler(sampling, vocab.n_vocab, vocab, prompt)
        request = Request(prompt, sampler, SeededRng(seed), FixedDepth(3), max_tokens=20)
        rounds = [
            event
            for event in generate(opened.target, [opened.drafter], request, Cancellation())
            if isinstance(event, Round)
        ]
        assert tokens_of(rounds)
        proposed |= {proposal.id for round_ in rounds for proposal in round_.rejected}
    if sampling.grammar is None:
        assert proposed
        assert proposed <= set(PART)
    opened.close()


def test_rows_belong_to_positions_whose_prefix_is_the_same(files: dict[str, Files]) -> None:
    """Also where batches are padded, where more was read than is kept, and where the cache comes from a file."""
    opened = Opened(files["eagle3"])
    target, states = opened.target, opened.inputs.hidden
    text = [3 + (11 * n) % 87 for n in range(900)]
    target.logits(text[:300], 0)
    rows = states.rows(text).rows.copy()
    assert rows.shape == (300, 3 * WIDTH)
    target.pad(lambda n: 4 if n == 3 else n)
    target.logits([*text[:299], 5, 6, 7], 3)
    assert np.array_equal(states.rows(text).rows, rows[:299])
    assert states.rows([*text[:299], 5, 6, 8]).end == 301
    assert len(states.rows([4, *text]).rows) == 0
    assert np.array_equal(target.keep_hidden([2]).rows(text).rows, rows[:299, WIDTH : 2 * WIDTH])
    target.logits(text, 0)
    found = states.rows(text)
    assert (found.end, found.end - found.start >= KEPT_N) == (900, True)
    assert (states.rows(text, 890).start, len(states.rows(text, 890).rows)) == (890, 10)
    opened.close()


def test_a_cache_from_a_file_has_no_rows(files: dict[str, Files], tmp_path: Path) -> None:
    """The head begins with those of the next evaluation; the reply is what the target says alone."""
    opened = Opened(files["eagle3"])
    prompt = prompts(1, seed=5)[0] * 3
    alone = tokens_of(opened.reply(prompt, 0))
    opened.target.logits(prompt[:-1], 0)
    opened.target.save(tmp_path / "kept")
    opened.target.logits([9, 8, 7], 0)
    assert not opened.target.restore(tmp_path / "kept").reason
    assert len(opened.inputs.hidden.rows(prompt).rows) == 0
    assert opened.model.reach(prompt) == 0
    rounds = opened.reply(prompt, 4)
    assert tokens_of(rounds) == alone
    assert any(round_.depth for round_ in rounds)
    opened.close()


@pytest.mark.parametrize(("architecture", "layers"), [("llama", [FINAL]), ("llama", [1, 4]), ("mamba", [1])])
def test_states_that_a_target_does_not_hand_over_are_refused(
    tmp_path: Path, architecture: str, layers: list[int]
) -> None:
    """llama.cpp would end the process."""
    model = LlamaModel.open(LoadSettings(write_tiny(tmp_path / "m.gguf", architecture), 1), Cancellation())
    with pytest.raises(DrafterUnavailableError, match=rf"of this target \({architecture}\)"):
        model.keep_hidden(layers)
    model.logits([1, 2, 3], 1)
    model.close()


def test_a_llama_cpp_without_the_functions_says_so(files: dict[str, Files], monkeypatch: pytest.MonkeyPatch) -> None:
    hidden_functions.cache_clear()
    monkeypatch.setitem(hidden._FUNCTIONS, "get_layer", ("no_such", None, []))
    for kind in ("eagle3", "glm4moe"):
        with pytest.raises(DrafterUnavailableError, match="does not hand over hidden states"):
            Opened(files[kind])
    hidden_functions.cache_clear()


def test_its_threads_can_be_chosen(opened: Opened) -> None:
    opened.model.set_threads(2)
    assert opened.model.threads == opened.head.threads == 2


@pytest.mark.parametrize("kind", ["part", "glm4moe"])
def test_sampled_replies_have_the_targets_distribution(files: dict[str, Files], kind: str, ranked: bool) -> None:
    """The first two tokens at temperature 0.8, over 800 replies; a draft that is always believed is soon found out."""
    opened, prompt = Opened(files[kind], ranked_on_device=ranked), [5, 17, 33, 60]
    vocab = opened.target.vocab
    sampler = make_sampler(Sampling(temperature=0.8, top_k=4, top_p=1.0), vocab.n_vocab, vocab, prompt)

    def reply(seed: int, rng: type[SeededRng]) -> tuple[int, ...]:
        request = Request(prompt, sampler.fork(), rng(seed), FixedDepth(2), max_tokens=2)
        events = generate(opened.target, [opened.drafter], request, Cancellation())
        return tuple(tokens_of([event for event in events if isinstance(event, Round)]))

    def p_value(rng: type[SeededRng], n: int) -> float:
        seen = Counter(reply(seed, rng) for seed in range(n))
        common = [words for words, chance in law.items() if chance * n >= 5]
        observed, expected = [seen[words] for words in common], [law[words] * n for words in common]
        observed[-1] += n - sum(observed)
        expected[-1] += n - sum(expected)
        return float(chisquare(observed, expected).pvalue)

    law: dict[tuple[int, ...], float] = {}
    first = sampler.dist(opened.target.logits(prompt, 1)[0])
    for token, chance in zip(first.ids.tolist(), first.probs.tolist(), strict=True):
        second = sampler.dist(opened.target.logits([*prompt, token], 1)[0])
        law |= {(token, int(other)): chance * share for other, share in zip(second.ids, second.probs, strict=True)}
    assert p_value(SeededRng, 800) > 1e-3
    assert p_value(Gullible, 200) < 1e-9
    opened.close()


class Gullible(SeededRng):
    """Accepts every proposal."""

    def accepts(self, p: object, q: object) -> bool:
        return True


@pytest.mark.parametrize("kind", WHOLE_KINDS)
def test_a_head_that_ranks_hands_over_the_best_of_all_scores(
    files: dict[str, Files], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind texts that grow and are cut, and behind proposals; all scores may be asked for in between."""
    monkeypatch.setattr(device_ranking, "KEPT_N", RANKED_N)
    both, whole = Opened(files[kind], ranked_on_device=True), Opened(files[kind])
    source, text = random.Random(8), prompts(1, seed=8)[0]
    for _ in range(40):
        text = text[: source.randint(1, len(text))] + tokens(source, source.randint(1, 6))
        for opened in (both, whole):
            opened.target.logits(text[:-1], 1)
        context = text + tokens(source, source.randint(0, 2))
        row = whole.model.logits(context, 1)[0]
        if source.random() < 0.3:
            assert np.allclose(finite(both.model.logits(context, 1)[0]), finite(row), atol=NOISE)
        few = both.model.likeliest(context)
        assert few is not None
        assert len(few.ids) == RANKED_N
        assert (np.diff(few.ids) > 0).all()
        assert np.allclose(few.scores, row[few.ids], atol=NOISE)
        assert np.delete(row, few.ids).max() <= few.scores.min() + NOISE
    both.close()
    whole.close()


def test_tokens_that_a_head_cannot_propose_are_not_among_its_likeliest(files: dict[str, Files]) -> None:
    """However few it can."""
    opened = Opened(files["part"], ranked_on_device=True)
    text = prompts(1, seed=8)[0]
    opened.target.logits(text[:-1], 1)
    few = opened.model.likeliest(text)
    assert few is not None
    assert few.ids.tolist() == sorted(PART)
    opened.close()


@pytest.mark.parametrize("kind", WHOLE_KINDS)
def test_a_head_is_told_how_to_answer_between_replies(
    files: dict[str, Files], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sampler held to a grammar needs all scores. Telling takes long, so it happens where that changes alone."""
    opened, whole, told = Opened(files[kind], ranked_on_device=True), Opened(files[kind]), 0
    vocab, tell = opened.target.vocab, native().c.llama_set_sampler

    def counted(*given: Any) -> Any:
        nonlocal told
        told += 1
        return tell(*given)

    monkeypatch.setattr(native().c, "llama_set_sampler", counted)
    changes = ("", "root ::= [a-p]+", "", "") * 5
    for before, grammar, prompt in zip(("none yet", *changes), changes, prompts(20, seed=9), strict=False):
        told = 0
        sampling = Sampling(temperature=0.0, grammar=grammar or None)
        rounds, expected = (
            each.reply(prompt, 3, sampler=make_sampler(sampling, vocab.n_vocab, vocab, prompt))
            for each in (opened, whole)
        )
        assert tokens_of(rounds) == tokens_of(expected)
        assert [round_.rejected for round_ in rounds] == [round_.rejected for round_ in expected]
        assert told == (before != grammar)
    opened.close()
    whole.close()


@pytest.mark.parametrize("kind", WHOLE_KINDS)
def test_a_device_that_cannot_rank_is_asked_once(
    files: dict[str, Files], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And then gives all scores, in the middle of the reply and after it."""
    opened, whole, asked = Opened(files[kind], ranked_on_device=True), Opened(files[kind]), []

    def none_kept(context: object, place: int) -> int:
        asked.append(place)
        return 0

    monkeypatch.setattr(native().c, "llama_get_sampled_candidates_count_ith", none_kept)
    for prompt in prompts(3, seed=10):
        assert tokens_of(opened.reply(prompt, 3)) == tokens_of(whole.reply(prompt, 3))
        assert opened.model.likeliest([*prompt, 5]) is None
    assert len(asked) == 1
    opened.close()
    whole.close()


def test_a_head_ranks_by_itself_on_a_device_alone(files: dict[str, Files]) -> None:
    opened = Opened(files["eagle3"])
    assert isinstance(opened.model, Ranking)
    assert opened.model.likeliest([5, 17, 33]) is None
    opened.close()
