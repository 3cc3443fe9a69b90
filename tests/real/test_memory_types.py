"""Every way llama.cpp remembers what it has read, held against reading it all anew.

The models are tiny and random. Whatever was asked before, a question must have the answer that a context made
for it alone gives: a state that was not taken back, or to the wrong place, is off by far more than the noise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localspec.base.errors import EngineError
from localspec.engine.backends.llama.load import LoadSettings, _with_context, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.events import Round
from localspec.engine.model import Logits
from localspec.engine.settings import BANNED, Sampling
from localspec.runtime.load import open_pair
from localspec.runtime.messages import Reply, ReplyOptions
from localspec.runtime.options import LoadOptions
from tests.builtin import ON_GPU, RANDOM_ROUNDING
from tests.runtime.opened_pairs import open_unmeasured
from tests.tiny_models import N_VOCAB, WINDOW, Weights, write_tiny

DEPTH = 6
NOISE = 0.01 * RANDOM_ROUNDING
"""How far scores may differ between batch shapes; those of these models spread over some fifteen."""
N_CTX = 1024

# Name, architecture, snapshots asked for, whether windows are kept whole.
KINDS = (
    ("plain", "llama", 0, True),
    ("window kept", "gemma3", 0, True),
    ("window cut", "gemma3", 0, False),
    ("recurrent", "mamba", 0, True),
    ("hybrid", "jamba", 0, True),
    ("parallel hybrid", "falcon-h1", 0, True),
    ("convolution", "lfm2", 0, True),
    ("convolution with snapshots", "lfm2", DEPTH, True),
    ("delta net", "qwen35", 0, True),
    ("delta net with snapshots", "qwen35", DEPTH, True),
)


@pytest.fixture(scope="module", params=KINDS, ids=[kind[0] for kind in KINDS])
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadSettings:
    _, architecture, snapshots, swa_full = request.param
    path = write_tiny(tmp_path_factory.mktemp("tiny") / f"{architecture}.gguf", architecture)
    # Fused attention and half precision round otherwise for one token than for many, which these models blow up.
    return LoadSettings(
        path,
        DEPTH + 1,
        N_CTX,
        1,
        cache_type_k="f32",
        cache_type_v="f32",
        flash_attn=False,
        snapshots=snapshots,
        swa_full=swa_full,
        large_pages=False,
    )


@pytest.fixture
def cancel() -> Cancellation:
    return Cancellation()


@pytest.fixture
def model(settings: LoadSettings, cancel: Cancellation) -> Iterator[LlamaModel]:
    model = LlamaModel.open(settings, cancel)
    yield model
    model.close()


@pytest.fixture(scope="module")
def anew(settings: LoadSettings) -> Iterator[Callable[[list[int], int], Logits]]:
    """The answer of a context that has seen nothing else; the same question is evaluated once."""
    cancel = Cancellation()
    weights = load(native(), settings, cancel)

    @cache
    def evaluated(context: tuple[int, ...], last: int) -> Logits:
        loaded = _with_context(native(), weights.model, [], settings, cancel, other=None, mtp=False)
        oracle = LlamaModel(replace(loaded, owns_model=False))
        rows = oracle.logits(context, last).copy()
        oracle.close()
        return rows

    yield lambda context, last: evaluated(tuple(context), last)
    weights.free()


Anew = Callable[[list[int], int], Logits]


def text(n: int, rng: random.Random) -> list[int]:
    return [rng.randrange(4, N_VOCAB) for _ in range(n)]


def holds(model: LlamaModel, anew: Anew, context: list[int], last: int) -> None:
    rows = model.logits(context, last)
    assert np.abs(rows - anew(context, last)).max() < NOISE


def holds_but(model: LlamaModel, anew: Anew, context: list[int], last: int, unread: set[int]) -> None:
    """The rows of the ``last`` positions are right, and those ``unread`` are not computed."""
    rows = model.selected_logits(context, last, unread)
    assert len(rows) == last
    for place, (row, expected) in enumerate(zip(rows, anew(context, last), strict=True)):
        assert np.abs(row - expected).max() < NOISE if place not in unread else not len(row)


class Talk:
    """A context that is changed at random in all the ways an engine changes one."""

    def __init__(self, model: LlamaModel, anew: Anew, seed: int) -> None:
        self.model, self.anew = model, anew
        self.rng = random.Random(seed)
        self.context = text(self.rng.randrange(1, 90), self.rng)

    def step(self) -> None:
        if len(self.context) > N_CTX - 2 * 200:
            self.context = self.context[: self.rng.randrange(1, 40)]
        rounds = 3 * [self.verify] + 2 * [self.draft]
        self.rng.choice([*rounds, self.plain, self.read, self.back, self.edit])()

    def verify(self) -> None:
        """A batch of proposals, of which some are accepted."""
        proposals = text(self.rng.randint(0, DEPTH), self.rng)
        unread = {place for place in range(len(proposals)) if self.rng.random() < 0.3}
        holds_but(self.model, self.anew, self.context + proposals, len(proposals) + 1, unread)
        accepted = self.rng.randint(0, len(proposals))
        self.context += [*proposals[:accepted], *text(1, self.rng)]

    def draft(self) -> None:
        """Guesses token by token, of which some are accepted."""
        ahead = list(self.context)
        for token in text(self.rng.randint(1, DEPTH), self.rng):
            self.model.logits(ahead, 1)
            ahead.append(token)
        accepted = self.rng.randint(len(self.context), len(ahead))
        self.context = [*ahead[:accepted], *text(1, self.rng)]
        holds(self.model, self.anew, self.context, 1)

    def plain(self) -> None:
        for token in text(self.rng.randint(1, 20), self.rng):
            self.context.append(token)
            self.model.logits(self.context, 1)
        holds(self.model, self.anew, self.context, 1)

    def read(self) -> None:
        """A prompt, of which nothing is wanted yet."""
        self.context += text(self.rng.choice((1, 30, 100, 200)), self.rng)
        self.model.logits(self.context, 0)
        self.context += text(1, self.rng)

    def back(self) -> None:
        """Some tokens are given up, few or many."""
        gone = min(self.rng.choice((1, 2, 10, WINDOW, 70, 400)), len(self.context) - 1)
        self.context = self.context[: len(self.context) - gone]
        holds(self.model, self.anew, self.context, self.rng.randint(1, min(DEPTH + 1, len(self.context))))

    def edit(self) -> None:
        """One token in the middle is another."""
        at = self.rng.randrange(len(self.context))
        self.context[at] = 4 + (self.context[at] - 3) % (N_VOCAB - 4)
        holds(self.model, self.anew, self.context, 1)


@pytest.mark.parametrize("seed", range(2))
def test_every_answer_is_that_of_a_fresh_context(model: LlamaModel, anew: Anew, seed: int) -> None:
    thread = Talk(model, anew, seed)
    for _ in range(30):
        thread.step()


def test_rounds_with_every_number_of_acceptances(model: LlamaModel, anew: Anew) -> None:
    """Verification after verification, each taken back by as many tokens as can be."""
    rng = random.Random(5)
    context = text(50, rng)
    model.logits(context, 0)
    context += text(1, rng)
    for _ in range(2):
        for proposed in range(DEPTH + 1):
            for accepted in range(proposed + 1):
                proposals = text(proposed, rng)
                holds(model, anew, context + proposals, proposed + 1)
                context += [*proposals[:accepted], *text(1, rng)]


def test_a_context_longer_than_all_windows_and_batches(settings: LoadSettings, anew: Anew) -> None:
    """Read in pieces, taken back a little and a lot, read on."""
    rng = random.Random(6)
    context = text(250, rng)
    model = LlamaModel.open(replace(settings, batch_tokens=64), Cancellation())
    holds(model, anew, context, DEPTH + 1)
    for n in (249, 240, 190, 150, 100, 20, 1):
        changed = context[:n] + text(12, rng)
        holds(model, anew, changed, 3)
        holds(model, anew, context, 1)
    model.close()


def test_what_is_held_needs_no_evaluation(model: LlamaModel) -> None:
    """A prefix said to be held costs nothing: the number of tokens evaluated is what is missing."""
    rng = random.Random(7)
    context = text(200, rng)
    model.logits(context, 0)
    evaluated = counted(model)
    for n in (200, 199, 190, 150, 20):
        changed = context[:n] + text(3, rng)
        held = model.held(changed)
        evaluated.clear()
        model.logits(changed, 1)
        assert sum(evaluated) == len(changed) - held
        model.logits(context, 0)


def counted(model: LlamaModel) -> list[int]:
    """The sizes of the batches evaluated from now on."""
    sizes: list[int] = []
    add = model._batch.add

    def note_and_add(tokens: list[int], *rest: Any, **others: Any) -> int:
        sizes.append(len(tokens))
        return add(tokens, *rest, **others)

    model._batch.add = note_and_add  # type: ignore[method-assign, assignment]
    return sizes


@pytest.mark.parametrize("accepted", range(DEPTH + 1))
def test_a_round_costs_what_is_told(model: LlamaModel, accepted: int) -> None:
    """About ``replay_n`` tokens are read twice after a verification; none if it is 0."""
    rng = random.Random(8)
    context = text(100, rng)
    model.logits(context, 0)
    context += text(1, rng)
    evaluated = counted(model)
    rounds_n = 12
    for _ in range(rounds_n):
        proposals = text(DEPTH, rng)
        model.logits(context + proposals, DEPTH + 1)
        context += [*proposals[:accepted], *text(1, rng)]
    again = (sum(evaluated) - rounds_n * (DEPTH + 1)) / rounds_n
    if not model.replay_n or accepted == DEPTH:
        assert again == 0
    else:
        assert again <= model.replay_n + 1


def test_a_draft_is_never_far_behind(settings: LoadSettings) -> None:
    """Guessing token by token, a draft reads again no more than what was accepted, and what it guessed wrongly."""
    rng = random.Random(9)
    draft = LlamaModel.open(replace(settings, max_outputs=1, snapshots=0), Cancellation())
    context = text(100, rng)
    draft.logits(context, 0)
    evaluated = counted(draft)
    for i in range(30):
        ahead = list(context)
        for token in text(DEPTH, rng):
            draft.logits(ahead, 1)
            ahead.append(token)
        context = [*ahead[: len(context) + i % (DEPTH + 1)], *text(1, rng)]
    assert sum(evaluated) <= 30 * (2 * DEPTH + 3)
    draft.close()


def test_an_evaluation_that_broke_off_leaves_nothing_wrong(
    model: LlamaModel, cancel: Cancellation, anew: Anew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled in the middle of the graph, at every kind of question."""
    rng = random.Random(10)
    context = text(300, rng)
    model.logits(context, 0)
    for n, last in ((301, 1), (300, 3), (299, 4), (340, 2), (150, 1), (900, 1)):
        asked = context[:n] + text(max(0, n - len(context)), rng)
        decode = native().c.llama_decode

        def stopped(*arguments: object, decode: Callable[..., int] = decode) -> int:
            cancel.set()
            return decode(*arguments)

        monkeypatch.setattr(native().c, "llama_decode", stopped)
        with pytest.raises(Cancelled):
            model.logits(asked, last)
        monkeypatch.undo()
        cancel.clear()
        holds(model, anew, asked, last)


