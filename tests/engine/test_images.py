"""Images in a context, on tiny targets with tiny projectors: one for each way that llama.cpp reads an image."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from localspec.base.errors import EngineError, InputError, ModelFileError
from localspec.engine.backends.llama.head import OUTPUTS_N, LlamaHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.projector import Projector
from localspec.engine.backends.llama.skipping import SkippingLlama
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import Drafter, DrafterInputs
from localspec.engine.drafters import make_drafter
from localspec.engine.events import Finished, FinishReason, Origin, PromptProgress, Round, Token
from localspec.engine.head import HeadInputs
from localspec.engine.images import TextAlone, image_places, text_alone
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy
from tests.builtin import ON_GPU, ROUNDING
from tests.tiny_heads import TinyHead, favour_few, write_head, write_mtp_target
from tests.tiny_models import N_VOCAB, write_tiny
from tests.tiny_projectors import write_png, write_projector

NOISE = 0.01 * ROUNDING
"""How far scores may differ between a wide batch and a narrow one, as a share of their spread."""
KINDS = {
    "in order": ("llama", "mlp"),
    "at once": ("gemma3", "gemma3"),
    "at once, windowed": ("gemma3", "gemma3"),
    "in a plane": ("qwen2vl", "qwen3vl_merger"),
    "in a plane, hybrid": ("qwen35", "qwen3vl_merger"),
    "in pieces": ("llama", "idefics3"),
}
N_CTX = 512


@dataclass(frozen=True)
class Seeing:
    """A target that reads images, and a draft that does not."""

    target: LlamaModel
    projector: Projector
    draft: SkippingLlama
    images: Sequence[bytes]

    def context(self, rng: random.Random, image: int = 0) -> list[int]:
        """A text with an image in it."""
        return [*_words(rng, 20), *self.projector.tokens(self.images[image]), *_words(rng, 12)]

    def drafters(self) -> list[Drafter]:
        inputs = DrafterInputs(self.target.vocab, self.draft)
        return [make_drafter(name, inputs) for name in ("suffix", "draft")]


def _words(rng: random.Random, n: int) -> list[int]:
    return [rng.randrange(4, N_VOCAB) for _ in range(n)]


class Impatient(Cancellation):
    """Stops when it was asked ``patience`` times."""

    patience = 10**9

    def is_set(self) -> bool:
        self.patience -= 1
        if self.patience == 0:
            self.set()
        return super().is_set()


@pytest.fixture(scope="module")
def cancel() -> Impatient:
    return Impatient()


@pytest.fixture(scope="module", params=KINDS)
def seeing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, cancel: Cancellation
) -> Iterator[Seeing]:
    folder, (architecture, kind) = tmp_path_factory.mktemp("images"), KINDS[request.param]
    path = write_tiny(folder / "target.gguf", architecture, spoil=favour_few)
    target = LlamaModel.open(
        LoadSettings(path, 8, N_CTX, 1, snapshots=4, swa_full="windowed" not in request.param), cancel
    )
    draft_path = write_tiny(folder / "draft.gguf", "llama", n_layers=1, seed=3, spoil=favour_few)
    draft = SkippingLlama.open(LoadSettings(draft_path, 1, N_CTX, 1), cancel)
    draft.leave_out_images()
    path = write_projector(folder / "mmproj.gguf", kind)
    projector = Projector.open(path, target.loaded, cancel, threads=1, on_gpu=False)
    target.read_images_with(projector)
    images = [write_png(folder / f"{seed}.png", seed=seed).read_bytes() for seed in range(3)]
    yield Seeing(target, projector, draft, images)
    projector.close()
    target.close()
    draft.close()


def tokens_of(
    target: LlamaModel, prompt: Sequence[int], drafters: Sequence[Drafter], cancel: Cancellation, n: int = 24
) -> list[Token]:
    """A greedy reply, at a depth of four if there are drafters."""
    request = Request(list(prompt), Greedy(), SeededRng(1), FixedDepth(4 if drafters else 0), max_tokens=n)
    events = list(generate(target, drafters, request, cancel))
    assert isinstance(events[-1], Finished)
    return [token for event in events if isinstance(event, Round) for token in event.tokens]


def fresh(seeing: Seeing, context: Sequence[int], last: int) -> Logits:
    """The rows of a target that held nothing."""
    seeing.target.hold_at_most(0)
    return seeing.target.logits(context, last).copy()


def difference(rows: Logits, others: Logits) -> float:
    """The largest, as a share of the scores' spread."""
    return float(abs(rows - others).max() / np.ptp(others))


