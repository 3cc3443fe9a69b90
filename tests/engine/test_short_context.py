"""The context for short texts, and how cells are carried to the other one and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.engine.backends.llama import short_context
from localspec.engine.backends.llama.fused_attention import fused_value_type
from localspec.engine.backends.llama.load import CACHE_TYPES, LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.short_context import SHORT_N, carry, is_short, transposed
from localspec.engine.cancel import Cancellation, Cancelled
from tests.builtin import NOISE, TARGET

CELLS_N, LAYERS_N, KEY_BYTES, WIDTH = 5, 3, 12, 4
F16, BF16 = 1, 30
TEXT = [100 + i * 37 % 900 for i in range(400)]


def settings(**other: Any) -> LoadSettings:
    return LoadSettings(TARGET, 17, n_ctx=1024, threads=1, flash_attn=False, **other)


@pytest.fixture(scope="module")
def cancel() -> Cancellation:
    return Cancellation()


@pytest.fixture(scope="module")
def both(cancel: Cancellation) -> Iterator[LlamaModel]:
    """A model with both contexts."""
    model = LlamaModel.open(settings(short_fused=True), cancel)
    yield model
    model.close()


@pytest.fixture(scope="module")
def one() -> Iterator[LlamaModel]:
    """The model with one context, unfused."""
    model = LlamaModel.open(settings(), Cancellation())
    yield model
    model.close()


def number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "little")


def saved(values: NDArray[np.uint16], *, across: bool, value_type: int = F16) -> bytes:
    """A part of a state as llama.cpp writes it; ``values`` by layer, cell and place in the row."""
    parts = [number(1), number(CELLS_N)]
    parts += [number(cell) + number(1) + number(0) for cell in range(CELLS_N)]
    parts += [number(across), number(LAYERS_N)]
    for layer in range(LAYERS_N):
        parts += [number(1), number(KEY_BYTES, 8), bytes(range(layer, layer + KEY_BYTES * CELLS_N))]
    for rows in values:
        parts += [number(value_type), *([number(2), number(WIDTH)] if across else [number(2 * WIDTH, 8)])]
        parts.append((rows.T if across else rows).tobytes())
    return b"".join(parts)


def state(*parts: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(number(7) + number(0) + b"".join(parts), np.uint8)


def test_values_are_transposed_and_all_else_stays() -> None:
    """In one part, as in the two that a model with windows has."""
    values = np.random.default_rng(1).integers(0, 2**16, (2, LAYERS_N, CELLS_N, WIDTH), np.uint16)
    for n in (1, 2):
        rows, across = (state(*(saved(part, across=way) for part in values[:n])) for way in (False, True))
        for given, expected in ((rows, across), (across, rows)):
            turned = transposed(given, F16)
            assert turned is not None
            assert turned.tobytes() == expected.tobytes()


def test_values_are_rounded_to_the_nearest_of_the_other_type() -> None:
    """Those that both types have stay what they are, on the way there and back."""
    exact = np.random.default_rng(2).integers(-255, 256, (LAYERS_N, CELLS_N, WIDTH)) / 16
    between = exact.astype(np.float32) * np.float32(1 + 2**-10)  # a quarter of the last place of bf16, or less
    f16 = exact.astype(np.float16).view(np.uint16)
    bf16 = (exact.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    across = state(saved(f16, across=True))
    near = state(saved(between.astype(np.float16).view(np.uint16), across=True))
    rows = state(saved(bf16, across=False, value_type=BF16))
    for given, wanted, expected in ((across, BF16, rows), (near, BF16, rows), (rows, F16, across)):
        turned = transposed(given, wanted)
        assert turned is not None
        assert turned.tobytes() == expected.tobytes()
    assert transposed(across, 0) is None


def test_a_state_of_another_kind_is_refused() -> None:
    """Cut short, of several streams, with cells that have more to them, or with quantised values."""
    values = np.zeros((LAYERS_N, CELLS_N, WIDTH), np.uint16)
    whole = saved(values, across=False)
    assert transposed(state(whole[:-1]), F16) is None
    assert transposed(state(whole, b"\1"), F16) is None
    assert transposed(state(number(2) + whole[4:]), F16) is None
    assert transposed(state(whole[:68] + number(9) + whole[68:]), F16) is None
    quantised = whole.replace(number(1) + number(2 * WIDTH, 8), number(8) + number(2 * WIDTH, 8))
    assert transposed(state(quantised), F16) is None


def test_a_text_at_the_limit_does_not_go_to_and_fro() -> None:
    assert is_short(SHORT_N, now=True)
    assert not is_short(SHORT_N + 1, now=True)
    assert not is_short(SHORT_N - 16, now=False)
    assert is_short(100, now=False)


def state_of(model: LlamaModel, context: Any) -> NDArray[np.uint8]:
    c = model.loaded.native.c
    data = np.empty(c.llama_state_seq_get_size_ext(context, 0, 0), np.uint8)
    assert c.llama_state_seq_get_data_ext(context, short_context.pointer(data), len(data), 0, 0) == len(data)
    return data


@pytest.mark.parametrize("cache_type_v", ["f32", "bf16"])
def test_cells_are_carried_to_the_bit_and_back(cache_type_v: str) -> None:
    """Where both contexts have values of the same type."""
    both = LlamaModel.open(settings(short_fused=True, cache_type_v=cache_type_v), Cancellation())
    there_and_back(both)
    both.close()


def test_values_of_16_bits_are_carried_as_those_of_the_other_kind(both: LlamaModel) -> None:
    """Of bf16 in the context for short texts, all but the smallest are f16 as well: the way back loses nothing."""
    assert both.loaded.value_type(both.loaded.short) == CACHE_TYPES[fused_value_type()]
    assert both.loaded.value_type(both.loaded.context) == F16
    there_and_back(both)


def there_and_back(both: LlamaModel) -> None:
    c, short, long = both.loaded.native.c, both.loaded.short, both.loaded.context
    both.logits(TEXT[:100], 1)
    before = state_of(both, short)
    assert carry(c, short, long, both.loaded.value_type(long))
    assert c.llama_memory_seq_pos_max(c.llama_get_memory(short), 0) == -1
    turned = transposed(before, both.loaded.value_type(long))
    assert turned is not None
    assert state_of(both, long).tobytes() == turned.tobytes()
    assert carry(c, long, short, both.loaded.value_type(short))
    after = state_of(both, short)
    assert len(after) == len(before)
    assert np.mean(after != before) < (1e-3 if both.loaded.value_type(short) == BF16 else 1e-12)


def test_a_text_is_evaluated_once_whichever_context_it_is_in(
    both: LlamaModel, one: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Growing past the limit, cut before it and grown again, with scores as of the one context."""
    evaluated: list[int] = []
    decode = native().c.llama_decode

    def counting(context: Any, batch: Any) -> int:
        evaluated.append(batch.n_tokens)
        return int(decode(context, batch))

    both.logits([7], 0)
    for n, new_n in ((200, 200), (250, 50), (256, 6), (262, 6), (300, 38), (240, 4), (150, 4), (290, 140)):
        expected = one.logits(TEXT[:n], 4)
        with monkeypatch.context() as patch:
            patch.setattr(native().c, "llama_decode", counting)
            evaluated.clear()
            assert np.allclose(both.logits(TEXT[:n], 4), expected, atol=2 * NOISE)
        assert sum(evaluated) == new_n
        assert (both.held_tokens, both.held(TEXT)) == (TEXT[:n], n)