def slightly_other(name: str, values: Weights) -> None:
    """A draft that is often right and often not."""
    if name == "output.weight":
        values += 0.12 * np.random.default_rng(1).standard_normal(values.shape).astype(np.float32)


def test_speculation_changes_no_reply(settings: LoadSettings, tmp_path: Path) -> None:
    """All the way through the loop: greedy replies, and the same conversation continued, at every depth."""
    draft = write_tiny(tmp_path / "draft.gguf", settings.path.stem, spoil=slightly_other)
    options = LoadOptions(
        settings.path, draft, n_ctx=512, threads=1, flash_attn="off", cache_type_k="f32", cache_type_v="f32"
    )
    pair = open_pair(options, Cancellation())
    replies = []
    for depth in (0, 3, 8):
        wishes = ReplyOptions(sampling=Sampling(temperature=0), depth=depth, spec=("draft",), max_tokens=60)
        first, second = Reply(), Reply()
        for reply, prompt in ((first, "Once upon a time"), (second, "Once upon a time, there")):
            for event in pair.reply(prompt, wishes):
                reply.receive(event)
        replies.append((first.text, second.text))
        assert depth == 0 or 0 < second.timings.draft_n_accepted < second.timings.draft_n
    assert ON_GPU or replies[0] == replies[1] == replies[2]  # greedy replies of random weights hang on rounding
    pair.close()