def test_rows_are_those_of_a_fresh_start(seeing: Seeing) -> None:
    rng = random.Random(0)
    context = seeing.context(rng)
    for step in range(40):
        match step % 4:
            case 0:
                context = seeing.context(rng, rng.randrange(3))
            case 1:
                context = [*context, *_words(rng, rng.randrange(1, 9))]
            case 2:
                context = [*context[: -rng.randrange(1, 8)], *_words(rng, 3)]
            case _:
                context = [*context, *seeing.projector.tokens(seeing.images[step % 3]), *_words(rng, 9)]
        context = context if len(context) < N_CTX - 50 else seeing.context(rng)
        last = rng.randrange(1, 6)
        if step % 3 == 0:
            for end in range(0, len(context) - last, 11):
                seeing.target.logits(context[:end], 0)  # a prompt is read in pieces that may end within an image
        rows = seeing.target.logits(context, last).copy()
        assert seeing.target.held(context) == len(context)
        assert difference(rows, fresh(seeing, context, last)) < NOISE


def test_an_image_is_seen(seeing: Seeing) -> None:
    texts = [seeing.context(random.Random(1), image) for image in range(2)]
    assert text_alone(texts[0]) == text_alone(texts[1])
    one, other = (fresh(seeing, text, 1) for text in texts)
    blind = fresh(seeing, text_alone(texts[0]), 1)
    assert difference(one, other) > NOISE
    assert difference(one, blind) > NOISE


def test_speculation_goes_on_behind_an_image_and_changes_nothing(seeing: Seeing, cancel: Cancellation) -> None:
    rng, accepted_n = random.Random(2), 0
    for number in range(12):
        prompt = seeing.context(rng, number % 3)
        plain = tokens_of(seeing.target, prompt, [], cancel)
        seeing.target.hold_at_most(0)
        drafted = tokens_of(seeing.target, prompt, seeing.drafters(), cancel)
        # Greedy replies of random weights hang on rounding.
        assert ON_GPU or [token.id for token in drafted] == [token.id for token in plain]
        accepted_n += sum(token.origin is Origin.ACCEPTED for token in drafted)
    assert accepted_n > 10


def test_a_follow_up_encodes_nothing_again(seeing: Seeing, cancel: Cancellation) -> None:
    rng = random.Random(3)
    prompt = seeing.context(rng)
    prompt += [token.id for token in tokens_of(seeing.target, prompt, seeing.drafters(), cancel)]
    encoded_n = seeing.projector.encoded_n
    for _ in range(4):
        prompt += _words(rng, 6)
        assert seeing.target.held(prompt) >= len(prompt) - 12
        plain = [token.id for token in tokens_of(seeing.target, prompt, [], cancel, n=8)]
        drafted = [token.id for token in tokens_of(seeing.target, prompt, seeing.drafters(), cancel, n=8)]
        assert drafted == plain
        prompt += drafted
    seeing.target.hold_at_most(0)  # another conversation came in between
    seeing.target.logits(prompt, 1)
    assert seeing.projector.encoded_n == encoded_n


def test_an_image_that_was_let_go_is_read_once_more(seeing: Seeing) -> None:
    """Contexts in which it was are the same as before, as soon as its numbers are asked for again."""
    rng = random.Random(4)
    prompt = [*_words(rng, 5), *(image := seeing.projector.tokens(seeing.images[0])), *_words(rng, 5)]
    rows = fresh(seeing, prompt, 1)
    seeing.projector.forget(image)
    seeing.target.hold_at_most(0)
    with pytest.raises(EngineError, match="is not loaded"):
        seeing.target.logits(prompt, 1)
    assert seeing.projector.tokens(seeing.images[0]) == image
    assert difference(fresh(seeing, prompt, 1), rows) < 1e-3


def test_encoding_an_image_is_told_and_can_be_stopped(seeing: Seeing, cancel: Impatient, tmp_path: Path) -> None:
    """It stops between two operations, and what was left unfinished is not kept."""
    words, image = _words(random.Random(5), 20), write_png(tmp_path / "new.png", seed=99).read_bytes()
    context = [*words, *seeing.projector.tokens(image), *words]
    request = Request(context, Greedy(), SeededRng(1), FixedDepth(0), max_tokens=4)
    encoded_n, told = seeing.projector.encoded_n, False
    for event in generate(seeing.target, [], request, cancel):
        if isinstance(event, PromptProgress) and event.image and not told:
            told, cancel.patience = True, 2
    assert told
    assert isinstance(event, Finished)
    assert event.reason is FinishReason.CANCELLED
    assert seeing.projector.encoded_n == encoded_n
    cancel.clear()
    rows = fresh(seeing, context, 1)
    assert seeing.projector.encoded_n > encoded_n
    seeing.projector._encoded.clear()
    assert difference(fresh(seeing, context, 1), rows) < NOISE