def test_a_state_that_is_not_understood_is_read_again(
    both: LlamaModel, one: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.logits(TEXT[:200], 1)
    monkeypatch.setattr(short_context, "transposed", lambda *_: None)
    assert np.allclose(both.logits(TEXT[:300], 1), one.logits(TEXT[:300], 1), atol=2 * NOISE)


def test_hidden_states_go_on_past_the_limit(cancel: Cancellation, one: LlamaModel) -> None:
    """The rows of tokens on both sides of it are those of a model with one context."""
    both = LlamaModel.open(settings(short_fused=True), cancel)
    layers = [3, 8]
    kept = [(model, model.keep_hidden(layers)) for model in (both, one)]
    rows = []
    for model, states in kept:
        for n in (248, 255, 258, 264):
            model.logits(TEXT[:n], 2)
        rows.append(states.rows(TEXT[:264], 250).rows.copy())
    both.close()
    assert len(rows[0]) == len(rows[1]) > 10
    assert np.abs(rows[0] - rows[1]).max() < 0.2 * np.abs(rows[1]).max()


def test_stopping_and_threads_reach_both(both: LlamaModel, cancel: Cancellation) -> None:
    c = both.loaded.native.c
    both.set_threads(2)
    assert c.llama_n_threads(both.loaded.short) == c.llama_n_threads(both.loaded.context) == 2
    both.set_threads(1)
    for n in (100, 300):
        both.logits([7], 0)
        cancel.set()
        with pytest.raises(Cancelled):
            both.logits(TEXT[:n], 1)
        cancel.clear()
        assert both.logits(TEXT[:n], 1).shape[0] == 1


def test_short_texts_are_evaluated_where_they_are_faster(both: LlamaModel) -> None:
    """As measuring tells, back and forth, with what is held."""
    both.logits(TEXT[:50], 1)
    for on in (False, True):
        both.use_short_context(on)
        both.logits(TEXT[:51], 1)
        assert both.is_context(both.loaded.short) == on
        assert list(both.held_tokens) == TEXT[:51]


def test_a_model_may_give_its_short_context_up(one: LlamaModel) -> None:
    """Something else works in the other one: what is held is carried, and nothing goes back."""
    model = LlamaModel.open(settings(short_fused=True), Cancellation())
    model.logits(TEXT[:50], 1)
    model.keep_one_context()
    assert len(model.held_tokens) == 50
    assert model.is_context(model.loaded.context)
    assert np.allclose(model.logits(TEXT[:60], 1), one.logits(TEXT[:60], 1), atol=2 * NOISE)
    model.close()