def test_what_is_kept_ends_with_what_was_said(settings: LoadSettings, tmp_path: Path, own_home: Path) -> None:
    """Not with proposals that were refused: some kinds of memory cannot take back what comes from a file."""
    draft = write_tiny(tmp_path / "draft.gguf", settings.path.stem, spoil=slightly_other)
    options = LoadOptions(settings.path, draft, n_ctx=512, threads=1, flash_attn="off", keep_caches=True)
    question = "Once upon a time, " * 12
    endless = Sampling(temperature=1.0, logit_bias=((0, BANNED),))
    wishes = ReplyOptions(sampling=endless, depth=DEPTH, spec=("draft",), seed=1, max_tokens=200)
    pair = opened(options)
    context = pair._target.vocab.tokenize(question, special=True)
    events = pair.reply(question, wishes)
    for round_ in filter(lambda event: isinstance(event, Round), events):
        context += [token.id for token in round_.tokens]
        if round_.index > 2 and round_.rejected:
            break
    else:
        pytest.fail("nothing was refused, so nothing was tested")
    events.close()
    pair.close()
    again = opened(options)
    next_one = [*context, 5, 6, 7]
    again._caches.before_reply(next_one, Cancellation())
    for model in (again._target, again._replier._drafters._inputs.draft):
        assert model.held(next_one) >= len(context) - 2 * (DEPTH + 3)
    again.close()