def test_a_draft_reads_the_text_alone(seeing: Seeing) -> None:
    rng = random.Random(4)
    context = seeing.context(rng)
    with_image = seeing.draft.logits(context, 1).copy()
    assert seeing.draft.held(context) == len(context)
    assert seeing.draft.held([*context, 7]) == len(context)
    without = seeing.draft.logits(text_alone(context), 1)
    assert difference(with_image, without) < NOISE
    seeing.draft.skip(context, 10)
    assert seeing.draft.held(context) >= len(context) - 10


@pytest.mark.parametrize("kind", ["mtp", "eagle3"])
def test_a_head_goes_on_behind_an_image(kind: str, tmp_path: Path, cancel: Cancellation) -> None:
    if kind == "mtp":
        path = head_path = write_mtp_target(tmp_path / "target.gguf", "qwen35")
        projector_kind = "qwen3vl_merger"
    else:
        path = write_tiny(tmp_path / "target.gguf", "llama", spoil=favour_few)
        head_path = write_head(tmp_path / "head.gguf", TinyHead())
        projector_kind = "mlp"
    with ExitStack() as resources:
        settings = LoadSettings(path, 8, N_CTX, 1, snapshots=4, mtp=kind == "mtp")
        target = LlamaModel.open(settings, cancel)
        resources.callback(target.close)
        own = replace(settings, path=head_path, max_outputs=OUTPUTS_N[kind])
        head = LlamaHead.load(own, target, cancel, encodes=kind == "eagle3")
        resources.callback(head.close)
        inputs = HeadInputs(head, target.keep_hidden(head.read_layers))
        path = write_projector(tmp_path / "mmproj.gguf", projector_kind)
        projector = Projector.open(path, target.loaded, cancel, threads=1, on_gpu=False)
        resources.callback(projector.close)
        target.read_images_with(projector)
        drafter = make_drafter(kind, DrafterInputs(target.vocab, None, heads={kind: inputs}))
        image = write_png(tmp_path / "a.png").read_bytes()
        accepted_n = 0
        for number in range(8):
            rng = random.Random(number)
            prompt = [*_words(rng, 20), *projector.tokens(image), *_words(rng, 12)]
            plain, drafted = (tokens_of(target, prompt, drafters, cancel) for drafters in ([], [drafter]))
            assert ON_GPU or [token.id for token in drafted] == [token.id for token in plain]
            accepted_n += sum(token.origin is Origin.ACCEPTED for token in drafted)
        assert accepted_n


def test_a_projector_for_another_target_is_refused(tmp_path: Path, cancel: Cancellation) -> None:
    target = LlamaModel.open(LoadSettings(write_tiny(tmp_path / "t.gguf", "llama"), 1, 64, 1), cancel)
    try:
        with pytest.raises(ModelFileError, match="mismatch"):
            Projector.open(
                write_projector(tmp_path / "p.gguf", width=96), target.loaded, cancel, threads=1, on_gpu=False
            )
    finally:
        target.close()


def test_a_file_that_is_no_image_is_refused(seeing: Seeing) -> None:
    for data in (b"", b"no image", seeing.images[0][:60]):
        with pytest.raises(InputError, match="cannot read the image"):
            seeing.projector.tokens(data)


def test_places_tell_images_apart() -> None:
    places = image_places(b"one", 50)
    assert places == image_places(b"one", 50)
    assert set(places).isdisjoint(image_places(b"other", 50))
    assert all(-(2**31) <= place < 0 for place in places)


def test_the_text_of_a_context_that_grows() -> None:
    text, rng, context = TextAlone(), random.Random(5), [1, 2]
    for number in range(60):
        rest = image_places(bytes([number]), 3) if number % 7 == 0 else _words(rng, 2)
        context = [*context[: rng.randrange(1, len(context) + 1)], *rest]
        assert list(text.of(context)) == text_alone(context)
        for n in range(len(text_alone(context)) + 1):
            length = text.length(context, n)
            assert len(text_alone(context[:length])) == n
            assert length == len(context) or context[length] >= 0