def opened(options: LoadOptions) -> Any:
    """A pair whose caches are worth keeping."""
    pair: Any = open_unmeasured(options)
    pair._caches = pair._replier._caches = replace(pair._caches, worth_n=100)
    return pair


class TestSaving:
    """A cache in a file: what comes back is what was kept, and what does not fit is nothing."""

    @pytest.fixture(autouse=True)
    def only_what_can_be_saved(self, settings: LoadSettings) -> None:
        if not settings.swa_full:
            pytest.skip("cut windows are not kept")

    def test_what_was_held_is_held_again(
        self, model: LlamaModel, settings: LoadSettings, anew: Anew, tmp_path: Path
    ) -> None:
        """In another context, and right however it goes on: also directly after tokens were taken back."""
        rng = random.Random(11)
        context = text(120, rng)
        model.logits(context, 4)
        model.logits([*context[:118], 9], 1)
        kept = [*context[:118], 9]
        model.save(tmp_path / "chat.cache")
        other = LlamaModel.open(settings, Cancellation())
        other.logits(text(40, rng), 1)
        restored = other.restore(tmp_path / "chat.cache")
        assert restored.tokens == tuple(kept)
        assert other.held(kept) == len(kept)
        assert other.held(kept[:60]) == (60 if other.keeps_parts else 0)
        holds(other, anew, [*kept, 10, 11, 12], 3)
        holds(other, anew, [*kept, 10, 20], 1)
        holds(other, anew, kept[:60], 2)
        other.close()

    def test_a_file_of_a_model_with_other_weights_is_ignored(
        self, model: LlamaModel, settings: LoadSettings, anew: Anew, tmp_path: Path
    ) -> None:
        """The same shape in every respect, told by its contents."""
        model.logits([5, 6, 7], 1)
        model.save(tmp_path / "chat.cache")
        architecture = settings.path.stem
        twin = write_tiny(tmp_path / "twin.gguf", architecture, seed=1)
        other = LlamaModel.open(replace(settings, path=twin), Cancellation())
        assert "another model" in other.restore(tmp_path / "chat.cache").reason
        assert other.held([5, 6, 7]) == 0
        other.close()


class TestDamage:
    """Files that are no longer what was kept."""

    @pytest.fixture
    def kept(self, model: LlamaModel, settings: LoadSettings, tmp_path: Path) -> Path:
        if not settings.swa_full:
            pytest.skip("cut windows are not kept")
        model.logits(list(range(5, 50)), 1)
        model.save(tmp_path / "chat.cache")
        return tmp_path / "chat.cache"

    def test_a_cut_file_is_ignored_wherever_it_is_cut(self, model: LlamaModel, anew: Anew, kept: Path) -> None:
        whole = kept.read_bytes()
        for length in (0, 5, 40, len(whole) // 2, len(whole) - 1):
            kept.write_bytes(whole[:length])
            restored = model.restore(kept)
            assert restored.tokens == ()
            assert "cut short" in restored.reason
            holds(model, anew, [8, 9, 10], 1)

    def test_a_changed_byte_is_found(self, model: LlamaModel, kept: Path) -> None:
        whole = bytearray(kept.read_bytes())
        for at in (0, 9, 70, len(whole) // 2, len(whole) - 2):
            damaged = bytearray(whole)
            damaged[at] ^= 64
            kept.write_bytes(damaged)
            assert model.restore(kept).reason

    def test_a_file_that_is_not_there_is_a_reason(self, model: LlamaModel, kept: Path) -> None:
        assert model.restore(kept.with_name("none")).reason == "there is no such file"

    def test_a_stop_signal_ends_the_check_of_a_file(self, model: LlamaModel, cancel: Cancellation, kept: Path) -> None:
        """When one is written, which then does not take the place of another, and when one is read."""
        whole = kept.read_bytes()
        model.logits([5, 6, 7], 1)
        cancel.set()
        with pytest.raises(Cancelled):
            model.save(kept, cancel)
        with pytest.raises(Cancelled):
            model.restore(kept, cancel)
        assert model.held([5, 6, 7]) == 0
        assert kept.read_bytes() == whole
        assert list(kept.parent.glob("*.part")) == []

    def test_what_was_kept_before_stays_if_keeping_fails(self, model: LlamaModel, kept: Path) -> None:
        """Written beside it and put in its place at the end; nothing half written is left."""
        with pytest.raises(EngineError, match="cannot be kept"):
            model.save(kept / "below a file")
        assert model.restore(kept).tokens == tuple(range(5, 50))
        assert [file.name for file in kept.parent.iterdir() if "chat" in file.name] == ["chat.cache"]
